//! The types of the SDK interfaces in the client and server spec, and its exceptions.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::map::Map;

/// The version of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Version {
    /// `x.y.z`.
    #[serde(alias = "versionNumber")]
    pub version: String,
}

impl Version {
    /// A version.
    pub fn new(version: impl Into<String>) -> Self {
        Version { version: version.into() }
    }
}

/// A request to call a function, as an agent makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionCall {
    /// The identity of the call.
    pub id: String,
    /// The function's name.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Map,
}

impl FunctionCall {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Map) -> Self {
        FunctionCall { id: id.into(), name: name.into(), arguments }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolReturn {
    /// The identity of the call.
    pub id: String,
    /// The result.
    #[serde(default)]
    pub result: Map,
}

impl ToolReturn {
    /// A result.
    pub fn new(id: impl Into<String>, result: Map) -> Self {
        ToolReturn { id: id.into(), result }
    }
}

/// What can go wrong between a client and a server, in the terms of the spec.
///
/// Each serialises to the JSON of the spec, with exactly its message.
///
/// ```
/// use opentool_spec::Exception;
///
/// let json = serde_json::to_string(&Exception::Unauthorized).unwrap();
/// assert_eq!(json, r#"{"code":401,"message":"Please check API Key is VALID or NOT"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Exception {
    /// `ResponseNullException`: the response is empty.
    #[error("Response is null")]
    ResponseNull {
        /// The HTTP status.
        code: i32,
    },
    /// `ErrorNullException`: the call failed and the response has no error.
    #[error("Error is null")]
    ErrorNull {
        /// The HTTP status.
        code: i32,
    },
    /// `OpenToolServerUnauthorizedException`: the API key was refused.
    #[error("Please check API Key is VALID or NOT")]
    Unauthorized,
    /// `OpenToolServerNoAccessException`: the server cannot be reached.
    #[error("Please check OpenTool Server is RUNNING or NOT")]
    NoAccess,
    /// `OpenToolServerCallException`: the tool failed.
    #[error("{message}")]
    Call {
        /// The message of the tool.
        message: String,
        /// The code of the JSON-RPC error; not part of the spec's JSON.
        code: Option<i32>,
        /// The data of the JSON-RPC error; not part of the spec's JSON.
        data: Option<Value>,
    },
}

impl Exception {
    /// The code that the spec's exception has, if it has one.
    pub fn code(&self) -> Option<i32> {
        match self {
            Exception::ResponseNull { code } | Exception::ErrorNull { code } => Some(*code),
            Exception::Unauthorized => Some(401),
            Exception::NoAccess => Some(404),
            Exception::Call { .. } => None,
        }
    }
}

impl Serialize for Exception {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(code) = self.code() {
            map.serialize_entry("code", &code)?;
        }
        map.serialize_entry("message", &self.to_string())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn a_version_is_read_under_either_name() {
        for text in [r#"{"version":"1.2.3"}"#, r#"{"versionNumber":"1.2.3"}"#] {
            assert_eq!(serde_json::from_str::<Version>(text).unwrap(), Version::new("1.2.3"));
        }
        assert_eq!(to_value(Version::new("1.2.3")).unwrap(), json!({"version": "1.2.3"}));
    }

    #[test]
    fn calls_and_returns_are_the_json_of_the_spec() {
        let call = json!({"id": "1", "name": "add", "arguments": {"a": 1}});
        assert_eq!(to_value(from_value::<FunctionCall>(call.clone()).unwrap()).unwrap(), call);
        let returned = json!({"id": "1", "result": {"sum": 1}});
        assert_eq!(to_value(from_value::<ToolReturn>(returned.clone()).unwrap()).unwrap(), returned);
    }

    #[test]
    fn the_five_exceptions_have_the_code_and_message_of_the_spec() {
        let call = Exception::Call { message: "no such city".into(), code: Some(7), data: Some(json!({"a": 1})) };
        let expected = [
            (Exception::ResponseNull { code: 200 }, json!({"code": 200, "message": "Response is null"})),
            (Exception::ErrorNull { code: 502 }, json!({"code": 502, "message": "Error is null"})),
            (Exception::Unauthorized, json!({"code": 401, "message": "Please check API Key is VALID or NOT"})),
            (Exception::NoAccess, json!({"code": 404, "message": "Please check OpenTool Server is RUNNING or NOT"})),
            (call, json!({"message": "no such city"})),
        ];
        for (exception, json) in expected {
            assert_eq!(to_value(exception).unwrap(), json);
        }
    }
}
