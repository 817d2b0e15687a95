//! The responses of the server: [`HttpResponse`].

use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

/// The most bytes of a body that are written at once. They are copied to the head, so it bounds what that takes.
const PIECE: usize = 16 * 1024;

/// A response of the server.
pub(crate) type HttpResponse = Response<ResponseBody>;

/// A response of JSON.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> HttpResponse {
    with_type(status, HeaderValue::from_static("application/json"), body)
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Full(Bytes::new()));
    *response.status_mut() = status;
    response
}

pub(crate) fn with_type(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Full(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A response of server-sent events.
pub(crate) fn events(content_type: HeaderValue, events: EventStream) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Events(events));
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The body of a response: whole, or event by event.
pub(crate) enum ResponseBody {
    Full(Bytes),
    Events(EventStream),
}

impl ResponseBody {
    /// Returns how many bytes are known to be sent.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Full(bytes) => bytes.len(),
            Self::Events(_) => 0,
        }
    }

    /// Keeps a guard until the body is complete: for events until their writer is done, else until now.
    pub(crate) fn hold(&mut self, guard: impl Any + Send) {
        if let Self::Events(events) = self {
            events.hold(guard);
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes.split_to(bytes.len().min(PIECE)))))),
            Self::Events(events) => events.poll_next(cx).map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// The events of a stream as they come.
pub(crate) struct EventStream {
    events: mpsc::Receiver<Bytes>,
    /// Whether an event was given out that the connection has not yet had a chance to flush.
    unflushed: bool,
    writer: Option<oneshot::Sender<Guard>>,
}

/// Something that is kept until it is dropped.
type Guard = Box<dyn Any + Send>;

/// What the writer of a stream keeps until it is done.
pub(crate) struct WriterGuard(#[expect(dead_code, reason = "kept for its drop")] oneshot::Receiver<Guard>);

impl EventStream {
    /// Makes a stream of the events of a channel; its writer keeps the guard until it is done.
    pub(crate) fn new(events: mpsc::Receiver<Bytes>) -> (Self, WriterGuard) {
        let (writer, guard) = oneshot::channel();
        (Self { events, unflushed: false, writer: Some(writer) }, WriterGuard(guard))
    }

    fn hold(&mut self, guard: impl Any + Send) {
        if let Some(writer) = self.writer.take() {
            // Where the writer is done already, the guard is dropped now.
            let _ = writer.send(Box::new(guard));
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.unflushed {
            // The connection flushes when there is nothing to write, so each event is sent on its own.
            self.unflushed = false;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let event = ready!(self.events.poll_recv(cx));
        self.unflushed = event.is_some();
        Poll::Ready(event)
    }
}
