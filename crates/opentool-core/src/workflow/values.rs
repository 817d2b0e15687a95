//! What steps have: their arguments and results by name, and the types that results must have.

use indexmap::IndexMap;
use opentool_spec::StepPart;
use opentool_spec::json::Lexer;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Error, Value};

use crate::ToolOutput;

/// What a result is called where its function does not name it, as in the answers of `/call`.
pub(super) const RESULT: &str = "result";

/// JSON values by name.
pub(super) type NamedValues = IndexMap<String, Box<RawValue>>;

/// What a step has after it has run.
#[derive(Debug)]
pub(super) struct StepValues {
    pub(super) arguments: NamedValues,
    pub(super) results: NamedValues,
}

impl StepValues {
    pub(super) fn get(&self, part: StepPart, key: &str) -> Option<&RawValue> {
        let values = match part {
            StepPart::Arguments => &self.arguments,
            StepPart::Results => &self.results,
        };
        values.get(key).map(|value| &**value)
    }
}

/// The members of a JSON object.
pub(super) fn members(json: &str) -> Result<NamedValues, Error> {
    serde_json::from_str(json)
}

/// The result of a call by name, as `/call` answers it: an object has its names, every other value is under `name`.
pub(super) fn named_results(output: &ToolOutput, name: Option<&str>) -> Result<NamedValues, Error> {
    let value = match (output, output.structured()) {
        (_, Some(json)) if json.get().starts_with('{') => return members(json.get()),
        (_, Some(json)) => json.to_owned(),
        (ToolOutput::Text(text), None) => to_raw_value(text)?,
        (output, None) if output.parts().is_empty() => return Ok(NamedValues::new()),
        (output, None) => to_raw_value(output.parts())?,
    };
    Ok(NamedValues::from_iter([(name.unwrap_or(RESULT).to_owned(), value)]))
}

/// The type that a result must have, by its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    Null,
    Boolean,
    /// A number without a fraction, of which the default is an example: `0`.
    Integer,
    /// Any number, where the default is written with a fraction: `0.0`.
    Number,
    String,
    /// A list whose elements have a type, where the default has an element to show it.
    List(Option<Box<ResultType>>),
    Object,
}

impl ResultType {
    pub(super) fn of_default(default: &Value) -> Self {
        match default {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(list) => Self::List(list.first().map(|first| Box::new(Self::of_default(first)))),
            Value::Object(_) => Self::Object,
        }
    }

    /// The type with its article.
    pub(super) fn described(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List(_) => "a list",
            Self::Object => "an object",
        }
    }

    /// What is wrong with a JSON value that must have this type; none where nothing is.
    pub(super) fn fault(&self, json: &str) -> Option<String> {
        let fits = match self {
            Self::Null => json == "null",
            Self::Boolean => matches!(json, "true" | "false"),
            Self::Integer => Lexer::new(json).number().is_ok_and(|number| number.quantity.is_integer()),
            Self::Number => Lexer::new(json).number().is_ok(),
            Self::String => json.starts_with('"'),
            Self::Object => json.starts_with('{'),
            Self::List(element) => match serde_json::from_str::<Vec<&RawValue>>(json) {
                Ok(list) => {
                    return list.iter().enumerate().find_map(|(index, value)| {
                        let fault = element.as_ref()?.fault(value.get())?;
                        Some(format!("{fault} (element {index})"))
                    });
                }
                Err(_) => false,
            },
        };
        (!fits).then(|| {
            let found = described(json);
            let hint = match (self, found) {
                (Self::Integer, "a number") => "; where any number will do, write the default with a fraction: 0.0",
                _ => "",
            };
            format!("must be {}, as its default is, and is {found}{hint}", self.described())
        })
    }

    /// Whether a value that a JSON Schema allows may have this type; a schema that does not say is taken to allow all.
    pub(super) fn may_fit(&self, schema: &Value) -> bool {
        let fits = |name: &str| match self {
            Self::Null => name == "null",
            Self::Boolean => name == "boolean",
            Self::Integer | Self::Number => matches!(name, "integer" | "number"),
            Self::String => name == "string",
            Self::List(_) => name == "array",
            Self::Object => name == "object",
        };
        match &schema["type"] {
            Value::String(name) => fits(name),
            Value::Array(names) => names.iter().filter_map(Value::as_str).any(fits),
            _ => true,
        }
    }
}

/// The type of a JSON value, with its article.
fn described(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}
