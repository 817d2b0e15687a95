//! The rules for one schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{choices, drafts, integers, keyword, nullable};

/// Whether the value of a schema may be absent, as far as the rules depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// A value that is there.
    Present,
    /// A property that may be absent, so that null adds nothing.
    Optional,
    /// A condition or a negation: admitting less here would admit more around it.
    Condition,
}

/// Applies the rules to `schema` and to every schema inside it.
pub(super) fn normalise(schema: &mut Value, presence: Presence) {
    match schema {
        Value::Bool(true) => *schema = Value::Object(Map::new()),
        Value::Object(map) => normalise_object(map, presence),
        _ => {}
    }
}

fn normalise_object(schema: &mut Map<String, Value>, presence: Presence) {
    prepare(schema);
    loop {
        if presence == Presence::Optional {
            nullable::strip(schema);
        }
        if !nullable::unwrap_single(schema) {
            break;
        }
        prepare(schema);
    }
    nullable::single_type(schema);
    descend(schema, presence);
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

/// Drops what means nothing for values and updates older drafts.
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

fn descend(schema: &mut Map<String, Value>, presence: Presence) {
    let required: HashSet<String> = required_names(schema).map(str::to_owned).collect();
    for (name, value) in schema {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (property, child) in properties {
                    let presence = match presence {
                        Presence::Condition => Presence::Condition,
                        _ if required.contains(property) => Presence::Present,
                        _ => Presence::Optional,
                    };
                    normalise(child, presence);
                }
            }
            // A branch is the same value as the schema around it.
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                branches.iter_mut().for_each(|branch| normalise(branch, presence));
            }
            ("not" | "if", child) => normalise(child, Presence::Condition),
            // These are usually booleans; everywhere else `true` is written as `{}`.
            ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", child) => {
                normalise_inner(child, presence);
                if *child == json!({}) {
                    *child = Value::Bool(true);
                }
            }
            (name, Value::Array(list)) if keyword::holds(name) != keyword::Holds::Data => {
                list.iter_mut().for_each(|child| normalise_inner(child, presence));
            }
            (name, Value::Object(named)) if keyword::holds(name) == keyword::Holds::Named => {
                named.values_mut().for_each(|child| normalise_inner(child, presence));
            }
            (name, child) if keyword::holds(name) == keyword::Holds::Schema => normalise_inner(child, presence),
            _ => {}
        }
    }
}

/// A value inside the value: it is present if its container is.
fn normalise_inner(schema: &mut Value, outer: Presence) {
    normalise(schema, if outer == Presence::Condition { outer } else { Presence::Present });
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
