//! What a model reads when its arguments are refused.

use serde_json::{Value, json};

use super::{checker, passes, refused};
use crate::check::Strictness;

fn with(property: Value) -> Value {
    json!({ "type": "object", "properties": { "a": property }, "additionalProperties": false })
}

#[test]
fn every_keyword_says_what_it_expected_and_what_it_got() {
    for (property, value, message) in [
        (json!({ "type": "integer" }), "\"x\"", "expected integer, got string \"x\""),
        (json!({ "type": ["integer", "boolean"] }), "[]", "expected boolean or integer, got array"),
        (
            json!({ "type": "string" }),
            "12345678901234567890123",
            "expected string, got integer 12345678901234567890123",
        ),
        (json!({ "type": "object" }), "true", "expected object, got boolean true"),
        (json!({ "enum": ["x", 2, null] }), "\"y\"", "expected one of \"x\", 2, null, got string \"y\""),
        (json!({ "type": "string", "enum": ["x", "y"] }), "\"z\"", "expected one of \"x\", \"y\", got string \"z\""),
        (json!({ "const": { "k": 1 } }), "1", "expected {\"k\":1}, got integer 1"),
        (json!({ "const": { "k": 1 } }), "{\"k\":1,\"j\":2}", "expected {\"k\":1}, got object"),
        (json!({ "const": { "k": 1, "j": 2 } }), "{\"k\":1}", "expected {\"k\":1,\"j\":2}, got object"),
        (json!({ "type": "integer", "minimum": 2 }), "1", "expected at least 2, got integer 1"),
        (json!({ "type": "integer", "maximum": 2 }), "3", "expected at most 2, got integer 3"),
        (json!({ "type": "number", "exclusiveMinimum": 2 }), "2.0", "expected more than 2, got integer 2.0"),
        (json!({ "type": "number", "exclusiveMaximum": 2.5 }), "2.5", "expected less than 2.5, got number 2.5"),
        (json!({ "type": "integer", "multipleOf": 5 }), "7", "expected a multiple of 5, got integer 7"),
        (json!({ "type": "string", "minLength": 2 }), "\"é\"", "expected at least 2 characters, got 1: \"é\""),
        (json!({ "type": "string", "maxLength": 1 }), "\"ab\"", "expected at most 1 character, got 2: \"ab\""),
        (json!({ "type": "array", "minItems": 2 }), "[1]", "expected at least 2 items, got 1"),
        (json!({ "type": "array", "maxItems": 0 }), "[1]", "expected at most 0 items, got 1"),
        (json!({ "type": "array", "uniqueItems": true }), "[1,1.0]", "expected items that all differ"),
        (json!({ "type": "object", "minProperties": 1 }), "{}", "expected at least 1 member, got 0"),
        (json!({ "type": "object", "maxProperties": 0 }), "{\"x\":1}", "expected at most 0 members, got 1"),
        (
            json!({ "type": "string", "pattern": "^a+$" }),
            "\"b\"",
            "expected text that matches the pattern ^a+$, got string \"b\"",
        ),
        (json!(false), "1", "expected nothing here, got integer 1"),
        (
            json!({ "type": "object", "required": ["b"], "properties": { "b": { "type": ["string", "null"] } } }),
            "{}",
            "missing required property \"b\" (string or null)",
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            "true",
            "expected string or integer, got boolean true",
        ),
        (
            json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] }),
            "1",
            "fits more than one of the alternatives, expected exactly one",
        ),
    ] {
        assert_eq!(refused(&with(property), &format!("{{\"a\":{value}}}")), format!("/a: {message}"));
    }
}

#[test]
fn a_missing_required_argument_is_reported_with_its_type() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": {} },
        "required": ["a", "b"],
    });
    assert_eq!(refused(&schema, "{}"), "missing required argument \"a\" (integer); missing required argument \"b\"");
}

