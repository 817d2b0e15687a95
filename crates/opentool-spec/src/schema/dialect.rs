//! What each provider takes.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::dropped::{DropLog, Dropped};
use super::node::{self, Presence};
use super::{anthropic_strict, gemini, keyword, ollama, openai_strict};

/// The JSON Schema that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI function calling: arrays have `items`, and the root has no combinators.
    OpenAi,
    /// OpenAI function calling with `strict: true`: a small part of JSON Schema, in which every property is required,
    /// optional ones may be null, and nothing else may be there.
    OpenAiStrict,
    /// Anthropic tool use: the root has no combinators.
    Anthropic,
    /// Anthropic structured outputs: closed objects, whose properties may be optional, and nothing that restricts a value but
    /// its type, its choices and some formats.
    AnthropicStrict,
    /// Gemini function calling, as `parametersJsonSchema`: a part of JSON Schema.
    Gemini,
    /// Ollama, which reads types, descriptions, choices, properties and items, and no references.
    Ollama,
}

/// A schema as a provider takes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Adapted {
    /// The schema to send.
    pub schema: Value,
    /// Whether the provider can be asked to follow the schema strictly.
    pub strict: bool,
    /// The keywords that the schema to send does not have any more, with pointers into the original schema.
    pub dropped: Vec<Dropped>,
    /// Why strictness is impossible although the dialect asks for it, with pointers into the original schema.
    pub obstacles: Vec<Dropped>,
}

impl Dialect {
    /// Writes a schema of arguments, as [`normalise`](super::normalise()) makes it, in this dialect.
    ///
    /// What a dialect cannot express is dropped and reported; arguments are still checked against the original
    /// schema. Where a strict schema would have to refuse arguments that the tool accepts, such as the entries of a
    /// map, there is none: the schema is that of the plain dialect, and the obstacles are the reasons.
    ///
    /// ```
    /// use opentool_spec::schema::{Dialect, normalise};
    ///
    /// let mut schema = serde_json::json!({ "properties": { "label": { "type": "string", "maxLength": 9 } } });
    /// normalise(&mut schema)?;
    /// let strict = Dialect::OpenAiStrict.adapt(&schema);
    /// assert!(strict.strict);
    /// assert_eq!(strict.schema["properties"]["label"], serde_json::json!({ "type": ["string", "null"] }));
    /// assert_eq!(strict.schema["required"], serde_json::json!(["label"]));
    /// assert_eq!(strict.dropped[0].to_string(), "maxLength at /properties/label: not supported in strict schemas");
    /// # Ok::<(), opentool_spec::schema::NormaliseError>(())
    /// ```
    pub fn adapt(self, schema: &Value) -> Adapted {
        match self {
            Dialect::OpenAi => plain(schema, true),
            Dialect::Anthropic => plain(schema, false),
            Dialect::Gemini => then(plain(schema, false), gemini::adapt),
            Dialect::Ollama => then(plain(schema, true), ollama::adapt),
            Dialect::AnthropicStrict => match anthropic_strict::adapt(without_machine_bounds(schema)) {
                Ok((schema, dropped)) => Adapted { schema, strict: true, dropped, obstacles: Vec::new() },
                Err(obstacles) => Adapted { obstacles, ..plain(schema, false) },
            },
            Dialect::OpenAiStrict => match openai_strict::adapt(schema) {
                Ok((schema, dropped)) => Adapted { schema, strict: true, dropped, obstacles: Vec::new() },
                Err(obstacles) => Adapted { obstacles, ..plain(schema, true) },
            },
        }
    }
}

/// Writes a schema that providers take in the dialect of one of them.
fn then(adapted: Adapted, write: fn(&Value) -> (Value, Vec<Dropped>)) -> Adapted {
    let (schema, more) = write(&adapted.schema);
    let mut dropped = adapted.dropped;
    dropped.extend(more);
    Adapted { schema, dropped, ..adapted }
}

/// Drops the bounds of 64-bit integers, which every reader of them has anyway.
///
/// llama.cpp, which speaks the wires of both providers, takes the one for no bound at all and overflows at the other, and then
/// refuses the whole request.
fn drop_machine_bounds(schema: &mut Map<String, Value>) {
    schema.retain(|keyword, bound| match keyword.as_str() {
        "minimum" => bound.as_i64() != Some(i64::MIN),
        "maximum" => bound.as_i64() != Some(i64::MAX) && bound.as_u64() != Some(u64::MAX),
        _ => true,
    });
    keyword::children_mut(schema, |_, child| {
        if let Value::Object(child) = child {
            drop_machine_bounds(child);
        }
    });
}

fn without_machine_bounds(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(root) = &mut schema {
        drop_machine_bounds(root);
    }
    schema
}

/// The schema without what providers refuse even where they are not strict.
fn plain(schema: &Value, arrays_need_items: bool) -> Adapted {
    let mut schema = schema.clone();
    let mut report = DropLog::default();
    if let Value::Object(root) = &mut schema {
        describe_from_branches(root);
        for combinator in COMBINATORS.into_iter().chain(["not", "enum"]) {
            if root.shift_remove(combinator).is_some() {
                report.drop(combinator, "not supported at the root of a tool's schema");
            }
        }
        if arrays_need_items {
            give_items(root);
        }
        drop_machine_bounds(root);
    }
    Adapted { schema, strict: false, dropped: report.dropped, obstacles: Vec::new() }
}

/// The keywords that describe a value in branches.
const COMBINATORS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Describes the properties that only the branches of the root describe: the branches will not be sent.
fn describe_from_branches(root: &mut Map<String, Value>) {
    if !COMBINATORS.iter().any(|combinator| root.contains_key(*combinator)) {
        return;
    }
    let mut found: IndexMap<String, Vec<Value>> = IndexMap::new();
    let mut seen = HashSet::new();
    let mut open = vec![&*root];
    while let Some(schema) = open.pop() {
        for combinator in COMBINATORS {
            let branches = schema.get(combinator).and_then(Value::as_array).into_iter().flatten();
            open.extend(branches.rev().filter_map(Value::as_object));
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"))
            && seen.insert(name)
        {
            open.extend(root.get("$defs").and_then(|definitions| definitions.get(name)).and_then(Value::as_object));
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            found.entry(name.clone()).or_default().push(property.clone());
        }
    }
    let Some(Value::Object(properties)) = root.get_mut("properties") else { return };
    for (name, mut schemas) in found {
        let mut seen = HashSet::new();
        schemas.retain(|schema| seen.insert(schema.to_string()));
        if let Some(property) = properties.get_mut(&name).filter(|property| **property == json!({}))
            && schemas.len() > 1
        {
            schemas.retain(|schema| *schema != json!({}));
            *property = json!({ "anyOf": schemas });
            node::normalise(property, Presence::Present);
        }
    }
}

/// Gives every array `items`, `{}` where any value is allowed.
fn give_items(schema: &mut Map<String, Value>) {
    if keyword::has_type(schema, "array") && !schema.get("items").is_some_and(Value::is_object) {
        schema.insert("items".into(), json!({}));
        keyword::order(schema);
    }
    keyword::children_mut(schema, |_, child| {
        if let Value::Object(child) = child {
            give_items(child);
        }
    });
}
