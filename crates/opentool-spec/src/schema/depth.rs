//! A limit on nesting.

use serde_json::Value;

use super::error::NormaliseError;

/// The deepest nesting of JSON values that a schema may have.
///
/// `serde_json` reads no text deeper than 128 levels; a [`Value`] built by hand knows no limit. Twice the
/// reader's limit leaves room for what a conversion wraps around a schema, and bounds every recursion here.
pub const MAX_SCHEMA_DEPTH: usize = 256;

/// Refuses a value nested deeper than [`MAX_SCHEMA_DEPTH`], without recursion and without touching it.
pub(super) fn check(value: &Value) -> Result<(), NormaliseError> {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(NormaliseError::TooDeep { limit: MAX_SCHEMA_DEPTH });
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}
