//! JSON inside of an output: raw text where it is read from text, and a parsed value everywhere else.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// JSON as it can be read from every deserialiser.
///
/// A [`RawValue`] can only be read straight from JSON text, not from within a tagged enum or a flattened field, which serde
/// has parsed already. Reading a value instead works everywhere, but knows only numbers of 64 bits.
pub(super) struct ParsedJson(Box<RawValue>);

impl<'de> Deserialize<'de> for ParsedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        to_raw_value(&Value::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

impl From<ParsedJson> for Box<RawValue> {
    fn from(json: ParsedJson) -> Self {
        json.0
    }
}

/// Reads a member that is there, so that `null` is a value and not an absent one.
pub(super) fn present<'de, D: Deserializer<'de>, J: Deserialize<'de>>(deserializer: D) -> Result<Option<J>, D::Error> {
    J::deserialize(deserializer).map(Some)
}

/// Says whether JSON is an object.
pub(super) fn is_object(json: &RawValue) -> bool {
    json.get().starts_with('{')
}

/// Compares JSON by its text.
pub(super) fn same(a: Option<&RawValue>, b: Option<&RawValue>) -> bool {
    a.map(RawValue::get) == b.map(RawValue::get)
}
