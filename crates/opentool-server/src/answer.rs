//! What the server answers: JSON-RPC bodies written straight to bytes, and the HTTP responses around them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use opentool_core::{ErrorKind, RichOutput, ToolError, ToolOutput};
use opentool_spec::rpc::RpcError;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::envelope::Id;
use crate::stream::Frames;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a result is called where its function does not name it.
const RESULT: &str = "result";

/// How much of a wrong name is told back.
const LONGEST_NAME: usize = 200;

/// A refusal: the HTTP status, and the error inside the JSON-RPC body.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: i32,
    pub(crate) message: String,
    /// Whether what is left of the request is not worth reading.
    hang_up: bool,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, code: i32::from(status.as_u16()), message: message.into(), hang_up: false }
    }

    /// The body is no JSON: the one fault of an envelope that is no HTTP 200.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self { code: RpcError::PARSE_ERROR, ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// The client took too long, or went away half-way.
    pub(crate) fn slow_body() -> Self {
        Self { hang_up: true, ..Self::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time") }
    }

    pub(crate) fn broken_body() -> Self {
        Self::unreadable("the body broke off")
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("the body is larger than the {limit} bytes allowed");
        Self { hang_up: true, ..Self::new(StatusCode::PAYLOAD_TOO_LARGE, message) }
    }

    pub(crate) fn over_budget() -> Self {
        let message = "the server holds as many bytes of requests as it may; try again";
        Self { hang_up: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self { code: RpcError::INVALID_REQUEST, ..Self::new(StatusCode::OK, message) }
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: RpcError::INVALID_PARAMS, ..Self::new(StatusCode::OK, message) }
    }

    /// The server runs as many calls as it may. Like every answer to a readable request it is HTTP 200.
    pub(crate) fn too_many_calls(limit: usize) -> Self {
        Self {
            status: StatusCode::OK,
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("too many calls in flight: the server runs {limit} at once"),
            )
        }
    }

    pub(crate) fn unauthorized() -> Self {
        // The message of the spec's own exception.
        Self::new(StatusCode::UNAUTHORIZED, "Please check API Key is VALID or NOT")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such path")
    }

    pub(crate) fn method_not_allowed(allowed: &'static str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {allowed} only"))
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// The answer to a request whose identity is not known.
    pub(crate) fn answer(&self) -> Answer {
        self.answer_to(Id::NULL)
    }

    pub(crate) fn answer_to(&self, id: Id<'_>) -> Answer {
        let mut answer = json(self.status, self.body(id));
        let headers = answer.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.hang_up {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    fn body(&self, id: Id<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(96 + self.message.len());
        write_failure(&mut out, self.code, &self.message, None, id);
        out
    }
}

/// Says which methods a path takes.
pub(crate) fn allow(mut answer: Answer, methods: &'static str) -> Answer {
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

pub(crate) type Answer = Response<AnswerBody>;

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    with_type(status, JSON, body)
}

pub(crate) fn with_type(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(AnswerBody::Full(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

/// Writes the answer to a call that worked; a result that is no object is wrapped under its name.
pub(crate) fn write_success(out: &mut Vec<u8>, output: &ToolOutput, name: Option<&str>, id: Id<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
    write_result(out, output, name.unwrap_or(RESULT));
    out.extend_from_slice(br#","error":null,"id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.push(b'}');
}

fn write_result(out: &mut Vec<u8>, output: &ToolOutput, name: &str) {
    match output {
        ToolOutput::Json(json) => write_value(out, json, name),
        ToolOutput::Text(text) => wrap(out, name, |out| write_json(out, text)),
        ToolOutput::Parts(parts) => wrap(out, name, |out| write_json(out, parts)),
        ToolOutput::Rich(rich) => write_rich(out, rich, name),
        // No value.
        _ => out.extend_from_slice(b"{}"),
    }
}

/// An object as it is, `null` as no value, anything else under the name.
fn write_value(out: &mut Vec<u8>, json: &RawValue, name: &str) {
    match json.get() {
        "null" => out.extend_from_slice(b"{}"),
        object if object.starts_with('{') => out.extend_from_slice(object.as_bytes()),
        other => wrap(out, name, |out| out.extend_from_slice(other.as_bytes())),
    }
}

/// What a client that only knows values needs: the structured value, or, where there is none, the parts.
fn write_rich(out: &mut Vec<u8>, rich: &RichOutput, name: &str) {
    match &rich.structured {
        Some(json) => write_value(out, json, name),
        None if rich.parts.is_empty() => out.extend_from_slice(b"{}"),
        None => wrap(out, name, |out| write_json(out, &rich.parts)),
    }
}

fn wrap(out: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'{');
    write_json(out, name);
    out.push(b':');
    write(out);
    out.push(b'}');
}

/// Writes the answer to a call that failed. What only the operator may read stays here.
pub(crate) fn write_tool_error(out: &mut Vec<u8>, error: &ToolError, method: &str, id: Id<'_>) {
    let code = error.code().unwrap_or_else(|| code_of(error.kind()));
    let data = error.data();
    match error.kind() {
        ErrorKind::UnknownTool => {
            let (name, rest) = match method.char_indices().nth(LONGEST_NAME) {
                Some((end, _)) => (&method[..end], "…"),
                None => (method, ""),
            };
            write_failure(out, code, &format!("Function Not Supported: {name}{rest}"), data, id);
        }
        ErrorKind::InvalidArguments => {
            let message = error.message();
            let message = message.strip_prefix("invalid arguments: ").unwrap_or(message);
            write_failure(out, code, &format!("Invalid Arguments: {message}"), data, id);
        }
        _ => write_failure(out, code, error.message(), data, id),
    }
}

/// The code of an error that has none of its own.
fn code_of(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::UnknownTool => 405,
        ErrorKind::InvalidArguments => 400,
        ErrorKind::Denied => 403,
        ErrorKind::Limit => 429,
        ErrorKind::Timeout => 504,
        ErrorKind::Cancelled => 499,
        ErrorKind::Unavailable => 503,
        _ => 500,
    }
}

fn write_failure(out: &mut Vec<u8>, code: i32, message: &str, data: Option<&serde_json::Value>, id: Id<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","result":{},"error":{"code":"#);
    out.extend_from_slice(itoa::Buffer::new().format(code).as_bytes());
    out.extend_from_slice(br#","message":"#);
    write_json(out, message);
    if let Some(data) = data {
        out.extend_from_slice(br#","data":"#);
        write_json(out, data);
    }
    out.extend_from_slice(br#"},"id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.push(b'}');
}

pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Texts and values always can be written; should one ever not, the answer stays JSON.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// The body of a response: whole, or frame by frame.
pub(crate) enum AnswerBody {
    Full(Bytes),
    Stream(Frames),
}

impl AnswerBody {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Full(bytes) => bytes.len(),
            Self::Stream(_) => 0,
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(frames) => frames.poll_next(cx).map(|frame| frame.map(|frame| Ok(Frame::data(frame)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
