//! From a schema to the rules of the streaming checker, where the schema allows it.
//!
//! A keyword that is not listed here makes the schema one for the validator, which knows them all. `format` is an
//! annotation, here and there.

use opentool_spec::json::Quantity;
use serde_json::{Map, Value};

use super::rules::{Limit, NumberRule, ObjectRule, Property, Rule, ScalarRule, Side, StringRule};
use crate::check::schema;

/// The properties that fit the bits of a `u64`.
const MAX_PROPERTIES: usize = 64;

/// How many rules are made of one schema; references could make more out of little text than there is memory for.
const MAX_RULES: usize = 1_000;

/// How deep rules may nest, since the pass over the text recurses with them.
const MAX_NESTED: usize = 16;

/// Keywords that say nothing about validity.
const ANNOTATIONS: [&str; 9] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "$comment"];

const OBJECT_KEYWORDS: [&str; 6] = ["type", "properties", "required", "additionalProperties", "$defs", "definitions"];

const SCALAR_KEYWORDS: [&str; 9] =
    ["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"];

const LIST_KEYWORDS: [&str; 4] = ["type", "items", "minItems", "maxItems"];

/// Compiles a schema whose root is known to be an object schema; none where only the validator can check it.
pub(in crate::check) fn compile(document: &Value) -> Option<ObjectRule> {
    let root = document.as_object()?;
    Compiler { document, rules: 0, depth: 0 }.object(root)
}

struct Compiler<'s> {
    document: &'s Value,
    /// How many rules were made so far.
    rules: usize,
    depth: usize,
}

impl<'s> Compiler<'s> {
    fn object(&mut self, schema: &'s Map<String, Value>) -> Option<ObjectRule> {
        let declared = match schema.get("properties") {
            Some(properties) => properties.as_object()?.iter().collect(),
            None => Vec::new(),
        };
        if !only(schema, &OBJECT_KEYWORDS) || declared.len() > MAX_PROPERTIES || self.depth == MAX_NESTED {
            return None;
        }
        self.depth += 1;
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = declared
            .into_iter()
            .map(|(name, property)| {
                Some(Property {
                    name: name.as_str().into(),
                    rule: self.rule(property)?,
                    drops_null: !required.contains(&name.as_str()) && !schema::admits_null(property, self.document),
                })
            })
            .collect::<Option<Box<[_]>>>()?;
        self.depth -= 1;
        let mut bits = 0;
        for name in required {
            // A required property that is not declared is rare enough for the validator.
            let index = properties.iter().position(|property| *property.name == *name)?;
            bits |= 1 << index;
        }
        Some(ObjectRule { properties, required: bits })
    }

    fn rule(&mut self, schema: &'s Value) -> Option<Rule> {
        self.rules += 1;
        if self.rules > MAX_RULES {
            return None;
        }
        if schema == &Value::Bool(true) {
            return Some(Rule::Any);
        }
        let schema = dereferenced(schema, self.document)?;
        if only(schema, &[]) {
            return Some(Rule::Any);
        }
        let mut types = types(schema)?;
        let or_null = types.len() > 1 && types.contains(&"null");
        types.retain(|name| !or_null || *name != "null");
        match types.as_slice() {
            // A map has names that no rule knows.
            ["object"] if schema.contains_key("properties") => {
                Some(Rule::Object { object: self.object(schema)?, or_null })
            }
            ["array"] => self.list(schema, or_null),
            ["object"] => None,
            _ => scalar(schema).map(Rule::Scalar),
        }
    }

    fn list(&mut self, schema: &'s Map<String, Value>, or_null: bool) -> Option<Rule> {
        if !only(schema, &LIST_KEYWORDS) || self.depth == MAX_NESTED {
            return None;
        }
        self.depth += 1;
        let item = Box::new(self.rule(schema.get("items")?)?);
        self.depth -= 1;
        Some(Rule::List {
            item,
            or_null,
            min_items: size(schema, "minItems", 0)?,
            max_items: size(schema, "maxItems", u64::MAX)?,
        })
    }
}

