//! Reading the answers of servers, including the ways in which real ones differ from the spec.

use opentool_core::ToolOutput;
use opentool_spec::{Map, OpenTool, Severity, Version};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::ClientError;

/// How many errors may be wrapped into each other's message before the rest is taken as a message.
const MAX_WRAPPINGS: usize = 4;

/// A whole response.
pub(crate) struct ServerResponse<'a> {
    /// The base URL, for errors.
    pub(crate) url: &'a str,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// The members of a JSON-RPC response that matter; `jsonrpc` and `id` may be anything.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// The output in core's own form; one that cannot be read counts as absent.
    fn output(&self) -> Option<ToolOutput> {
        ToolOutput::parse(self.output?.get()).ok()
    }
}

/// What a function returned or emitted.
#[derive(Default)]
pub(crate) struct CallResult {
    /// The value; none if it is absent or null.
    pub(crate) value: Option<Box<RawValue>>,
    /// The output exactly as the function returned it: only our own server sends it, if asked, for outputs that are no plain value.
    pub(crate) output: Option<ToolOutput>,
}

impl CallResult {
    fn from_value(value: Option<Box<RawValue>>) -> Self {
        Self { value, output: None }
    }

    /// Says whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.value.is_none() && self.output.is_none()
    }
}

impl ServerResponse<'_> {
    /// The result of a call.
    pub(crate) fn result(&self, errors_in_results: bool) -> Result<CallResult, ClientError> {
        let (_, envelope) = self.envelope()?;
        let output = envelope.output();
        if let Some(result) = envelope.result.filter(|_| errors_in_results && output.is_none())
            && let Some(error) = error_as_result(result)
        {
            return Err(error);
        }
        Ok(CallResult { value: envelope.result.map(ToOwned::to_owned), output })
    }

    /// The version of the server: a text, or any other JSON value.
    pub(crate) fn version(&self) -> Result<Version, ClientError> {
        let (text, _) = self.envelope()?;
        let members: Map = serde_json::from_str(text).unwrap_or_default();
        match members.get("version").or_else(|| members.get("versionNumber")) {
            Some(Value::String(version)) => Ok(Version::new(version)),
            Some(Value::Null) | None => Err(self.empty()),
            Some(other) => Ok(Version::new(other.to_string())),
        }
    }

    /// The text of the server's document; none if the server says that it has none. Servers have several ways to.
    pub(crate) fn document(&self) -> Result<Option<String>, ClientError> {
        #[derive(Deserialize)]
        struct CodeAndMessage {
            code: i32,
            #[serde(default)]
            message: String,
        }

        let absent = matches!(self.status, 404 | 405 | 410 | 501);
        let text = match self.envelope() {
            Ok((text, _)) => text,
            Err(ClientError::Call { code: Some(404 | 405), .. }) => return Ok(None),
            // An empty body, `null`, HTML, or a router that does not know the route.
            Err(ClientError::ResponseNull { .. }) => return Ok(None),
            Err(_) if absent => return Ok(None),
            Err(error) => return Err(error),
        };
        let members: Map = serde_json::from_str(text).unwrap_or_default();
        if members.is_empty() {
            return Ok(None);
        }
        if members.contains_key("opentool") || members.contains_key("functions") {
            return Ok(Some(text.to_owned()));
        }
        match serde_json::from_str(text) {
            Ok(CodeAndMessage { code: 404, .. }) => Ok(None),
            Ok(CodeAndMessage { code, message }) => {
                Err(ClientError::Call { message, code: Some(code), data: None, output: None })
            }
            Err(_) => {
                let reason = "it has neither `opentool` nor `functions`".to_owned();
                Err(ClientError::InvalidDocument { reason })
            }
        }
    }

    /// Checks the answer to a command, which may be empty.
    pub(crate) fn acknowledged(&self) -> Result<(), ClientError> {
        match self.envelope() {
            Ok(_) | Err(ClientError::ResponseNull { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The JSON object of a good answer, or its error. The body counts more than the status.
    fn envelope(&self) -> Result<(&str, Envelope<'_>), ClientError> {
        if self.status == 401 {
            return Err(ClientError::Unauthorized);
        }
        let object =
            json_object(&self.body).and_then(|text| Some((text, serde_json::from_str::<Envelope<'_>>(text).ok()?)));
        match object {
            Some((_, envelope @ Envelope { error: Some(error), .. })) => {
                Err(read_error(error.get()).with_output(envelope.output()))
            }
            Some(object) if self.is_success() => Ok(object),
            Some(_) => Err(ClientError::ErrorNull { status: self.status }),
            None if self.is_success() => Err(self.empty()),
            None => {
                let not_followed = if self.status / 100 == 3 { ", and redirects are not followed" } else { "" };
                Err(ClientError::NoAccess {
                    url: self.url.to_owned(),
                    reason: format!("the answer was HTTP {}{not_followed}", self.status),
                    reached: true,
                    status: Some(self.status),
                    source: None,
                })
            }
        }
    }

    fn is_success(&self) -> bool {
        self.status / 100 == 2
    }

    fn empty(&self) -> ClientError {
        ClientError::ResponseNull { status: self.status }
    }
}

/// Reads the data of one event of a stream: a JSON-RPC body, or the bare result.
pub(crate) fn event_result(data: &str, errors_in_results: bool) -> Result<CallResult, ClientError> {
    let unreadable = ClientError::ResponseNull { status: 200 };
    let Some(text) = json_object(data.as_bytes()) else {
        let raw = serde_json::from_str::<Box<RawValue>>(data).map_err(|_| unreadable)?;
        return Ok(CallResult::from_value(Some(raw).filter(|raw| raw.get() != "null")));
    };
    let members: Map = serde_json::from_str(text).map_err(|_| unreadable)?;
    if ["jsonrpc", "result", "error"].iter().any(|member| members.contains_key(*member)) {
        return ServerResponse { url: "", status: 200, body: text.into() }.result(errors_in_results);
    }
    Ok(CallResult::from_value(RawValue::from_string(text.to_owned()).ok()))
}

/// Reads the data of an `error` event: a JSON-RPC body, a bare `{code, message, id}`, or just a text.
pub(crate) fn event_error(data: &str) -> ClientError {
    if let Some(text) = json_object(data.as_bytes()) {
        if let Ok(envelope @ Envelope { error: Some(error), .. }) = serde_json::from_str(text) {
            return read_error(error.get()).with_output(envelope.output());
        }
        return read_error(text);
    }
    read_error(data)
}

/// Reads a document; what is wrong with it is logged as long as anything of it can be read.
pub(crate) fn read_document(text: &str) -> Result<OpenTool, ClientError> {
    let reading = OpenTool::read(text);
    let mut errors = reading.report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let first = errors.next().map(|finding| finding.message.as_str());
    match (reading.document, first) {
        (Some(document), None) => Ok(document),
        (Some(document), Some(first)) => {
            let others = errors.count();
            tracing::warn!(first, others, "the server's document has errors; taking what can be read of it");
            Ok(document)
        }
        (None, first) => {
            Err(ClientError::InvalidDocument { reason: first.unwrap_or("it is no OpenTool document").to_owned() })
        }
    }
}

/// The text of a body that begins like a JSON object.
fn json_object(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    let text = text.trim_start_matches('\u{feff}').trim();
    text.starts_with('{').then_some(text)
}

/// Reads an error of any shape.
fn read_error(text: &str) -> ClientError {
    ReportedError::parse(text).unwrapped().into()
}

/// An error as a server wrote it.
struct ReportedError {
    code: Option<i32>,
    message: String,
    data: Option<Value>,
}

impl ReportedError {
    fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Self::from_members(members),
            Ok(Value::String(message)) => Self { code: None, message, data: None },
            _ => Self { code: None, message: text.to_owned(), data: None },
        }
    }

    fn from_members(mut members: Map) -> Self {
        let code = members.get("code").and_then(code);
        let message = match members.remove("message") {
            Some(Value::String(message)) => message,
            Some(Value::Null) | None => "the server gave no reason".to_owned(),
            Some(other) => other.to_string(),
        };
        Self { code, message, data: members.remove("data").filter(|data| !data.is_null()) }
    }

    /// The innermost error: some servers write the JSON of an error into the message of another.
    fn unwrapped(mut self) -> Self {
        for _ in 0..MAX_WRAPPINGS {
            let Some(inner) = Self::inside(&self.message) else { break };
            self = Self { data: inner.data.or(self.data), ..inner };
        }
        self
    }

    fn inside(message: &str) -> Option<Self> {
        let members: Map = serde_json::from_str(json_object(message.as_bytes())?).ok()?;
        let is_error = members.get("code").and_then(code).is_some() && members.get("message")?.is_string();
        is_error.then(|| Self::from_members(members))
    }
}

impl From<ReportedError> for ClientError {
    fn from(ReportedError { code, message, data }: ReportedError) -> Self {
        Self::Call { message, code, data, output: None }
    }
}

/// A code, which may be an integer, the text of one, or a number such as `404.0`.
fn code(value: &Value) -> Option<i32> {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(code) => i32::try_from(code).ok(),
            None => number.as_f64().filter(|code| code.fract() == 0.0 && code.abs() < 1e9).map(|code| code as i32),
        },
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The error that a result of exactly `{"code": int ≥ 400, "message": string}` stands for.
fn error_as_result(result: &RawValue) -> Option<ClientError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ErrorObject {
        code: i32,
        message: String,
    }

    if !result.get().starts_with('{') {
        return None;
    }
    let ErrorObject { code, message } = serde_json::from_str(result.get()).ok()?;
    (code >= 400).then(|| ReportedError { code: Some(code), message, data: None }.unwrapped().into())
}
