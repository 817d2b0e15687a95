//! Which schemas compile, and to what.

use serde_json::{Value, json};

use super::{checker, passes};
use crate::check::{ArgumentChecker, SchemaError, Strictness};

fn error(schema: &Value) -> SchemaError {
    ArgumentChecker::compile(schema).unwrap_err()
}

#[test]
fn a_root_that_is_no_object_schema_is_refused() {
    for (schema, found) in [
        (json!(true), "not true"),
        (json!({}), "not a schema without a type"),
        (json!({ "type": "string" }), "not {\"type\": \"string\", …}"),
        (json!({ "type": ["object", "null"] }), "not {\"type\": [\"object\",\"null\"], …}"),
    ] {
        let error = error(&schema);
        assert!(matches!(error, SchemaError::NotAnObjectSchema { .. }), "{error:?}");
        assert!(error.to_string().ends_with(found), "{error}");
    }
}

#[test]
fn a_schema_that_breaks_the_rules_is_refused_with_its_pointer() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "strin" } } });
    let SchemaError::Invalid { pointer, .. } = error(&schema) else {
        panic!("{:?}", error(&schema));
    };
    assert_eq!(pointer, "/properties/a/type");
    let schema = json!({ "type": "object", "properties": { "a": { "pattern": "(" } } });
    assert!(matches!(error(&schema), SchemaError::Invalid { .. }));
}

#[test]
fn references_out_of_the_schema_are_never_followed() {
    for reference in ["http://127.0.0.1:1/x.json", "https://example.com/x", "file:///etc/passwd", "#/$defs/no"] {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
        let error = error(&schema);
        assert!(matches!(error, SchemaError::Reference { .. }), "{reference}: {error:?}");
    }
}

