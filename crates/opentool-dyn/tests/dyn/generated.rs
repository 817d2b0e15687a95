//! Documents made at random: what passes the check loads, and every function of it becomes a tool.

use opentool_dyn::{Exports, document_faults, uncallable};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree as _;
use serde_json::{Map, Value, json};

use crate::harness::{document, library, open_here, schema};

/// The names of parameters, the last of which is the return value's.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "r"];

/// Functions and variables of `tests/c/features.c`, whose types do not matter: none is called.
const SYMBOLS: [&str; 5] = ["is_null", "visit", "parser_set", "answer", "table"];

/// A key with a value that is right by itself, or nearly.
fn key() -> impl Strategy<Value = (&'static str, Value)> {
    let name = || select(NAMES.to_vec());
    let named = select(vec!["x-sizeParam", "x-lengthParam", "x-keep", "x-parent", "x-events"]);
    let flag = select(vec!["x-closes", "x-indirect", "x-inOut", "x-byValue", "x-userData", "x-flags"]);
    let number = select(vec!["x-size", "x-allocate", "x-offset", "maxItems"]);
    prop_oneof![
        (named, name()).prop_map(|(key, name)| (key, json!(name))),
        (flag, any::<bool>()).prop_map(|(key, flag)| (key, json!(flag))),
        (number, 1..80_u32).prop_map(|(key, number)| (key, json!(number))),
        Just(("x-handle", json!("object"))),
        Just(("x-free", json!("text_free"))),
        Just(("x-close", json!("text_free"))),
        select(vec!["utf8", "latin1", "base64", "hex"]).prop_map(|name| ("x-encoding", json!(name))),
        name().prop_map(|of| ("x-field", json!(format!("{of}.field")))),
        (0..80_u32).prop_map(|offset| ("x-lengthField", json!({ "offset": offset, "cType": "unsigned int" }))),
        name().prop_map(|name| ("x-when", json!({ "parameter": name, "in": [1, 2] }))),
        (-300..300_i64).prop_map(|value| ("x-values", json!({ "ONE": 1, "OTHER": value }))),
        callback().prop_map(|callback| ("x-callback", callback)),
    ]
}

fn callback() -> impl Strategy<Value = Value> {
    let argument = (select(vec!["x", "y", "z"]), c_type(), any::<bool>(), any::<bool>());
    let argument = argument.prop_map(|(name, c_type, counted, texts)| {
        let mut argument = json!({ "name": name, "cType": c_type });
        if counted {
            argument["lengthParam"] = json!("x");
        }
        if texts {
            argument["texts"] = json!(true);
        }
        argument
    });
    let returns =
        select(vec![json!(null), json!(0), json!(-1), json!({ "cType": { "type": "void", "isPointer": true } })]);
    (prop::collection::vec(argument, 0..4), prop::option::of(0..4_u32), returns).prop_map(|(parameters, data, returns)| {
        json!({ "parameters": parameters, "userData": data, "returns": returns, "max": 10 })
    })
}

fn c_type() -> impl Strategy<Value = Value> {
    let name =
        select(vec!["void", "bool", "char", "unsigned char", "short", "int", "unsigned long", "float", "double"]);
    (name, any::<bool>()).prop_map(|(name, is_pointer)| json!({ "type": name, "isPointer": is_pointer }))
}

fn value_schema() -> impl Strategy<Value = Value> {
    let seen = select(vec!["boolean", "integer", "number", "string", "array"]);
    prop_oneof![
        6 => (seen, c_type()).prop_map(|(seen, c_type)| json!({ "type": seen, "cType": c_type })),
        1 => select(vec!["Point", "Box"]).prop_map(|name| json!({ "$ref": format!("#/schemas/{name}") })),
        1 => Just(json!({ "type": "array", "items": { "$ref": "#/schemas/Point" } })),
    ]
}

fn parameter(name: &'static str) -> impl Strategy<Value = Value> {
    let keys = prop::collection::vec(key(), 0..4);
    (value_schema(), any::<bool>(), any::<bool>(), keys).prop_map(move |(schema, is_in, required, keys)| {
        let mut parameter = json!({ "name": name, "schema": schema, "isIn": is_in, "required": required });
        parameter.as_object_mut().unwrap().extend(keys.into_iter().map(|(key, value)| (key.to_owned(), value)));
        parameter
    })
}

fn a_function() -> impl Strategy<Value = Value> {
    let parameters = subsequence(NAMES[..4].to_vec(), 0..=3)
        .prop_flat_map(|names| names.into_iter().map(parameter).collect::<Vec<_>>());
    let returns = prop::option::of(parameter("r"));
    let flags = subsequence(vec!["x-returnsCode", "x-errno", "x-global"], 0..=1);
    (select(SYMBOLS.to_vec()), parameters, returns, flags).prop_map(|(symbol, parameters, returns, flags)| {
        let mut function = json!({ "name": "f", "x-symbol": symbol, "description": "F.", "parameters": parameters });
        if let Some(mut returns) = returns {
            let members: &mut Map<String, Value> = returns.as_object_mut().unwrap();
            members.remove("isIn");
            members.remove("required");
            function["return"] = returns;
        }
        for flag in flags {
            function[flag] = json!(true);
        }
        function
    })
}

fn schemas(size: u64, offset: u64) -> Value {
    let int = || schema("integer", "int");
    json!({
        "Point": {
            "type": "object",
            "properties": { "x": int(), "y": int() },
            "required": ["x"],
            "x-struct": { "name": "point", "size": 8, "align": 4, "offsets": { "x": 0, "y": 4 } },
        },
        "Box": {
            "type": "object",
            "properties": { "from": { "$ref": "#/schemas/Point" }, "note": schema("string", "char *") },
            "x-struct": { "name": "box", "size": size, "align": 8, "offsets": { "from": 0, "note": offset } },
        },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_the_check_loads(function in a_function(), size in select(vec![8_u64, 16, 24]), offset in select(vec![8_u64, 16])) {
        let works = json!({ "name": "works", "x-symbol": "streams", "description": "W.", "parameters": [] });
        let mut document = document(vec![function, works]);
        document["schemas"] = schemas(size, offset);
        let text = document.to_string();
        let library = library("features");
        let faults = document_faults(&text);
        let passes = opentool_spec::check(&text).is_usable() && faults.is_empty();
        let missing = uncallable(&text, &Exports::read(&library).unwrap());
        let opened = open_here(&document, &library);
        if passes && missing.is_empty() {
            let opened = opened.unwrap_or_else(|error| panic!("{text}: {error}"));
            prop_assert_eq!(opened.disabled().collect::<Vec<_>>(), [], "{}", text);
            prop_assert_eq!(opened.toolbox().len(), 2);
        } else if let Ok(opened) = opened {
            // What is found is what is disabled.
            prop_assert_eq!(opened.disabled().count(), 1, "{}: {:?} {:?}", text, faults, missing);
        }
    }
}

#[test]
fn documents_made_at_random_pass_the_check_often_enough() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = a_function();
    let mut passed = 0;
    for _ in 0..1_000 {
        let function = strategy.new_tree(&mut runner).unwrap().current();
        let mut document = document(vec![function]);
        document["schemas"] = schemas(16, 8);
        let text = document.to_string();
        passed += usize::from(opentool_spec::check(&text).is_usable() && document_faults(&text).is_empty());
    }
    assert!(passed > 50, "only {passed} of 1000 documents pass");
}
