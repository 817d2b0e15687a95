//! The rules one by one, and what must hold for every schema.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{any_schema, as_property, normalised};
use crate::schema::{MAX_SCHEMA_DEPTH, NormaliseError, normalise, normalise_output};

#[test]
fn a_property_may_be_called_like_a_keyword() {
    let schema = normalised(json!({
        "type": "object",
        "title": "Book",
        "properties": {
            "title": { "type": "string", "title": "Title" },
            "$schema": { "type": "string" },
            "default": { "type": ["string", "null"] },
            "properties": { "type": "object", "properties": { "title": { "title": "T", "type": "string" } } },
        },
        "required": ["title"],
    }));
    assert_eq!(
        schema["properties"],
        json!({
            "title": { "type": "string" },
            "$schema": { "type": "string" },
            "default": { "type": "string" },
            "properties": { "type": "object", "properties": { "title": { "type": "string" } } },
        })
    );
}

#[test]
fn data_is_never_rewritten() {
    let data = json!({ "title": "T", "type": ["x", "null"], "default": null, "$ref": "#/$defs/A", "const": 1 });
    let schema =
        as_property(json!({ "enum": [data, [data]], "default": data, "examples": [data], "x-y": data }), false);
    assert_eq!(schema, json!({ "enum": [data, [data]], "default": data, "examples": [data], "x-y": data }));
}

#[test]
fn null_leaves_optional_properties_only() {
    for (union, without) in [
        (json!({ "type": ["string", "null"] }), json!({ "type": "string" })),
        (json!({ "type": ["string", "integer", "null"] }), json!({ "type": ["string", "integer"] })),
        (json!({ "type": ["string", "null"], "enum": ["a", null] }), json!({ "type": "string", "enum": ["a"] })),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "d" }),
            json!({ "type": "string", "description": "d" }),
        ),
        (
            json!({ "oneOf": [{ "type": "array", "items": { "type": ["string", "null"] } }, { "const": null }] }),
            json!({ "type": "array", "items": { "type": ["string", "null"] } }),
        ),
        (
            json!({ "anyOf": [{ "anyOf": [{ "type": "string" }, { "type": "null" }] }, { "type": "null" }] }),
            json!({ "type": "string" }),
        ),
        (json!({ "type": "string", "nullable": true }), json!({ "type": "string" })),
    ] {
        assert_eq!(as_property(union.clone(), false), without);
        let kept = as_property(union.clone(), true).to_string();
        assert!(kept.contains("null"), "{union} became {kept} though it is required");
    }
    assert_eq!(as_property(json!({ "type": "null" }), false), json!({ "type": "null" }));
}

#[test]
fn conditions_keep_their_nulls() {
    let condition = json!({ "properties": { "x": { "type": ["string", "null"] } } });
    let schema = normalised(
        json!({ "type": "object", "properties": { "x": {} }, "if": condition, "then": { "required": ["x"] } }),
    );
    assert_eq!(schema["if"], condition);
}

#[test]
fn a_default_of_null_says_nothing() {
    assert_eq!(as_property(json!({ "type": "string", "default": null }), true), json!({ "type": "string" }));
    assert_eq!(
        as_property(json!({ "type": "string", "default": "" }), true),
        json!({ "type": "string", "default": "" })
    );
}

#[test]
fn documented_choices_become_one_enum_with_their_documentation() {
    let choices = json!({
        "description": "How to sort.",
        "oneOf": [
            { "const": "up", "description": "Smallest\n first." },
            { "type": "string", "enum": ["none", "any"] },
            { "type": "string", "const": "down", "deprecated": true },
        ],
    });
    assert_eq!(
        as_property(choices, true),
        json!({ "type": "string", "description": "How to sort.\n- up: Smallest first.\n- down: (deprecated)", "enum": ["up", "none", "any", "down"] })
    );
    let numbers = json!({ "anyOf": [{ "const": 1 }, { "const": 2, "description": "Two." }] });
    assert_eq!(as_property(numbers, true), json!({ "type": "integer", "description": "- 2: Two.", "enum": [1, 2] }));
    let mixed = json!({ "oneOf": [{ "const": 1 }, { "const": "x" }] });
    assert_eq!(as_property(mixed, true)["oneOf"].as_array().unwrap().len(), 2);
    let never = json!({ "oneOf": [{ "const": 1 }, { "const": 1 }] });
    assert_eq!(as_property(never, true)["oneOf"].as_array().unwrap().len(), 2);
}

