//! The body of a response that is written piece by piece: [`BodySender`].

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use tokio::sync::mpsc;

use super::response::{EventStream, HttpResponse, WriterGuard, events};

/// How many pieces of a body may wait for the client before their writer waits.
const BACKLOG: usize = 16;

/// How long a client may leave a piece unread.
const MAX_STALL: Duration = Duration::from_secs(30);

/// Makes a response whose body ends when its sender is dropped.
pub(super) fn stream(content_type: HeaderValue) -> (HttpResponse, BodySender) {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let (stream, guard) = EventStream::new(receiver);
    (events(content_type, stream), BodySender { sender, _guard: guard })
}

/// Writes the body of a response piece by piece; each piece is sent on its own.
pub struct BodySender {
    sender: mpsc::Sender<Bytes>,
    _guard: WriterGuard,
}

/// The client is gone, or has not read for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client reads no longer")]
pub struct ClientGone;

impl BodySender {
    /// Sends a piece; waits while the client reads slowly.
    ///
    /// # Errors
    ///
    /// Where the client is gone or leaves a piece unread for 30 seconds.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), ClientGone> {
        self.sender.send_timeout(piece.into(), MAX_STALL).await.map_err(|_| ClientGone)
    }

    /// Waits until the client is gone.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }
}

impl fmt::Debug for BodySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodySender")
    }
}
