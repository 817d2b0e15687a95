//! The `x-…` keys of OpenDyn documents and their findings.

use opentool_spec::{Code, Finding, Severity, check, fix};

/// A document of some functions, with more keys beside them.
fn document(functions: &str, rest: &str) -> String {
    format!(
        r#"{{"opendyn": "1.0.0", "info": {{"title": "T", "version": "1", "callingConvention": "cdecl"}}, "functions": [{functions}]{rest}}}"#
    )
}

fn function(name: &str, parameters: &str, rest: &str) -> String {
    format!(r#"{{"name": "{name}", "description": "F.", "parameters": [{parameters}]{rest}}}"#)
}

fn parameter(name: &str, c_type: &str, rest: &str) -> String {
    let (seen, pointer) = match c_type {
        "void" | "char" => ("string", true),
        _ => ("integer", false),
    };
    format!(
        r#"{{"name": "{name}", "schema": {{"type": "{seen}", "cType": {{"type": "{c_type}", "isPointer": {pointer}}}}}{rest}}}"#
    )
}

const IN: &str = r#", "isIn": true, "required": true"#;
const OUT: &str = r#", "isIn": false, "required": false"#;
const MAYBE: &str = r#", "isIn": true, "required": false"#;

/// The codes and messages of what is found, with the pointers.
fn found(text: &str) -> Vec<(&'static str, String, String)> {
    let found = |finding: &Finding| (finding.code.as_str(), finding.pointer.clone(), finding.message.clone());
    check(text).findings.iter().map(found).collect()
}

fn codes(text: &str) -> Vec<Code> {
    check(text).findings.iter().map(|finding| finding.code).collect()
}

fn returns(rest: &str) -> String {
    format!(
        r#", "return": {{"name": "r", "schema": {{"type": "integer", "cType": {{"type": "int", "isPointer": false}}}}}}{rest}"#
    )
}

#[test]
fn a_misspelt_extension_is_reported_and_fix_renames_it() {
    let buffer = parameter("b", "char", &format!(r#"{OUT}, "x-lenghtParam": "n", "x_sizeParam": "n""#));
    let both = format!("{buffer}, {}", parameter("n", "int", IN));
    let text = document(
        &function("fill", &both, &returns(r#", "x-retunsCode": true"#)),
        r#", "x-thredSafe": true, "X-init": "go""#,
    );
    let found: Vec<_> =
        check(&text).findings.iter().map(|finding| (finding.code, finding.help.clone().unwrap())).collect();
    let meant =
        |wrong: &str, right: &str| (Code::MisspeltExtension, format!("did you mean `{right}`? Rename `{wrong}`"));
    assert_eq!(
        found,
        [
            meant("x-lenghtParam", "x-lengthParam"),
            meant("x_sizeParam", "x-sizeParam"),
            meant("x-retunsCode", "x-returnsCode"),
            meant("x-thredSafe", "x-threadSafe"),
            meant("X-init", "x-init"),
        ]
    );
    let fixed = fix(&text);
    assert_eq!(fixed.report.findings, [], "{}", fixed.text);
    assert!(
        fixed.text.contains(r#""x-returnsCode": true"#) && fixed.text.contains(r#""x-init": "go""#),
        "{}",
        fixed.text
    );
}

#[test]
fn a_misspelt_extension_in_a_schema_is_reported_too() {
    let text = document(
        r#"{"name": "f", "description": "F.", "parameters": [{"name": "b", "schema": {"type": "string", "cType": {"type": "char", "isPointer": true}, "x-encodign": "hex"}, "isIn": false, "required": false}]}"#,
        "",
    );
    assert_eq!(
        found(&text),
        [(
            "OT076",
            "/functions/0/parameters/0/schema/x-encodign".to_owned(),
            "`x-encodign` is not a known extension: it is kept and ignored".to_owned()
        )]
    );
}

#[test]
fn short_names_near_an_extension_are_not_renamed_by_fix() {
    let text = document(&function("f", "", &returns(r#", "x-tree": "oak""#)), "");
    assert_eq!(codes(&text), [Code::MisspeltExtension]);
    assert_eq!(fix(&text).text, text);
}

#[test]
fn extensions_of_others_are_ignored() {
    let others = r#", "x-vendor": "me", "x-side": "left", "x-returns": {"a": 1}, "x-group": true"#;
    assert_eq!(found(&document(&function("f", "", &returns(others)), r#", "x-tagGroups": []"#)), []);
    // Where the right one is there, the other is something else.
    let both = r#", "x-returnsCode": true, "x-returnCode": true"#;
    assert_eq!(found(&document(&function("f", "", &returns(both)), "")), []);
    // Other documents have no such extensions.
    let tools = r#"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [{"name": "f", "description": "F.", "parameters": [], "x-retunsCode": true}]}"#;
    assert_eq!(found(tools), []);
}

#[test]
fn a_mark_that_is_left_is_a_warning() {
    let marked = format!(r#"{IN}, "x-review": "a guess""#);
    let text = document(&function("f", &parameter("a", "int", &marked), &returns(r#", "x-review": "look""#)), "");
    let report = check(&text);
    let marks: Vec<_> =
        report.findings.iter().map(|finding| (finding.code, finding.severity, finding.message.as_str())).collect();
    assert_eq!(
        marks,
        [(Code::Review, Severity::Warning, "to review: a guess"), (Code::Review, Severity::Warning, "to review: look"),]
    );
    assert!(report.is_usable() && !report.warnings_as_errors().is_usable());
}

#[test]
fn structs_and_arrays_of_structs_pass_the_check() {
    let point = r##""schemas": {"Point": {"type": "object", "properties": {"x": {"type": "integer", "cType": {"type": "int", "isPointer": false}}}, "required": ["x"], "x-struct": {"name": "struct point", "size": 4, "align": 4, "offsets": {"x": 0}}}, "Line": {"type": "object", "properties": {"a": {"$ref": "#/schemas/Point"}}, "x-struct": {"name": "line", "size": 4, "align": 4, "offsets": {"a": 0}}}}"##;
    let parameters = r##"{"name": "p", "schema": {"$ref": "#/schemas/Line"}, "isIn": true, "required": true}, {"name": "q", "schema": {"type": "array", "items": {"$ref": "#/schemas/Point"}}, "isIn": false, "required": false, "x-size": 2}"##;
    assert_eq!(found(&document(&function("f", parameters, ""), &format!(", {point}"))), []);
    let wrong = parameters.replace("schemas/Line", "schemas/Lime");
    assert_eq!(
        codes(&document(&function("f", &wrong, ""), &format!(", {point}"))),
        [Code::UnresolvedReference, Code::UnusedSchema]
    );
}

#[test]
fn an_initialiser_with_required_arguments_is_an_error() {
    let init = r#", "x-init": "start""#;
    let needs = |parameters: &str| document(&function("start", parameters, ""), init);
    assert_eq!(
        found(&needs(&parameter("a", "int", IN))),
        [(
            "OT078",
            "/x-init".to_owned(),
            "`start` is run with no arguments when the library is loaded, but `a` is required".to_owned()
        )]
    );
    assert_eq!(found(&needs(&parameter("a", "int", MAYBE))), []);
    assert_eq!(found(&needs(&parameter("a", "char", &format!(r#"{OUT}, "x-size": 8"#)))), []);
    assert_eq!(found(&document(&function("other", &parameter("a", "int", IN), ""), init)), []);
    // What follows from something else need not be given.
    let counted = format!(
        "{}, {}",
        parameter("a", "char", &format!(r#"{MAYBE}, "x-lengthParam": "n""#)),
        parameter("n", "int", IN)
    );
    assert_eq!(found(&needs(&counted)), []);
}

#[test]
fn a_required_handle_that_no_function_returns_is_reported() {
    let takes =
        |required: &str| function("use", &parameter("s", "void", &format!(r#"{required}, "x-handle": "session""#)), "");
    let gives = |kind: &str| function("open", &parameter("o", "void", &format!(r#"{OUT}, "x-handle": "{kind}""#)), "");
    let message = "no function returns a handle of the type `session`, so this one cannot be called".to_owned();
    assert_eq!(found(&document(&takes(IN), "")), [("OT077", "/functions/0/parameters/0/x-handle".to_owned(), message)]);
    assert_eq!(found(&document(&takes(MAYBE), "")), []);
    assert_eq!(found(&document(&format!("{}, {}", takes(IN), gives("session")), "")), []);
    let returned = r#", "return": {"name": "r", "schema": {"type": "string", "cType": {"type": "void", "isPointer": true}}, "x-handle": "session"}"#;
    assert_eq!(found(&document(&format!("{}, {}", takes(IN), function("open", "", returned)), "")), []);
    let near = document(&format!("{}, {}", takes(IN), gives("sesion")), "");
    let report = check(&near);
    assert_eq!(report.findings[0].help.as_deref(), Some(r#"replace it by `"sesion"`"#));
    assert_eq!(fix(&near).text, near, "which of the two is right, only the author knows");
}

#[test]
fn a_handle_may_be_named_in_the_schema() {
    let handle = |is_in: bool| {
        format!(
            r##"{{"name": "s", "schema": {{"$ref": "#/schemas/Session"}}, "isIn": {is_in}, "required": {is_in}, "x-handle": "session"}}"##
        )
    };
    let schemas = r#", "schemas": {"Session": {"type": "string", "cType": {"type": "void", "isPointer": true}, "x-handle": "session"}}"#;
    let both = format!(
        "{}, {}",
        function("open", &handle(false).replace(r#", "x-handle": "session""#, ""), ""),
        function("use", &handle(true), "")
    );
    assert_eq!(found(&document(&both, schemas)), []);
}

#[test]
fn an_empty_parameter_name_is_reported_in_both_specs() {
    assert_eq!(
        found(&document(&function("f", &parameter(" ", "int", IN), ""), "")),
        [("OT031", "/functions/0/parameters/0/name".to_owned(), "a parameter's name is empty".to_owned())]
    );
    let tools = r#"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [{"name": "f", "description": "F.", "parameters": [{"name": "", "schema": {"type": "string"}, "required": true}]}]}"#;
    assert_eq!(codes(tools), [Code::EmptyParameterName]);
}
