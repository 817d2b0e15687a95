//! What can go wrong between a client and a server: [`ClientError`].

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ErrorKind, ToolError};
use opentool_spec::Exception;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// Why a request to a server has no answer that can be used.
///
/// The first five are the exceptions of the client/server spec, and are serialised as it says, to the letter; the rest
/// are this client's own. What `Display` says is for people.
///
/// ```
/// use opentool_client::ClientError;
///
/// let json = serde_json::to_string(&ClientError::Unauthorized).unwrap();
/// assert_eq!(json, r#"{"code":401,"message":"Please check API Key is VALID or NOT"}"#);
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// `ResponseNullException`: the server said that all is well, and nothing else that could be read.
    #[error("the server answered {status} with nothing that could be read")]
    ResponseNull {
        /// The HTTP status.
        status: u16,
    },
    /// `ErrorNullException`: the server refused and did not say why.
    #[error("the server answered {status} and did not say why")]
    ErrorNull {
        /// The HTTP status.
        status: u16,
    },
    /// `OpenToolServerUnauthorizedException`: the API key was refused, or there was none.
    #[error("the server refused the API key")]
    Unauthorized,
    /// `OpenToolServerNoAccessException`: no OpenTool server could be reached at the address.
    #[error("no OpenTool server could be reached at {url}: {reason}")]
    NoAccess {
        /// The base URL.
        url: String,
        /// What happened instead.
        reason: String,
        /// The HTTP status, where there was an answer.
        status: Option<u16>,
        /// The failure of the connection, where there was one.
        source: Option<Arc<dyn Error + Send + Sync>>,
    },
    /// `OpenToolServerCallException`: the server answered with an error.
    #[error("{message}")]
    Call {
        /// What the server said.
        message: String,
        /// The code of the error, where it has one.
        code: Option<i32>,
        /// Whatever else the server said about it.
        data: Option<Value>,
    },
    /// The server did not answer in time.
    #[error("the server did not answer within {after:?}")]
    Timeout {
        /// How long it had.
        after: Duration,
    },
    /// The request was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The answer is larger than this client reads.
    #[error("the server's answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// What the server gave as its document cannot be read as one.
    #[error("the server's document cannot be read: {reason}")]
    InvalidDocument {
        /// What is wrong with it.
        reason: String,
    },
    /// The base URL cannot be one.
    #[error("`{url}` cannot be the address of a server: {reason}")]
    InvalidUrl {
        /// What was given, without anything that may be secret.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The client cannot work with what it was given: a key or a certificate, for instance.
    #[error("the client cannot be set up: {reason}")]
    Setup {
        /// What is wrong.
        reason: String,
    },
}

impl ClientError {
    /// Returns the exception of the spec that this is, if it is one.
    #[must_use]
    pub fn exception(&self) -> Option<Exception> {
        match self {
            Self::ResponseNull { status } => Some(Exception::ResponseNull { code: i32::from(*status) }),
            Self::ErrorNull { status } => Some(Exception::ErrorNull { code: i32::from(*status) }),
            Self::Unauthorized => Some(Exception::Unauthorized),
            Self::NoAccess { .. } => Some(Exception::NoAccess),
            Self::Call { message, code, data } => {
                Some(Exception::Call { message: message.clone(), code: *code, data: data.clone() })
            }
            _ => None,
        }
    }

    /// Says whether the same request may fare better a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAccess { status: None, .. } => true,
            Self::NoAccess { status: Some(status), .. } | Self::ErrorNull { status } => {
                matches!(status, 429 | 502 | 503 | 504)
            }
            // Our own server's words for "too many calls in flight".
            Self::Call { code, .. } => *code == Some(503),
            _ => false,
        }
    }

    /// The connection failed, for a reason that is somewhere in the chain of an error.
    pub(crate) fn broken(url: &str, error: reqwest::Error) -> Self {
        // The address is in the message already.
        let error = error.without_url();
        let mut innermost: &dyn Error = &error;
        while let Some(cause) = innermost.source() {
            innermost = cause;
        }
        let reason = innermost.to_string();
        Self::NoAccess { url: url.to_owned(), reason, status: None, source: Some(Arc::new(error)) }
    }
}

impl Serialize for ClientError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(exception) = self.exception() {
            return exception.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Timeout { .. } => map.serialize_entry("code", &504)?,
            Self::Cancelled => map.serialize_entry("code", &499)?,
            _ => {}
        }
        map.serialize_entry("message", &self.to_string())?;
        map.end()
    }
}

/// What a remote tool answers with: the codes of the wire become kinds, and the model is told no addresses.
impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Call { message, code, data } => {
                let mut tool_error = of_code(code, message);
                if let Some(data) = data {
                    tool_error = tool_error.with_data(data);
                }
                tool_error
            }
            ClientError::Timeout { after } => Self::timeout(after),
            ClientError::Cancelled => Self::cancelled(),
            ClientError::NoAccess { .. } => explained(Self::unavailable("the tool's server cannot be reached"), error),
            ClientError::Unauthorized => {
                let tool_error = Self::unavailable("the tool's server does not let us in").with_retryable(false);
                explained(tool_error.with_code(401), error)
            }
            ClientError::ErrorNull { status } => {
                let message = "the tool's server refused the call and did not say why";
                explained(of_code(Some(i32::from(status)), message.to_owned()), error)
            }
            ClientError::ResponseNull { .. } | ClientError::TooLarge { .. } => {
                let message = format!("the tool's result cannot be used: {error}");
                Self::invalid_result(message).with_source(error)
            }
            ClientError::InvalidDocument { .. } | ClientError::InvalidUrl { .. } | ClientError::Setup { .. } => {
                Self::fatal(error)
            }
        }
    }
}

