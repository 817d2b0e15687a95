//! Requests that are refused: [`Refusal`].

use http::StatusCode;
use http::header::{ALLOW, CONNECTION, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use super::body::BodyError;
use super::response::{HttpResponse, json};
use crate::wire::answer;
use crate::wire::error::RequestError;
use crate::wire::id::RequestId;

/// How many characters of a refused host or origin are repeated in the answer.
const MAX_ECHOED_NAME: usize = 200;

/// Why a request is refused: the HTTP status, and the error inside the JSON-RPC body.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: i32,
    message: String,
    /// The methods that the path takes, for a 405.
    allow: Option<&'static str>,
    /// Whether the connection closes, because the rest of the request is not worth reading.
    close: bool,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, code: i32::from(status.as_u16()), message: message.into(), allow: None, close: false }
    }

    fn closing(self) -> Self {
        Self { close: true, ..self }
    }

    /// Refuses a body that could not be read.
    pub(crate) fn body(error: BodyError, limit: usize) -> Self {
        match error {
            BodyError::TooLarge => {
                let message = format!("the body is larger than the {limit} bytes allowed");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, message).closing()
            }
            BodyError::OverBudget => Self::over_budget().closing(),
            BodyError::Timeout => Self::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time").closing(),
            BodyError::Broken => RequestError::NotJson("the body broke off".to_owned()).into(),
        }
    }

    pub(crate) fn head_timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time")
    }

    pub(crate) fn too_many_connections() -> Self {
        Self::unavailable("the server has as many connections as it may; try again")
    }

    pub(crate) fn over_budget() -> Self {
        Self::unavailable("the server holds as many bytes of requests as it may; try again")
    }

    /// Refuses a call because as many run as may. Like every answer to a readable request it is HTTP 200.
    pub(crate) fn too_many_calls(limit: usize) -> Self {
        let message = format!("too many calls in flight: the server runs {limit} at once");
        Self { status: StatusCode::OK, ..Self::unavailable(message) }
    }

    /// Refuses a body that is compressed or otherwise encoded.
    pub(crate) fn encoded_body() -> Self {
        let message = "the body is encoded: send it without `Content-Encoding`";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).closing()
    }

    /// Refuses a request that came when the server was about to end.
    pub(crate) fn stopping() -> Self {
        Self::unavailable("the server stops")
    }

    pub(crate) fn unauthorized() -> Self {
        // The message of the spec's own exception.
        Self::new(StatusCode::UNAUTHORIZED, "Please check API Key is VALID or NOT")
    }

    /// Refuses a host or an origin, and names the option that allows it.
    pub(crate) fn not_allowed(what: &str, value: &str) -> Self {
        let value = value.char_indices().nth(MAX_ECHOED_NAME).map_or(value, |(end, _)| &value[..end]);
        let message = format!("{what} `{value}` is not allowed; allow it with --allowed-{what} {value}");
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such path")
    }

    pub(crate) fn method_not_allowed(allowed: &'static str) -> Self {
        let message = format!("this path takes {allowed} only");
        Self { allow: Some(allowed), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, message) }
    }

    /// Answers a request whose frontend panicked.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the request could not be answered, because of a fault in the server",
        )
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Answers a request whose id is not known.
    pub(crate) fn response(&self) -> HttpResponse {
        self.response_to(RequestId::NULL)
    }

    /// Writes the response as HTTP/1.1, for a connection whose request was never read. It closes the connection.
    pub(crate) fn to_http1(&self) -> Vec<u8> {
        let body = answer::failure(self.code, &self.message, RequestId::NULL);
        let retry = if self.status == StatusCode::SERVICE_UNAVAILABLE { "retry-after: 1\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: application/json\r\nconnection: close\r\n{retry}content-length: {}\r\n\r\n",
            self.status,
            body.len()
        );
        [head.into_bytes(), body].concat()
    }

    pub(crate) fn response_to(&self, id: RequestId<'_>) -> HttpResponse {
        self.with_body(answer::failure(self.code, &self.message, id))
    }

    /// Answers a request to a mounted frontend: plain JSON-RPC, whose error has no id where the request was not read.
    pub(crate) fn frontend_response(&self) -> HttpResponse {
        self.with_body(answer::error_without_id(self.code, &self.message))
    }

    fn with_body(&self, body: Vec<u8>) -> HttpResponse {
        let mut response = json(self.status, body);
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Only what is no JSON at all gets another status than 200.
impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        let status = match error {
            RequestError::NotJson(_) => StatusCode::BAD_REQUEST,
            RequestError::Invalid(_) | RequestError::InvalidParams(_) => StatusCode::OK,
        };
        Self { code: error.code(), ..Self::new(status, error.into_message()) }
    }
}
