//! What schemars makes of real types.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::normalised;
use crate::schema::{NormaliseError, normalise};

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Node {
    value: i8,
    children: Vec<Node>,
    parent: Option<Box<Node>>,
}

/// A unit of temperature.
#[derive(JsonSchema)]
#[allow(dead_code)]
enum Unit {
    /// Water freezes
    /// at zero.
    Celsius,
    Fahrenheit,
    /// Starts at the bottom.
    Kelvin,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
enum Shape {
    Circle { radius: f64 },
    Square(u8),
    Point,
}

#[derive(JsonSchema)]
#[schemars(tag = "kind")]
#[allow(dead_code)]
enum Tagged {
    Left { x: u8 },
    Right { y: u8 },
}

mod other {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    pub(super) struct Unit {
        pub(super) name: String,
    }
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Everything {
    tiny: i8,
    small: u16,
    signed: i64,
    unsigned: u64,
    size: usize,
    offset: isize,
    huge: u128,
    single: f32,
    double: f64,
    non_zero: std::num::NonZeroU32,
    letter: char,
    #[schemars(range(min = 1, max = 10))]
    rating: i32,
    /// What to call it.
    name: Option<String>,
    #[serde(default)]
    count: Option<i32>,
    #[serde(default)]
    retries: u8,
    unit: Unit,
    other_unit: Option<Unit>,
    named_unit: other::Unit,
    shape: Shape,
    tree: Option<Box<Node>>,
    gaps: Vec<Option<String>>,
    labels: BTreeMap<String, i32>,
    extra: HashMap<String, Value>,
    anything: Value,
    maybe_anything: Option<Value>,
    pair: (u8, String),
    wait: Duration,
    nothing: (),
}

#[test]
fn every_kind_of_field_comes_out_by_the_rules() {
    insta::assert_json_snapshot!(normalised(schema_for!(Everything).to_value()));
}

#[test]
fn a_recursive_root_refers_to_a_definition_of_itself() {
    insta::assert_json_snapshot!(normalised(schema_for!(Node).to_value()));
}

#[test]
fn an_optional_struct_as_the_root_is_that_struct() {
    assert_eq!(normalised(schema_for!(Option<Node>).to_value()), normalised(schema_for!(Node).to_value()));
}

#[test]
fn no_parameters_is_an_empty_object_however_written() {
    #[derive(JsonSchema)]
    struct Unit;
    #[derive(JsonSchema)]
    struct Empty {}

    let empty = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;
    for nothing in [
        schema_for!(()).to_value(),
        schema_for!(Unit).to_value(),
        schema_for!(Empty).to_value(),
        schema_for!(Value).to_value(),
        json!(null),
        json!(true),
        json!({}),
        json!({ "type": "object" }),
    ] {
        assert_eq!(normalised(nothing.clone()).to_string(), empty, "from {nothing}");
    }
}

#[test]
fn a_flattened_enum_can_still_be_called() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Flat {
        name: String,
        #[serde(flatten)]
        side: Tagged,
    }
    let schema = normalised(schema_for!(Flat).to_value());
    assert_eq!(schema["properties"], json!({ "name": { "type": "string" }, "kind": {}, "x": {}, "y": {} }));
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["oneOf"][1]["properties"]["kind"], json!({ "type": "string", "enum": ["Right"] }));
}

#[test]
fn a_map_as_the_root_stays_a_map() {
    let schema = normalised(schema_for!(HashMap<String, u8>).to_value());
    assert_eq!(schema["additionalProperties"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
}

#[test]
fn a_root_that_is_not_an_object_is_refused_unchanged() {
    for (schema, message) in [
        (schema_for!(Vec<u8>).to_value(), "schema root is not an object but of type array"),
        (schema_for!(String).to_value(), "schema root is not an object but of type string"),
        (schema_for!(Tagged).to_value(), "schema root is not an object but given by oneOf"),
        (json!(false), "schema root is not an object but false, which admits nothing"),
        (json!(["x"]), r#"schema root is not an object but the JSON value ["x"]"#),
    ] {
        let mut after = schema.clone();
        let error = normalise(&mut after).unwrap_err();
        assert!(matches!(error, NormaliseError::NotAnObject { .. }));
        assert_eq!(error.to_string(), message);
        assert_eq!(after, schema);
    }
}