#[test]
fn objects_lists_and_scalars_are_checked_while_streaming() {
    let schema = json!({
        "type": "object",
        "description": "everything that is checked while streaming",
        "properties": {
            "free": {},
            "any": true,
            "boolean": { "type": "boolean", "default": false },
            "integer": { "type": "integer", "minimum": -1, "exclusiveMaximum": 10 },
            "number": { "type": ["number", "null"], "exclusiveMinimum": 0.5, "maximum": 2.5 },
            "string": { "type": "string", "minLength": 1, "maxLength": 3, "format": "date-time" },
            "colour": { "$ref": "#/$defs/Colour" },
            "constant": { "const": "x", "x-note": 1 },
            "list": { "type": "array", "items": { "$ref": "#/$defs/Colour" }, "maxItems": 2 },
            "point": { "$ref": "#/$defs/Point" },
            "points": { "type": ["array", "null"], "items": { "type": "array", "items": { "$ref": "#/$defs/Point" } } },
        },
        "required": ["free"],
        "additionalProperties": false,
        "$defs": { "Colour": { "type": "string", "enum": ["red", "green"], "title": "Colour" }, "Point": {
            "type": ["object", "null"],
            "properties": { "x": { "type": "integer" }, "label": { "type": "string" } },
            "required": ["x"],
        } },
    });
    let checker = checker(&schema);
    for (member, accepted) in [
        (r#""any":-1.5e3"#, true),
        (r#""boolean":true"#, true),
        (r#""boolean":1"#, false),
        (r#""integer":-1"#, true),
        (r#""integer":9.0"#, true),
        (r#""integer":-2"#, false),
        (r#""integer":10"#, false),
        (r#""integer":null"#, false),
        (r#""number":null"#, true),
        (r#""number":0.5"#, false),
        (r#""number":1"#, true),
        (r#""number":2.5"#, true),
        (r#""number":3"#, false),
        (r#""string":"äöü""#, true),
        (r#""string":"""#, false),
        (r#""string":"abcd""#, false),
        (r#""string":"a\n""#, false),
        (r#""colour":"green""#, true),
        (r#""colour":"blue""#, false),
        (r#""constant":"x""#, true),
        (r#""constant":"y""#, false),
        (r#""list":[ "red" , "green" ]"#, true),
        (r#""list":[]"#, true),
        (r#""list":["red","red","red"]"#, false),
        (r#""list":["blue"]"#, false),
        (r#""point":{"label":"a","x":1.0}"#, true),
        (r#""point":null"#, true),
        (r#""point":{"label":"a"}"#, false),
        (r#""point":{"x":1,"x":1}"#, false),
        (r#""point":{"x":1,"label":null}"#, false),
        (r#""point":{"x":1,"other":1}"#, false),
        (r#""points":[[{"x":1}, null], [] ]"#, true),
        (r#""points":[[{"x":1}, null], {} ]"#, false),
        (r#""points":null"#, true),
        (r#""any":{"nested":1}"#, false),
        (r#""unknown":1"#, false),
        (r#""free":2"#, false),
    ] {
        let text = format!("{{\"free\":1,{member}}}");
        assert_eq!(checker.accepts_streaming(&text), accepted, "{text}");
    }
    assert!(!checker.accepts_streaming("{}"));
}

#[test]
fn text_that_is_wrong_anywhere_is_not_accepted_while_streaming() {
    let checker = checker(&json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": -5 },
            "s": { "type": "string", "maxLength": 3 },
            "b": { "type": "boolean" },
            "q\"": { "type": "number" },
        },
        "required": ["n"],
    }));
    for right in [
        r#"{"n":0}"#,
        r#"{"n":-5,"s":"äb","b":true}"#,
        r#" {"n": 12 , "b": false} "#,
        r#"{"n":999999999999999999}"#,
        r#"{"b":true,"n":1000000000000000000}"#,
        r#"{"n":-0}"#,
        r#"{"n":1.0}"#,
        r#"{"n":1e3}"#,
        r#"{"n":1,"s":"\n"}"#,
    ] {
        assert!(checker.accepts_streaming(right), "{right}");
        assert!(checker.check_by_validator(right, Strictness::Strict).is_ok(), "{right}");
    }
    for other in [
        "",
        "{",
        "{}",
        r#"{"n":1"#,
        r#"{"n":1,}"#,
        r#"{"n":1}}"#,
        r#"{"n":-6}"#,
        r#"{"n":01}"#,
        r#"{"n":-}"#,
        r#"{"n":1.5}"#,
        r#"{"n":"1"}"#,
        r#"{"n":null}"#,
        r#"{"n":1,"n":1}"#,
        r#"{"n":1,"s":"abcd"}"#,
        "{\"n\":1,\"s\":\"\n\"}",
        r#"{"n":1,"s":"a}"#,
        r#"{"n":1,"b":truer}"#,
        r#"{"n":1,"x":1}"#,
        r#"{"n":1,"q\"":1}"#,
        r#"{"s":"a"}"#,
    ] {
        assert!(!checker.accepts_streaming(other), "{other}");
    }
}

#[test]
fn other_schemas_are_left_to_the_validator() {
    for property in [
        json!({ "type": "object" }),
        json!({ "type": "string", "pattern": "a" }),
        json!({ "type": "integer", "multipleOf": 2 }),
        json!({ "enum": [1, 2] }),
        json!({ "anyOf": [{ "type": "string" }] }),
        json!({ "type": "array", "items": { "type": "array" } }),
        json!({ "type": "array", "items": {}, "uniqueItems": true }),
        json!({ "type": ["string", "object"] }),
        json!({ "$ref": "#", "description": "cyclic" }),
        json!({ "minimum": 1 }),
        json!({ "not": {} }),
        json!(false),
    ] {
        let schema = json!({ "type": "object", "properties": { "a": property } });
        assert!(!checker(&schema).is_streaming(), "{property}");
    }
    for (keyword, value) in [
        ("minProperties", json!(1)),
        ("required", json!(["undeclared"])),
        ("allOf", json!([{}])),
        ("$schema", json!("http://json-schema.org/draft-04/schema#")),
    ] {
        let mut schema = json!({ "type": "object", "properties": {} });
        schema[keyword] = value;
        assert!(!checker(&schema).is_streaming(), "{keyword}");
    }
}

#[test]
fn schemas_that_grow_without_end_are_left_to_the_validator() {
    let doubled = |name: &str| {
        let next = json!({ "$ref": format!("#/$defs/{name}") });
        json!({ "type": "object", "properties": { "a": next, "b": next } })
    };
    let mut definitions = serde_json::Map::new();
    for level in 0..14 {
        definitions.insert(format!("L{level}"), doubled(&format!("L{}", level + 1)));
    }
    definitions.insert("L14".to_owned(), json!({ "type": "integer" }));
    let mut schema = doubled("L0");
    schema["$defs"] = json!(definitions);
    assert!(!checker(&schema).is_streaming());
    assert!(passes(&schema, r#"{"a":{"b":{}}}"#));
}

#[test]
fn a_checker_shows_its_schema_and_travels_between_threads() {
    fn travels<T: Clone + Send + Sync + 'static>(_: &T) {}
    let checker = checker(&json!({ "type": "object" }));
    travels(&checker);
    assert!(format!("{checker:?}").contains("object"));
}
