//! The words that refusals are made of, and the refusals that need no schema.

use std::fmt::Display;

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use super::{
    cursor::Malformed,
    error::{ArgumentError, MAX_PROBLEMS, Problem, SchemaError, abridged},
    tree::{Item, Kind, Tree},
};

/// How many characters of a value are quoted.
pub(super) const MAX_QUOTED: usize = 60;
/// How many values or names of a list are told.
const MAX_LISTED: usize = 20;
/// How alike names must be for one to be suggested for the other.
const NEAR: f64 = 0.75;
/// How many near names are suggested.
const MAX_NEAR: usize = 3;

/// Refuses a text that is not JSON.
pub fn malformed(arguments: &str, Malformed { at, what }: Malformed) -> ArgumentError {
    let before = arguments.get(..at).unwrap_or(arguments);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let found = match arguments.get(at..).and_then(|rest| rest.chars().next()) {
        Some(character) => format!("{character:?}"),
        None => "the end".to_owned(),
    };
    let message = format!("malformed JSON at line {line}, column {column}: {what}, found {found}");
    ArgumentError::new("", message)
}

/// A root that is not an object.
pub(super) fn not_an_object(arguments: &str, root: &Item<'_>) -> ArgumentError {
    let got = got(root, arguments);
    ArgumentError::new("", format!("expected the arguments as a JSON object, got {got}"))
}

/// Names that are there twice.
pub(super) fn duplicates(tree: &Tree<'_>) -> ArgumentError {
    let total = tree.duplicates.len();
    let told = tree.duplicates.iter().take(MAX_PROBLEMS).filter_map(|&start| {
        let (pointer, name) = tree.root.member_at(start)?;
        let message = format!("the name {} is there more than once", quoted(name));
        Some(Problem { pointer, message })
    });
    ArgumentError::from_problems(told).with_omitted(total.saturating_sub(MAX_PROBLEMS))
}

/// Root arguments that the schema does not name.
pub(super) fn unknown_names(unknown: &[&str], schema: &Value) -> ArgumentError {
    let known = schema.get("properties").and_then(Value::as_object);
    let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
    ArgumentError::from_problems(unknown.iter().map(|name| {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        Problem { pointer, message: format!("unknown argument {}{}", quoted(name), suggestion(name, &known)) }
    }))
}

/// What the root of a schema is that is no object schema.
pub(super) fn root_of(schema: &Value) -> String {
    let text = match schema.get("type") {
        Some(name) => format!("{{\"type\": {name}, …}}"),
        None if schema.is_object() => "a schema without a type".to_owned(),
        None => schema.to_string(),
    };
    abridged(&text, MAX_QUOTED).into_owned()
}

/// A schema that does not compile.
pub(super) fn schema_error(error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        ValidationErrorKind::Referencing(reference) => SchemaError::Reference { message: reference.to_string() },
        _ => SchemaError::Invalid { pointer: error.instance_path().as_str().to_owned(), message: error.to_string() },
    }
}

/// What a value is: its type and, if that is short, its own text.
pub(super) fn got(item: &Item<'_>, arguments: &str) -> String {
    let name = match &item.kind {
        Kind::Null => return "null".to_owned(),
        Kind::Array(_) => return "array".to_owned(),
        Kind::Object(_) => return "object".to_owned(),
        Kind::Bool(_) => "boolean",
        Kind::Number(number) if number.quantity.is_integer() => "integer",
        Kind::Number(_) => "number",
        Kind::String(_) => "string",
    };
    format!("{name} {}", abridged(item.text(arguments), MAX_QUOTED))
}

/// A name as JSON, abridged.
pub(super) fn quoted(name: &str) -> String {
    Value::from(&*abridged(name, MAX_QUOTED)).to_string()
}

/// A list of things, with commas, to a certain length.
pub(super) fn listed<T: Display>(things: impl ExactSizeIterator<Item = T>) -> String {
    let omitted = things.len().saturating_sub(MAX_LISTED);
    let mut text = String::new();
    for (index, thing) in things.take(MAX_LISTED).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(&abridged(&thing.to_string(), MAX_QUOTED));
    }
    if omitted > 0 {
        text.push_str(&format!(" and {omitted} more"));
    }
    text
}

/// What to say after an unknown name: the names that were perhaps meant, else all there are.
pub(super) fn suggestion(name: &str, known: &[&str]) -> String {
    let name = abridged(name, MAX_QUOTED).to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|&known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    near.truncate(MAX_NEAR);
    match (near.as_slice(), known) {
        ([], []) => ", none is expected".to_owned(),
        ([], known) => format!(", expected {}", listed(known.iter().map(|name| quoted(name)))),
        (near, _) => {
            let near: Vec<_> = near.iter().map(|(_, name)| quoted(name)).collect();
            format!(", did you mean {}?", near.join(" or "))
        }
    }
}
