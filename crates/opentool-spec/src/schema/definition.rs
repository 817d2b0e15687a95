//! One definition, while its schema is being normalised: references to it are numbers.

use serde_json::{Map, Value};

use super::keyword;

/// A definition taken out of a schema.
#[derive(Debug)]
pub(super) struct Definition {
    /// The name it had, reduced to characters that need no escaping in a reference.
    pub(super) name: String,
    /// What it defines.
    pub(super) body: Value,
}

/// The numbers of the definitions that `schema` refers to itself, in order, with repetitions.
pub(super) fn references(schema: &Value) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(schema) = schema else { continue };
        found.extend(number_of(schema));
        let from = open.len();
        keyword::children(schema, |_, child| open.push(child));
        open[from..].reverse();
    }
    found
}

/// The number of the definition that a schema refers to.
pub(super) fn number_of(schema: &Map<String, Value>) -> Option<usize> {
    schema.get("$ref").and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}