#[test]
fn a_value_that_fits_no_alternative_is_compared_with_the_closest() {
    let shape = json!({
        "oneOf": [
            {
                "type": "object",
                "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } },
                "required": ["kind", "radius"],
            },
            {
                "type": "object",
                "properties": { "kind": { "const": "square" }, "side": { "type": "number" } },
                "required": ["kind", "side"],
            },
        ],
    });
    assert_eq!(
        refused(&with(shape), r#"{"a":{"kind":"square","side":"2"}}"#),
        "/a: fits none of the 2 alternatives; closest is number 2: /a/side: expected number, got string \"2\""
    );
}

#[test]
fn a_wrong_tag_is_reported_with_all_that_could_stand_there() {
    let variant = |tag: &str, member: &str| {
        json!({
            "type": "object",
            "properties": { "type": { "type": "string", "enum": [tag] }, member: { "type": "number" } },
            "required": ["type", member],
        })
    };
    let shape = with(json!({ "oneOf": [variant("circle", "r"), variant("square", "side"), variant("dot", "x")] }));
    for (value, refusal) in [
        (
            r#"{"type":"triangle","r":1}"#,
            r#"/a/type: expected one of "circle", "square", "dot", got string "triangle""#,
        ),
        (r#"{"type":"Circle"}"#, r#"/a/type: expected one of "circle", "square", "dot", got string "Circle""#),
        (r#""circle""#, r#"/a: expected object, got string "circle""#),
    ] {
        assert_eq!(refused(&shape, &format!("{{\"a\":{value}}}")), refusal);
    }
    let one = refused(&shape, r#"{"a":{"type":"circle","r":"1"}}"#);
    assert!(one.ends_with("/a/r: expected number, got string \"1\""), "what the tag names is explained: {one}");
}

#[test]
fn a_member_that_names_no_alternative_is_reported_with_all_that_do() {
    let variant = |name: &str, schema: Value| json!({ "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false });
    let turn = variant("Move", json!({ "type": "object", "required": ["x"] }));
    let action = with(json!({
        "oneOf": [{ "type": "string", "enum": ["Stop", "Go"] }, turn, variant("Say", json!({ "type": "string" }))],
    }));
    for (value, refusal) in [
        (r#"{"Jump":{}}"#, r#"/a/Jump: unknown property "Jump", expected "Move", "Say""#),
        (r#"{"move":{}}"#, r#"/a/move: unknown property "move", did you mean "Move"?"#),
        ("{}", r#"/a: missing one of the required properties "Move", "Say""#),
        (r#""Move""#, r#"/a: expected one of "Stop", "Go" or object, got string "Move""#),
        ("5", r#"/a: expected one of "Stop", "Go" or object, got integer 5"#),
    ] {
        assert_eq!(refused(&action, &format!("{{\"a\":{value}}}")), refusal);
    }
    let one = refused(&action, r#"{"a":{"Say":5}}"#);
    assert!(one.ends_with("/a/Say: expected string, got integer 5"), "what the name leads to is explained: {one}");
}

#[test]
fn problems_behind_references_know_the_names_there() {
    let schema = json!({
        "type": "object",
        "properties": { "place": { "$ref": "#/$defs/Place" } },
        "$defs": {
            "Place": {
                "type": "object",
                "properties": { "latitude": { "type": "number" } },
                "required": ["latitude"],
                "additionalProperties": false,
            },
        },
    });
    assert_eq!(
        refused(&schema, r#"{"place":{"latitud":1}}"#),
        "/place/latitud: unknown property \"latitud\", did you mean \"latitude\"?; \
         /place: missing required property \"latitude\" (number)"
    );
}

#[test]
fn a_long_value_is_abridged_and_many_problems_are_counted() {
    let long = format!("{{\"a\":\"{}\"}}", "ä".repeat(10_000));
    let refusal = refused(&with(json!({ "type": "integer" })), &long);
    assert!(refusal.starts_with("/a: expected integer, got string \"ää") && refusal.ends_with("ä…"));
    assert!(refusal.chars().count() < 120, "{refusal}");

    let list = with(json!({ "type": "array", "items": { "type": "integer" } }));
    let text = format!("{{\"a\":[{}\"x\"]}}", "\"x\",".repeat(29));
    let error = checker(&list).check(&text, Strictness::Lenient).unwrap_err();
    assert_eq!((error.problems().len(), error.omitted()), (10, 20));
    assert_eq!(error.pointer(), "/a/0");

    let many: Vec<_> = (0..50).map(|index| format!("value {index}")).collect();
    let refusal = refused(&with(json!({ "enum": many })), r#"{"a":1}"#);
    assert!(refusal.ends_with("\"value 19\" and 30 more, got integer 1"), "{refusal}");

    let names = format!(
        "{{\"in\":{{{}}}}}",
        (0..30).map(|i| format!("\"{}{i}\":1", "n".repeat(500))).collect::<Vec<_>>().join(",")
    );
    let closed = json!({
        "type": "object",
        "properties": { "in": { "type": "object", "additionalProperties": false } },
    });
    let error = checker(&closed).check(&names, Strictness::Lenient).unwrap_err();
    assert_eq!((error.problems().len(), error.omitted()), (10, 20));
    assert!(error.to_string().chars().count() < 3_000, "{error}");
}

#[test]
fn formats_are_annotations() {
    let date = with(json!({ "type": "string", "format": "date-time" }));
    assert!(passes(&date, r#"{"a":"tomorrow"}"#));
    let nested = with(json!({ "anyOf": [{ "type": "string", "format": "uuid" }] }));
    assert!(passes(&nested, r#"{"a":"no uuid"}"#));
}
