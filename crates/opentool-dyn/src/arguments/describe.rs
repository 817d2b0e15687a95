//! The wording of refused arguments.

use opentool_spec::json::excerpt;

use crate::plan::{AccessContent, JsonForm, Parameter, Passing, Scalar, Value};

/// How many characters of a value are quoted.
const MOST_QUOTED: usize = 60;

/// A name in quotes, as JSON has it.
pub(super) fn quoted(name: &str) -> String {
    format!("{:?}", excerpt(name, MOST_QUOTED))
}

/// A value with the name of its type: `string "x"`.
pub(super) fn name_of(value: &str) -> String {
    let kind = match value.as_bytes().first() {
        Some(b'"') => "string ",
        Some(b'[') => "array ",
        Some(b'{') => "object ",
        Some(b't' | b'f') => "boolean ",
        Some(b'n') => "",
        _ => "number ",
    };
    format!("{kind}{}", excerpt(value, MOST_QUOTED))
}

/// What a parameter is, in a few words.
pub(super) fn expected(parameter: &Parameter) -> &'static str {
    match &parameter.passing {
        Passing::Value(value) | Passing::Cell { value, .. } => scalar(*value),
        Passing::Text { .. } | Passing::TextOut { .. } => "string",
        Passing::Array { .. } | Passing::ArrayOut { .. } => "array",
        Passing::Handle { .. } | Passing::HandleOut { .. } | Passing::Allocated { .. } => "handle",
        Passing::Struct { .. } | Passing::StructValue { .. } => "object",
        Passing::Field(field) => match &field.content {
            AccessContent::Scalar { value, .. } => scalar(*value),
            _ => "string",
        },
        Passing::Indirect { .. } | Passing::Callback(_) | Passing::UserData | Passing::Events { .. } => "nothing",
    }
}

/// What a scalar is for the caller.
pub(super) fn scalar(value: Value) -> &'static str {
    match (value.form, value.scalar) {
        (JsonForm::Boolean, _) | (_, Scalar::Bool) => "boolean",
        (JsonForm::Character, _) => "string of one ASCII character",
        (JsonForm::Digits, _) => "integer in decimal digits",
        (JsonForm::Number, scalar) if scalar.is_float() => "number",
        (JsonForm::Number, _) => "integer",
    }
}
