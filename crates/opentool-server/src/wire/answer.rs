//! The JSON-RPC answer to a call, as bytes.

use opentool_core::{ErrorKind, Outcome, ToolError, ToolOutput};
use opentool_spec::json::quoted;
use opentool_spec::rpc::JSONRPC;
use serde::Serialize;
use serde_json::Value;

use super::id::RequestId;
use super::output::ResultObject;

/// How many characters of an unknown name are repeated in the answer.
const MAX_ECHOED_NAME: usize = 200;

/// What an answer depends on besides the outcome of the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipient<'a> {
    pub(crate) id: RequestId<'a>,
    /// Whether the client reads the member `output`, which carries what the `result` cannot say.
    pub(crate) reads_output: bool,
}

/// An answer. All but `output` are always written, in this order: clients crash on an absent one.
struct Answer<'a> {
    result: ResultObject<'a>,
    output: Option<&'a ToolOutput>,
    error: Option<AnswerError<'a>>,
    id: RequestId<'a>,
}

#[derive(Serialize)]
struct AnswerError<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

impl Answer<'_> {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match self.write(&mut out) {
            Ok(()) => out,
            Err(_) => failure(500, "the result cannot be written as JSON", self.id),
        }
    }

    /// Writes the names, which are always the same, as bytes: serde would escape each of them every time (`scripts/bench http`).
    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
        serde_json::to_writer(&mut *out, &self.result)?;
        if let Some(output) = self.output {
            out.extend_from_slice(br#","output":"#);
            serde_json::to_writer(&mut *out, output)?;
        }
        out.extend_from_slice(br#","error":"#);
        serde_json::to_writer(&mut *out, &self.error)?;
        out.extend_from_slice(br#","id":"#);
        out.extend_from_slice(self.id.as_json().as_bytes());
        out.push(b'}');
        Ok(())
    }
}

/// Writes the JSON-RPC answer with which `/call` words an outcome, for a client that reads values only.
///
/// ```
/// use opentool_core::ToolOutput;
/// use opentool_server::call_answer;
///
/// let answer = call_answer("7", "now", &Ok(ToolOutput::text("noon")), Some("time"));
/// assert_eq!(answer, r#"{"jsonrpc":"2.0","result":{"time":"noon"},"error":null,"id":"7"}"#);
/// ```
#[must_use]
pub fn call_answer(id: &str, tool: &str, result: &Result<ToolOutput, ToolError>, output_name: Option<&str>) -> String {
    let id = quoted(id);
    let to = Recipient { id: RequestId::new(Some(&id)), reads_output: false };
    let bytes = match result {
        Ok(output) => success(output, output_name, to),
        Err(error) => tool_error(error, tool, to),
    };
    // What is written is UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes the answer to a call that has run.
pub(crate) fn outcome(outcome: &Outcome, to: Recipient<'_>) -> Vec<u8> {
    match &outcome.result {
        Ok(output) => success(output, outcome.definition.as_ref().and_then(|definition| definition.output_name()), to),
        Err(error) => tool_error(error, &outcome.tool, to),
    }
}

/// Writes the answer to a call that worked; a result that is no object is wrapped under its name.
pub(crate) fn success(output: &ToolOutput, name: Option<&str>, to: Recipient<'_>) -> Vec<u8> {
    let typed = to.reads_output && !is_plain(output, name);
    let (result, output) =
        if typed { (ResultObject::Empty, Some(output)) } else { (ResultObject::new(output, name), None) };
    Answer { result, output, error: None, id: to.id }.to_bytes()
}

/// Says whether the `result` alone tells a client what the tool returned. A value that is no object can be distinguished from an object with
/// one member only by the name that the function gives it, and `{}` means that there is no value.
fn is_plain(output: &ToolOutput, name: Option<&str>) -> bool {
    match output {
        ToolOutput::Parts(_) | ToolOutput::Rich(_) => false,
        ToolOutput::Text(_) => name.is_some(),
        ToolOutput::Json(json) => match json.get() {
            "{}" => false,
            "null" => true,
            text => name.is_some() || text.starts_with('{'),
        },
        _ => true,
    }
}

/// Writes the answer to a call that failed. An error's detail, which is for the operator, is not part of it.
pub(crate) fn tool_error(error: &ToolError, method: &str, to: Recipient<'_>) -> Vec<u8> {
    let written;
    let message = match error.kind() {
        ErrorKind::UnknownTool => {
            let (name, rest) = match method.char_indices().nth(MAX_ECHOED_NAME) {
                Some((end, _)) => (&method[..end], "…"),
                None => (method, ""),
            };
            written = format!("Function Not Supported: {name}{rest}");
            &written
        }
        ErrorKind::InvalidArguments => {
            written = format!("Invalid Arguments: {}", error.argument_problem());
            &written
        }
        _ => error.message(),
    };
    let code = error.code().unwrap_or_else(|| default_code(error.kind()));
    let answer = Answer {
        result: ResultObject::Empty,
        output: error.output().filter(|_| to.reads_output),
        error: Some(AnswerError { code, message, data: error.data() }),
        id: to.id,
    };
    answer.to_bytes()
}

/// Writes the answer to a request that is refused.
pub(crate) fn failure(code: i32, message: &str, id: RequestId<'_>) -> Vec<u8> {
    let error = Some(AnswerError { code, message, data: None });
    Answer { result: ResultObject::Empty, output: None, error, id }.to_bytes()
}

/// Writes a JSON-RPC error without an id and without the members that only clients of OpenTool need.
pub(crate) fn error_without_id(code: i32, message: &str) -> Vec<u8> {
    #[derive(Serialize)]
    struct ErrorOnly<'a> {
        jsonrpc: &'static str,
        error: AnswerError<'a>,
    }
    let error = ErrorOnly { jsonrpc: JSONRPC, error: AnswerError { code, message, data: None } };
    // It holds a number and texts, which can always be written.
    serde_json::to_vec(&error).unwrap_or_default()
}

/// The code of an error that has none of its own.
fn default_code(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::UnknownTool => 405,
        ErrorKind::InvalidArguments => 400,
        ErrorKind::Denied => 403,
        ErrorKind::Limit => 429,
        ErrorKind::Timeout => 504,
        ErrorKind::Cancelled => 499,
        ErrorKind::Unavailable => 503,
        ErrorKind::Uncertain => 409,
        _ => 500,
    }
}
