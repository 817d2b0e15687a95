//! The rules for one schema, wherever it stands.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{choices, drafts, integers, keyword, nullable};

/// Where a schema stands, as far as the rules depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A value that is there.
    Present,
    /// A property that may be absent, so that null has nothing to say.
    Optional,
    /// A condition or a negation: taking a value out would put one in elsewhere.
    Condition,
}

/// Applies the rules to `schema` and to every schema inside it.
pub(super) fn normalise(schema: &mut Value, place: Place) {
    match schema {
        Value::Bool(true) => *schema = Value::Object(Map::new()),
        Value::Object(map) => normalise_object(map, place),
        _ => {}
    }
}

fn normalise_object(schema: &mut Map<String, Value>, place: Place) {
    prepare(schema);
    loop {
        if place == Place::Optional {
            nullable::strip(schema);
        }
        if !nullable::unwrap_single(schema) {
            break;
        }
        prepare(schema);
    }
    nullable::single_type(schema);
    descend(schema, place);
    loop {
        choices::constant(schema);
        integers::bound(schema);
        tidy(schema);
        if !choices::join(schema) && !nullable::unwrap_single(schema) {
            break;
        }
    }
    keyword::order(schema);
}

/// Drops what says nothing about values and brings older drafts up to date.
fn prepare(schema: &mut Map<String, Value>) {
    for noise in ["$schema", "$id", "$comment", "title"] {
        if schema.get(noise).is_some_and(Value::is_string) {
            schema.shift_remove(noise);
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    drafts::modernise(schema);
}

fn descend(schema: &mut Map<String, Value>, place: Place) {
    let required: HashSet<String> = required_names(schema).map(str::to_owned).collect();
    for (name, value) in schema {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (property, child) in properties {
                    let place = match place {
                        Place::Condition => Place::Condition,
                        _ if required.contains(property) => Place::Present,
                        _ => Place::Optional,
                    };
                    normalise(child, place);
                }
            }
            // A branch is the same value as the schema around it.
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                branches.iter_mut().for_each(|branch| normalise(branch, place));
            }
            ("not" | "if", child) => normalise(child, Place::Condition),
            // These are at home with a boolean; everywhere else `true` is written as `{}`.
            ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", child) => {
                normalise_inner(child, place);
                if *child == json!({}) {
                    *child = Value::Bool(true);
                }
            }
            (name, Value::Array(list)) if keyword::holds(name) != keyword::Holds::Data => {
                list.iter_mut().for_each(|child| normalise_inner(child, place));
            }
            (name, Value::Object(named)) if keyword::holds(name) == keyword::Holds::Named => {
                named.values_mut().for_each(|child| normalise_inner(child, place));
            }
            (name, child) if keyword::holds(name) == keyword::Holds::Schema => normalise_inner(child, place),
            _ => {}
        }
    }
}

/// A value inside the value: it is there, whatever its container is.
fn normalise_inner(schema: &mut Value, outer: Place) {
    normalise(schema, if outer == Place::Condition { outer } else { Place::Present });
}

fn required_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Puts `required` into the order of the properties and drops empty containers.
fn tidy(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(required)) = schema.get("required")
        && required.iter().all(Value::is_string)
    {
        let required = in_property_order(schema);
        if required.is_empty() {
            schema.shift_remove("required");
        } else {
            schema.insert("required".into(), required.into());
        }
    }
    if schema.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty) {
        schema.shift_remove("properties");
    }
}

/// The required names without repetition: first those of properties, in their order, then the others.
pub(super) fn in_property_order(schema: &Map<String, Value>) -> Vec<Value> {
    let required: HashSet<&str> = required_names(schema).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut seen = HashSet::new();
    properties
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .filter(|name| required.contains(name))
        .chain(required_names(schema))
        .filter(|name| seen.insert(*name))
        .map(Value::from)
        .collect()
}
