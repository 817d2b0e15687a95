//! Which schemas compile, and to what.

use serde_json::{Value, json};

use super::checker;
use crate::check::{ArgumentChecker, SchemaError, Strictness, flat::Verdict};

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
fn flat_schemas_are_judged_over_the_text() {
    let schema = json!({
        "type": "object",
        "description": "everything that is flat",
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
        },
        "required": ["free"],
        "additionalProperties": false,
        "$defs": { "Colour": { "type": "string", "enum": ["red", "green"], "title": "Colour" } },
    });
    let checker = checker(&schema);
    for (member, verdict) in [
        (r#""any":-1.5e3"#, Verdict::Accepted),
        (r#""boolean":true"#, Verdict::Accepted),
        (r#""boolean":1"#, Verdict::Refused),
        (r#""integer":-1"#, Verdict::Accepted),
        (r#""integer":9.0"#, Verdict::Accepted),
        (r#""integer":-2"#, Verdict::Refused),
        (r#""integer":10"#, Verdict::Refused),
        (r#""integer":null"#, Verdict::Undecided),
        (r#""number":null"#, Verdict::Accepted),
        (r#""number":0.5"#, Verdict::Refused),
        (r#""number":1"#, Verdict::Accepted),
        (r#""number":2.5"#, Verdict::Accepted),
        (r#""number":3"#, Verdict::Refused),
        (r#""string":"äöü""#, Verdict::Accepted),
        (r#""string":"""#, Verdict::Refused),
        (r#""string":"abcd""#, Verdict::Refused),
        (r#""string":"a\n""#, Verdict::Undecided),
        (r#""colour":"green""#, Verdict::Accepted),
        (r#""colour":"blue""#, Verdict::Refused),
        (r#""constant":"x""#, Verdict::Accepted),
        (r#""constant":"y""#, Verdict::Refused),
        (r#""list":[ "red" , "green" ]"#, Verdict::Accepted),
        (r#""list":[]"#, Verdict::Accepted),
        (r#""list":["red","red","red"]"#, Verdict::Refused),
        (r#""list":["blue"]"#, Verdict::Refused),
        (r#""any":{"nested":1}"#, Verdict::Undecided),
        (r#""unknown":1"#, Verdict::Undecided),
        (r#""free":2"#, Verdict::Refused),
    ] {
        let text = format!("{{\"free\":1,{member}}}");
        assert_eq!(checker.judge_flat(&text), Some(verdict), "{text}");
    }
    assert_eq!(checker.judge_flat("{}"), Some(Verdict::Refused));
}

#[test]
fn the_usual_text_is_accepted_at_a_glance_and_nothing_else() {
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
    for usual in [
        r#"{"n":0}"#,
        r#"{"n":-5,"s":"äb","b":true}"#,
        r#"{"n": 12, "b": false}"#,
        r#"{"n":999999999999999999,"q\"":7}"#,
    ] {
        assert!(checker.accepts_at_a_glance(usual), "{usual}");
        assert!(checker.check_by_validator(usual, Strictness::Strict).is_ok(), "{usual}");
    }
    for other in [
        "",
        "{",
        "{}",
        r#"{"n":1"#,
        r#"{"n":1,}"#,
        r#"{"n":1}}"#,
        r#"{"n":1} "#,
        r#"{"n":-6}"#,
        r#"{"n":-0}"#,
        r#"{"n":01}"#,
        r#"{"n":-}"#,
        r#"{"n":1.0}"#,
        r#"{"n":1e3}"#,
        r#"{"n":1000000000000000000}"#,
        r#"{"n":"1"}"#,
        r#"{"n":null}"#,
        r#"{"n":1,"n":1}"#,
        r#"{"n":1,"s":"abcd"}"#,
        r#"{"n":1,"s":"\n"}"#,
        "{\"n\":1,\"s\":\"\n\"}",
        r#"{"n":1,"s":"a}"#,
        r#"{"n":1,"b":truer}"#,
        r#"{"n":1,"x":1}"#,
        r#"{"b":true,"n":1}"#,
        r#"{"s":"a"}"#,
    ] {
        assert!(!checker.accepts_at_a_glance(other), "{other}");
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
        assert_eq!(checker(&schema).judge_flat("{}"), None, "{property}");
    }
    for (keyword, value) in [
        ("minProperties", json!(1)),
        ("required", json!(["undeclared"])),
        ("allOf", json!([{}])),
        ("$schema", json!("http://json-schema.org/draft-04/schema#")),
    ] {
        let mut schema = json!({ "type": "object", "properties": {} });
        schema[keyword] = value;
        assert_eq!(checker(&schema).judge_flat("{}"), None, "{keyword}");
    }
}

#[test]
fn a_checker_shows_its_schema_and_travels_between_threads() {
    fn travels<T: Clone + Send + Sync + 'static>(_: &T) {}
    let checker = checker(&json!({ "type": "object" }));
    travels(&checker);
    assert!(format!("{checker:?}").contains("object"));
}
