//! Generated schemas, sensible and otherwise.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "title", "type", "$ref", "enum", "required", "a/b", "A<B>"])
        .prop_map(str::to_owned)
}

fn definition_names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["A", "B", "A2", "C d", "Page<A>"]).prop_map(str::to_owned)
}

fn data() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!("x"),
        json!("y"),
        json!(1),
        json!(2.5),
        json!({ "title": "kept", "$ref": "kept" }),
        json!([null, { "default": null }]),
    ])
}

fn types() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("string"),
        json!("integer"),
        json!("object"),
        json!("array"),
        json!("null"),
        json!(["string", "null"]),
        json!(["null"]),
        json!(["integer", "string", "null"]),
    ])
}

fn references() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("#"),
        json!("#/$defs/A"),
        json!("#/$defs/B"),
        json!("#/definitions/A2"),
        json!("#/$defs/C%20d"),
        json!("#/properties/a"),
        json!("#/properties/a~1b"),
        json!("https://example.com/schema"),
        json!(7),
    ])
}

/// Any schema: keywords in any combination and order, also ones that make no sense together.
pub(super) fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        types().prop_map(|kind| json!({ "type": kind })),
        references().prop_map(|reference| json!({ "$ref": reference })),
        data().prop_map(|value| json!({ "const": value, "description": "a constant" })),
        prop::collection::vec(data(), 0..3).prop_map(|values| json!({ "enum": values })),
        prop::sample::select(vec!["int8", "uint", "uint64", "int128", "uint128", "double", "date"])
            .prop_map(|format| json!({ "type": "integer", "format": format, "minimum": 3 })),
    ];
    leaf.prop_recursive(4, 48, 5, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array);
        let named = prop::collection::btree_map(names(), inner.clone(), 0..4).prop_map(|named| json!(named));
        let defined =
            prop::collection::btree_map(definition_names(), inner.clone(), 0..3).prop_map(|named| json!(named));
        let member = prop_oneof![
            (Just("type"), types()).prop_map(keyed),
            (Just("$ref"), references()).prop_map(keyed),
            (prop::sample::select(vec!["title", "description", "$schema", "$comment"]), Just(json!("text")))
                .prop_map(keyed),
            (prop::sample::select(vec!["default", "const", "examples", "x-note", "nullable"]), data()).prop_map(keyed),
            (prop::sample::select(vec!["exclusiveMinimum", "minimum", "maximum"]), data()).prop_map(keyed),
            (Just("enum"), prop::collection::vec(data(), 0..3).prop_map(Value::Array)).prop_map(keyed),
            (Just("required"), prop::collection::vec(names(), 0..4).prop_map(|names| json!(names))).prop_map(keyed),
            (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items"]), list).prop_map(keyed),
            (
                prop::sample::select(vec!["items", "additionalProperties", "not", "if", "additionalItems"]),
                inner.clone()
            )
                .prop_map(keyed),
            (prop::sample::select(vec!["properties", "patternProperties", "dependencies"]), named).prop_map(keyed),
            (prop::sample::select(vec!["$defs", "definitions"]), defined).prop_map(keyed),
        ];
        prop::collection::vec(member, 0..6)
            .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
    })
}

fn keyed((keyword, value): (&'static str, Value)) -> (String, Value) {
    (keyword.to_owned(), value)
}
