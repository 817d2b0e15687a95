//! Server-sent events: [`EventSink`], and [`LazyEvents`] where it is not known yet whether there are any.

use std::sync::OnceLock;

use http::header::{HeaderName, HeaderValue};
use opentool_core::BoxFuture;
use opentool_server::{BodySender, FrontendResponse};
use tokio::sync::mpsc;

use crate::server::answer::on_one_line;
use crate::server::sink::MessageSink;

pub(super) const CONTENT_TYPE: &str = "text/event-stream";

/// A response whose events are messages.
pub(super) struct EventSink(BodySender);

/// Opens a response of server-sent events.
pub(super) fn open() -> (FrontendResponse, EventSink) {
    let (response, sender) = FrontendResponse::stream(HeaderValue::from_static(CONTENT_TYPE));
    // A proxy that collected them would deliver progress when it is over.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    (response.with_header(unbuffered.0, unbuffered.1), EventSink(sender))
}

impl MessageSink for EventSink {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        let mut event = b"event: message\ndata: ".to_vec();
        event.extend(on_one_line(message));
        event.extend_from_slice(b"\n\n");
        Box::pin(async move { self.0.send(event).await.is_ok() })
    }

    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.0.send(&b":\n\n"[..]).await.is_ok() })
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.closed())
    }
}

/// A response that becomes server-sent events with the first message that comes before the answer. An answer that comes first is
/// a body of its own: the events of many clients have a limit that their bodies have not.
pub(super) struct LazyEvents {
    response: mpsc::Sender<FrontendResponse>,
    sink: OnceLock<EventSink>,
}

impl LazyEvents {
    /// Makes one, and what yields its response.
    pub(super) fn new() -> (Self, mpsc::Receiver<FrontendResponse>) {
        let (response, responses) = mpsc::channel(1);
        (Self { response, sink: OnceLock::new() }, responses)
    }

    fn opened(&self) -> &EventSink {
        let mut opened = None;
        let sink = self.sink.get_or_init(|| {
            let (response, sink) = open();
            opened = Some(response);
            sink
        });
        // Only now, so that a response is never there without its sink.
        if let Some(response) = opened {
            // A client that has gone away needs none.
            let _ = self.response.try_send(response);
        }
        sink
    }

    /// Ends the response with the answer.
    pub(super) async fn finish(&self, message: Vec<u8>, respond: impl FnOnce(Vec<u8>) -> FrontendResponse) {
        match self.sink.get() {
            Some(sink) => drop(sink.send(message).await),
            None => drop(self.response.try_send(respond(message))),
        }
    }
}

impl MessageSink for LazyEvents {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        self.opened().send(message)
    }

    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        self.opened().keep_alive()
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.sink.get().is_none() {
                // The response was taken, or its client has gone away.
                self.response.closed().await;
            }
            if let Some(sink) = self.sink.get() {
                sink.closed().await;
            }
        })
    }
}
