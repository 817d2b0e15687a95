//! From a schema to a [`Flat`] checker, where the schema is flat.
//!
//! A keyword that is not listed here makes the schema one for the validator, which knows them all.
//! `format` is an annotation, here and there.

use serde_json::{Map, Value};

use super::glance::MAX_SMALL;
use super::{Flat, Limit, Numbers, Property, Rule, Scalar, Side, Strings};
use crate::check::{number::Quantity, schema};

/// The properties that fit the bits of a `u64`.
const MAX_PROPERTIES: usize = 64;

/// Keywords that say nothing about validity.
const ANNOTATIONS: [&str; 9] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "$comment"];

const ROOT_KEYWORDS: [&str; 6] = ["type", "properties", "required", "additionalProperties", "$defs", "definitions"];

const SCALAR_KEYWORDS: [&str; 9] =
    ["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"];

const LIST_KEYWORDS: [&str; 4] = ["type", "items", "minItems", "maxItems"];

/// Compiles a schema whose root is known to be an object schema; none where it is not flat.
pub(in crate::check) fn compile(document: &Value) -> Option<Flat> {
    let root = document.as_object()?;
    if !only(root, &ROOT_KEYWORDS) {
        return None;
    }
    let declared = match root.get("properties") {
        Some(properties) => properties.as_object()?.iter().collect(),
        None => Vec::new(),
    };
    if declared.len() > MAX_PROPERTIES {
        return None;
    }
    let properties = declared
        .into_iter()
        .map(|(name, schema)| {
            Some(Property {
                name: name.as_str().into(),
                written: format!("{}:", Value::from(name.as_str())).into_bytes().into(),
                rule: rule(schema, document)?,
                drops_null: schema::required(document).all(|required| required != name)
                    && !schema::admits_null(schema, document),
            })
        })
        .collect::<Option<Box<[_]>>>()?;
    let mut required = 0;
    for name in root.get("required").and_then(Value::as_array).into_iter().flatten() {
        // A required property that is not declared is rare enough for the validator.
        let index = properties.iter().position(|property| name == &*property.name)?;
        required |= 1 << index;
    }
    Some(Flat { properties, required })
}

/// Whether a schema has these keywords only, annotations aside.
fn only(schema: &Map<String, Value>, keywords: &[&str]) -> bool {
    schema.keys().all(|keyword| {
        keywords.contains(&keyword.as_str()) || ANNOTATIONS.contains(&keyword.as_str()) || keyword.starts_with("x-")
    })
}

fn rule(schema: &Value, document: &Value) -> Option<Rule> {
    if schema == &Value::Bool(true) {
        return Some(Rule::Free);
    }
    let schema = dereferenced(schema, document)?;
    if only(schema, &[]) {
        return Some(Rule::Free);
    }
    let or_null = match types(schema)?.as_slice() {
        ["array"] => false,
        ["array", "null"] | ["null", "array"] => true,
        _ => return scalar(schema).map(Rule::Scalar),
    };
    if !only(schema, &LIST_KEYWORDS) {
        return None;
    }
    Some(Rule::List {
        item: scalar(dereferenced(schema.get("items")?, document)?)?,
        or_null,
        min_items: size(schema, "minItems", 0)?,
        max_items: size(schema, "maxItems", u64::MAX)?,
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

fn scalar(schema: &Map<String, Value>) -> Option<Scalar> {
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
        return Some(Scalar {
            null: (any_type || has("null")) && values.contains(&Value::Null),
            boolean: false,
            number: None,
            string: optional(strings)?,
        });
    }
    let number = (has("number") || has("integer")).then(|| numbers(schema, !has("number")));
    Some(Scalar { null: has("null"), boolean: has("boolean"), number: optional(number)?, string: optional(strings)? })
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

fn strings(schema: &Map<String, Value>, listed: Option<&[Value]>) -> Option<Strings> {
    let values = listed.map(|values| {
        let mut values: Vec<Box<str>> = values.iter().filter_map(Value::as_str).map(Box::from).collect();
        values.sort_unstable();
        values.into_boxed_slice()
    });
    Some(Strings {
        min_length: usize::try_from(size(schema, "minLength", 0)?).ok()?,
        max_length: usize::try_from(size(schema, "maxLength", u64::MAX)?).unwrap_or(usize::MAX),
        values,
    })
}

fn numbers(schema: &Map<String, Value>, integers_only: bool) -> Option<Numbers> {
    let mut limits = Vec::new();
    for (keyword, side, exclusive) in [
        ("minimum", Side::Least, false),
        ("exclusiveMinimum", Side::Least, true),
        ("maximum", Side::Most, false),
        ("exclusiveMaximum", Side::Most, true),
    ] {
        if let Some(at) = schema.get(keyword) {
            let Value::Number(at) = at else { return None };
            limits.push(Limit { side, at: Quantity::from_schema(at)?, exclusive });
        }
    }
    let (low, high) = small_integers(&limits);
    Some(Numbers { integers_only, low, high, limits: limits.into() })
}

/// The first and the last integer up to [`MAX_SMALL`] that the limits allow.
fn small_integers(limits: &[Limit]) -> (i64, i64) {
    let (mut low, mut high) = (-MAX_SMALL, MAX_SMALL);
    // The limits are few, the range is ordered: halve it to the point from which a limit allows.
    for limit in limits {
        let allows = |integer| limit.allows(Quantity::from(integer));
        match limit.side {
            Side::Least => low = low.max(first(-MAX_SMALL, MAX_SMALL + 1, allows)),
            Side::Most => high = high.min(first(-MAX_SMALL, MAX_SMALL + 1, |i| !allows(i)) - 1),
        }
    }
    (low, high)
}

/// The first integer of a range for which `holds`, which then holds for all after it; else its end.
fn first(mut from: i64, mut to: i64, holds: impl Fn(i64) -> bool) -> i64 {
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}
