//! Turns any generator's schema into the one form that tools publish.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::definition::{Definition, number_of};
use super::definitions;
use super::error::NormaliseError;
use super::node::{self, Presence};
use super::{cycles, depth, keyword, nullable};
use crate::model::Schema;

/// Turns the schema of a tool's arguments into the form that every provider and client accepts.
///
/// The root is always `{"type":"object","properties":{…},"required":[…],"additionalProperties":false}` in this
/// order, then other keywords, then `$defs`; also for a tool without parameters, whose schema may come as
/// `null`, `true`, `{}` or that of `()`. Everywhere:
///
/// - no `$schema`, `$id`, `$comment` or `title`, no `default: null`; the root has no `description` either, since
///   the tool has one;
/// - an optional property is absent from `required` and not a union with null; other unions with null, such as
///   the items of a `Vec<Option<T>>`, stay;
/// - a choice between constants is an `enum` with a `type`; the documentation of variants joins the description;
/// - integers have bounds instead of formats such as `int32`;
/// - free JSON is `{}`, maps keep their `additionalProperties` (also a map that is the root itself);
/// - definitions are in `$defs` of the root, in the order of their first use: equal ones once, colliding names
///   numbered, unused ones dropped; keywords of older drafts and OpenAPI 3.0 are updated;
/// - keywords have a fixed order, properties the one in which they were declared.
///
/// Values under `enum`, `const`, `default` and `examples` are data and are never changed. Normalising twice changes
/// nothing more. On an error the schema is left as it was.
///
/// ```
/// let mut schema = serde_json::json!({
///     "$schema": "https://json-schema.org/draft/2020-12/schema",
///     "title": "Alarm",
///     "properties": { "minutes": { "type": "integer", "format": "uint8" }, "label": { "type": ["string", "null"] } },
///     "required": ["minutes"],
///     "type": "object",
/// });
/// opentool_spec::schema::normalise(&mut schema)?;
/// assert_eq!(
///     schema.to_string(),
///     r#"{"type":"object","properties":{"minutes":{"type":"integer","minimum":0,"maximum":255},"label":{"type":"string"}},"required":["minutes"],"additionalProperties":false}"#,
/// );
/// # Ok::<(), opentool_spec::schema::NormaliseError>(())
/// ```
///
/// # Errors
///
/// [`NormaliseError::NotAnObject`] where the root describes anything but an object, [`NormaliseError::Unresolved`] where a
/// reference into the schema leads nowhere, [`NormaliseError::TooDeep`] where the schema is nested deeper than
/// [`MAX_SCHEMA_DEPTH`](super::MAX_SCHEMA_DEPTH).
pub fn normalise(schema: &mut Value) -> Result<(), NormaliseError> {
    depth::check(schema)?;
    let mut work = if schema.is_null() { json!({}) } else { schema.clone() };
    let definitions = take_normalised(&mut work, Presence::Optional)?;
    if nullable::is_null(&work) {
        work = json!({});
    }
    finish_root(&mut work, &definitions)?;
    definitions::put(&mut work, definitions);
    *schema = work;
    Ok(())
}

/// Turns the schema of a tool's result into the form of [`normalise`]; its root may have any type.
///
/// # Errors
///
/// [`NormaliseError::NotASchema`] where the root is neither an object nor a boolean nor null, which means `{}`;
/// else as [`normalise`], except that the root may describe anything. On an error the schema is left as it was.
pub fn normalise_output(schema: &mut Value) -> Result<(), NormaliseError> {
    depth::check(schema)?;
    let mut work = match schema {
        Value::Null => json!({}),
        Value::Object(_) | Value::Bool(_) => schema.clone(),
        other => return Err(NormaliseError::NotASchema { found: other.to_string() }),
    };
    let definitions = take_normalised(&mut work, Presence::Present)?;
    definitions::put(&mut work, definitions);
    *schema = work;
    Ok(())
}

