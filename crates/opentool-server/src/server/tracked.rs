//! A socket that tells its connection what moves, and that closes so that the last answer arrives.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::connections::{Connection, Farewell, Phase};
use crate::body::Share;

/// How long a client may take to notice that it was answered for good.
const LINGER: Duration = Duration::from_secs(2);

/// How much of what it still sends is read meanwhile: clients there are that send all before they read anything.
const LINGER_BYTES: usize = 20 * 1024 * 1024;

/// A head no larger than this is not counted: it fits into the buffer that a connection has anyway, and gets through while
/// large ones fill their budget.
const SMALL_HEAD: usize = 8 * 1024;

pub(super) struct Tracked<S> {
    socket: S,
    connection: Arc<Connection>,
    linger: Option<Linger>,
    head: Head,
    /// Whether the client has yet to read before more can be written.
    clogged: bool,
}

/// What was read of the head of a request; its buffer is held until the request is answered.
#[derive(Default)]
struct Head {
    bytes: usize,
    share: Share,
}

struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> Tracked<S> {
    pub(super) fn new(socket: S, connection: Arc<Connection>) -> Self {
        Self { socket, connection, linger: None, head: Head::default(), clogged: false }
    }

    pub(super) fn is_clogged(&self) -> bool {
        self.clogged
    }

    /// Notes what was read, and says whether there is room for it.
    fn took(&mut self, count: usize) -> bool {
        self.connection.received();
        if self.connection.phase() != Phase::Head {
            return true;
        }
        self.head.bytes += count;
        // A buffer may be twice as large as what is in it.
        self.head.bytes <= SMALL_HEAD || self.head.share.grow(self.connection.heads(), 2 * count).is_ok()
    }

    fn wrote(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.clogged = written.is_pending();
        if let Poll::Ready(Ok(1..)) = written {
            self.connection.touch();
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tracked<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.head.bytes > 0 && self.connection.phase() == Phase::Idle {
            // The request whose head it was has been answered.
            self.head = Head::default();
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        if count > 0 && !self.took(count) {
            self.connection.dismiss(Farewell::Crowded);
            return Poll::Pending;
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Tracked<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    /// Says that nothing more comes, then waits a little for the client to hang up.
    ///
    /// A socket that is closed while bytes are unread is reset, and with it an answer that the client has not read: that of
    /// a body too large, for instance.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
        }
        let linger = this
            .linger
            .get_or_insert_with(|| Linger { until: Box::pin(tokio::time::sleep(LINGER)), left: LINGER_BYTES });
        let mut scratch = [0; 16 * 1024];
        while linger.left > 0 {
            let mut buf = ReadBuf::new(&mut scratch);
            match Pin::new(&mut this.socket).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    linger.left = linger.left.saturating_sub(buf.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        linger.until.as_mut().poll(cx).map(|()| Ok(()))
    }
}
