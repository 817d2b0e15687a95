//! What the references of a schema cost: one value is checked against every schema that they lead to.
//!
//! A schema can be short and yet ask for far more work than anything can do, where references lead to references: thirty schemas
//! of which each asks twice for the next one ask a thousand million times for the last. Such a schema is refused. What
//! references multiply only with the nesting of the arguments is bounded as they are checked.

use std::collections::{HashMap, HashSet};

use opentool_spec::json::pointer;
use serde_json::{Map, Value};

use super::error::SchemaError;

/// How many schemas one value may be checked against because of one reference.
const MAX_SCHEMAS: usize = 10_000;

/// How many of them may lead one into the other: the validator calls itself as deeply, for every level of the arguments.
const MAX_CHAIN: usize = 32;

/// The keywords whose value is a reference.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Counts the different references of a schema, and refuses one whose references multiply too much.
pub(super) fn count_references(schema: &Value) -> Result<usize, SchemaError> {
    let mut places = Vec::new();
    find(schema, &mut String::new(), &mut places);
    let names = Names::new(schema);
    let mut different = HashSet::new();
    for (place, found) in &places {
        let mut work = Work { names: &names, left: MAX_SCHEMAS, open: Vec::new() };
        work.follow(found).map_err(|message| SchemaError::Invalid { pointer: place.clone(), message })?;
        different.extend(found.as_object().into_iter().flat_map(references));
    }
    Ok(different.len())
}

/// Finds the objects that hold a reference, with their places.
fn find<'s>(value: &'s Value, place: &mut String, found: &mut Vec<(String, &'s Value)>) {
    let mut below = |name: &str, value: &'s Value| {
        let length = place.len();
        pointer::push(place, name);
        find(value, place, found);
        place.truncate(length);
    };
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(name, value)| below(name, value));
            if references(map).next().is_some() {
                found.push((place.clone(), value));
            }
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| below(&index.to_string(), item)),
        _ => {}
    }
}

fn references(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|keyword| schema.get(*keyword)?.as_str())
}

/// Where the references of a schema lead.
struct Names<'s> {
    root: &'s Value,
    /// Schemas that have a name or an address of their own.
    named: HashMap<&'s str, &'s Value>,
}

impl<'s> Names<'s> {
    fn new(root: &'s Value) -> Self {
        let mut named = HashMap::new();
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(map) => {
                    let keywords = ["$anchor", "$dynamicAnchor", "$id", "id"];
                    for name in keywords.iter().filter_map(|keyword| map.get(*keyword)?.as_str()) {
                        named.insert(last_part(name.trim_start_matches('#')), value);
                    }
                    open.extend(map.values());
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        Self { root, named }
    }

    /// The schema that a reference names. One that is not found here counts as a schema without references.
    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if address.is_empty() { self.root } else { self.named.get(last_part(address))? };
        match fragment {
            "" => Some(resource),
            path if path.starts_with('/') => resource.pointer(&pointer::percent_decoded(path)),
            name => self.named.get(name).copied(),
        }
    }
}

/// The last part of an address, which is enough to tell the schemas of one document apart.
fn last_part(address: &str) -> &str {
    address.trim_end_matches('#').rsplit('/').next().unwrap_or(address)
}

/// Counts the schemas that one value is checked against.
struct Work<'s, 'n> {
    names: &'n Names<'s>,
    left: usize,
    /// The schemas that lead to this one: the validator does not enter one of them again for the same value.
    open: Vec<&'s Value>,
}

impl<'s> Work<'s, '_> {
    fn follow(&mut self, schema: &'s Value) -> Result<(), String> {
        let Some(map) = schema.as_object() else { return Ok(()) };
        if self.open.iter().any(|open| std::ptr::eq(*open, schema)) {
            return Ok(());
        }
        if self.left == 0 {
            return Err(format!(
                "its references multiply: one value would be checked against more than {MAX_SCHEMAS} schemas"
            ));
        }
        if self.open.len() == MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} schemas for the same value lead one into the other"));
        }
        self.left -= 1;
        self.open.push(schema);
        for reference in references(map) {
            self.names.resolve(reference).map_or(Ok(()), |target| self.follow(target))?;
        }
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                    parts.iter().try_for_each(|part| self.follow(part))?
                }
                ("not" | "if" | "then" | "else", part) => self.follow(part)?,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    parts.values().try_for_each(|part| self.follow(part))?;
                }
                _ => {}
            }
        }
        self.open.pop();
        Ok(())
    }
}
