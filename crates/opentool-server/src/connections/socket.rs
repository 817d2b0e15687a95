//! A socket that reports progress to its connection, and closes so that the last response arrives: [`TrackedSocket`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use opentool_core::MemoryReservation;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
#[cfg(feature = "tls")]
use tokio_rustls::server::TlsStream;

use super::registry::{CloseReason, Connection, Phase};

/// How long a client may take to close the connection after the last response.
const LINGER: Duration = Duration::from_secs(2);

/// How much of what it still sends is read meanwhile: some clients send all of a body before they read anything.
const LINGER_BYTES: usize = 20 * 1024 * 1024;

/// A head no larger than this is not counted: it fits into the buffer that a connection has anyway, and is still read while
/// large ones fill their budget.
const SMALL_HEAD: usize = 8 * 1024;

pub(super) struct TrackedSocket<S> {
    socket: S,
    connection: Arc<Connection>,
    linger: Option<Linger>,
    head: HeadBytes,
    half_close: HalfClose,
    /// Whether the client must read before more can be written.
    blocked: bool,
}

/// What was read of the head of a request; its buffer is held until the request is answered.
#[derive(Default)]
struct HeadBytes {
    bytes: usize,
    reservation: MemoryReservation,
}

/// What happens when a client closes its side of the connection while its request is answered: it may still read, so the
/// call goes on for a while.
struct HalfClose {
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl HalfClose {
    /// Waits until the end of what the client sends may be reported.
    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.timeout;
        self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout))).as_mut().poll(cx)
    }
}

/// The socket of a client, with or without TLS.
pub(super) trait ClientSocket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Whether [`poll_end`](Self::poll_end) notices the end. Where it does, hyper need not read while a request is answered, for which it
    /// would make a buffer of 8 KiB for each request: a tenth of what a short call costs (`scripts/bench http`).
    const CAN_PEEK: bool;

    /// Waits until the client sends nothing more, without reading what it sends. Where something was sent that is not read yet, the end
    /// after it is not noticed.
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

impl ClientSocket for TcpStream {
    const CAN_PEEK: bool = true;

    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.poll_peek(cx, &mut ReadBuf::new(&mut [0]))) {
            Ok(0) => Poll::Ready(Ok(())),
            Ok(_) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// The end of what a client sends over TLS is a message of its own, so it has to be read.
#[cfg(feature = "tls")]
impl ClientSocket for TlsStream<TcpStream> {
    const CAN_PEEK: bool = false;

    fn poll_end(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> TrackedSocket<S> {
    pub(super) fn new(socket: S, connection: Arc<Connection>, half_close_timeout: Duration) -> Self {
        let half_close = HalfClose { timeout: half_close_timeout, timer: None };
        Self { socket, connection, linger: None, head: HeadBytes::default(), half_close, blocked: false }
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Notes what was read, and says whether the budget allows it.
    fn note_read(&mut self, count: usize) -> bool {
        self.connection.received();
        if self.connection.phase() != Phase::Head {
            return true;
        }
        self.head.bytes += count;
        // A buffer may be twice as large as what is in it.
        self.head.bytes <= SMALL_HEAD || self.head.reservation.grow(self.connection.head_budget(), 2 * count).is_ok()
    }

    fn note_write(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.blocked = written.is_pending();
        if let Poll::Ready(Ok(1..)) = written {
            self.connection.touch();
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedSocket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.head.bytes > 0 && self.connection.phase() == Phase::Idle {
            // The request whose head it was has been answered.
            self.head = HeadBytes::default();
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        let count = buf.filled().len() - before;
        // A reset is an error, and is reported at once: that client reads nothing any more.
        let at_end = count == 0 && buf.remaining() > 0 && matches!(read, Poll::Ready(Ok(())));
        if at_end {
            // Before the check, so that an answer in between is not missed.
            self.connection.wake_when_answered(cx.waker());
            if self.connection.is_answering() {
                return self.half_close.poll_expired(cx).map(Ok);
            }
        }
        if count > 0 && !self.note_read(count) {
            self.connection.close(CloseReason::OverBudget);
            return Poll::Pending;
        }
        read
    }
}

impl<S: ClientSocket> AsyncWrite for TrackedSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.note_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    /// hyper flushes after each poll of the service, so this is where a client that went away while its request is answered is noticed.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if S::CAN_PEEK
            && self.connection.is_answering()
            && let Poll::Ready(ended) = self.socket.poll_end(cx)
        {
            // A reset is an error, and is reported at once: that client reads nothing any more.
            ended?;
            if self.half_close.poll_expired(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    /// Closes the writing side, then waits a little for the client to close its own.
    ///
    /// Closing a socket with unread bytes resets it, and the client loses a response that it has not read yet, for instance
    /// the one to a body that is too large.
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
