//! Shapes that documents had, or that a slip makes: brought up to date without losing anything.

use opentool_spec::{Code, OpenTool, Severity, check, fix};
use serde_json::{Value, json};

fn document(parameters: &str) -> String {
    format!(
        r#"{{"opentool": "1.1.0", "info": {{"title": "T", "version": "1"}}, "functions": [{{"name": "f", "description": "F.", "parameters": {parameters}}}]}}"#
    )
}

/// The parameters after fixing, which must leave a clean document.
fn fixed_parameters(parameters: &str) -> Value {
    let fixed = fix(&document(parameters));
    let left: Vec<_> = fixed.report.findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    assert!(left.is_empty(), "{left:?}\n{}", fixed.text);
    assert_eq!(fix(&fixed.text).text, fixed.text);
    let value: Value = serde_json::from_str(&fixed.text).unwrap();
    value["functions"][0]["parameters"].clone()
}

#[test]
fn a_lone_parameter_object_becomes_a_list_of_one() {
    let lone = r#"{"name": "light", "description": "on or off", "schema": {"type": "boolean"}, "required": true}"#;
    assert_eq!(fixed_parameters(lone), json!([serde_json::from_str::<Value>(lone).unwrap()]));
    let inline = r#"{"name": "light", "description": "on or off", "type": "boolean", "required": true}"#;
    assert_eq!(
        fixed_parameters(inline),
        json!([{"name": "light", "description": "on or off", "schema": {"type": "boolean"}, "required": true}])
    );
    let object = r#"{"name": "place", "type": "object", "properties": {"x": {"type": "number"}}, "required": true}"#;
    assert_eq!(
        fixed_parameters(object),
        json!([{"name": "place", "schema": {"type": "object", "properties": {"x": {"type": "number"}}}, "required": true}])
    );
    let read = OpenTool::read(&document(inline)).document.unwrap();
    assert_eq!(read.functions[0].parameters[0].name, "light");
}

#[test]
fn a_schema_of_one_value_is_not_thrown_away() {
    let text = document(r#"{"type": "string", "minLength": 3}"#);
    assert_eq!(fix(&text).text, text);
    let report = check(&text);
    assert!(
        report.findings[0]
            .help
            .as_deref()
            .unwrap()
            .contains(r#"{"name": "value", "schema": {"type": "string", "minLength": 3}"#),
        "{report:?}"
    );
}

#[test]
fn parameters_written_as_their_types_are_parameters_by_name() {
    assert_eq!(
        fixed_parameters(r#"{"name": "string", "age": "integer"}"#),
        json!([
            {"name": "name", "schema": {"type": "string"}, "required": false},
            {"name": "age", "schema": {"type": "integer"}, "required": false}
        ])
    );
}

#[test]
fn keywords_beside_the_properties_of_generation_a_are_all_kept() {
    let text = document(
        r#"{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true, "title": "A"}"#,
    )
    .replace(r#""name": "f""#, r#""name": "f", "x-parameters": 1"#);
    let value: Value = serde_json::from_str(&fix(&text).text).unwrap();
    let function = &value["functions"][0];
    assert_eq!(function["x-parameters"], 1);
    assert_eq!(function["x-parameters-2"], json!({"additionalProperties": true, "title": "A"}));
}

#[test]
fn nested_generation_b_properties_are_upgraded() {
    let parameters = r#"[{"name": "p", "schema": {"type": "object", "properties": {
        "city": {"schema": {"type": "string", "description": "S."}, "required": true, "description": "The city."},
        "days": {"schema": {"type": "object", "properties": {
            "count": {"schema": {"type": "int"}, "required": true}, "unit": {"schema": {"type": "string"}, "required": false}}, "required": []}, "required": true},
        "plain": {"type": "string"}}, "required": ["plain"]}, "required": true}]"#;
    assert!(!check(&document(parameters)).findings.iter().any(|finding| finding.severity == Severity::Error));
    assert_eq!(
        fixed_parameters(parameters)[0]["schema"],
        json!({"type": "object", "properties": {
            "city": {"type": "string", "x-description": "S.", "description": "The city."},
            "days": {"type": "object", "properties": {"count": {"type": "integer"}, "unit": {"type": "string"}}, "required": ["count"]},
            "plain": {"type": "string"}
        }, "required": ["plain", "city", "days"]})
    );
    let document: OpenTool = document(parameters).parse().unwrap();
    let schema = &document.functions[0].parameters[0].schema;
    assert_eq!(schema.required.as_ref().unwrap(), &["plain", "city", "days"]);
}

