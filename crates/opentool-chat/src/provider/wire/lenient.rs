//! Reading JSON from servers that are only almost compatible.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads a member leniently: null and a value of another type count as absent.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// The text of a string or a number.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Says whether a value stands for nothing: null, false, or empty.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// The arguments of a call as text: a string with JSON in it, as they should be, or the JSON itself.
pub(crate) fn arguments_text(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
        text => text.to_owned(),
    }
}

/// The arguments of a call as the JSON object that they should be; none if the model wrote something else.
pub(crate) fn object_or_none(arguments: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(arguments).ok()?;
    raw.get().starts_with('{').then_some(raw)
}

/// An object without members.
pub(crate) fn empty_object<'a>() -> &'a RawValue {
    serde_json::from_str("{}").unwrap_or(RawValue::NULL)
}
