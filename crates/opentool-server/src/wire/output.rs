//! The `result` of an answer, made of what a tool returned: [`ResultObject`].

use opentool_core::{Part, ToolOutput};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

/// What a result is called where its function does not name it.
const DEFAULT_NAME: &str = "result";

/// Writes the `result` that `/call` answers with for an output: always a JSON object, in which a value that is none stands
/// under its name, or under `result`, and `{}` for no value.
///
/// ```
/// use opentool_core::ToolOutput;
/// use opentool_server::call_result;
///
/// let sum = ToolOutput::json(&3)?;
/// assert_eq!(call_result(&sum, Some("sum")), r#"{"sum":3}"#);
/// assert_eq!(call_result(&ToolOutput::Empty, Some("sum")), "{}");
/// # Ok::<(), opentool_core::ToolError>(())
/// ```
#[must_use]
pub fn call_result(output: &ToolOutput, name: Option<&str>) -> String {
    // Texts and parts are always written; a map with names that are no strings cannot be among them.
    serde_json::to_string(&ResultObject::new(output, name)).unwrap_or_else(|_| "{}".to_owned())
}

/// A result, which is always an object: a value that is none is wrapped under its name, and no value is `{}`.
pub(crate) enum ResultObject<'a> {
    Empty,
    /// A JSON object, as its text.
    Object(&'a RawValue),
    Named(&'a str, ResultValue<'a>),
}

/// A result that is no object.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ResultValue<'a> {
    Json(&'a RawValue),
    Text(&'a str),
    Parts(&'a [Part]),
}

impl<'a> ResultObject<'a> {
    /// Makes the result of an output, for a client that reads values only: of a rich output the structured value, or, where
    /// there is none, the parts.
    pub(crate) fn new(output: &'a ToolOutput, name: Option<&'a str>) -> Self {
        let name = name.unwrap_or(DEFAULT_NAME);
        match output {
            ToolOutput::Json(json) => Self::json(json, name),
            ToolOutput::Text(text) => Self::Named(name, ResultValue::Text(text)),
            ToolOutput::Parts(parts) => Self::Named(name, ResultValue::Parts(parts)),
            ToolOutput::Rich(rich) => match &rich.structured {
                Some(json) => Self::json(json, name),
                None if rich.parts.is_empty() => Self::Empty,
                None => Self::Named(name, ResultValue::Parts(&rich.parts)),
            },
            _ => Self::Empty,
        }
    }

    fn json(json: &'a RawValue, name: &'a str) -> Self {
        match json.get() {
            "null" => Self::Empty,
            text if text.starts_with('{') => Self::Object(json),
            _ => Self::Named(name, ResultValue::Json(json)),
        }
    }
}

impl Serialize for ResultObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_map(Some(0))?.end(),
            Self::Object(object) => object.serialize(serializer),
            Self::Named(name, value) => serializer.collect_map([(name, value)]),
        }
    }
}