#[test]
fn nested_required_of_generation_a_moves_into_the_list_of_the_object() {
    let parameters = r#"{"type": "object", "properties": {"place": {"type": "object", "required": true, "properties": {
        "x": {"type": "number", "required": true}, "y": {"type": "number", "required": "false"},
        "deep": {"type": "object", "required": true, "properties": {"z": {"type": "string", "required": true}}}}}}}"#;
    assert_eq!(
        fixed_parameters(parameters),
        json!([{"name": "place", "schema": {"type": "object", "properties": {
            "x": {"type": "number"}, "y": {"type": "number"},
            "deep": {"type": "object", "properties": {"z": {"type": "string"}}, "required": ["z"]}
        }, "required": ["x", "deep"]}, "required": true}])
    );
}

#[test]
fn functions_by_name_become_a_list() {
    let text = r#"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": {
        "add": {"description": "Add.", "parameters": []}, "sub": {"description": "Subtract.", "parameters": []}}}"#;
    let fixed = fix(text);
    assert!(fixed.report.findings.is_empty(), "{:?}", fixed.report.findings);
    let document: OpenTool = fixed.text.parse().unwrap();
    assert_eq!(document.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>(), ["add", "sub"]);
    let lone = text.replace(
        r#""add": {"description": "Add.", "parameters": []}, "sub": {"description": "Subtract.", "parameters": []}"#,
        r#""name": "add", "description": "Add.", "parameters": []"#,
    );
    assert_eq!(fix(&lone).text.parse::<OpenTool>().unwrap().functions[0].name, "add");
}

#[test]
fn upgraded_parameters_are_laid_out_as_the_document_is() {
    let text = r#"{
    "opentool": "1.1.0",
    "info": {"title": "T", "version": "1"},
    "functions": [
        {
            "name": "f",
            "description": "F.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {
                        "type": "string",
                        "description": "Where."
                    },
                    "day": {"type": "string"}
                },
                "required": ["city"]
            }
        }
    ]
}
"#;
    let list = r#"            "parameters": [
                {
                    "name": "city",
                    "description": "Where.",
                    "schema": {
                        "type": "string"
                    },
                    "required": true
                },
                {"name": "day", "schema": {"type": "string"}, "required": false}
            ]
"#;
    let start = text.find("            \"parameters\"").unwrap();
    let end = text.find("        }\n    ]").unwrap();
    assert_eq!(fix(text).text, format!("{}{list}{}", &text[..start], &text[end..]));
}

#[test]
fn an_enum_beside_a_reference_means_the_same_in_check_fix_and_convert() {
    let text = r##"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [{"name": "f", "description": "F.",
        "parameters": [{"name": "c", "schema": {"$ref": "#/schemas/Colour", "enum": ["red"]}, "required": true}]}],
        "schemas": {"Colour": {"type": "string", "enum": ["red", "green"], "description": "A colour."}}}"##;
    let finding = &check(text).findings[0];
    assert_eq!((finding.code, finding.is_fixable()), (Code::ReferenceSiblings, true));
    assert_eq!(finding.message, "`enum` beside `$ref` applies here, and readers of the spec ignore it");
    let document: OpenTool = text.parse().unwrap();
    let fixed: OpenTool = fix(text).text.parse().unwrap();
    let allowed = |document: &OpenTool| document.to_strict().document.functions[0].parameters[0].schema.values.clone();
    assert_eq!(allowed(&document), Some(vec![json!("red")]));
    assert_eq!(allowed(&fixed), Some(vec![json!("red")]));
    let schema = document.input_schema(&document.functions[0]).unwrap();
    assert_eq!(schema["properties"]["c"]["enum"], json!(["red"]));
    // What the schema does not allow is for its author to judge: nothing is removed.
    let wrong = text.replace(r#""enum": ["red"]}"#, r#""enum": ["blue"]}"#);
    assert_eq!(fix(&wrong).text, wrong);
}

#[test]
fn descriptions_of_references_are_kept_under_another_name() {
    let text = r##"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [{"name": "f", "description": "F.",
        "parameters": [{"name": "c", "schema": {"type": "string", "$ref": "#/schemas/C", "title": "Colour", "default": "red"}, "required": true}]}],
        "schemas": {"C": {"type": "string"}}}"##;
    let value: Value = serde_json::from_str(&fix(text).text).unwrap();
    assert_eq!(
        value["functions"][0]["parameters"][0]["schema"],
        json!({"$ref": "#/schemas/C", "x-title": "Colour", "x-default": "red"})
    );
}

#[test]
fn a_misspelt_name_in_a_list_of_required_properties_is_corrected() {
    let parameters = r#"[{"name": "p", "schema": {"type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "string"}},
        "required": ["citty", "day", "nothing"]}, "required": true}]"#;
    assert_eq!(fixed_parameters(parameters)[0]["schema"]["required"], json!(["city", "day"]));
}
