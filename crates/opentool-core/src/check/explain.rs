//! The words that refusals are made of, and the refusals that need no schema.

use std::{borrow::Cow, fmt::Display};

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
};
use opentool_spec::json::{self, JsonError, excerpt, near, pointer};
use serde_json::Value;

use super::{
    error::{ArgumentError, MAX_PROBLEMS, Problem, SchemaError},
    indexed::IndexedText,
    subject::Subject,
    value::{JsonKind, JsonValue},
};

/// How many characters of a value are quoted.
pub(super) const MAX_QUOTED: usize = 60;
/// How many values or names of a list are shown.
const MAX_LISTED: usize = 20;
/// How many near names are suggested.
const MAX_NEAR: usize = 3;

/// Refuses a text that is not JSON.
pub(super) fn malformed(arguments: &str, error: JsonError) -> ArgumentError {
    ArgumentError::new("", format!("malformed JSON at {}", error.describe(arguments)))
}

/// A root that is not an object.
pub(super) fn not_an_object(root: JsonValue<'_>, subject: Subject) -> ArgumentError {
    ArgumentError::new("", format!("expected {}, got {}", subject.root(), got(root)))
}

/// Names that are there twice.
pub(super) fn duplicates(document: &IndexedText<'_>) -> ArgumentError {
    let (places, total) = document.duplicates();
    let described = places.iter().take(MAX_PROBLEMS).filter_map(|&start| {
        let (pointer, name) = JsonValue::root(document).member_at(start)?;
        let message = format!("the name {} is there more than once", quoted(&name));
        Some(Problem { pointer, message })
    });
    ArgumentError::from_problems(described).with_omitted(total.saturating_sub(MAX_PROBLEMS))
}

/// Members of the root that the schema does not name.
pub(super) fn unknown_names<'a>(
    unknown: impl Iterator<Item = Cow<'a, str>>,
    schema: &Value,
    subject: Subject,
) -> ArgumentError {
    let known = schema.get("properties").and_then(Value::as_object);
    let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
    let mut unknown = unknown.peekable();
    let mut described = Vec::new();
    while let Some(name) = unknown.next_if(|_| described.len() < MAX_PROBLEMS) {
        let noun = subject.member("");
        let message = format!("unknown {noun} {}{}", quoted(&name), suggestion(&name, &known));
        described.push(Problem::new(pointer::to_member(&name), message));
    }
    ArgumentError::from_problems(described).with_omitted(unknown.count())
}

/// What the root of a schema is that is no object schema.
pub(super) fn root_of(schema: &Value) -> String {
    let text = match schema.get("type") {
        Some(name) => format!("{{\"type\": {name}, …}}"),
        None if schema.is_object() => "a schema without a type".to_owned(),
        None => schema.to_string(),
    };
    excerpt(&text, MAX_QUOTED).into_owned()
}

/// A schema that does not compile.
pub(super) fn schema_error(error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        ValidationErrorKind::Referencing(reference) => SchemaError::Reference { message: reference.to_string() },
        _ => {
            // What breaks the rules of JSON Schema stands in the instance of its own schema. What cannot be compiled stands in
            // the schema.
            let pointer = match error.instance_path().as_str() {
                "" => error.schema_path().as_str(),
                pointer => pointer,
            };
            SchemaError::Invalid { pointer: pointer.to_owned(), message: error.to_string() }
        }
    }
}

/// What a value is: its type and, if that is short, its own text.
pub(super) fn got(value: JsonValue<'_>) -> String {
    let name = match value.kind() {
        JsonKind::Null => return "null".to_owned(),
        JsonKind::Array => return "array".to_owned(),
        JsonKind::Object => return "object".to_owned(),
        JsonKind::Bool => "boolean",
        JsonKind::Number if value.number().is_some_and(|number| number.quantity.is_integer()) => "integer",
        JsonKind::Number => "number",
        JsonKind::String => "string",
    };
    format!("{name} {}", excerpt(value.text(), MAX_QUOTED))
}

/// A name as JSON, abridged.
pub(super) fn quoted(name: &str) -> String {
    json::quoted(&excerpt(name, MAX_QUOTED))
}

/// A list of things, with commas, to a certain length.
pub(super) fn listed<T: Display>(things: impl ExactSizeIterator<Item = T>) -> String {
    let omitted = things.len().saturating_sub(MAX_LISTED);
    let mut text = String::new();
    for (index, thing) in things.take(MAX_LISTED).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(&excerpt(&thing.to_string(), MAX_QUOTED));
    }
    if omitted > 0 {
        text.push_str(&format!(" and {omitted} more"));
    }
    text
}

/// What to say after an unknown name: the names that were perhaps meant, else all there are.
pub(super) fn suggestion(name: &str, known: &[&str]) -> String {
    let near = near::names(name, known.iter().copied(), MAX_NEAR);
    match (near.as_slice(), known) {
        ([], []) => ", none is expected".to_owned(),
        ([], known) => format!(", expected {}", listed(known.iter().map(|name| quoted(name)))),
        (near, _) => {
            let near: Vec<_> = near.iter().map(|name| quoted(name)).collect();
            format!(", did you mean {}?", near.join(" or "))
        }
    }
}

/// The types that were expected.
pub(super) fn types(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(name) => vec![name.to_string()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
    }
}
