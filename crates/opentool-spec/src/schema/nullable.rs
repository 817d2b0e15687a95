//! Unions with null, and unions that are left with one branch.

use serde_json::{Map, Value};

use super::keyword::is_annotation;

/// Whether a schema admits null and nothing else.
pub(super) fn is_null(schema: &Value) -> bool {
    let Value::Object(schema) = schema else { return false };
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => !kinds.is_empty() && kinds.iter().all(|kind| kind == "null"),
        _ => match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => value.is_null(),
            (None, Some(Value::Array(values))) => !values.is_empty() && values.iter().all(Value::is_null),
            _ => false,
        },
    }
}

/// Removes null from the values that one schema admits, unless it admits nothing else.
pub(super) fn strip(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        retain_some(kinds, |kind| kind != "null");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        retain_some(values, |value| !value.is_null());
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(union) {
            retain_some(branches, |branch| !is_null(branch));
        }
    }
    single_type(schema);
}

/// Writes a list of one type as that type.
pub(super) fn single_type(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type")
        && let Value::Array(kinds) = kind
        && let [only] = kinds.as_mut_slice()
    {
        *kind = only.take();
    }
}

fn retain_some(list: &mut Vec<Value>, keep: impl Fn(&Value) -> bool) {
    if list.iter().any(&keep) {
        list.retain(keep);
    }
}

/// Replaces a combinator of one branch by the branch, where that means the same; returns whether it did.
///
/// Beside the combinator there may only be annotations, which override those of the branch, and keywords that the
/// branch has with the same value: keywords such as `additionalProperties` depend on their neighbours.
pub(super) fn unwrap_single(schema: &mut Map<String, Value>) -> bool {
    for combinator in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get(combinator) else { continue };
        let [Value::Object(branch)] = branches.as_slice() else { continue };
        let means_the_same = schema.iter().all(|(keyword, value)| {
            keyword == combinator || is_annotation(keyword) || branch.get(keyword) == Some(value)
        });
        if !means_the_same {
            continue;
        }
        if let Some(Value::Array(mut branches)) = schema.shift_remove(combinator)
            && let Some(Value::Object(branch)) = branches.pop()
        {
            for (keyword, value) in branch {
                schema.entry(keyword).or_insert(value);
            }
        }
        return true;
    }
    false
}
