#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};

use crate::{Document, OpenDyn, OpenTool, ReferenceError};

fn document(functions: Value, rest: Value) -> OpenDyn {
    let mut document = json!({
        "opendyn": "1.0.0",
        "info": { "title": "T", "description": "D", "version": "2", "callingConvention": "cdecl", "x-i": 1 },
        "functions": functions,
    });
    for (key, value) in rest.as_object().unwrap() {
        document[key] = value.clone();
    }
    let text = document.to_string();
    let report = crate::check(&text);
    assert!(report.is_usable(), "{:?}", report.findings);
    text.parse().unwrap()
}

fn seen(functions: Value, rest: Value) -> Value {
    let opentool = document(functions, rest).to_opentool();
    let text = serde_json::to_string(&opentool).unwrap();
    assert!(matches!(Document::read(&text).document, Some(Document::OpenTool(_))));
    let report = crate::check(&text);
    assert_eq!(
        report.count(crate::Severity::Error) + report.count(crate::Severity::Warning),
        0,
        "{:?}",
        report.findings
    );
    serde_json::from_str(&text).unwrap()
}

fn parameter(name: &str, kind: &str, c: &str, pointer: bool, is_in: bool) -> Value {
    json!({ "name": name, "schema": { "type": kind, "cType": { "type": c, "isPointer": pointer } },
        "isIn": is_in, "required": true })
}

#[test]
fn a_function_of_values_only_loses_its_c_types() {
    let functions = json!([{ "name": "pow", "description": "Raise.", "x-f": [1], "parameters": [
        { "name": "x", "description": "The base.", "isIn": true, "required": true, "x-p": true,
          "schema": { "type": "number", "description": "Any.", "x-s": 1, "cType": { "type": "double", "isPointer": false } } },
        { "name": "note", "isIn": true, "required": false,
          "schema": { "type": "string", "cType": { "type": "char", "isPointer": true } } }],
        "return": { "name": "power", "description": "It.",
          "schema": { "type": "number", "cType": { "type": "double", "isPointer": false } } } }]);
    assert_eq!(
        seen(functions, json!({ "x-threadSafe": true })),
        json!({
            "opentool": "1.1.0",
            "info": { "title": "T", "description": "D", "version": "2", "x-i": 1 },
            "functions": [{ "name": "pow", "description": "Raise.", "parameters": [
                { "name": "x", "description": "The base.", "schema": { "type": "number", "description": "Any.", "x-s": 1 },
                  "required": true, "x-p": true },
                { "name": "note", "schema": { "type": "string" }, "required": false }],
              "return": { "name": "power", "description": "It.", "schema": { "type": "number" } }, "x-f": [1] }],
            "x-threadSafe": true,
        })
    );
}

#[test]
fn outputs_join_the_return_value_in_one_object() {
    let functions = json!([{ "name": "f", "description": "d", "parameters": [
        parameter("count", "integer", "int", true, false),
        parameter("text", "string", "char", true, false),
        parameter("list", "array", "float", true, false)],
        "return": { "name": "ok", "schema": { "type": "boolean", "cType": { "type": "bool", "isPointer": false } } } }]);
    let function = seen(functions, json!({}))["functions"][0].take();
    assert_eq!(
        function["parameters"],
        json!([{ "name": "count", "description": "Initial value of this output; zero if left out.",
            "schema": { "type": "integer" }, "required": false }]),
        "only a scalar has an initial value"
    );
    assert_eq!(
        function["return"]["schema"],
        json!({ "type": "object", "properties": {
            "ok": { "type": "boolean" }, "count": { "type": "integer" }, "text": { "type": "string" },
            "list": { "type": "array", "items": { "type": "number" } } },
            "required": ["ok", "count", "text", "list"] })
    );
}

#[test]
fn a_single_result_keeps_its_name_and_none_is_no_return_value() {
    let void =
        json!({ "name": "nothing", "schema": { "type": "integer", "cType": { "type": "void", "isPointer": false } } });
    let functions = json!([
        { "name": "one", "description": "d", "parameters": [parameter("out", "number", "double", true, false)], "return": void },
        { "name": "none", "description": "d", "parameters": [], "return": void },
    ]);
    let functions = seen(functions, json!({}))["functions"].take();
    assert_eq!(functions[0]["return"], json!({ "name": "out", "schema": { "type": "number" } }));
    assert_eq!(functions[1].get("return"), None);
}

