//! Choices between values: `const`, `enum`, and unions of them.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Writes `const` as an `enum` of one value and adds the type of an `enum` without one.
pub(super) fn constant(schema: &mut Map<String, Value>) {
    if let Some(value) = schema.get("const")
        && match schema.get("enum") {
            None => true,
            Some(Value::Array(values)) => values.contains(value),
            Some(_) => false,
        }
        && let Some(value) = schema.shift_remove("const")
    {
        schema.insert("enum".into(), Value::Array(vec![value]));
    }
    if let Some(Value::Array(values)) = schema.get("enum")
        && !schema.contains_key("type")
        && !schema.contains_key("$ref")
    {
        if !schema.contains_key("const") && !values.is_empty() && values.iter().all(Value::is_null) {
            schema.shift_remove("enum");
            schema.insert("type".into(), "null".into());
        } else if let Some(kind) = type_of_all(values) {
            schema.insert("type".into(), kind);
        }
    }
}

/// The one scalar type of `values`, with null beside it where that occurs.
fn type_of_all(values: &[Value]) -> Option<Value> {
    let mut found = None;
    let mut null = false;
    for value in values {
        let kind = match value {
            Value::Null => {
                null = true;
                continue;
            }
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Array(_) | Value::Object(_) => return None,
        };
        found = match (found, kind) {
            (None, kind) => Some(kind),
            (Some(before), kind) if before == kind => Some(kind),
            (Some("integer" | "number"), "integer" | "number") => Some("number"),
            _ => return None,
        };
    }
    found.map(|kind| if null { Value::from(vec![kind, "null"]) } else { Value::from(kind) })
}

/// Joins a union of choices between values of one type into a single `enum`; returns whether it did.
///
/// Generators write documented variants as `oneOf` of constants. Models and strict providers want an `enum`,
/// so the documentation of the variants moves into the description.
pub(super) fn join(schema: &mut Map<String, Value>) -> bool {
    ["oneOf", "anyOf"].into_iter().any(|union| join_union(schema, union))
}

fn join_union(schema: &mut Map<String, Value>, union: &str) -> bool {
    let Some(Value::Array(branches)) = schema.get(union) else { return false };
    let Some(choices) = branches.iter().map(Choice::parse).collect::<Option<Vec<_>>>() else { return false };
    let Some(first) = choices.first() else { return false };
    let kind = first.kind.to_owned();
    let joins = choices.iter().all(|choice| choice.kind == kind)
        && schema.get("type").is_none_or(|declared| *declared == *kind)
        && !schema.contains_key("enum")
        && !schema.contains_key("$ref");
    if !joins {
        return false;
    }

    let mut values = Vec::new();
    let mut seen = HashSet::new();
    let mut lines: Vec<String> =
        schema.get("description").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    for choice in &choices {
        for value in choice.values {
            if seen.insert(value.to_string()) {
                values.push(value.clone());
            } else if union == "oneOf" {
                return false; // A value in two branches of `oneOf` is in none.
            }
        }
        lines.extend(choice.line());
    }

    schema.shift_remove(union);
    schema.insert("type".into(), kind.into());
    schema.insert("enum".into(), Value::Array(values));
    if !lines.is_empty() {
        schema.insert("description".into(), lines.join("\n").into());
    }
    true
}

/// A branch that only lists values.
struct Choice<'a> {
    kind: &'a str,
    values: &'a [Value],
    description: Option<&'a str>,
    deprecated: bool,
}

impl<'a> Choice<'a> {
    fn parse(branch: &'a Value) -> Option<Self> {
        let branch = branch.as_object()?;
        if !branch.keys().all(|keyword| matches!(keyword.as_str(), "type" | "enum" | "description" | "deprecated")) {
            return None;
        }
        Some(Self {
            kind: branch.get("type")?.as_str()?,
            values: branch.get("enum")?.as_array()?,
            description: branch.get("description").and_then(Value::as_str),
            deprecated: branch.get("deprecated") == Some(&Value::Bool(true)),
        })
    }

    /// The documentation of the choice as a line of a list.
    fn line(&self) -> Option<String> {
        if self.description.is_none() && !self.deprecated {
            return None;
        }
        let values: Vec<_> =
            self.values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
        let deprecated = self.deprecated.then_some("(deprecated)");
        let words = deprecated.into_iter().chain(self.description.into_iter().flat_map(str::split_whitespace));
        Some(format!("- {}: {}", values.join(", "), words.collect::<Vec<_>>().join(" ")))
    }
}