/// An error whose whole story only the operator reads.
fn explained(tool_error: ToolError, error: ClientError) -> ToolError {
    tool_error.with_detail(error.to_string()).with_source(error)
}

/// The kind that a code of the wire stands for, and whether another attempt may succeed.
fn of_code(code: Option<i32>, message: String) -> ToolError {
    let Some(code) = code else { return ToolError::failed(message) };
    let (kind, retryable) = match code {
        400 | -32602 => (ErrorKind::InvalidArguments, false),
        403 => (ErrorKind::Denied, false),
        405 => (ErrorKind::UnknownTool, false),
        429 => (ErrorKind::Limit, true),
        499 => (ErrorKind::Cancelled, false),
        502 | 503 => (ErrorKind::Unavailable, true),
        // Whether it may be repeated is known to the executor, from the tool's metadata.
        504 => (ErrorKind::Timeout, false),
        _ => (ErrorKind::Failed, false),
    };
    ToolError::new(kind, message).with_code(code).with_retryable(retryable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{json, to_value};

    use super::*;

    fn call(code: Option<i32>) -> ClientError {
        ClientError::Call { message: "no such city".into(), code, data: Some(json!({"near": ["Rome"]})) }
    }

    fn no_access(status: Option<u16>) -> ClientError {
        ClientError::NoAccess { url: "http://tools.example".into(), reason: "refused".into(), status, source: None }
    }

    #[test]
    fn the_five_exceptions_are_written_as_the_spec_has_them() {
        for (error, expected) in [
            (ClientError::ResponseNull { status: 200 }, json!({"code": 200, "message": "Response is null"})),
            (ClientError::ErrorNull { status: 502 }, json!({"code": 502, "message": "Error is null"})),
            (ClientError::Unauthorized, json!({"code": 401, "message": "Please check API Key is VALID or NOT"})),
            (no_access(None), json!({"code": 404, "message": "Please check OpenTool Server is RUNNING or NOT"})),
            (call(Some(7)), json!({"message": "no such city"})),
        ] {
            assert_eq!(to_value(&error).unwrap(), expected);
        }
    }

    #[test]
    fn errors_of_our_own_are_written_in_the_same_shape() {
        let timeout = to_value(ClientError::Timeout { after: Duration::from_secs(2) }).unwrap();
        assert_eq!(timeout, json!({"code": 504, "message": "the server did not answer within 2s"}));
        let cancelled = to_value(ClientError::Cancelled).unwrap();
        assert_eq!(cancelled, json!({"code": 499, "message": "the request was cancelled"}));
        let large = to_value(ClientError::TooLarge { limit: 9 }).unwrap();
        assert_eq!(large, json!({"message": "the server's answer is larger than 9 bytes"}));
    }

    #[test]
    fn codes_of_the_wire_become_kinds_of_tool_errors() {
        for (code, kind, retryable) in [
            (405, ErrorKind::UnknownTool, false),
            (400, ErrorKind::InvalidArguments, false),
            (-32602, ErrorKind::InvalidArguments, false),
            (504, ErrorKind::Timeout, true),
            (403, ErrorKind::Denied, false),
            (429, ErrorKind::Limit, true),
            (503, ErrorKind::Unavailable, true),
            (499, ErrorKind::Cancelled, false),
            (500, ErrorKind::Failed, false),
            (17, ErrorKind::Failed, false),
        ] {
            let error = ToolError::from(call(Some(code)));
            assert_eq!((error.kind(), error.is_retryable(), error.code()), (kind, retryable, Some(code)));
            assert_eq!((error.message(), error.data()), ("no such city", Some(&json!({"near": ["Rome"]}))));
        }
        assert_eq!(ToolError::from(call(None)).code(), None);
    }

    #[test]
    fn a_model_is_told_no_addresses() {
        let error = ToolError::from(no_access(None));
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        assert!(!error.message().contains("tools.example"));
        assert!(error.detail().unwrap().contains("http://tools.example: refused"));
        let error = ToolError::from(ClientError::Unauthorized);
        assert_eq!((error.kind(), error.is_retryable(), error.code()), (ErrorKind::Unavailable, false, Some(401)));
    }

    #[test]
    fn only_what_may_pass_is_transient() {
        for error in [no_access(None), no_access(Some(503)), ClientError::ErrorNull { status: 502 }, call(Some(503))] {
            assert!(error.is_transient(), "{error:?}");
        }
        for error in [no_access(Some(404)), ClientError::Unauthorized, call(Some(500)), ClientError::Cancelled] {
            assert!(!error.is_transient(), "{error:?}");
        }
    }
}