#[test]
fn an_output_handle_is_a_result_and_not_a_parameter() {
    let mut db = parameter("db", "string", "void", true, false);
    db["x-handle"] = json!("sqlite3");
    let functions = json!([{ "name": "open", "description": "d", "parameters": [db],
        "return": { "name": "code", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": false } } } }]);
    let function = seen(functions, json!({}))["functions"][0].take();
    assert_eq!(function["parameters"], json!([]));
    assert_eq!(function["return"]["schema"]["properties"]["db"], json!({ "type": "string", "x-handle": "sqlite3" }));
}

#[test]
fn the_code_table_follows_descriptions_of_integer_functions() {
    let integer =
        json!({ "name": "code", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": false } } });
    let functions = json!([
        { "name": "f", "description": "Does.", "parameters": [], "return": integer },
        { "name": "g", "description": "Does.", "parameters": [], "return": null },
    ]);
    let functions = seen(functions, json!({ "code": { "0": "Success", "-1": "Failure" } }))["functions"].take();
    assert_eq!(functions[0]["description"], "Does.\n\nCodes:\n0: Success\n-1: Failure");
    assert_eq!(functions[1]["description"], "Does.");
}

#[test]
fn a_long_table_of_codes_is_cut() {
    let integer =
        json!({ "name": "code", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": false } } });
    let functions = json!([{ "name": "f", "description": "Does.", "parameters": [], "return": integer }]);
    let codes: crate::Map = (0..1_000).map(|code| (code.to_string(), json!("meaning"))).collect();
    let function = seen(functions, json!({ "code": codes }))["functions"][0].take();
    let description = function["description"].as_str().unwrap();
    assert!(description.len() < 2_200 && description.ends_with(" more"), "{description}");
}

#[test]
fn references_are_resolved_through_aliases_and_into_functions() {
    let reference =
        |name: &str, to: &str| json!({ "name": name, "schema": { "$ref": to }, "isIn": true, "required": true });
    let functions = json!([{ "name": "f", "description": "d", "parameters": [
        parameter("a", "integer", "int", false, true),
        reference("b", "#/schemas/Alias"), reference("c", "#/functions/0/parameters/0/schema")] }]);
    let schemas = json!({ "schemas": { "Alias": { "$ref": "#/schemas/A~1B" },
        "A/B": { "type": "number", "description": "Deep.", "cType": { "type": "float", "isPointer": false } } } });
    let parameters = seen(functions, schemas)["functions"][0]["parameters"].take();
    assert_eq!(parameters[1]["schema"], json!({ "type": "number", "description": "Deep." }));
    assert_eq!(parameters[2]["schema"], json!({ "type": "integer" }));
}

#[test]
fn references_that_lead_nowhere_are_refused_and_do_not_hang() {
    let text = r##"{"opendyn": "1.0.0", "info": {"title": "T", "version": "1"}, "functions": [],
        "schemas": {"A": {"$ref": "#/schemas/B"}, "B": {"$ref": "#/schemas/A"}}}"##;
    let document = OpenDyn::read(text).document.unwrap();
    assert!(matches!(document.resolve("#/schemas/A"), Err(ReferenceError::Circular(_))));
    assert!(matches!(document.resolve("#/schemas/C"), Err(ReferenceError::Unresolved(_))));
    assert!(matches!(document.resolve("#"), Err(ReferenceError::Unresolved(_))));
    assert!(matches!(document.resolve("other.json#/schemas/A"), Err(ReferenceError::Remote(_))));
}

#[test]
fn many_references_to_a_long_text_do_not_multiply_it() {
    let parameter = |index: usize| {
        json!({ "name": format!("p{index}"), "schema": { "$ref": "#/schemas/Long" },
        "isIn": true, "required": true })
    };
    let parameters: Vec<_> = (0..2_000).map(parameter).collect();
    for long in [json!({ "description": "x".repeat(100_000) }), json!({ "x-list": vec!["y"; 50_000] })] {
        let mut schema = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
        schema.as_object_mut().unwrap().extend(long.as_object().unwrap().clone());
        let functions = json!([{ "name": "f", "description": "d", "parameters": parameters }]);
        let opentool: OpenTool = document(functions, json!({ "schemas": { "Long": schema } })).to_opentool();
        assert!(serde_json::to_string(&opentool).unwrap().len() < 1_000_000);
        assert_eq!(opentool.functions[0].parameters[0].schema.schema_type, Some(crate::SchemaType::Integer));
    }
}

#[test]
fn a_small_schema_is_copied_whole_for_each_reference() {
    let small = json!({ "type": "integer", "description": "A port.", "minimum": 1, "x-list": ["a", { "b": [1] }],
        "cType": { "type": "int", "isPointer": false } });
    let port = json!({ "name": "port", "schema": { "$ref": "#/schemas/Port" }, "isIn": true, "required": true });
    let functions = json!([{ "name": "f", "description": "d", "parameters": [port] }]);
    let seen = seen(functions, json!({ "schemas": { "Port": small } }));
    assert_eq!(
        seen["functions"][0]["parameters"][0]["schema"],
        json!({ "type": "integer", "description": "A port.", "minimum": 1, "x-list": ["a", { "b": [1] }] })
    );
}

#[test]
fn keys_that_only_opentool_knows_find_their_place() {
    let functions = json!([{ "name": "f", "description": "d", "parameters": [
        { "name": "mode", "isIn": true, "required": true, "schema":
          { "type": "integer", "enum": [0, 1], "minimum": 0, "cType": { "type": "int", "isPointer": false } } },
        { "name": "list", "isIn": true, "required": true, "schema":
          { "type": "array", "maxItems": 3, "items": { "type": "integer" }, "cType": { "type": "int", "isPointer": true } } }] }]);
    let document = document(functions, json!({})).to_opentool();
    let schema = &document.functions[0].parameters[0].schema;
    assert_eq!(schema.values.as_deref(), Some(&[json!(0), json!(1)][..]));
    assert_eq!(schema.extra["minimum"], 0);
    let list = &document.functions[0].parameters[1].schema;
    assert_eq!(list.items.as_deref(), Some(&crate::Schema::integer()));
}

#[test]
fn long_chains_of_references_are_followed_once() {
    // Each of the 20,000 parameters starts at another step of one chain: 200 million steps if walked one by one.
    const STEPS: usize = 20_000;
    let mut schemas: crate::Map =
        (0..STEPS).map(|step| (format!("S{step}"), json!({ "$ref": format!("#/schemas/S{}", step + 1) }))).collect();
    let end = json!({ "type": "boolean", "cType": { "type": "bool", "isPointer": false } });
    schemas.insert(format!("S{STEPS}"), end);
    let parameter = |step: usize| {
        json!({ "name": format!("p{step}"), "schema": { "$ref": format!("#/schemas/S{step}") },
        "isIn": true, "required": true })
    };
    let parameters: Vec<_> = (0..STEPS).map(parameter).collect();
    let functions = json!([{ "name": "f", "description": "d", "parameters": parameters }]);
    let document = document(functions, json!({ "schemas": schemas }));
    assert_eq!(document.resolve("#/schemas/S0").unwrap().schema_type, Some(crate::SchemaType::Boolean));
    let opentool = document.to_opentool();
    assert!(opentool.functions[0].parameters.iter().all(|parameter| parameter.schema == crate::Schema::boolean()));
}

#[test]
fn a_fixed_number_of_structs_is_asked_for() {
    let pixel = json!({ "type": "object", "properties": { "r": { "type": "integer", "cType": { "type": "unsigned char", "isPointer": false } } },
        "required": ["r"], "x-struct": { "name": "pixel", "size": 1, "align": 1, "offsets": { "r": 0 } } });
    let all = json!({ "name": "all", "isIn": true, "required": true,
        "schema": { "type": "array", "items": { "$ref": "#/schemas/pixel" }, "minItems": 4, "maxItems": 4 } });
    let functions = json!([{ "name": "show", "description": "D", "parameters": [all] }]);
    let seen = seen(functions, json!({ "schemas": { "pixel": pixel } }));
    let schema = &seen["functions"][0]["parameters"][0]["schema"];
    assert_eq!((&schema["minItems"], &schema["maxItems"]), (&json!(4), &json!(4)));
    assert_eq!(schema["items"]["required"], json!(["r"]));
}

#[test]
fn named_values_keep_what_their_schema_says_besides() {
    let functions = json!([{ "name": "open", "description": "Open.", "parameters": [
        { "name": "mode", "isIn": true, "required": true, "schema": { "type": "integer", "description": "How.", "x-s": 1,
          "x-values": { "READ": 0, "WRITE": 1 }, "cType": { "type": "int", "isPointer": false } } }],
        "return": { "name": "fd", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": false } } } }]);
    let seen = serde_json::to_value(document(functions, json!({})).to_opentool()).unwrap();
    assert_eq!(
        seen["functions"][0]["parameters"][0]["schema"],
        json!({ "description": "How.", "x-s": 1,
                "anyOf": [{ "type": "integer" }, { "type": "string", "enum": ["READ", "WRITE"] }] })
    );
}
