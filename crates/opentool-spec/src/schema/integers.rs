//! Bounds of the machine's integers, which formats such as `int32` only hint at.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::keyword::has_type;

/// Replaces an `int32`-style format by the bounds it means; tighter bounds stay.
pub(super) fn bound(schema: &mut Map<String, Value>) {
    let Some(Value::String(format)) = schema.get("format") else { return };
    if has_type(schema, "integer") {
        // A platform's `isize` is written as the 64 bits it has almost everywhere, so that the schema of a
        // tool does not depend on the machine that printed it.
        let (low, high): (Number, Number) = match format.as_str() {
            "int8" => (i8::MIN.into(), i8::MAX.into()),
            "int16" => (i16::MIN.into(), i16::MAX.into()),
            "int32" => (i32::MIN.into(), i32::MAX.into()),
            "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
            "uint8" => (0.into(), u8::MAX.into()),
            "uint16" => (0.into(), u16::MAX.into()),
            "uint32" => (0.into(), u32::MAX.into()),
            "uint64" | "uint" => (0.into(), u64::MAX.into()),
            // JSON numbers are not read beyond 64 bits, so there is no bound that could be checked.
            "int128" => return drop(schema.shift_remove("format")),
            "uint128" => {
                schema.shift_remove("format");
                return tighten(schema, "minimum", "exclusiveMinimum", 0.into(), Ordering::Less);
            }
            _ => return,
        };
        schema.shift_remove("format");
        tighten(schema, "minimum", "exclusiveMinimum", low, Ordering::Less);
        tighten(schema, "maximum", "exclusiveMaximum", high, Ordering::Greater);
    } else if has_type(schema, "number") && matches!(format.as_str(), "float" | "double") {
        schema.shift_remove("format");
    }
}

/// Sets `keyword` to `limit` unless the schema has a bound that is at least as tight.
///
/// `looser` is how a bound that admits more than `limit` compares to it.
fn tighten(schema: &mut Map<String, Value>, keyword: &str, exclusive: &str, limit: Number, looser: Ordering) {
    let tight = |bound: Option<&Value>| match bound {
        Some(Value::Number(bound)) => compare(bound, &limit) != looser,
        _ => false,
    };
    if !tight(schema.get(keyword)) && !tight(schema.get(exclusive)) {
        schema.insert(keyword.into(), Value::Number(limit));
    }
}

/// Compares exactly where both are integers: a double cannot tell `u64::MAX` from its neighbours.
fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
    }
}