/// Extracts the definitions of a schema and normalises them and the schema.
fn take_normalised(schema: &mut Value, presence: Presence) -> Result<Vec<Definition>, NormaliseError> {
    let mut definitions = definitions::take(schema)?;
    cycles::cut(&mut definitions);
    for definition in &mut definitions {
        node::normalise(&mut definition.body, Presence::Present);
    }
    node::normalise(schema, presence);
    definitions::share(schema, &mut definitions);
    if let Value::Object(root) = schema
        && root.contains_key("$ref")
    {
        open_root(root, &definitions);
        node::normalise(schema, presence);
    }
    Ok(definitions)
}

/// Replaces a root that only refers to a definition by that definition.
fn open_root(root: &mut Map<String, Value>, definitions: &[Definition]) {
    while let Some(number) = number_of(root) {
        let Value::Object(body) = &definitions[number].body else { return };
        let means_the_same = root.iter().all(|(keyword, value)| {
            let is_note = keyword::is_annotation(keyword) && keyword != Schema::NULLABLE;
            keyword == "$ref" || is_note || body.get(keyword) == Some(value)
        });
        if !means_the_same {
            return;
        }
        root.shift_remove("$ref");
        for (keyword, value) in body {
            root.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Gives a normalised root the four members that it always has.
fn finish_root(schema: &mut Value, definitions: &[Definition]) -> Result<(), NormaliseError> {
    let found = in_words(schema);
    let Value::Object(root) = schema else { return Err(NormaliseError::NotAnObject { found }) };
    let is_object = match root.get("type") {
        Some(kind) => kind == "object",
        None => root.keys().all(|keyword| keyword::is_annotation(keyword) || is_about_objects(keyword)),
    };
    if !is_object {
        return Err(NormaliseError::NotAnObject { found });
    }

    root.shift_remove("description");
    if let Some(reference) = root.shift_remove("$ref") {
        // Clients look for a type at the root, not for a reference with neighbours.
        let all = root.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(json!({ "$ref": reference }));
        }
    }
    let mut properties = match root.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let additional = root.shift_remove("additionalProperties").unwrap_or_else(|| {
        // `additionalProperties: false` would refuse properties that only a branch or `required` names: add them.
        for name in names_in_branches(root, definitions) {
            properties.entry(name).or_insert_with(|| json!({}));
        }
        Value::Bool(false)
    });
    root.insert("properties".into(), Value::Object(properties));
    let required = node::in_property_order(root);

    let mut rest = std::mem::take(root);
    root.insert("type".into(), "object".into());
    root.extend(rest.shift_remove_entry("properties"));
    root.insert("required".into(), required.into());
    root.insert("additionalProperties".into(), additional);
    root.extend(rest.into_iter().filter(|(keyword, _)| !matches!(keyword.as_str(), "type" | "required")));
    Ok(())
}

/// The properties that the branches of a root and its `required` name.
fn names_in_branches(root: &Map<String, Value>, definitions: &[Definition]) -> Vec<String> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            names.extend(properties.keys().cloned());
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            names.extend(required.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        if let Some(number) = number_of(schema).filter(|number| seen.insert(*number)) {
            open.extend(definitions[number].body.as_object());
        }
        let from = open.len();
        keyword::children(schema, |keyword, child| {
            if keyword::stays_in_place(keyword) {
                open.extend(child.as_object());
            }
        });
        open[from..].reverse();
    }
    names
}

fn is_about_objects(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "dependentRequired"
            | "dependentSchemas"
    )
}

/// What a root describes that is not an object.
fn in_words(schema: &Value) -> String {
    match schema {
        Value::Object(map) => match map.get("type") {
            Some(Value::String(kind)) => format!("of type {kind}"),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<_> = kinds.iter().filter_map(Value::as_str).collect();
                format!("of type {}", kinds.join(" or "))
            }
            _ => match ["$ref", "oneOf", "anyOf", "allOf", "enum", "not"]
                .iter()
                .find(|keyword| map.contains_key(**keyword))
            {
                Some(keyword) => format!("given by {keyword}"),
                None => "without a type".to_owned(),
            },
        },
        Value::Bool(false) => "false, which admits nothing".to_owned(),
        other => format!("the JSON value {other}"),
    }
}
