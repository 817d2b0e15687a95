//! The JSON objects of this crate.

/// A JSON object that keeps the order of its keys.
pub type Map = serde_json::Map<String, serde_json::Value>;
