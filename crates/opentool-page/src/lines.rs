//! An answer of JSON lines: [`LineSender`].

use http::header::{HeaderName, HeaderValue};
use opentool_server::{BodySender, ClientGone, FrontendResponse};
use serde::Serialize;

/// Writes JSON lines, each sent as it is written.
pub(crate) struct LineSender(BodySender);

impl LineSender {
    /// Begins an answer.
    pub(crate) fn open() -> (FrontendResponse, Self) {
        let (response, sender) = FrontendResponse::stream(HeaderValue::from_static("application/x-ndjson"));
        (unbuffered(response), Self(sender))
    }

    /// Sends a line; waits while the browser reads slowly.
    pub(crate) async fn send(&self, line: &(impl Serialize + Sync)) -> Result<(), ClientGone> {
        self.send_text(to_line(line)).await
    }

    /// Sends what [`to_line`] made.
    pub(crate) async fn send_text(&self, line: Vec<u8>) -> Result<(), ClientGone> {
        if line.is_empty() { Ok(()) } else { self.0.send(line).await }
    }

    /// Waits until the browser reads no longer.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Asks proxies to pass each piece on as it comes.
pub(crate) fn unbuffered(response: FrontendResponse) -> FrontendResponse {
    response.with_header(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))
}

/// Writes a value as a line; empty where it cannot be written, which a map with keys that are no texts cannot.
pub(crate) fn to_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    if line.is_empty() {
        return line;
    }
    // A line break in JSON is white space between two tokens, so a space means the same.
    for byte in &mut line {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.push(b'\n');
    line
}