#[test]
fn integer_formats_become_exact_bounds() {
    for (format, low, high) in [
        ("int8", json!(-128), json!(127)),
        ("int16", json!(-32768), json!(32767)),
        ("int32", json!(-2_147_483_648_i64), json!(2_147_483_647)),
        ("int64", json!(i64::MIN), json!(i64::MAX)),
        ("int", json!(i64::MIN), json!(i64::MAX)),
        ("uint8", json!(0), json!(255)),
        ("uint16", json!(0), json!(65535)),
        ("uint32", json!(0), json!(4_294_967_295_u32)),
        ("uint64", json!(0), json!(u64::MAX)),
        ("uint", json!(0), json!(u64::MAX)),
    ] {
        let schema = as_property(json!({ "type": "integer", "format": format }), true);
        assert_eq!(schema, json!({ "type": "integer", "minimum": low, "maximum": high }), "{format}");
    }
    assert_eq!(
        as_property(json!({ "type": "integer", "format": "uint64" }), true).to_string(),
        r#"{"type":"integer","minimum":0,"maximum":18446744073709551615}"#
    );
    assert_eq!(
        as_property(json!({ "type": "integer", "format": "uint128" }), true),
        json!({ "type": "integer", "minimum": 0 })
    );
    assert_eq!(as_property(json!({ "type": "integer", "format": "int128" }), true), json!({ "type": "integer" }));
    assert_eq!(as_property(json!({ "type": "number", "format": "double" }), true), json!({ "type": "number" }));
}

#[test]
fn the_tighter_bound_stays() {
    for (bounds, expected) in [
        (json!({ "minimum": 1, "maximum": 10 }), json!({ "minimum": 1, "maximum": 10 })),
        (json!({ "minimum": -5, "maximum": 1000 }), json!({ "minimum": 0, "maximum": 255 })),
        (json!({ "exclusiveMinimum": 3 }), json!({ "exclusiveMinimum": 3, "maximum": 255 })),
        (json!({ "minimum": 0.5 }), json!({ "minimum": 0.5, "maximum": 255 })),
    ] {
        let mut schema = bounds;
        schema["type"] = "integer".into();
        schema["format"] = "uint8".into();
        let mut expected = expected;
        expected["type"] = "integer".into();
        assert_eq!(as_property(schema, true), expected);
    }
}

#[test]
fn a_format_that_is_no_integer_stays() {
    for schema in [json!({ "type": "string", "format": "int64" }), json!({ "type": "string", "format": "date-time" })] {
        assert_eq!(as_property(schema.clone(), true), schema);
    }
}

#[test]
fn older_drafts_are_brought_up_to_date() {
    assert_eq!(
        as_property(json!({ "type": "array", "items": [{ "type": "string" }, true], "additionalItems": false }), true),
        json!({ "type": "array", "items": false, "prefixItems": [{ "type": "string" }, {}] })
    );
    assert_eq!(
        as_property(
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": false }),
            true
        ),
        json!({ "type": "number", "exclusiveMinimum": 1, "maximum": 2 })
    );
    assert_eq!(as_property(json!({ "type": "string", "nullable": true }), true), json!({ "type": ["string", "null"] }));
    let schema = normalised(
        json!({ "type": "object", "properties": { "a": true, "b": true }, "dependencies": { "a": ["b"], "b": { "title": "x", "required": ["a"] } } }),
    );
    assert_eq!(schema["dependentRequired"], json!({ "a": ["b"] }));
    assert_eq!(schema["dependentSchemas"], json!({ "b": { "required": ["a"] } }));
}

#[test]
fn a_required_name_without_a_property_gets_one() {
    let schema = normalised(json!({ "type": "object", "required": ["x"] }));
    assert_eq!(schema["properties"], json!({ "x": {} }));
}

fn tree(leaf: &str) -> Value {
    json!({
        "$ref": "#/$defs/Tree",
        "$defs": {
            "Leaf": { "type": leaf },
            "Tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/Tree" }, "leaf": { "$ref": "#/$defs/Leaf" } } },
            "Unused": { "$ref": "#/$defs/Leaf" },
        },
    })
}

