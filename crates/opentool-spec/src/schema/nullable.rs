//! Unions with null, and unions that are left with one branch.
//!
//! A document has no null, so it says `x-nullable: true` beside the type. [`mark`] writes a union in that form, which the rules for
//! optional properties leave alone, and [`unmark`] writes the union again.

use serde_json::{Map, Value, json};

use super::keyword::{self, is_annotation};
use crate::model::Schema;

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

/// Replaces every union with null, at any depth, by its other branches and `x-nullable: true`.
pub(super) fn mark(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    keyword::children_mut(schema, |_, child| mark(child));
    if admits_null_and_more(schema) {
        strip(schema);
        unwrap_single(schema);
        schema.shift_remove(OPENAPI_NULLABLE);
        schema.insert(Schema::NULLABLE.to_owned(), true.into());
    }
}

/// Replaces `x-nullable: true`, at any depth, by a union with null.
pub(super) fn unmark(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    keyword::children_mut(schema, |_, child| unmark(child));
    if schema.get(Schema::NULLABLE) == Some(&Value::Bool(true)) {
        schema.shift_remove(Schema::NULLABLE);
        admit_null(schema);
    }
}

/// The same in OpenAPI 3.0.
const OPENAPI_NULLABLE: &str = "nullable";

/// Whether a schema admits null by name, beside other values.
fn admits_null_and_more(schema: &Map<String, Value>) -> bool {
    let listed = |keyword: &str, is_null: fn(&Value) -> bool| {
        let listed = schema.get(keyword)?;
        Some(listed.as_array().is_some_and(|list| list.iter().any(is_null) && !list.iter().all(is_null)))
    };
    let openapi = schema.get(OPENAPI_NULLABLE).is_some_and(|nullable| nullable == true);
    let kind = if openapi { Some(true) } else { listed("type", |kind| kind == "null") };
    let said = [kind, listed("enum", Value::is_null), listed("anyOf", is_null), listed("oneOf", is_null)];
    // Every keyword that says something about the value must let null through.
    said.contains(&Some(true)) && !said.contains(&Some(false))
}

/// Makes one schema admit null as well.
fn admit_null(schema: &mut Map<String, Value>) {
    let is_combined =
        |keyword: &String| matches!(keyword.as_str(), "$ref" | "anyOf" | "oneOf" | "allOf" | "not" | "const");
    if schema.keys().any(is_combined) {
        let (annotations, rest): (Map<_, _>, Map<_, _>) =
            std::mem::take(schema).into_iter().partition(|(keyword, _)| is_annotation(keyword) || keyword == "$defs");
        *schema = annotations;
        schema.insert("anyOf".into(), json!([rest, { "type": "null" }]));
        keyword::order(schema);
        return;
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => kinds.push("null".into()),
        Some(kind @ Value::String(_)) if kind != "null" => *kind = json!([kind, "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.iter().any(Value::is_null)
    {
        values.push(Value::Null);
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