/// Whether a schema has these keywords only, annotations aside.
fn only(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    schema.keys().all(|keyword| {
        keywords.contains(&keyword.as_str()) || ANNOTATIONS.contains(&keyword.as_str()) || keyword.starts_with("x-")
    })
}

/// A schema, or what it refers to if it does nothing but that.
fn dereferenced<'s>(schema: &'s Value, document: &'s Value) -> Option<&'s Map<String, Value>> {
    let mut schema = schema.as_object()?;
    for _ in 0..schema::MAX_INDIRECTION {
        let Some(reference) = schema.get("$ref") else {
            return Some(schema);
        };
        if !only(schema, &["$ref"]) {
            return None;
        }
        schema = schema::resolve(reference.as_str()?, document)?.as_object()?;
    }
    None
}

fn scalar(schema: &Map<String, Value>) -> Option<ScalarRule> {
    if !only(schema, &SCALAR_KEYWORDS) {
        return None;
    }
    let listed = match (schema.get("enum"), schema.get("const")) {
        (None, None) => None,
        (Some(values), None) => Some(values.as_array()?.as_slice()),
        (None, Some(value)) => Some(std::slice::from_ref(value)),
        (Some(_), Some(_)) => return None,
    };
    let types = types(schema)?;
    let has = |name| types.contains(&name);
    if has("array") || has("object") || (types.is_empty() && listed.is_none()) {
        return None;
    }
    let any_type = types.is_empty();
    let strings = (any_type || has("string")).then(|| strings(schema, listed));
    if let Some(values) = listed {
        // Other values than strings and null are rare enough for the validator.
        if !values.iter().all(|value| value.is_string() || value.is_null()) {
            return None;
        }
        return Some(ScalarRule {
            null: (any_type || has("null")) && values.contains(&Value::Null),
            boolean: false,
            number: None,
            string: optional(strings)?,
        });
    }
    let number = (has("number") || has("integer")).then(|| numbers(schema, !has("number")));
    Some(ScalarRule {
        null: has("null"),
        boolean: has("boolean"),
        number: optional(number)?,
        string: optional(strings)?,
    })
}

/// Turns "should there be one, and could it be made" into "is all well, and is there one".
#[expect(clippy::option_option, reason = "the two questions are what this is about")]
fn optional<T>(made: Option<Option<T>>) -> Option<Option<T>> {
    match made {
        Some(None) => None,
        Some(made) => Some(made),
        None => Some(None),
    }
}

/// The names under `type`, none where there is no `type`.
fn types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type") {
        None => Some(Vec::new()),
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        Some(_) => None,
    }
}

/// A limit of a length or a count; none where it is not written as an integer.
fn size(schema: &Map<String, Value>, keyword: &str, otherwise: u64) -> Option<u64> {
    schema.get(keyword).map_or(Some(otherwise), Value::as_u64)
}

fn strings(schema: &Map<String, Value>, listed: Option<&[Value]>) -> Option<StringRule> {
    let values = listed.map(|values| {
        let mut values: Vec<Box<str>> = values.iter().filter_map(Value::as_str).map(Box::from).collect();
        values.sort_unstable();
        values.into_boxed_slice()
    });
    Some(StringRule {
        min_length: usize::try_from(size(schema, "minLength", 0)?).ok()?,
        max_length: usize::try_from(size(schema, "maxLength", u64::MAX)?).unwrap_or(usize::MAX),
        values,
    })
}

fn numbers(schema: &Map<String, Value>, integers_only: bool) -> Option<NumberRule> {
    let mut limits = Vec::new();
    for (keyword, side, exclusive) in [
        ("minimum", Side::Least, false),
        ("exclusiveMinimum", Side::Least, true),
        ("maximum", Side::Most, false),
        ("exclusiveMaximum", Side::Most, true),
    ] {
        if let Some(at) = schema.get(keyword) {
            let Value::Number(at) = at else { return None };
            limits.push(Limit { side, at: Quantity::from_number(at)?, exclusive });
        }
    }
    Some(NumberRule { integers_only, limits: limits.into() })
}