#[test]
fn definitions_are_shared_at_the_root_and_collisions_numbered() {
    let schema = normalised(json!({
        "type": "object",
        "properties": { "a": tree("string"), "b": tree("string"), "c": tree("integer"), "d": tree("integer") },
    }));
    assert_eq!(
        schema["properties"],
        json!({
            "a": { "$ref": "#/$defs/Tree" },
            "b": { "$ref": "#/$defs/Tree" },
            "c": { "$ref": "#/$defs/Tree2" },
            "d": { "$ref": "#/$defs/Tree2" },
        })
    );
    let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Tree", "Leaf", "Tree2", "Leaf2"]);
    assert_eq!(schema["$defs"]["Tree2"]["properties"]["left"]["$ref"], "#/$defs/Tree2");
    assert_eq!(schema["$defs"]["Tree2"]["properties"]["leaf"]["$ref"], "#/$defs/Leaf2");
    assert_eq!(schema["$defs"]["Leaf2"], json!({ "type": "integer" }));
}

#[test]
fn a_numbered_name_does_not_take_the_name_of_another() {
    let part =
        |kind: &str, name: &str| json!({ "$ref": format!("#/$defs/{name}"), "$defs": { name: { "type": kind } } });
    let schema = normalised(json!({
        "type": "object",
        "properties": { "a": part("string", "N"), "b": part("integer", "N"), "c": part("boolean", "N2"), "d": part("number", "N") },
    }));
    assert_eq!(
        schema["$defs"],
        json!({ "N": { "type": "string" }, "N3": { "type": "integer" }, "N2": { "type": "boolean" }, "N4": { "type": "number" } })
    );
}

#[test]
fn references_into_the_schema_become_definitions() {
    let schema = normalised(json!({
        "title": "Person",
        "type": "object",
        "properties": {
            "home": { "anyOf": [{ "type": "object", "properties": { "street": { "type": "string" } } }, { "type": "null" }] },
            "work": { "$ref": "#/properties/home/anyOf/0" },
            "friend": { "$ref": "#" },
            "other": { "$ref": "https://example.com/other" },
        },
    }));
    assert_eq!(schema["properties"]["work"], json!({ "$ref": "#/$defs/home" }));
    assert_eq!(schema["properties"]["friend"], json!({ "$ref": "#/$defs/Person" }));
    assert_eq!(schema["properties"]["other"], json!({ "$ref": "https://example.com/other" }));
    assert_eq!(schema["$defs"]["home"], json!({ "type": "object", "properties": { "street": { "type": "string" } } }));
    assert_eq!(schema["$defs"]["Person"]["properties"]["work"], json!({ "$ref": "#/$defs/home" }));
    assert_eq!(schema["$defs"]["Person"].get("additionalProperties"), None);
}

#[test]
fn a_reference_that_leads_nowhere_is_refused() {
    for reference in ["#/$defs/A", "#/definitions/A/B", "#/properties/x/type", "#/properties/~1"] {
        let before =
            json!({ "type": "object", "properties": { "x": { "type": "string" }, "y": { "$ref": reference } } });
        let mut schema = before.clone();
        let error = normalise(&mut schema).unwrap_err();
        assert_eq!(error.to_string(), format!("schema refers to {reference:?}, which it does not have"));
        assert_eq!(schema, before);
    }
}

#[test]
fn a_cycle_that_never_enters_the_value_is_cut() {
    let schema = normalised(json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/$defs/A" }, "y": { "$ref": "#/$defs/List" } },
        "$defs": {
            "A": { "$ref": "#/$defs/B" },
            "B": { "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "string" }] },
            "List": { "type": "array", "items": { "$ref": "#/$defs/List" } },
        },
    }));
    assert_eq!(
        schema["$defs"],
        json!({
            "A": { "$ref": "#/$defs/B" },
            "B": { "anyOf": [{}, { "type": "string" }] },
            "List": { "type": "array", "items": { "$ref": "#/$defs/List" } },
        })
    );
}

