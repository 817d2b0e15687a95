//! The body of a request, which tells its connection when all of it has arrived: [`TrackedBody`].

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::registry::Connection;

pub(super) struct TrackedBody<B> {
    body: B,
    connection: Arc<Connection>,
}

impl<B: Body> TrackedBody<B> {
    pub(super) fn new(body: B, connection: Arc<Connection>) -> Self {
        connection.set_request_complete(body.is_end_stream());
        Self { body, connection }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.connection.set_request_complete(true);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
