//! What is dropped before the check, and what is not.

use serde_json::{Value, json};

use super::{accepted, checker, passes, refused};
use crate::check::Strictness;

fn alarm() -> Value {
    json!({
        "type": "object",
        "properties": {
            "time": { "type": "string" },
            "label": { "type": "string" },
            "snooze": { "type": ["integer", "null"] },
        },
        "required": ["time"],
        "additionalProperties": false,
    })
}

#[test]
fn null_for_an_optional_argument_is_as_if_absent() {
    for (text, kept) in [
        (r#"{"time":"7","label":null}"#, r#"{"time":"7"}"#),
        (r#"{"label":null,"time":"7"}"#, r#"{"time":"7"}"#),
        (r#"{"label":null , "time":"7","snooze":1}"#, r#"{"time":"7","snooze":1}"#),
    ] {
        assert_eq!(accepted(&alarm(), text), kept);
    }
}

#[test]
fn null_stays_where_the_schema_admits_it() {
    assert!(passes(&alarm(), r#"{"time":"7","snooze":null}"#));
}

#[test]
fn null_for_a_required_argument_is_refused() {
    assert_eq!(refused(&alarm(), r#"{"time":null}"#), "/time: expected string, got null");
}

#[test]
fn null_is_dropped_from_nested_objects_lists_and_references() {
    let schema = json!({
        "type": "object",
        "properties": {
            "filter": { "$ref": "#/$defs/Filter" },
            "more": { "type": "array", "items": { "$ref": "#/$defs/Filter" } },
            "by_name": { "type": "object", "additionalProperties": { "$ref": "#/$defs/Filter" } },
        },
        "additionalProperties": false,
        "$defs": {
            "Filter": {
                "type": "object",
                "properties": {
                    "text": { "type": "string" },
                    "size": { "type": "integer" },
                    "inner": { "$ref": "#/$defs/Filter" },
                },
                "required": ["text"],
            },
        },
    });
    assert_eq!(
        accepted(&schema, r#"{"filter":{"text":"a","size":null,"inner":{"text":"b","inner":null}}}"#),
        r#"{"filter":{"text":"a","inner":{"text":"b"}}}"#
    );
    assert_eq!(
        accepted(&schema, r#"{"more":[{"size":null,"text":"a"},{"size":null,"text":"b","inner":null}]}"#),
        r#"{"more":[{"text":"a"},{"text":"b"}]}"#
    );
    assert_eq!(
        accepted(&schema, r#"{"by_name":{"x":{"text":"a","size":null}},"filter":null}"#),
        r#"{"by_name":{"x":{"text":"a"}}}"#
    );
    // A null in a map is data, not an argument left out.
    assert_eq!(refused(&schema, r#"{"by_name":{"x":null}}"#), "/by_name/x: expected object, got null");
    assert_eq!(refused(&schema, r#"{"filter":{"text":null}}"#), "/filter/text: expected string, got null");
}

#[test]
fn null_is_dropped_as_the_alternative_meant_by_its_tag_says() {
    let shape = json!({
        "oneOf": [
            {
                "type": "object",
                "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } },
                "required": ["kind"],
                "additionalProperties": false,
            },
            {
                "type": "object",
                "properties": { "kind": { "enum": ["point"] }, "radius": { "type": "null" } },
                "required": ["kind", "radius"],
                "additionalProperties": false,
            },
        ],
    });
    let schema = json!({ "type": "object", "properties": { "shape": shape } });
    assert_eq!(accepted(&schema, r#"{"shape":{"kind":"circle","radius":null}}"#), r#"{"shape":{"kind":"circle"}}"#);
    assert!(passes(&schema, r#"{"shape":{"kind":"point","radius":null}}"#));
}

#[test]
fn null_in_a_free_value_stays() {
    let schema = json!({ "type": "object", "properties": { "json": {} } });
    assert!(passes(&schema, r#"{"json":null}"#));
    assert!(passes(&schema, r#"{"json":{"a":null}}"#));
}

#[test]
fn unknown_root_arguments_are_dropped() {
    assert_eq!(accepted(&alarm(), r#"{"mood":{"a":[1]},"time":"7","x":null,"y":1}"#), r#"{"time":"7"}"#);
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(accepted(&nothing, r#"{"x":1, "y":2}"#), "{}");
}

#[test]
fn unknown_root_arguments_are_refused_in_strict_mode_with_near_names() {
    let strict = |text| checker(&alarm()).check(text, Strictness::Strict).unwrap_err().to_string();
    assert_eq!(strict(r#"{"time":"7","lable":"x"}"#), r#"/lable: unknown argument "lable", did you mean "label"?"#);
    assert_eq!(strict(r#"{"time":"7","q":null}"#), r#"/q: unknown argument "q", expected "time", "label", "snooze""#);
    let dropped_null = checker(&alarm()).check(r#"{"time":"7","label":null}"#, Strictness::Strict);
    assert_eq!(dropped_null.unwrap(), r#"{"time":"7"}"#);
}

#[test]
fn unknown_root_arguments_stay_where_the_schema_lets_them_in() {
    for open in [json!({ "type": "object" }), json!({ "type": "object", "additionalProperties": true })] {
        assert!(passes(&open, r#"{"x":1}"#));
    }
    let numbers = json!({ "type": "object", "additionalProperties": { "type": "number" } });
    assert!(passes(&numbers, r#"{"x":1}"#));
    assert_eq!(refused(&numbers, r#"{"x":"y"}"#), "/x: expected number, got string \"y\"");
    let patterned = json!({
        "type": "object",
        "patternProperties": { "^x-": { "type": "number" } },
        "additionalProperties": false,
    });
    assert_eq!(accepted(&patterned, r#"{"x-a":1,"y":2}"#), r#"{"x-a":1}"#);
    assert_eq!(refused(&patterned, r#"{"x-a":"1"}"#), "/x-a: expected number, got string \"1\"");
}

#[test]
fn deeper_unknown_members_are_as_the_schema_says() {
    let inner = |closed: bool| {
        json!({
            "type": "object",
            "properties": {
                "in": {
                    "type": "object",
                    "properties": { "colour": { "type": "string" } },
                    "additionalProperties": !closed,
                },
            },
            "additionalProperties": false,
        })
    };
    assert!(passes(&inner(false), r#"{"in":{"color":"red"}}"#));
    assert_eq!(
        refused(&inner(true), r#"{"in":{"color":"red"}}"#),
        r#"/in/color: unknown property "color", did you mean "colour"?"#
    );
}

#[test]
fn a_member_dropped_from_a_large_object_leaves_the_others_in_their_order() {
    let names: Vec<_> = (0..40).map(|index| format!("k{}", 97 * index % 40)).collect();
    let properties: Value =
        names.iter().map(|name| (name.clone(), json!({ "type": "integer" }))).collect::<serde_json::Map<_, _>>().into();
    let schema = json!({ "type": "object", "properties": { "in": { "type": "object", "properties": properties } } });
    let member = |(index, name): (usize, &String)| match index % 3 {
        0 => format!("\"{name}\":null"),
        _ => format!("\"{name}\":{index}"),
    };
    let all: Vec<_> = names.iter().enumerate().map(member).collect();
    let kept: Vec<_> = names.iter().enumerate().filter(|(index, _)| index % 3 != 0).map(member).collect();
    assert_eq!(
        accepted(&schema, &format!("{{\"in\":{{{}}}}}", all.join(","))),
        format!("{{\"in\":{{{}}}}}", kept.join(","))
    );
}

#[test]
fn nulls_and_unknown_arguments_leave_one_large_object_together() {
    let names: Vec<_> = (0..20).map(|index| format!("k{}", 7 * index % 20)).collect();
    let properties: Value =
        names.iter().map(|name| (name.clone(), json!({ "type": "integer" }))).collect::<serde_json::Map<_, _>>().into();
    let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let member = |(index, name): (usize, &String)| match index % 4 {
        0 => format!("\"unknown {name}\":{index}"),
        1 => format!("\"{name}\":{index}"),
        _ => format!("\"{name}\":null"),
    };
    let all: Vec<_> = names.iter().enumerate().map(member).collect();
    let kept: Vec<_> = names.iter().enumerate().filter(|(index, _)| index % 4 == 1).map(member).collect();
    assert_eq!(accepted(&schema, &format!("{{{}}}", all.join(","))), format!("{{{}}}", kept.join(",")));
}

/// What `fn f(q: String, #[serde(flatten)] shape: Shape)` publishes for an internally tagged enum.
fn flattened() -> Value {
    json!({
        "type": "object",
        "properties": { "q": { "type": "string" }, "type": {}, "r": {}, "label": {} },
        "required": ["q", "type"],
        "additionalProperties": false,
        "oneOf": [
            {
                "type": "object",
                "properties": { "type": { "const": "circle" }, "r": { "type": "number" }, "label": { "type": "string" } },
                "required": ["type", "r"],
            },
            { "type": "object", "properties": { "type": { "const": "dot" } }, "required": ["type"] },
        ],
    })
}

#[test]
fn a_null_that_any_declaration_refuses_is_dropped() {
    assert_eq!(
        accepted(&flattened(), r#"{"q":"a","type":"circle","r":1,"label":null}"#),
        r#"{"q":"a","type":"circle","r":1}"#
    );
    // Where nothing else declares the member, `{}` means any JSON, and null is some.
    assert!(passes(&flattened(), r#"{"q":"a","type":"dot","label":null}"#));
}

/// An untagged enum: by id, with an optional note, or by name, with a required one.
fn by_id_or_name(closed: bool) -> Value {
    json!({
        "type": "object",
        "properties": { "s": { "anyOf": [{ "$ref": "#/$defs/ById" }, { "$ref": "#/$defs/ByName" }] } },
        "additionalProperties": false,
        "$defs": {
            "ById": {
                "type": "object",
                "properties": { "id": { "type": "integer" }, "note": { "type": "string" } },
                "required": ["id"],
                "additionalProperties": !closed,
            },
            "ByName": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "note": { "type": "string" } },
                "required": ["name", "note"],
                "additionalProperties": !closed,
            },
        },
    })
}

#[test]
fn an_alternative_that_requires_what_is_not_there_has_no_say_about_null() {
    for schema in [by_id_or_name(false), by_id_or_name(true)] {
        assert_eq!(accepted(&schema, r#"{"s":{"id":1,"note":null}}"#), r#"{"s":{"id":1}}"#);
        assert!(refused(&schema, r#"{"s":{"name":"x","note":null}}"#).contains("/s/note: expected string, got null"));
    }
}

#[test]
fn where_no_alternative_is_complete_the_refusal_is_not_about_null() {
    let refusal = refused(&flattened(), r#"{"q":"a","type":"circle","label":null}"#);
    assert!(refusal.contains("missing required argument \"r\""), "{refusal}");
    assert!(!refusal.contains("null"), "{refusal}");
}
