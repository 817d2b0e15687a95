//! The output of a remote tool: [`ReturnShape`].

use std::collections::HashMap;

use opentool_core::{ToolDefinition, ToolOutput};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::response::CallResult;

/// What the document says about a function's result.
pub(crate) struct ReturnShape {
    /// The member that holds a result which is no object.
    wrapped_in: Option<String>,
    /// Whether the result is declared to be a string.
    text: bool,
}

impl ReturnShape {
    pub(crate) fn new(definition: &ToolDefinition) -> Self {
        let declared = definition.output_schema().and_then(|schema| schema.get("type")).and_then(Value::as_str);
        Self {
            wrapped_in: definition.output_name().filter(|_| declared != Some("object")).map(ToOwned::to_owned),
            text: declared == Some("string"),
        }
    }

    /// The output of a call.
    pub(crate) fn output(&self, result: CallResult) -> ToolOutput {
        match (result.output, result.value) {
            (Some(output), _) => output,
            (None, Some(value)) => self.value_output(value),
            (None, None) => ToolOutput::Empty,
        }
    }

    /// The output that a value stands for.
    fn value_output(&self, result: Box<RawValue>) -> ToolOutput {
        let result = match self.unwrapped(&result) {
            Some(value) => value,
            None => result,
        };
        match result.get() {
            "null" | "{}" => ToolOutput::Empty,
            text if self.text && text.starts_with('"') => match serde_json::from_str(text) {
                Ok(text) => ToolOutput::Text(text),
                Err(_) => ToolOutput::Json(result),
            },
            _ => ToolOutput::Json(result),
        }
    }

    /// The value that is the only member of an object, under the name of the return.
    fn unwrapped(&self, result: &RawValue) -> Option<Box<RawValue>> {
        let name = self.wrapped_in.as_deref()?;
        if !result.get().starts_with('{') {
            return None;
        }
        let mut members: HashMap<String, &RawValue> = serde_json::from_str(result.get()).ok()?;
        let value = members.remove(name)?;
        (members.is_empty() && !value.get().starts_with('{')).then(|| value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn output(declared: &str, result: &str) -> ToolOutput {
        let shape =
            ReturnShape { wrapped_in: (declared != "object").then(|| "sum".to_owned()), text: declared == "string" };
        shape.value_output(RawValue::from_string(result.to_owned()).unwrap())
    }

    fn json(text: &str) -> ToolOutput {
        ToolOutput::Json(RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_wrapped_value_is_unwrapped() {
        assert_eq!(output("integer", r#"{"sum":123456789012345678901}"#), json("123456789012345678901"));
        assert_eq!(output("array", r#"{ "sum" : [1, 2] }"#), json("[1, 2]"));
        assert_eq!(output("string", r#"{"sum":"a\nb"}"#), ToolOutput::text("a\nb"));
        assert_eq!(output("string", r#""bare""#), ToolOutput::text("bare"));
        assert_eq!(output("integer", r#"{"sum":null}"#), ToolOutput::Empty);
    }

    #[test]
    fn any_other_object_stays_as_it_is() {
        for (declared, result) in [
            ("object", r#"{"sum":1}"#),
            ("integer", r#"{"sum":1,"carry":0}"#),
            ("integer", r#"{"total":1}"#),
            ("integer", r#"{"sum":{"value":1}}"#),
            ("integer", "[1]"),
            // Only a string that was declared as one is text.
            ("integer", r#""text""#),
            ("string", "7"),
        ] {
            assert_eq!(output(declared, result), json(result));
        }
        assert_eq!(output("object", "{}"), ToolOutput::Empty);
    }
}
