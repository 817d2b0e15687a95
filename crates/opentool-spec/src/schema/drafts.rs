//! Updates older drafts of JSON Schema and OpenAPI 3.0 to the 2020-12 draft.

use serde_json::{Map, Value};

/// Rewrites the keywords of one schema that have changed since older drafts.
pub(super) fn modernise(schema: &mut Map<String, Value>) {
    tuple(schema);
    exclusive(schema, "exclusiveMinimum", "minimum");
    exclusive(schema, "exclusiveMaximum", "maximum");
    nullable(schema);
    dependencies(schema);
}

/// `items: [a, b]` of draft 7 is `prefixItems` since 2020-12.
fn tuple(schema: &mut Map<String, Value>) {
    if !matches!(schema.get("items"), Some(Value::Array(_))) || schema.contains_key("prefixItems") {
        return;
    }
    if let Some(list) = schema.shift_remove("items") {
        schema.insert("prefixItems".into(), list);
    }
    if let Some(rest) = schema.shift_remove("additionalItems") {
        schema.insert("items".into(), rest);
    }
}

/// `exclusiveMinimum: true` of draft 4 is a number since draft 6.
fn exclusive(schema: &mut Map<String, Value>, keyword: &str, bound: &str) {
    match schema.get(keyword) {
        Some(Value::Bool(true)) => {
            schema.shift_remove(keyword);
            if let Some(limit @ Value::Number(_)) = schema.shift_remove(bound) {
                schema.insert(keyword.into(), limit);
            }
        }
        Some(Value::Bool(false)) => {
            schema.shift_remove(keyword);
        }
        _ => {}
    }
}

/// `nullable: true` of OpenAPI 3.0 is a type of its own since 3.1.
fn nullable(schema: &mut Map<String, Value>) {
    let Some(&Value::Bool(nullable)) = schema.get("nullable") else { return };
    schema.shift_remove("nullable");
    if let Some(kind) = schema.get_mut("type").filter(|kind| nullable && kind.is_string() && *kind != "null") {
        *kind = Value::Array(vec![kind.take(), "null".into()]);
    }
}

/// `dependencies` of draft 7 is two keywords since 2019-09.
fn dependencies(schema: &mut Map<String, Value>) {
    if !matches!(schema.get("dependencies"), Some(Value::Object(_))) {
        return;
    }
    let Some(Value::Object(all)) = schema.shift_remove("dependencies") else { return };
    for (name, dependency) in all {
        let keyword = if dependency.is_array() { "dependentRequired" } else { "dependentSchemas" };
        let moved = schema.entry(keyword).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(moved) = moved {
            moved.entry(name).or_insert(dependency);
        }
    }
}
