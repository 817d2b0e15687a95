//! Server-sent events: [`EventSink`].

use http::header::{HeaderName, HeaderValue};
use opentool_core::BoxFuture;
use opentool_server::{BodySender, FrontendResponse};

use crate::server::answer::on_one_line;
use crate::server::sink::MessageSink;

pub(super) const CONTENT_TYPE: &str = "text/event-stream";

/// A response whose events are messages.
#[derive(Debug)]
pub(super) struct EventSink(BodySender);

/// Opens a response of server-sent events.
pub(super) fn open() -> (FrontendResponse, EventSink) {
    let (response, sender) = FrontendResponse::stream(HeaderValue::from_static(CONTENT_TYPE));
    // A proxy that collected them would deliver progress when it is over.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    (response.with_header(unbuffered.0, unbuffered.1), EventSink(sender))
}

/// Words a message as an event.
pub(super) fn frame(message: Vec<u8>, id: Option<&str>) -> Vec<u8> {
    let mut event = b"event: message\n".to_vec();
    if let Some(id) = id {
        event.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    event.extend_from_slice(b"data: ");
    event.extend(on_one_line(message));
    event.extend_from_slice(b"\n\n");
    event
}

impl EventSink {
    /// Sends an event that is worded already; false where the client reads no longer.
    pub(super) async fn write(&self, event: &[u8]) -> bool {
        self.0.send(event.to_vec()).await.is_ok()
    }
}

impl MessageSink for EventSink {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        let event = frame(message, None);
        Box::pin(async move { self.0.send(event).await.is_ok() })
    }

    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move { self.0.send(&b":\n\n"[..]).await.is_ok() })
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.closed())
    }
}