#[test]
fn names_of_definitions_need_no_escaping() {
    let schema = normalised(json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/definitions/Page%3CA~1B%3E" }, "y": { "$ref": "#/definitions/温度" } },
        "definitions": { "Page<A/B>": { "type": "string" }, "温度": { "type": "number" } },
    }));
    assert_eq!(schema["properties"]["x"], json!({ "$ref": "#/$defs/Page_A_B_" }));
    assert_eq!(schema["$defs"], json!({ "Page_A_B_": { "type": "string" }, "Schema": { "type": "number" } }));
}

#[test]
fn an_output_may_have_any_root() {
    for (schema, expected) in [
        (json!({ "title": "x", "type": "array", "items": true }), json!({ "type": "array", "items": {} })),
        (json!(true), json!({})),
        (json!({ "type": ["string", "null"] }), json!({ "type": ["string", "null"] })),
        (
            json!({ "$ref": "#/$defs/A", "$defs": { "A": { "type": "integer", "format": "uint8" } } }),
            json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        ),
    ] {
        let mut output = schema;
        normalise_output(&mut output).unwrap();
        assert_eq!(output, expected);
    }
}

#[test]
fn an_output_that_is_no_schema_is_refused() {
    let mut output = json!(["x"]);
    let error = normalise_output(&mut output).unwrap_err();
    assert_eq!(error.to_string(), r#"a schema is an object or a boolean, not ["x"]"#);
    let mut nothing = Value::Null;
    normalise_output(&mut nothing).unwrap();
    assert_eq!(nothing, json!({}));
}

/// Takes a value apart without recursion, which is how the standard way would overflow the stack.
fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[test]
fn a_schema_nested_100_000_levels_deep_is_refused() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..100_000 {
        schema = Value::Object([("items".to_owned(), schema)].into_iter().collect());
    }
    assert_eq!(normalise(&mut schema), Err(NormaliseError::TooDeep { limit: MAX_SCHEMA_DEPTH }));
    assert_eq!(normalise_output(&mut schema), Err(NormaliseError::TooDeep { limit: MAX_SCHEMA_DEPTH }));
    dismantle(schema);
}

#[test]
fn a_schema_as_deep_as_allowed_is_normalised() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..(MAX_SCHEMA_DEPTH - 5) / 2 {
        schema = json!({ "anyOf": [schema, { "type": "integer" }] });
    }
    normalised(json!({ "type": "object", "properties": { "x": schema } }));
}

/// A document whose definitions `D0` … each refer twice to the next one.
fn doubling_chain(length: usize) -> Value {
    let mut defs = serde_json::Map::new();
    for step in 0..length {
        let next = json!({ "$ref": format!("#/$defs/D{}", step + 1) });
        defs.insert(format!("D{step}"), json!({ "type": "object", "properties": { "left": next, "right": next } }));
    }
    defs.insert(format!("D{length}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/D0" } }, "$defs": defs })
}

#[test]
fn a_chain_of_doubling_references_stays_as_small_as_it_was() {
    let chain = doubling_chain(50);
    let size = chain.to_string().len();
    assert!(normalised(chain).to_string().len() < size + 100);
}

#[test]
fn ten_thousand_definitions_take_no_quadratic_time() {
    let start = std::time::Instant::now();
    // Two copies of a long chain that differ at its end only: every definition must stay separate.
    let mut other = doubling_chain(10_000);
    other["$defs"]["D10000"] = json!({ "type": "integer" });
    let mut schema = json!({ "type": "object", "properties": { "a": doubling_chain(10_000), "b": other } });
    normalise(&mut schema).unwrap();
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 20_002);
    assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
}

proptest! {
    #[test]
    fn normalising_never_fails_silently_and_twice_is_once(schema in any_schema::schema()) {
        let mut once = schema.clone();
        if normalise(&mut once).is_ok() {
            let keys: Vec<_> = once.as_object().unwrap().keys().take(4).cloned().collect();
            prop_assert_eq!(keys, ["type", "properties", "required", "additionalProperties"]);
            let mut twice = once.clone();
            normalise(&mut twice).unwrap();
            prop_assert_eq!(once.to_string(), twice.to_string());
        } else {
            prop_assert_eq!(&once, &schema);
        }
        let mut once = schema.clone();
        if normalise_output(&mut once).is_ok() {
            let mut twice = once.clone();
            normalise_output(&mut twice).unwrap();
            prop_assert_eq!(once.to_string(), twice.to_string());
        } else {
            prop_assert_eq!(&once, &schema);
        }
    }
}
