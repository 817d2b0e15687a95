//! Documents near the specs, for tests of properties that hold for all of them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Keys of the specs, of their older generations, and misspelt ones.
const KEYS: &[&str] = &[
    "opentool",
    "opendyn",
    "info",
    "server",
    "functions",
    "schemas",
    "code",
    "title",
    "description",
    "version",
    "url",
    "callingConvention",
    "name",
    "parameters",
    "return",
    "returns",
    "schema",
    "required",
    "isIn",
    "type",
    "properties",
    "items",
    "enum",
    "$ref",
    "cType",
    "isPointer",
    "x-handle",
    "stream",
    "descripton",
    "tpye",
    "definitions",
    "$defs",
    "components",
    "is_in",
    "minimum",
];

const TEXTS: &[&str] = &[
    "1.0.0",
    "1.1.0",
    "2.0",
    "1.7",
    "cdecl",
    "string",
    "integer",
    "int",
    "double",
    "object",
    "array",
    "boolean",
    "strng",
    "char",
    "char *",
    "void",
    "long double",
    "unsigned",
    "#/schemas/A",
    "#/schemas/B",
    "#/definitions/A",
    "#/schemas/A/items",
    "#/functions/0/return/schema",
    "http://x/y.json",
    "add",
    "bad name",
    "",
    "true",
    "7",
    "ü/~",
];

const KEYWORDS: &[&str] = &[
    "minimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxItems",
    "pattern",
    "format",
    "uniqueItems",
    "examples",
    "default",
    "const",
    "enum",
    "required",
    "dependentRequired",
    "additionalProperties",
    "not",
    "if",
    "contains",
    "items",
    "allOf",
    "oneOf",
    "prefixItems",
    "properties",
    "patternProperties",
    "$defs",
    "dependencies",
    "$anchor",
    "$id",
    "title",
    "deprecated",
    "nullable",
    "x-nullable",
    "$schema",
    "$comment",
    "type",
    "contentEncoding",
    "propertyNames",
];

const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "1.5",
    "1e3",
    "2.0",
    "\"5\"",
    "true",
    "false",
    "null",
    "\"\"",
    "\"^[a-z]+$\"",
    "\"(\"",
    "\"(?=a)\"",
    "[]",
    "[\"a\"]",
    "[\"a\", \"a\"]",
    "[1, null]",
    "{}",
    "{\"a\": {}}",
    "{\"a\": [\"b\"]}",
    "{\"(\": true}",
    "{\"type\": \"string\"}",
    "{\"type\": \"double\"}",
    "{\"type\": [\"string\", \"null\"]}",
    "[{\"type\": \"integer\"}]",
    "[{\"$ref\": \"#/schemas/A\"}]",
    "{\"$ref\": \"#/schemas/B\"}",
    "{\"a\": {\"$ref\": \"#/schemas/None\"}}",
    "\"string\"",
    "[true]",
    "{\"enum\": []}",
    "{\"required\": true}",
    "{\"minLength\": null}",
    "18446744073709551616",
    "1e40",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::sample::select(TEXTS).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-2i64..3).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<f64>().prop_map(|number| json!(number)),
    ]
}

/// JSON made of the words of the specs, in any shape.
pub fn soup() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

/// What keywords of JSON Schema have for values, right and wrong.
fn keyword_value() -> impl Strategy<Value = Value> {
    prop::sample::select(VALUES).prop_map(|text| serde_json::from_str(text).unwrap_or_default())
}

/// Schemas near the specs.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(TEXTS).prop_map(|name| json!({"type": name})),
        prop::sample::select(TEXTS).prop_map(|reference| json!({"$ref": reference})),
        prop::sample::select(TEXTS).prop_map(|reference| json!({"$ref": reference, "description": "beside"})),
        Just(json!({"type": "integer", "enum": ["1", 2]})),
        Just(json!({"type": ["null", "number"], "minimum": 0})),
        Just(json!({"type": "number", "cType": {"type": "size_t", "isIn": false}})),
        Just(json!({"type": "string", "cType": {"type": "char *", "isPointer": false}})),
        (prop::sample::select(KEYWORDS), soup()).prop_map(|(keyword, value)| json!({"type": "string", keyword: value})),
        (prop::sample::select(KEYWORDS), keyword_value())
            .prop_map(|(keyword, value)| json!({"type": "string", keyword: value})),
        (prop::sample::select(KEYWORDS), keyword_value())
            .prop_map(|(keyword, value)| json!({"type": "object", "properties": {}, "anyOf": [{keyword: value}]})),
        soup(),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|a| json!({"type": "object", "properties": {"a": a}, "required": ["a", "z"]})),
            inner.prop_map(|a| json!({"properties": {"a": a, "b": {"type": "string", "required": true}}})),
        ]
    })
}

fn function() -> impl Strategy<Value = Value> {
    let parameters = prop_oneof![
        prop::collection::vec((prop::sample::select(&["a", "b", ""]), schema(), soup()), 0..4).prop_map(|list| {
            list.into_iter()
                .map(|(name, schema, required)| json!({"name": name, "schema": schema, "required": required}))
                .collect::<Value>()
        }),
        schema().prop_map(|schema| json!({"type": "object", "properties": {"a": schema}, "required": ["a"]})),
        schema().prop_map(
            |schema| json!({"a": {"schema": schema}, "b": {"schema": {"type": "string"}, "required": false}})
        ),
        soup(),
    ];
    (prop::sample::select(TEXTS), parameters, schema(), 0..5u8).prop_map(|(name, parameters, returned, shape)| {
        let mut function = json!({"name": name, "description": "D.", "parameters": parameters});
        let returned = match shape {
            0 => json!({"return": {"name": "r", "schema": returned}}),
            1 => json!({"returns": {"r": {"schema": returned}}}),
            2 => json!({"returns": returned}),
            3 => json!({"return": null, "returns": {"r": {"schema": returned}, "s": {"schema": {"type": "int"}}}}),
            _ => json!({}),
        };
        if let (Value::Object(function), Value::Object(returned)) = (&mut function, returned) {
            function.extend(returned);
        }
        function
    })
}

/// Documents near the specs: every part right most of the time.
pub fn document() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(&["opentool", "opendyn"]);
    let info = prop_oneof![
        3 => Just(json!({"title": "T", "version": "1", "callingConvention": "cdecl"})),
        1 => soup(),
    ];
    let functions = prop_oneof![
        5 => prop::collection::vec(function(), 0..4).prop_map(Value::from),
        1 => soup(),
    ];
    let schemas = prop_oneof![
        2 => (schema(), schema()).prop_map(|(a, b)| json!({"schemas": {"A": a, "B": b}})),
        1 => schema().prop_map(|a| json!({"definitions": {"A": a}})),
        1 => schema().prop_map(|a| json!({"components": {"schemas": {"A": a}}})),
        1 => Just(json!({})),
    ];
    (kind, info, functions, schemas, soup()).prop_map(|(kind, info, functions, schemas, soup)| {
        let mut document = json!({kind: "1.0.0", "info": info, "functions": functions});
        if let Value::Object(document) = &mut document {
            document.extend(schemas.as_object().cloned().unwrap_or_default());
            if let Value::Object(soup) = soup {
                document.extend(soup.into_iter().filter(|(key, _)| key.starts_with("x-") || key == "server"));
            }
        }
        document
    })
}
