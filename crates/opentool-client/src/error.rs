//! What can go wrong between a client and a server: [`ClientError`].

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ErrorKind, ToolError, ToolOutput};
use opentool_http::HttpError;
use opentool_spec::Exception;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

/// Why a request to a server has no usable answer.
///
/// The first five are the exceptions of the client/server spec and are serialised exactly as it says; the others are this
/// client's own. `Display` is for people.
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
    /// `ResponseNullException`: the status says success, and the body cannot be read.
    #[error("the server answered {status} with nothing that could be read")]
    ResponseNull {
        /// The HTTP status.
        status: u16,
    },
    /// `ErrorNullException`: the status says failure, and the body has no error.
    #[error("the server answered {status} and did not say why")]
    ErrorNull {
        /// The HTTP status.
        status: u16,
    },
    /// `OpenToolServerUnauthorizedException`: the API key is wrong or missing.
    #[error("the server refused the API key")]
    Unauthorized,
    /// `OpenToolServerNoAccessException`: no OpenTool server could be reached at the address, or what was reached there did
    /// not answer as one.
    #[error("{}: {reason}", no_access(url, *reached, *status))]
    NoAccess {
        /// The base URL.
        url: String,
        /// What happened instead.
        reason: String,
        /// Whether there was a connection.
        reached: bool,
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// The failure of the connection, if there was one.
        source: Option<Arc<dyn Error + Send + Sync>>,
    },
    /// `OpenToolServerCallException`: the server answered with an error.
    #[error("{message}")]
    Call {
        /// What the server said.
        message: String,
        /// The code of the error, if it has one.
        code: Option<i32>,
        /// The error's `data`.
        data: Option<Value>,
        /// What the failed function returned besides, which our own server sends.
        output: Option<Box<ToolOutput>>,
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
    /// The server's document cannot be read.
    #[error("the server's document cannot be read: {reason}")]
    InvalidDocument {
        /// What is wrong with it.
        reason: String,
    },
    /// The base URL cannot be one.
    #[error("`{url}` cannot be the address of a server: {reason}")]
    InvalidUrl {
        /// The text that was given, without parts that may be secret.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The client's settings cannot be used: a key or a certificate, for instance.
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
            Self::Call { message, code, data, .. } => {
                Some(Exception::Call { message: message.clone(), code: *code, data: data.clone() })
            }
            _ => None,
        }
    }

    /// Says whether the same request may succeed a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NoAccess { status: None, .. } => true,
            Self::NoAccess { status: Some(status), .. } | Self::ErrorNull { status } => {
                matches!(status, 429 | 502 | 503 | 504)
            }
            // Our own server's code for "too many calls in flight".
            Self::Call { code, .. } => *code == Some(503),
            _ => false,
        }
    }

    /// The server did not answer in a time, to the millisecond: what is left of a deadline is never round.
    pub(crate) fn timeout(after: Duration) -> Self {
        let milliseconds = after.as_nanos().div_ceil(1_000_000);
        Self::Timeout { after: Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX)) }
    }

    /// The settings, or what is to be sent, cannot be used.
    pub(crate) fn setup(reason: impl fmt::Display) -> Self {
        Self::Setup { reason: reason.to_string() }
    }

    /// Adds what a failed function returned besides.
    pub(crate) fn with_output(mut self, returned: Option<ToolOutput>) -> Self {
        if let Self::Call { output, .. } = &mut self {
            *output = returned.map(Box::new);
        }
        self
    }

    /// The error for a failure of the HTTP exchange with the server at a base URL.
    pub(crate) fn from_http(url: &str, error: HttpError) -> Self {
        let (reason, reached, source) = match error {
            HttpError::Unreachable { reason, connecting, source, .. } => (reason, !connecting, Some(Arc::from(source))),
            HttpError::Interrupted { reason, source } => (reason, true, Some(Arc::from(source))),
            HttpError::NoResponse { after } | HttpError::Idle { after } => return Self::timeout(after),
            HttpError::TooLarge { limit } => return Self::TooLarge { limit },
            error @ HttpError::Encoded { .. } => (error.to_string(), false, None),
            other => (other.to_string(), false, None),
        };
        Self::NoAccess { url: url.to_owned(), reason, reached, status: None, source }
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

/// What to say about a server that is none: that it cannot be reached only where it was not.
fn no_access(url: &str, reached: bool, status: Option<u16>) -> String {
    match (reached, status) {
        (false, _) => format!("no OpenTool server could be reached at {url}"),
        (true, None) => format!("the connection to {url} broke before there was an answer"),
        (true, Some(_)) => format!("what answers at {url} is no OpenTool server"),
    }
}

/// The error of a remote tool: a code of the wire becomes a kind, and the model sees no addresses.
impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Call { message, code, data, output } => {
                let error = tool_error(code, message);
                let error = data.into_iter().fold(error, Self::with_data);
                output.into_iter().fold(error, |error, output| error.with_output(*output))
            }
            ClientError::Timeout { after } => Self::timeout(after),
            ClientError::Cancelled => Self::cancelled(),
            ClientError::NoAccess { reached, status, .. } => {
                let message = match (reached, status) {
                    (false, _) => "the tool's server cannot be reached",
                    (true, None) => "the connection to the tool's server broke before it answered",
                    (true, Some(_)) => "the tool's server did not answer as an OpenTool server does",
                };
                with_detail(Self::unavailable(message), error)
            }
            ClientError::Unauthorized => {
                let denied = Self::unavailable("the tool's server refused the API key").with_retryable(false);
                with_detail(denied.with_code(401), error)
            }
            ClientError::ErrorNull { status } => {
                let message = "the tool's server refused the call and did not say why";
                with_detail(tool_error(Some(i32::from(status)), message.to_owned()), error)
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

/// An error whose full text only the operator sees.
fn with_detail(shown: ToolError, error: ClientError) -> ToolError {
    shown.with_detail(error.to_string()).with_source(error)
}

/// The error for a code of the wire: its kind, and whether another attempt may succeed.
fn tool_error(code: Option<i32>, message: String) -> ToolError {
    let Some(code) = code else { return ToolError::failed(message) };
    let (kind, retryable) = match code {
        400 | -32602 => (ErrorKind::InvalidArguments, false),
        403 => (ErrorKind::Denied, false),
        405 => (ErrorKind::UnknownTool, false),
        409 => (ErrorKind::Uncertain, false),
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
        ClientError::Call { message: "no such city".into(), code, data: Some(json!({"near": ["Rome"]})), output: None }
    }

    fn no_access(status: Option<u16>) -> ClientError {
        let reached = status.is_some();
        ClientError::NoAccess {
            url: "http://tools.example".into(),
            reason: "refused".into(),
            reached,
            status,
            source: None,
        }
    }

    #[test]
    fn the_five_exceptions_are_serialised_as_in_the_spec() {
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
    fn our_own_errors_are_serialised_in_the_same_shape() {
        let timeout = to_value(ClientError::Timeout { after: Duration::from_secs(2) }).unwrap();
        assert_eq!(timeout, json!({"code": 504, "message": "the server did not answer within 2s"}));
        let cancelled = to_value(ClientError::Cancelled).unwrap();
        assert_eq!(cancelled, json!({"code": 499, "message": "the request was cancelled"}));
        let large = to_value(ClientError::TooLarge { limit: 9 }).unwrap();
        assert_eq!(large, json!({"message": "the server's answer is larger than 9 bytes"}));
    }

    #[test]
    fn codes_of_the_wire_become_kinds() {
        for (code, kind, retryable) in [
            (405, ErrorKind::UnknownTool, false),
            (400, ErrorKind::InvalidArguments, false),
            (-32602, ErrorKind::InvalidArguments, false),
            (504, ErrorKind::Timeout, false),
            (403, ErrorKind::Denied, false),
            (409, ErrorKind::Uncertain, false),
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
    fn only_a_server_that_was_not_reached_cannot_be_reached() {
        let broken = ClientError::NoAccess {
            url: "http://tools.example".into(),
            reason: "closed".into(),
            reached: true,
            status: None,
            source: None,
        };
        for (error, people, model) in [
            (
                no_access(None),
                "no OpenTool server could be reached at http://tools.example: refused",
                "the tool's server cannot be reached",
            ),
            (
                broken,
                "the connection to http://tools.example broke before there was an answer: closed",
                "the connection to the tool's server broke before it answered",
            ),
            (
                no_access(Some(404)),
                "what answers at http://tools.example is no OpenTool server: refused",
                "the tool's server did not answer as an OpenTool server does",
            ),
        ] {
            assert_eq!(error.to_string(), people);
            assert_eq!(ToolError::from(error).message(), model);
        }
    }

    #[test]
    fn a_timeout_is_shown_in_readable_units() {
        let error = ClientError::timeout(Duration::from_nanos(29_999_999_939));
        assert_eq!(error.to_string(), "the server did not answer within 30s");
    }

    #[test]
    fn a_model_sees_no_addresses() {
        let error = ToolError::from(no_access(None));
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        assert!(!error.message().contains("tools.example"));
        assert!(error.detail().unwrap().contains("http://tools.example: refused"));
        let error = ToolError::from(ClientError::Unauthorized);
        assert_eq!((error.kind(), error.is_retryable(), error.code()), (ErrorKind::Unavailable, false, Some(401)));
    }

    #[test]
    fn only_passing_failures_are_transient() {
        for error in [no_access(None), no_access(Some(503)), ClientError::ErrorNull { status: 502 }, call(Some(503))] {
            assert!(error.is_transient(), "{error:?}");
        }
        for error in [no_access(Some(404)), ClientError::Unauthorized, call(Some(500)), ClientError::Cancelled] {
            assert!(!error.is_transient(), "{error:?}");
        }
    }
}
