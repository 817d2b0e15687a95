//! Questions to a schema document that the validator does not answer.

use std::cell::Cell;

use opentool_spec::json::pointer;
use serde_json::{Map, Value};

/// How many `$ref`, `allOf`, `anyOf` and `oneOf` are followed one into the other.
pub(super) const MAX_INDIRECTION: usize = 32;

/// The schema that a local reference (`#` or `#/…`) names; none for every other kind.
pub(super) fn resolve<'s>(reference: &str, document: &'s Value) -> Option<&'s Value> {
    let path = reference.strip_prefix('#')?;
    document.pointer(&pointer::percent_decoded(path))
}

/// The schemas that a schema always applies to the same value: its reference and its parts.
pub(super) fn parts<'s>(schema: &'s Value, document: &'s Value) -> impl Iterator<Item = &'s Value> {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    reference.and_then(|reference| resolve(reference, document)).into_iter().chain(parts)
}

/// The lists of alternatives of which a schema applies some to the same value.
pub(super) fn alternatives(schema: &Value) -> impl Iterator<Item = &Vec<Value>> {
    ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword).and_then(Value::as_array))
}

/// Whether a schema admits whatever there is because it has no keyword at all.
pub(super) fn is_unconditional(schema: &Value) -> bool {
    schema == &Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}

/// The schema that declares a property by name.
pub(super) fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// The schema of a member: as declared, else that of additional properties.
pub(super) fn of_member<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    property(schema, name).or_else(|| schema.get("additionalProperties"))
}

/// The schema of a list's item.
pub(super) fn of_item(schema: &Value, index: usize) -> Option<&Value> {
    let prefixed = schema.get("prefixItems").and_then(|prefix| prefix.get(index));
    prefixed.or_else(|| schema.get("items"))
}

/// The names of the members that a schema requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// How many schemas are asked whether they admit `null`: references can lead to far more.
const MAX_ASKED: usize = 1000;

/// Whether `null` satisfies a schema. Where that is unclear, it counts as a yes.
pub(super) fn admits_null(schema: &Value, document: &Value) -> bool {
    admits_null_within(schema, document, 0, &Cell::new(MAX_ASKED))
}

fn admits_null_within(schema: &Value, document: &Value, indirection: usize, left: &Cell<usize>) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema != &Value::Bool(false);
    };
    if indirection > MAX_INDIRECTION || left.get() == 0 {
        return true;
    }
    left.set(left.get() - 1);
    let admits = |schema| admits_null_within(schema, document, indirection + 1, left);
    let by_type = schema.get("type").is_none_or(|types| match types {
        Value::Array(types) => types.iter().any(|name| name == "null"),
        name => name == "null",
    });
    let by_value = schema.get("const").is_none_or(Value::is_null)
        && schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(&Value::Null));
    let by_reference = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| resolve(reference, document))
        .is_none_or(admits);
    let some = |keyword| {
        let alternatives = schema.get(keyword).and_then(Value::as_array);
        alternatives.is_none_or(|alternatives| alternatives.iter().any(admits))
    };
    let by_parts = schema.get("allOf").and_then(Value::as_array).is_none_or(|parts| parts.iter().all(admits));
    by_type && by_value && by_reference && by_parts && some("anyOf") && some("oneOf")
}
