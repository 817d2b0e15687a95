//! The documents of tool calling as data: OpenTool 1.0.0 and 1.1.0, OpenDyn 1.0.0, and the messages of the OpenTool client and server.

pub mod model;

#[doc(inline)]
pub use model::*;

/// A JSON object that keeps the order of its keys.
pub type Map = serde_json::Map<String, serde_json::Value>;
