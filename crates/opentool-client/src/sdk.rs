//! The types of the spec's SDK interface: arguments and results as JSON objects.

use opentool_spec::{Map, ToolReturn};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ClientError;

/// The member that holds a result which is no object, because a [`ToolReturn`] holds only objects.
const RESULT: &str = "result";

/// The arguments of a call, as they are sent.
pub(crate) fn params(arguments: &Map) -> Result<Box<RawValue>, ClientError> {
    to_raw_value(arguments)
        .map_err(|error| ClientError::setup(format_args!("the arguments cannot be written: {error}")))
}

/// The result of a call.
pub(crate) fn tool_return(id: String, result: Option<&RawValue>) -> Result<ToolReturn, ClientError> {
    let value = match result {
        // It is JSON; all that can be wrong is that it is nested too deeply for a value.
        Some(result) => serde_json::from_str(result.get()).map_err(|_| ClientError::ResponseNull { status: 200 })?,
        None => Value::Null,
    };
    let result = match value {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => Map::from_iter([(RESULT.to_owned(), other)]),
    };
    Ok(ToolReturn::new(id, result))
}
