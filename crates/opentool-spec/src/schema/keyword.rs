//! Which keywords of JSON Schema hold schemas, and which hold data that is never rewritten.

use serde_json::{Map, Value};

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A schema, or in older drafts a list of them.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas under names that are not keywords.
    Named,
    /// Anything else: bounds, values, annotations, extensions.
    Data,
}

/// Says what the value of `keyword` is.
pub(super) fn holds(keyword: &str) -> Holds {
    match keyword {
        "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "items"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Holds::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions" => {
            Holds::Named
        }
        _ => Holds::Data,
    }
}

/// Whether `keyword` only annotates a value, without restricting it.
pub(super) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "$id"
            | "$schema"
    ) || keyword.starts_with("x-")
}

/// Whether `wanted` is the type of a schema or one of its types.
pub(super) fn has_type(schema: &Map<String, Value>, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

/// Whether the schemas under `keyword` describe the same value as the schema that has it.
pub(super) fn stays_in_place(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies"
    )
}

/// Calls `visit` with every schema directly inside `schema`, under its keyword, in order.
pub(super) fn children<'a>(schema: &'a Map<String, Value>, mut visit: impl FnMut(&'a str, &'a Value)) {
    for (keyword, value) in schema {
        match (holds(keyword), value) {
            (Holds::Schema | Holds::List, Value::Array(list)) => list.iter().for_each(|child| visit(keyword, child)),
            (Holds::Schema, child) => visit(keyword, child),
            (Holds::Named, Value::Object(named)) => named.values().for_each(|child| visit(keyword, child)),
            _ => {}
        }
    }
}

/// Calls `visit` with every schema directly inside `schema`, under its keyword, in order.
pub(super) fn children_mut(schema: &mut Map<String, Value>, mut visit: impl FnMut(&str, &mut Value)) {
    for (keyword, value) in schema {
        match (holds(keyword), value) {
            (Holds::Schema | Holds::List, Value::Array(list)) => {
                list.iter_mut().for_each(|child| visit(keyword, child));
            }
            (Holds::Schema, child) => visit(keyword, child),
            (Holds::Named, Value::Object(named)) => named.values_mut().for_each(|child| visit(keyword, child)),
            _ => {}
        }
    }
}

/// Puts the keywords of one schema into the order in which we always write them.
///
/// A stable order keeps prompt caches warm, and makes equal schemas equal texts.
pub(super) fn order(schema: &mut Map<String, Value>) {
    if !schema.keys().map(|keyword| rank(keyword)).is_sorted() {
        let mut entries: Vec<_> = std::mem::take(schema).into_iter().collect();
        entries.sort_by_key(|(keyword, _)| rank(keyword));
        schema.extend(entries);
    }
}

fn rank(keyword: &str) -> u8 {
    match keyword {
        "$ref" => 0,
        "type" => 1,
        "description" => 2,
        "enum" => 3,
        "properties" => 4,
        "items" => 5,
        "required" => 6,
        "additionalProperties" => 7,
        "$defs" => 9,
        _ => 8,
    }
}
