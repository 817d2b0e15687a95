//! Which schemas are known to be right without asking the validator.

use serde_json::{Map, Value};

/// How deep such a schema nests.
const MAX_DEPTH: usize = 16;

const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

/// Whether a schema is made of the common keywords only, each with a value that it may have; a reference may name one of its
/// own definitions.
///
/// The validator compiles every such schema, so that it need not do so before it is asked something: most tools never ask
/// it, since the streaming checker accepts their arguments.
pub(super) fn is_simple(schema: &Value) -> bool {
    Document(schema).is_simple(schema, 0)
}

/// The schema as a whole.
#[derive(Clone, Copy)]
struct Document<'a>(&'a Value);

impl Document<'_> {
    fn is_simple(self, schema: &Value, depth: usize) -> bool {
        match schema {
            Value::Bool(_) => true,
            Value::Object(keywords) if depth < MAX_DEPTH => {
                keywords.iter().all(|(keyword, value)| self.admits(keyword, value, depth + 1))
            }
            _ => false,
        }
    }

    /// Whether a keyword is one of the common ones, and its value one that it may have.
    fn admits(self, keyword: &str, value: &Value, depth: usize) -> bool {
        match keyword {
            "type" => match value {
                Value::Array(names) => !names.is_empty() && names.iter().all(is_type) && are_unique(names),
                name => is_type(name),
            },
            "properties" | "$defs" | "definitions" => value
                .as_object()
                .map(Map::values)
                .is_some_and(|mut schemas| schemas.all(|schema| self.is_simple(schema, depth))),
            "items" | "additionalProperties" => self.is_simple(value, depth),
            "$ref" => value.as_str().is_some_and(|reference| self.defines(reference)),
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && are_unique(names)),
            "enum" | "examples" => value.is_array(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
            "title" | "description" | "format" | "$comment" => value.is_string(),
            "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "const" | "default" => true,
            _ => keyword.starts_with("x-"),
        }
    }

    /// Whether a reference names a definition, in letters that stand for themselves.
    fn defines(self, reference: &str) -> bool {
        ["$defs", "definitions"].into_iter().any(|keyword| {
            let name = reference.strip_prefix("#/").and_then(|path| path.strip_prefix(keyword)?.strip_prefix('/'));
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            name.is_some_and(|name| {
                name.bytes().all(plain)
                    && self.0.get(keyword).is_some_and(|definitions| definitions.get(name).is_some())
            })
        })
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn are_unique(values: &[Value]) -> bool {
    values.iter().enumerate().all(|(index, value)| !values[..index].contains(value))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};
    use serde_json::json;

    use super::super::bounded::BoundedValidator;
    use super::*;
    use crate::patterns::PatternEngine;

    const KEYWORDS: [&str; 32] = [
        "type",
        "properties",
        "$defs",
        "definitions",
        "items",
        "additionalProperties",
        "required",
        "enum",
        "examples",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "title",
        "description",
        "format",
        "$comment",
        "deprecated",
        "readOnly",
        "writeOnly",
        "const",
        "default",
        "x-a",
        // None of these is simple.
        "$ref",
        "pattern",
        "anyOf",
        "$schema",
        "$id",
    ];

    /// A value that a keyword may have, at times.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (0..9_u64).prop_map(Value::from),
            select(vec![json!(1.5), json!(-0.0), json!(2.0), json!(1e300)]),
            select(&["object", "string", "any", "#", "(", "date-time", ""][..]).prop_map(Value::from),
            select(&["#/$defs/a", "#/$defs/b", "#/definitions/a", "#/definitions/c", "#/$defs/"][..])
                .prop_map(Value::from),
            Just(json!(["string", "null"])),
            Just(json!(["a", "a"])),
            Just(json!([])),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            let members = |name: &'static [&'static str], inner: BoxedStrategy<Value>| {
                vec((select(name), inner), 0..5).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                })
            };
            prop_oneof![
                3 => members(&KEYWORDS, inner.clone().boxed()),
                1 => members(&["a", "b", "type"], inner.clone().boxed()),
                1 => vec(inner, 0..3).prop_map(Value::from),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_validator_compiles_every_simple_schema(keywords in vec((select(&KEYWORDS[..]), value()), 0..8)) {
            let mut schema = json!({});
            for (keyword, value) in keywords {
                // What is there already may be referred to.
                if schema.get(keyword).is_some() {
                    continue;
                }
                schema[keyword] = value;
                // The part that is simple grows as far as it can.
                if !is_simple(&schema) {
                    schema.as_object_mut().map(|schema| schema.shift_remove(keyword));
                }
            }
            prop_assert!(is_simple(&schema));
            let compiled = BoundedValidator::compile(&schema, PatternEngine::Bounded, false);
            prop_assert!(compiled.is_ok(), "{schema}: {:?}", compiled.err());
        }

        #[test]
        fn what_the_validator_refuses_is_not_simple(schema in value()) {
            if BoundedValidator::compile(&schema, PatternEngine::Bounded, false).is_err() {
                prop_assert!(!is_simple(&schema), "{schema}");
            }
        }
    }

    #[test]
    fn the_schemas_of_most_tools_are_simple() {
        assert!(is_simple(&json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "Where.", "minLength": 1 },
                "days": { "type": ["integer", "null"], "minimum": 1, "default": null },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
                "from": { "$ref": "#/$defs/Unit" },
            },
            "$defs": { "Unit": { "type": "string" } },
            "required": ["city"],
            "additionalProperties": false,
        })));
        for other in [
            json!({ "$ref": "#" }),
            json!({ "$ref": "#/$defs/a" }),
            json!({ "$ref": "#/$defs/a%20b", "$defs": { "a b": true } }),
            json!({ "$ref": "#/properties/a", "properties": { "a": true } }),
            json!({ "pattern": "(" }),
            json!({ "type": "text" }),
            json!({ "type": ["string", "string"] }),
            json!({ "required": ["a", "a"] }),
            json!({ "minLength": -1 }),
            json!({ "title": 5 }),
            json!({ "properties": { "a": { "items": [] } } }),
            json!([]),
        ] {
            assert!(!is_simple(&other), "{other}");
        }
    }
}
