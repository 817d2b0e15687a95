//! The server-sent events of `/streamCall`.
//!
//! The frames are written by hand: the client they are for matches `event:NAME`, without the space that common libraries
//! write.

use serde::ser::{Serialize, Serializer};

/// Writes one event with JSON as its data.
pub(crate) fn frame(event: &str, data: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(event.len() + data.len() + 16);
    frame.extend_from_slice(b"event:");
    frame.extend_from_slice(event.as_bytes());
    frame.extend_from_slice(b"\ndata:");
    // A line break in JSON is white space between two tokens, so a space means the same.
    frame.extend(data.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    frame.extend_from_slice(b"\n\n");
    frame
}

/// Writes the event that begins or ends a stream: `{"start": TOOL}`, `{"done": TOOL}`.
pub(crate) fn mark(event: &str, tool: &str) -> Vec<u8> {
    let data = serde_json::to_vec(&Mark { event, tool }).unwrap_or_default();
    frame(event, &data)
}

struct Mark<'a> {
    event: &'a str,
    tool: &'a str,
}

impl Serialize for Mark<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.event, self.tool)])
    }
}
