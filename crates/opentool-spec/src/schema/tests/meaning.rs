//! What a schema admits before and after, according to a validator.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::Info;
use crate::schema::{SchemaTool, functions_from_schemas, normalise};

const NAMES: [&str; 3] = ["a", "b", "title"];

/// Schemas as generators write them, over the values of [`value`].
fn sensible() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(true),
        json!({ "type": "string", "title": "T" }),
        json!({ "type": "string", "const": "x" }),
        json!({ "enum": ["x", 1] }),
        json!({ "type": ["string", "null"], "enum": ["x", "y", null] }),
        json!({ "type": "integer", "format": "uint8", "minimum": 2 }),
        json!({ "type": ["integer", "null"], "format": "int64" }),
        json!({ "type": "number", "exclusiveMinimum": true, "minimum": 1 }),
        json!({ "oneOf": [{ "const": "x", "description": "the x" }, { "const": "y" }] }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] }),
        json!({ "$ref": "#/$defs/A" }),
        json!({ "$ref": "#/definitions/B", "description": "beside" }),
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/properties/title" }),
    ]);
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            object(inner.clone()),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": [items], "additionalItems": false })),
            inner.clone().prop_map(|values| json!({ "type": "object", "additionalProperties": values })),
            (combinator(), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(combinator, branches)| json!({ combinator: branches, "title": "T" })),
            (object(inner.clone()), combinator(), prop::collection::vec(object(inner.clone()), 1..3)).prop_map(
                |(mut object, combinator, branches)| {
                    object[combinator] = branches.into();
                    object
                }
            ),
            inner.prop_map(|schema| json!({ "not": schema })),
        ]
    })
}

fn combinator() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["anyOf", "oneOf", "allOf"])
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let names = prop::sample::subsequence(NAMES.to_vec(), 0..3);
    let properties = (prop::collection::vec(inner, 3), names.clone(), names);
    properties.prop_map(|(schemas, named, required)| {
        let properties: Map<_, _> = named.into_iter().map(str::to_owned).zip(schemas).collect();
        json!({ "type": "object", "properties": properties, "required": required })
    })
}

/// A whole schema of arguments, whose definitions never refer to themselves without a step into the value.
pub(super) fn arguments() -> impl Strategy<Value = Value> {
    let branches = prop::collection::vec(object(sensible()), 0..3);
    (object(sensible()), combinator(), branches, object(sensible()), sensible()).prop_map(
        |(mut root, combinator, branches, a, b)| {
            if !branches.is_empty() {
                root[combinator] = branches.into();
            }
            root["properties"]["title"] = json!({ "type": ["string", "null"], "title": "T" });
            root["$defs"] = json!({ "A": a });
            root["definitions"] = json!({ "B": { "type": "array", "items": b } });
            root
        },
    )
}

/// Values without null, which the normaliser takes out of optional properties on purpose.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![json!("x"), json!("y"), json!(1), json!(3), json!(2.5), json!(true)]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn normalising_changes_nothing_about_which_arguments_are_admitted(
        schema in arguments(),
        values in prop::collection::vec(prop::collection::btree_map(prop::sample::select(NAMES.to_vec()), value(), 0..4), 8),
    ) {
        let mut normal = schema.clone();
        normalise(&mut normal).unwrap();
        let (Ok(before), Ok(after)) = (jsonschema::draft202012::new(&upgraded(&schema)), jsonschema::draft202012::new(&normal)) else {
            return Err(TestCaseError::fail(format!("{schema} or {normal} does not compile")));
        };
        for mut value in values {
            // Unknown arguments are dropped before they are checked.
            value.retain(|name, _| normal["properties"].get(name).is_some());
            let value = json!(value);
            prop_assert_eq!(before.is_valid(&value), after.is_valid(&value), "{} by {} and {}", value, schema, normal);
        }
    }

    #[test]
    fn every_imported_function_has_a_schema_that_compiles(schema in arguments()) {
        if let Ok(imported) = functions_from_schemas([SchemaTool::new("f", "d", &schema)]) {
            let document = imported.into_document(Info::new("t", "1"));
            let schema = document.input_schema(&document.functions[0]).unwrap();
            prop_assert!(jsonschema::draft202012::new(&schema).is_ok(), "{}", schema);
        }
    }
}

/// The keywords of older drafts as a validator of the current one reads them, so that it can validate against the original.
fn upgraded(schema: &Value) -> Value {
    match schema {
        Value::Array(list) => list.iter().map(upgraded).collect(),
        Value::Object(map) => {
            let mut map: Map<_, _> = map.iter().map(|(key, value)| (key.clone(), upgraded(value))).collect();
            if map.get("items").is_some_and(Value::is_array) {
                map.insert("prefixItems".into(), map["items"].clone());
                map.insert("items".into(), map["additionalItems"].clone());
                map.remove("additionalItems");
            }
            if map.get("exclusiveMinimum") == Some(&json!(true)) {
                map.insert("exclusiveMinimum".into(), map["minimum"].clone());
                map.remove("minimum");
            }
            map.into()
        }
        other => other.clone(),
    }
}
