//! The JSON-RPC 2.0 messages of the OpenTool client and server.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, value::RawValue};

/// The protocol version that every message is written with.
pub const JSONRPC: &str = "2.0";

/// The identity of a call. The spec has strings; numbers are read too, and returned as numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// What the spec requires.
    String(String),
    /// What some clients send.
    Number(Number),
    /// The identity of an answer to a message that could not be read.
    Null,
}

impl From<&str> for Id {
    fn from(id: &str) -> Self {
        Id::String(id.to_owned())
    }
}

impl From<String> for Id {
    fn from(id: String) -> Self {
        Id::String(id)
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::String(id) => f.write_str(id),
            Id::Number(id) => id.fmt(f),
            Id::Null => f.write_str("null"),
        }
    }
}

/// A call of a function.
///
/// Its parameters stay text, so that nothing is rounded or merged before they are checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcRequest {
    /// `"2.0"`; other readers and writers leave it out or write `"2.0.0"`.
    #[serde(default)]
    pub jsonrpc: String,
    /// The function's name.
    pub method: String,
    /// The arguments: an object, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// The identity of the call.
    pub id: Id,
}

impl RpcRequest {
    /// A call of `method`.
    pub fn new(id: impl Into<Id>, method: impl Into<String>, params: Option<Box<RawValue>>) -> Self {
        RpcRequest { jsonrpc: JSONRPC.to_owned(), method: method.into(), params, id: id.into() }
    }
}

/// The answer to a call. All four members are always written: clients crash on an absent one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RpcResponse {
    /// `"2.0"`.
    #[serde(default)]
    pub jsonrpc: String,
    /// The result: an object, empty where the call failed or returned nothing.
    #[serde(default = "empty_object")]
    pub result: Box<RawValue>,
    /// Why the call failed; null where it did not.
    #[serde(default)]
    pub error: Option<RpcError>,
    /// The identity of the call.
    #[serde(default = "null_id")]
    pub id: Id,
}

impl RpcResponse {
    /// The answer to a call that worked.
    pub fn success(id: Id, result: Box<RawValue>) -> Self {
        RpcResponse { jsonrpc: JSONRPC.to_owned(), result, error: None, id }
    }

    /// The answer to a call that failed.
    pub fn failure(id: Id, error: RpcError) -> Self {
        RpcResponse { jsonrpc: JSONRPC.to_owned(), result: empty_object(), error: Some(error), id }
    }
}

fn empty_object() -> Box<RawValue> {
    #[expect(clippy::expect_used, reason = "`{}` is JSON")]
    RawValue::from_string("{}".to_owned()).expect("`{}` is JSON")
}

fn null_id() -> Id {
    Id::Null
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
#[non_exhaustive]
pub struct RpcError {
    /// A number for programs.
    pub code: i32,
    /// A sentence for people and models.
    pub message: String,
    /// More about the failure; clients that do not know it ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// The body is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The message is not a valid request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The parameters are not an object.
    pub const INVALID_PARAMS: i32 = -32602;

    /// A code and a message.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// Adds more about the failure.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_request_keeps_the_text_of_its_parameters() {
        let text = r#"{"jsonrpc":"2.0","method":"f","params":{"n":12345678901234567890123,"n":1.0},"id":"1"}"#;
        let request: RpcRequest = serde_json::from_str(text).unwrap();
        assert_eq!(request.params.as_ref().unwrap().get(), r#"{"n":12345678901234567890123,"n":1.0}"#);
        assert_eq!(serde_json::to_string(&request).unwrap(), text);
    }

    #[test]
    fn an_id_keeps_its_json_type() {
        for id in [r#""7""#, "7", "null"] {
            let request: RpcRequest = serde_json::from_str(&format!(r#"{{"method":"f","id":{id}}}"#)).unwrap();
            assert_eq!(serde_json::to_string(&request.id).unwrap(), id);
        }
    }

    #[test]
    fn an_answer_always_has_all_four_members() {
        let answer = RpcResponse::failure("1".into(), RpcError::new(500, "no"));
        let text = r#"{"jsonrpc":"2.0","result":{},"error":{"code":500,"message":"no"},"id":"1"}"#;
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
        let answer = RpcResponse::success(Id::Null, RawValue::from_string("{\"sum\":3}".into()).unwrap());
        let text = r#"{"jsonrpc":"2.0","result":{"sum":3},"error":null,"id":null}"#;
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
    }

    #[test]
    fn an_answer_with_members_left_out_is_read() {
        let answer: RpcResponse = serde_json::from_str(r#"{"error":{"code":1,"message":"m","data":[1]}}"#).unwrap();
        assert_eq!(answer.result.get(), "{}");
        assert_eq!(answer.id, Id::Null);
        assert_eq!(answer.error.unwrap(), RpcError::new(1, "m").with_data(serde_json::json!([1])));
    }
}
