//! The end of a call, as the page shows it: [`OutcomeLine`].

use std::borrow::Cow;
use std::time::Duration;

use opentool_core::{ErrorKind, ToolCall, ToolError, ToolOutput};
use opentool_server::{call_answer, call_result};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parts::{self, PartForm};

/// How many bytes of an answer are shown as they would be sent.
const MAX_RAW: usize = 256 * 1024;

/// The last line of a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeLine<'a> {
    r#type: &'static str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorForm<'a>>,
    parts: Vec<PartForm<'a>>,
    duration_ms: f64,
    bytes: usize,
    raw: RawExchange,
}

/// Why a call has no result.
#[derive(Serialize)]
pub(crate) struct ErrorForm<'a> {
    kind: ErrorKind,
    message: &'a str,
    retryable: bool,
    problems: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<&'a Value>,
}

/// The same call as a request to `/call` and its answer.
#[derive(Serialize)]
struct RawExchange {
    request: String,
    response: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A JSON-RPC request of one call.
#[derive(Serialize)]
struct CallMessage<'a> {
    jsonrpc: &'static str,
    id: &'a str,
    method: &'a str,
    params: Cow<'a, RawValue>,
}

/// What would be sent to `/call`. Arguments that are no JSON stand in it as they are.
pub(crate) fn raw_request(call: &ToolCall) -> String {
    let text = call.arguments.as_str();
    let Ok(params) = serde_json::from_str::<&RawValue>(text) else {
        return text.to_owned();
    };
    let message = CallMessage { jsonrpc: "2.0", id: &call.id, method: &call.name, params: Cow::Borrowed(params) };
    // It holds texts and JSON, which can always be written.
    serde_json::to_string(&message).unwrap_or_default()
}

/// A call that is over.
pub(crate) struct EndedCall<'a> {
    pub(crate) id: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) result: &'a Result<ToolOutput, ToolError>,
    /// What its function calls the result.
    pub(crate) output_name: Option<&'a str>,
    pub(crate) raw_request: String,
    pub(crate) duration: Duration,
}

impl<'a> From<EndedCall<'a>> for OutcomeLine<'a> {
    fn from(call: EndedCall<'a>) -> Self {
        let EndedCall { id, tool, result, output_name, raw_request, duration } = call;
        let output = match result {
            Ok(output) => Some(output),
            Err(error) => error.output(),
        };
        let shown = result.as_ref().ok().map(|output| call_result(output, output_name));
        Self {
            r#type: "outcome",
            ok: result.is_ok(),
            result: shown.and_then(|result| RawValue::from_string(result).ok()),
            error: result.as_ref().err().map(ErrorForm::from),
            parts: output.map(parts::of_output).unwrap_or_default(),
            duration_ms: duration.as_secs_f64() * 1e3,
            bytes: output.map_or(0, ToolOutput::size),
            raw: RawExchange::new(raw_request, call_answer(id, tool, result, output_name)),
        }
    }
}

impl RawExchange {
    fn new(request: String, mut response: String) -> Self {
        let truncated = response.len() > MAX_RAW;
        if truncated {
            response.truncate(response.floor_char_boundary(MAX_RAW));
        }
        Self { request, response, truncated }
    }
}

impl<'a> From<&'a ToolError> for ErrorForm<'a> {
    fn from(error: &'a ToolError) -> Self {
        let data = error.data();
        let problems = data.and_then(|data| data.get("problems")).and_then(Value::as_array);
        Self {
            kind: error.kind(),
            message: error.message(),
            retryable: error.is_retryable(),
            problems: problems.map(Vec::as_slice).unwrap_or_default(),
            near: data.and_then(|data| data.get("near")),
        }
    }
}
