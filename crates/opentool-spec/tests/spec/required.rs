//! Every required field of the specs: the findings when it is absent or of another JSON type, and that the help works.

use std::fmt::Write as _;

use opentool_spec::{Finding, Severity, check, fix};
use serde_json::{Value, json};

fn opentool() -> Value {
    json!({
        "opentool": "1.1.0",
        "info": {"title": "Weather", "version": "1.0.0"},
        "server": {"url": "http://127.0.0.1:9627/opentool"},
        "functions": [{
            "name": "forecast",
            "description": "The forecast.",
            "parameters": [
                {"name": "city", "schema": {"type": "string"}, "required": true},
                {"name": "days", "schema": {"type": "array", "items": {"type": "integer"}}, "required": false},
                {"name": "place", "schema": {"type": "object", "properties": {"x": {"type": "number"}}}, "required": false}
            ],
            "return": {"name": "sky", "schema": {"$ref": "#/schemas/Sky"}}
        }],
        "schemas": {"Sky": {"type": "string", "enum": ["clear", "grey"]}}
    })
}

fn opendyn() -> Value {
    json!({
        "opendyn": "1.0.0",
        "info": {"title": "libm", "version": "1.0.0", "callingConvention": "cdecl"},
        "functions": [{
            "name": "modf",
            "description": "Split a number.",
            "parameters": [
                {"name": "x", "schema": {"type": "number", "cType": {"type": "double", "isPointer": false}},
                 "isIn": true, "required": true},
                {"name": "whole", "schema": {"type": "number", "cType": {"type": "double", "isPointer": true}},
                 "isIn": false, "required": false}
            ],
            "return": {"name": "fraction", "schema": {"type": "number", "cType": {"type": "double", "isPointer": false}}}
        }]
    })
}

const OPENTOOL_FIELDS: &[&str] = &[
    "/opentool",
    "/info",
    "/info/title",
    "/info/version",
    "/server/url",
    "/functions",
    "/functions/0/name",
    "/functions/0/description",
    "/functions/0/parameters",
    "/functions/0/parameters/0/name",
    "/functions/0/parameters/0/schema",
    "/functions/0/parameters/0/schema/type",
    "/functions/0/parameters/0/required",
    "/functions/0/parameters/1/schema/items",
    "/functions/0/parameters/2/schema/properties",
    "/functions/0/return/name",
    "/functions/0/return/schema",
    "/schemas/Sky/type",
];

const OPENDYN_FIELDS: &[&str] = &[
    "/opendyn",
    "/info",
    "/info/title",
    "/info/version",
    "/info/callingConvention",
    "/functions",
    "/functions/0/name",
    "/functions/0/description",
    "/functions/0/parameters",
    "/functions/0/parameters/0/name",
    "/functions/0/parameters/0/schema",
    "/functions/0/parameters/0/schema/type",
    "/functions/0/parameters/0/schema/cType/type",
    "/functions/0/parameters/0/schema/cType/isPointer",
    "/functions/0/parameters/0/isIn",
    "/functions/0/parameters/0/required",
    "/functions/0/return/name",
    "/functions/0/return/schema",
];

/// The document without the field, and with each other JSON type in its place.
fn variants(document: &Value, field: &str) -> Vec<(String, String)> {
    let (parent, key) = field.rsplit_once('/').unwrap();
    let mut without = document.clone();
    without.pointer_mut(parent).unwrap().as_object_mut().unwrap().shift_remove(key);
    let mut variants = vec![("deleted".to_owned(), without)];
    let own = std::mem::discriminant(document.pointer(field).unwrap());
    for other in [json!(null), json!(true), json!(7), json!("text"), json!([]), json!({})] {
        if std::mem::discriminant(&other) != own {
            let mut replaced = document.clone();
            *replaced.pointer_mut(field).unwrap() = other.clone();
            variants.push((other.to_string(), replaced));
        }
    }
    variants.into_iter().map(|(what, value)| (what, serde_json::to_string_pretty(&value).unwrap())).collect()
}

fn table(document: &Value, fields: &[&str]) -> String {
    let mut table = String::new();
    for field in fields {
        for (what, text) in variants(document, field) {
            writeln!(table, "{field} {what}").unwrap();
            for finding in check(&text).findings {
                let Finding { code, severity, message, pointer, line, column, help, .. } = &finding;
                let fixed = if finding.is_fixable() { "fix" } else { "help" };
                writeln!(table, "  {line}:{column} {severity} {code} at {pointer:?}: {message}").unwrap();
                if let Some(help) = help {
                    writeln!(table, "    {fixed}: {help}").unwrap();
                }
            }
        }
    }
    table
}

#[test]
fn findings_for_required_fields_of_opentool() {
    insta::assert_snapshot!(table(&opentool(), OPENTOOL_FIELDS));
}

#[test]
fn findings_for_required_fields_of_opendyn() {
    insta::assert_snapshot!(table(&opendyn(), OPENDYN_FIELDS));
}

#[test]
fn every_missing_or_mistyped_required_field_is_found() {
    for (document, fields) in [(opentool(), OPENTOOL_FIELDS), (opendyn(), OPENDYN_FIELDS)] {
        let clean = serde_json::to_string_pretty(&document).unwrap();
        assert_eq!(check(&clean).findings, []);
        for field in fields {
            for (what, text) in variants(&document, field) {
                let report = check(&text);
                assert!(report.findings.iter().any(|finding| finding.severity > Severity::Note), "{field} {what}");
            }
        }
    }
}

#[test]
fn fix_or_the_help_text_applied_literally_leaves_no_error() {
    for (document, fields) in [(opentool(), OPENTOOL_FIELDS), (opendyn(), OPENDYN_FIELDS)] {
        for field in fields {
            for (what, text) in variants(&document, field) {
                let mut text = text;
                for _ in 0..6 {
                    text = fix(&text).text;
                    let report = check(&text);
                    let Some(error) = report.findings.iter().find(|finding| finding.severity == Severity::Error) else {
                        break;
                    };
                    text = follow(&text, error);
                }
                let errors = check(&text).count(Severity::Error);
                assert_eq!(errors, 0, "{field} {what}: {:#?}\n{text}", check(&text).findings);
            }
        }
    }
}

/// Applies the help text as a person would.
fn follow(text: &str, finding: &Finding) -> String {
    let help = finding.help.as_deref().unwrap_or_else(|| panic!("no help: {finding:?}"));
    let mut document: Value = serde_json::from_str(text).unwrap();
    let quoted = help.split('`').nth(1);
    if help.starts_with("add `") {
        let member: Value = serde_json::from_str(&format!("{{{}}}", quoted.unwrap())).unwrap();
        let target = document.pointer_mut(&finding.pointer).unwrap().as_object_mut().unwrap();
        target.extend(member.as_object().unwrap().clone());
    } else if help.starts_with("replace it by `") {
        *document.pointer_mut(&finding.pointer).unwrap() = serde_json::from_str(quoted.unwrap()).unwrap();
    } else if help == "remove it" {
        let (parent, key) = finding.pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap() {
            Value::Object(map) => drop(map.shift_remove(key)),
            Value::Array(list) => drop(list.remove(key.parse().unwrap())),
            _ => panic!("{finding:?}"),
        }
    } else {
        // Other words: the edit does what they say.
        let fix = finding.fix.as_ref().unwrap_or_else(|| panic!("the help cannot be followed: {finding:?}"));
        let mut text = text.to_owned();
        for edit in fix.edits.iter().rev() {
            text.replace_range(edit.start..edit.end, &edit.text);
        }
        return text;
    }
    serde_json::to_string_pretty(&document).unwrap()
}
