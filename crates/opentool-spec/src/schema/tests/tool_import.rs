//! Tool lists of providers to documents.

use serde_json::{Value, json};

use crate::schema::{ImportedTools, Target, ToolReport, document_tool_list, import_tools};
use crate::{ForeignFormat, Info, OpenTool};

fn imported(list: &Value) -> ImportedTools {
    import_tools(&list.to_string(), Info::new("T", "1"), "fallback").unwrap()
}

/// What was lost, a line each.
fn lost(reports: &[ToolReport]) -> Vec<String> {
    reports.iter().flat_map(|report| report.dropped.iter().map(ToString::to_string)).collect()
}

#[test]
fn types_in_capital_letters_are_read_at_every_level() {
    let imported = imported(&json!({ "tools": [{ "functionDeclarations": [{ "name": "f", "description": "D.",
        "parameters": { "type": "OBJECT", "properties": {
            "a": { "type": "ARRAY", "items": { "type": "OBJECT", "properties": { "n": { "type": "INTEGER" } } } },
            "b": { "type": "OBJECT", "additionalProperties": { "type": "STRING" } } } },
        "response": { "type": "BOOLEAN" } }] }] }));
    assert_eq!(imported.format, ForeignFormat::GeminiTools);
    let function = serde_json::to_value(&imported.document.functions[0]).unwrap();
    let schema = |index: usize| &function["parameters"][index]["schema"];
    assert_eq!(
        schema(0),
        &json!({ "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } })
    );
    assert_eq!(schema(1)["additionalProperties"], json!({ "type": "string" }));
    assert_eq!(function["return"]["schema"], json!({ "type": "boolean" }));
}

#[test]
fn what_is_lost_inside_of_a_schema_is_named_with_its_place() {
    let input = json!({ "type": "object", "properties": {
        "a": { "type": "array", "items": { "type": "string", "title": "An item" } },
        "b": { "type": "object", "patternProperties": { "^x": { "type": "string", "default": null } } },
        "c": { "anyOf": [{ "type": "string" }, { "type": "integer", "$comment": "a number" }] } } });
    let imported = imported(&json!([{ "name": "f", "description": "D.", "inputSchema": input }]));
    let expected = [
        "title at /properties/a/items: it says nothing about values",
        "default at /properties/b/patternProperties/^x: null is what is left out anyway",
        "$comment at /properties/c/anyOf/1: it says nothing about values",
    ];
    let reported = lost(&imported.reports);
    for line in expected {
        assert_eq!(reported.iter().filter(|reported| *reported == line).count(), 1, "{line}: {reported:#?}");
    }
}

#[test]
fn what_a_document_loses_inside_of_a_schema_is_named_with_its_place() {
    let document: OpenTool = serde_json::from_value(json!({
        "opentool": "1.1.0", "info": { "title": "T", "version": "1" },
        "functions": [{ "name": "f", "description": "D.", "parameters": [{ "name": "b", "required": true, "schema": {
            "type": "object", "patternProperties": { "^x": { "type": "string", "default": null } },
            "not": { "properties": {} }, "anyOf": [{ "required": ["x"] }, { "title": "Another" }] } }] }] }))
    .unwrap();
    let list = document_tool_list(&document, Target::Mcp).unwrap();
    let mut lines = lost(&list.reports);
    lines.sort();
    assert_eq!(
        lines,
        [
            "default at /properties/b/patternProperties/^x: null is what is left out anyway",
            "properties at /properties/b/not: it is empty, and any object is allowed",
            "title at /properties/b/anyOf/1: it says nothing about values",
        ]
    );
}
