#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jsonschema::Validator;
use serde_json::{Value, json};

use super::document_schema;
use crate::{CTypeName, CallingConvention, DocumentKind, SchemaType, Severity};

fn validator(kind: DocumentKind) -> Validator {
    let schema: Value = serde_json::from_str(document_schema(kind)).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn opentool() -> Value {
    json!({
        "opentool": "1.1.0",
        "info": { "title": "T", "description": "D", "version": "1", "x-logo": 1 },
        "server": { "url": "http://127.0.0.1:9627/opentool", "description": "D" },
        "functions": [
            { "name": "f", "description": "D", "parameters": [
                { "name": "a", "description": "D", "schema": { "$ref": "#/schemas/S" }, "required": true },
                { "name": "b", "schema": { "type": "integer", "enum": [1, 2], "minimum": 0 }, "required": false }],
              "return": { "name": "r", "description": "D", "schema": { "type": "array", "items": { "type": "boolean" } } },
              "stream": true },
            { "name": "g", "description": "D", "parameters": [], "return": null }],
        "schemas": { "S": { "type": "object", "description": "D", "required": ["n"], "properties": {
            "n": { "type": "number", "enum": ["1.5"] }, "s": { "type": "string", "enum": ["x"] },
            "next": { "$ref": "#/schemas/S" } } } },
        "x-anything": [null],
    })
}

fn opendyn() -> Value {
    json!({
        "opendyn": "1.0.0",
        "info": { "title": "T", "description": "D", "version": "1", "callingConvention": "stdcall" },
        "functions": [
            { "name": "f", "description": "D", "x-returnsCode": [0, 100], "parameters": [
                { "name": "a", "description": "D", "schema": { "$ref": "#/schemas/S" }, "isIn": true, "required": true },
                { "name": "b", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": true } },
                  "isIn": true, "required": false },
                { "name": "c", "schema": { "type": "string" }, "isIn": false, "required": false }],
              "return": { "name": "r", "description": "D", "schema": { "type": "number" } } },
            { "name": "g", "description": "D", "parameters": [], "return": null }],
        "schemas": { "S": { "type": "array", "description": "D", "cType": { "type": "double", "isPointer": true } } },
        "code": { "0": "Success" },
    })
}

fn openworkflow() -> Value {
    json!({
        "openworkflow": "1.0.0",
        "info": { "title": "T", "description": "D", "version": "1" },
        "workflow": {
            "start": { "function": "f", "description": "D", "arguments": { "a": 1 }, "results": { "r": 0 }, "next": "end" },
            "end": { "function": "g", "arguments": { "b": "#/start/results/r" }, "results": {}, "next": "null" },
        },
    })
}

/// A document of each kind.
fn documents() -> [(DocumentKind, Value); 3] {
    [
        (DocumentKind::OpenTool, opentool()),
        (DocumentKind::OpenDyn, opendyn()),
        (DocumentKind::OpenWorkflow, openworkflow()),
    ]
}

/// Every place of a document that a spec's table has a row for.
fn rows(document: &Value) -> Vec<String> {
    fn walk(value: &Value, pointer: &str, rows: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                // Names are chosen by authors; the keys below them are the spec's.
                let named = ["/schemas", "/properties", "/code", "/workflow", "/arguments", "/results"]
                    .iter()
                    .any(|end| pointer.ends_with(end));
                for (key, value) in map {
                    let below = format!("{pointer}/{}", key.replace('/', "~1"));
                    if !named && !key.starts_with("x-") && !["stream", "minimum"].contains(&key.as_str()) {
                        rows.push(below.clone());
                    }
                    if !key.starts_with("x-") {
                        walk(value, &below, rows);
                    }
                }
            }
            Value::Array(list) if !pointer.ends_with("enum") => {
                for (index, value) in list.iter().enumerate() {
                    walk(value, &format!("{pointer}/{index}"), rows);
                }
            }
            _ => {}
        }
    }
    let mut rows = Vec::new();
    walk(document, "", &mut rows);
    rows
}

fn is_clean(document: &Value) -> bool {
    crate::check(&document.to_string()).findings.iter().all(|finding| finding.severity == Severity::Note)
}

/// The document without the member at a pointer.
fn without(document: &Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let mut changed = document.clone();
    let removed = changed.pointer_mut(parent).unwrap().as_object_mut().unwrap().shift_remove(key);
    assert!(removed.is_some(), "{pointer}");
    changed
}

#[test]
fn a_document_that_is_clean_is_valid() {
    for (kind, document) in documents() {
        assert!(is_clean(&document), "{:?}", crate::check(&document.to_string()).findings);
        let validator = validator(kind);
        let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn the_examples_of_the_repository_are_valid() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (kind, name) in [
        (DocumentKind::OpenTool, "weather.opentool.json"),
        (DocumentKind::OpenTool, "calculator.opentool.json"),
        (DocumentKind::OpenDyn, "libm.opendyn.json"),
        (DocumentKind::OpenWorkflow, "notes.openworkflow.json"),
    ] {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(examples.join(name)).unwrap()).unwrap();
        validator(kind).validate(&document).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_format_schema_requires_what_the_check_requires() {
    for (kind, document) in documents() {
        let validator = validator(kind);
        let mut required = 0;
        for row in rows(&document) {
            let changed = without(&document, &row);
            // Taking a schema away can also break a reference to it, which no schema can see.
            if row == "/schemas" || row == "/workflow/start/results" {
                continue;
            }
            assert_eq!(validator.is_valid(&changed), is_clean(&changed), "{kind} without {row}");
            required += usize::from(!is_clean(&changed));
        }
        assert!(required >= 12, "{required}");
    }
}

#[test]
fn the_format_schema_refuses_a_field_of_another_type() {
    let others = [json!(null), json!(true), json!(7), json!(7.5), json!("text"), json!([]), json!({}), json!([{}])];
    for (kind, document) in documents() {
        let validator = validator(kind);
        let mut refused = 0;
        for row in rows(&document) {
            for other in &others {
                let mut changed = document.clone();
                *changed.pointer_mut(&row).unwrap() = other.clone();
                let (valid, clean) = (validator.is_valid(&changed), is_clean(&changed));
                assert!(valid || !clean, "{kind}: {other} at {row} is clean but not valid");
                let same_type =
                    std::mem::discriminant(other) == std::mem::discriminant(document.pointer(&row).unwrap());
                if !clean && !same_type {
                    assert!(!valid, "{kind}: {other} at {row} is of the wrong type but valid");
                    refused += 1;
                }
            }
        }
        assert!(refused > 75, "{refused}");
    }
}

#[test]
fn the_enums_are_those_of_the_model() {
    let names = |schema: &Value, pointer: &str| schema.pointer(pointer).cloned().unwrap_or_default();
    let opentool: Value = serde_json::from_str(document_schema(DocumentKind::OpenTool)).unwrap();
    let opendyn: Value = serde_json::from_str(document_schema(DocumentKind::OpenDyn)).unwrap();
    let types = json!(SchemaType::ALL.map(SchemaType::as_str));
    assert_eq!(names(&opentool, "/$defs/schema/properties/type/enum"), types);
    assert_eq!(names(&opendyn, "/$defs/schema/properties/type/enum"), types);
    assert_eq!(names(&opendyn, "/$defs/cType/properties/type/enum"), json!(CTypeName::ALL.map(CTypeName::as_str)));
    assert_eq!(names(&opendyn, "/$defs/info/properties/callingConvention/enum"), json!(CallingConvention::NAMES));
}
