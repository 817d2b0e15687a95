//! What a check costs for texts that are made to cost much.

use serde_json::{Value, json};

use super::checker;
use crate::MemoryBudget;
use crate::check::{Strictness, Unchecked};

const LENGTH: usize = 1 << 20;

/// A text of about a megabyte that repeats a part.
fn filled(open: &str, part: &str, close: &str) -> String {
    let parts = LENGTH / (part.len() + 1);
    format!("{open}{}{close}", vec![part; parts].join(","))
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Texts of many short values, each the value of an argument `x`.
fn hostile_values() -> Vec<(&'static str, String)> {
    let names: Vec<String> = (0..LENGTH / 12).map(|index| format!("\"{index}\":[]")).collect();
    vec![
        ("empty arrays", filled("[", "[]", "]")),
        ("short arrays", filled("[", "[1,2]", "]")),
        ("deep arrays", filled("[", &nested(100), "]")),
        ("empty objects", filled("[", "{}", "]")),
        ("objects with null", filled("[", r#"{"a":null}"#, "]")),
        ("numbers", filled("[", "1", "]")),
        ("texts", filled("[", r#""""#, "]")),
        ("many names", format!("{{{}}}", names.join(","))),
        ("one long text", format!("\"{}\"", "a".repeat(LENGTH))),
    ]
}

/// What the schemas of tools make of an argument `x`.
fn schemas() -> Vec<(&'static str, Value)> {
    let with = |x: Value| json!({ "type": "object", "properties": { "x": x }, "additionalProperties": false });
    vec![
        ("unknown", json!({ "type": "object", "properties": { "y": {} }, "additionalProperties": false })),
        ("anything", with(json!({}))),
        (
            "a union",
            with(json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "boolean" } }] })),
        ),
        ("texts", with(json!({ "type": "array", "items": { "type": "string", "pattern": "^a" } }))),
        ("different ones", with(json!({ "type": "array", "uniqueItems": true }))),
        ("closed objects", with(json!({ "items": { "properties": { "b": {} }, "additionalProperties": false } }))),
        ("no names", with(json!({ "additionalProperties": false }))),
        ("optional ones", with(json!({ "items": { "properties": { "a": { "type": "string" } } } }))),
    ]
}

#[test]
fn no_check_takes_more_than_three_times_the_memory_of_the_text() {
    for (values, value) in hostile_values() {
        let text = format!(r#"{{"x":{value}}}"#);
        for (name, schema) in schemas() {
            for strictness in [Strictness::Lenient, Strictness::Strict] {
                let budget = MemoryBudget::new(3 * text.len());
                let checked = checker(&schema).check_within(&text, strictness, Some(&budget));
                assert!(!matches!(checked, Err(Unchecked::OutOfMemory)), "{values} for {name}");
                assert_eq!(budget.held(), 0);
            }
        }
    }
}

#[test]
fn an_unknown_argument_is_skipped_without_an_index_of_what_is_in_it() {
    let schema = json!({ "type": "object", "properties": { "y": {} }, "additionalProperties": false });
    for value in [filled("[", "[]", "]"), filled("[", &nested(100), "]")] {
        let text = format!(r#"{{"x":{value},"y":[1]}}"#);
        // A quarter of the text: a bit for each byte, and next to nothing else.
        let budget = MemoryBudget::new(text.len() / 4 + (64 << 10));
        let checked = checker(&schema).check_within(&text, Strictness::Lenient, Some(&budget));
        assert_eq!(checked.unwrap(), r#"{"y":[1]}"#);
    }
}

#[test]
fn a_check_without_memory_is_no_refusal_of_the_arguments() {
    let schema = json!({ "type": "object", "properties": { "x": { "anyOf": [{}, { "type": "null" }] } } });
    let text = format!(r#"{{"x":{}}}"#, filled("[", &nested(100), "]"));
    let budget = MemoryBudget::new(text.len());
    let checked = checker(&schema).check_within(&text, Strictness::Lenient, Some(&budget));
    assert!(matches!(checked, Err(Unchecked::OutOfMemory)), "{checked:?}");
    assert_eq!(budget.held(), 0, "what was reserved is given back");
    assert_eq!(checker(&schema).check(&text, Strictness::Lenient).unwrap(), text, "without a budget it passes");
}

#[test]
fn refusal_of_a_long_text_names_the_first_places() {
    let schema = json!({
        "type": "object",
        "properties": { "x": { "type": "array", "items": { "type": "string", "pattern": "^a" } } },
    });
    let refused = |text: &str| checker(&schema).check(text, Strictness::Lenient).unwrap_err().to_string();
    let text = format!(r#"{{"x":{}}}"#, filled("[", "1", "]"));
    assert!(refused(&text).starts_with("/x/0: expected string, got integer 1; /x/1: "), "{}", refused(&text));
    let text = format!(r#"{{"x":{}}}"#, filled("[", r#""a""#, r#",1]"#));
    let message = "the arguments do not satisfy the input schema; they are too long to say where";
    assert_eq!(refused(&text), message);
}

#[test]
fn a_long_list_of_objects_that_are_all_alike_but_one_is_compared_quickly() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "array", "uniqueItems": true } } });
    let objects: Vec<_> = (0..20_000).map(|index| format!(r#"{{"b":[{index}],"a":1}}"#)).collect();
    let unique = format!(r#"{{"x":[{}]}}"#, objects.join(","));
    assert!(checker(&schema).check(&unique, Strictness::Lenient).is_ok());
    let repeated = format!(r#"{{"x":[{},{{"a":1.0,"b":[7e0]}}]}}"#, objects.join(","));
    let refused = checker(&schema).check(&repeated, Strictness::Lenient).unwrap_err().to_string();
    assert_eq!(refused, "/x: expected items that all differ");
}
