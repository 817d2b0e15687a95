//! The JSON-RPC answer to a call, as bytes.

use opentool_core::{ErrorKind, ToolError, ToolOutput};
use opentool_spec::rpc::JSONRPC;
use serde::Serialize;
use serde_json::Value;

use super::id::RequestId;
use super::output::ResultObject;

/// How many characters of an unknown name are repeated in the answer.
const MAX_ECHOED_NAME: usize = 200;

/// An answer. All four members are always written, in this order: clients crash on an absent one.
#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    result: ResultObject<'a>,
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
        match serde_json::to_writer(&mut out, self) {
            Ok(()) => out,
            Err(_) => unwritable(self.id),
        }
    }
}

/// Writes the answer to a call that worked; a result that is no object is wrapped under its name.
pub(crate) fn success(output: &ToolOutput, name: Option<&str>, id: RequestId<'_>) -> Vec<u8> {
    Answer { jsonrpc: JSONRPC, result: ResultObject::new(output, name), error: None, id }.to_bytes()
}

/// Writes the answer to a call that failed. An error's detail, which is for the operator, is not part of it.
pub(crate) fn tool_error(error: &ToolError, method: &str, id: RequestId<'_>) -> Vec<u8> {
    let code = error.code().unwrap_or_else(|| default_code(error.kind()));
    let data = error.data();
    match error.kind() {
        ErrorKind::UnknownTool => {
            let (name, rest) = match method.char_indices().nth(MAX_ECHOED_NAME) {
                Some((end, _)) => (&method[..end], "…"),
                None => (method, ""),
            };
            failure(code, &format!("Function Not Supported: {name}{rest}"), data, id)
        }
        ErrorKind::InvalidArguments => {
            let message = error.message();
            let message = message.strip_prefix("invalid arguments: ").unwrap_or(message);
            failure(code, &format!("Invalid Arguments: {message}"), data, id)
        }
        _ => failure(code, error.message(), data, id),
    }
}

/// Writes the answer to a request that failed.
pub(crate) fn failure(code: i32, message: &str, data: Option<&Value>, id: RequestId<'_>) -> Vec<u8> {
    let error = Some(AnswerError { code, message, data });
    Answer { jsonrpc: JSONRPC, result: ResultObject::Empty, error, id }.to_bytes()
}

/// The answer where another one cannot be serialised, which no output of the core should cause.
#[cold]
fn unwritable(id: RequestId<'_>) -> Vec<u8> {
    let id = id.as_raw();
    format!(r#"{{"jsonrpc":"2.0","result":{{}},"error":{{"code":500,"message":"the result cannot be written as JSON"}},"id":{id}}}"#)
        .into_bytes()
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
        _ => 500,
    }
}
