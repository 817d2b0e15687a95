//! JSON-RPC messages of the server, as bytes.

use serde::Serialize;

use super::error::ProtocolError;
use super::json_text::JsonText;

/// The answer to a request that failed before a tool could run.
const UNWRITABLE: &str = "the result cannot be written as JSON";

#[derive(Serialize)]
struct ErrorResponse<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<JsonText<'a>>,
    error: &'a ProtocolError,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: &'a str,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: P,
}

/// Writes the result of a request.
pub(crate) fn result(id: JsonText<'_>, result: impl Serialize) -> Vec<u8> {
    result_with(id, |out| serde_json::to_writer(out, &result))
}

/// Writes the result of a request with `write`.
pub(crate) fn result_with(id: JsonText<'_>, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.get().as_bytes());
    out.extend_from_slice(br#","result":"#);
    match write(&mut out) {
        Ok(()) => {
            out.push(b'}');
            out
        }
        Err(_) => error(Some(id), &ProtocolError::internal(UNWRITABLE)),
    }
}

/// Writes the error of a request; it has no id where that could not be read.
pub(crate) fn error(id: Option<JsonText<'_>>, error: &ProtocolError) -> Vec<u8> {
    // An id, a number, texts and a parsed value can always be written.
    serde_json::to_vec(&ErrorResponse { jsonrpc: "2.0", id, error }).unwrap_or_default()
}

/// Writes a request to the client.
pub(crate) fn request(id: &str, method: &str, params: impl Serialize) -> Vec<u8> {
    serde_json::to_vec(&Request { jsonrpc: "2.0", id, method, params }).unwrap_or_default()
}

/// Writes a notification.
pub(crate) fn notification(method: &str, params: impl Serialize) -> Vec<u8> {
    serde_json::to_vec(&Notification { jsonrpc: "2.0", method, params }).unwrap_or_default()
}

/// Puts a message on one line. A line break in JSON is white space between two tokens, so a space means the same.
pub(crate) fn on_one_line(mut message: Vec<u8>) -> Vec<u8> {
    for byte in &mut message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    message
}
