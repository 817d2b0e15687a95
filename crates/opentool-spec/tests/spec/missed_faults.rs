//! Faults that were once missed, and faults of hand-written JSON that are named.

use opentool_spec::{Code, OpenTool, check, fix};

fn schema(schema: &str) -> String {
    format!(
        r#"{{"opentool": "1.1.0", "info": {{"title": "T", "version": "1"}}, "functions": [{{"name": "f", "description": "F.", "parameters": [{{"name": "p", "schema": {schema}, "required": true}}]}}]}}"#
    )
}

/// The codes above a note, with their messages.
fn faults(text: &str) -> Vec<(Code, String)> {
    let notes = [Code::UnknownKey, Code::EnumAsText];
    let findings = check(text).findings.into_iter().filter(|finding| !notes.contains(&finding.code));
    findings.map(|finding| (finding.code, finding.message)).collect()
}

fn codes(text: &str) -> Vec<Code> {
    faults(text).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn an_enum_that_allows_nothing_is_an_error() {
    assert_eq!(codes(&schema(r#"{"type": "string", "enum": []}"#)), [Code::EmptyEnum]);
    assert_eq!(codes(&schema(r#"{"type": "string", "anyOf": [{"enum": []}]}"#)), [Code::EmptyEnum]);
}

#[test]
fn enum_values_that_cannot_be_of_the_type_are_errors() {
    for (text, count) in [
        (r#"{"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]}"#, 2),
        (r#"{"type": "object", "properties": {}, "enum": ["a"]}"#, 1),
        (r#"{"type": "integer", "enum": [1, 1.5]}"#, 1),
        (r#"{"type": "string", "enum": [null]}"#, 1),
        (r#"{"type": "string", "x-nullable": true, "enum": ["a", null]}"#, 0),
        (r#"{"type": "array", "items": {"type": "string"}, "enum": [["a"]]}"#, 0),
    ] {
        assert_eq!(codes(&schema(text)), vec![Code::EnumMismatch; count], "{text}");
    }
}

#[test]
fn an_invalid_pattern_is_an_error() {
    for (pattern, fault) in [
        ("^[0-9", "unclosed character class"),
        ("(a", "unclosed group"),
        ("a{2,1}", "invalid repetition count range, the start must be <= the end"),
        ("(?=a)", "look-around, including look-ahead and look-behind, is not supported"),
        ("(a)\\\\1", "backreferences are not supported"),
    ] {
        let found = faults(&schema(&format!(r#"{{"type": "string", "pattern": "{pattern}"}}"#)));
        assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [Code::InvalidPattern], "{pattern}");
        assert!(found[0].1.ends_with(fault), "{found:?}");
    }
    for pattern in ["^\\\\d{4}-\\\\d{2}$", "[a-z]+", "\\\\p{L}", "^\\\\w+\\\\.[a-z]{2,}$"] {
        assert_eq!(codes(&schema(&format!(r#"{{"type": "string", "pattern": "{pattern}"}}"#))), [], "{pattern}");
    }
    assert_eq!(
        codes(&schema(r#"{"type": "object", "properties": {}, "patternProperties": {"[": {}}}"#)),
        [Code::InvalidPattern]
    );
}

#[test]
fn keywords_of_the_wrong_type_are_errors() {
    for keyword in [
        r#""minLength": "5""#,
        r#""maxLength": -1"#,
        r#""minLength": 1.5"#,
        r#""minimum": "0""#,
        r#""multipleOf": 0"#,
        r#""uniqueItems": "yes""#,
        r#""format": 1"#,
        r#""anyOf": []"#,
        r#""anyOf": {"type": "string"}"#,
        r#""not": 1"#,
        r#""examples": "a""#,
        r#""additionalProperties": "string""#,
        r#""dependentRequired": {"a": "b"}"#,
        r#""allOf": [{"type": "strng"}]"#,
        r#""allOf": [{"type": ["string", "string"]}]"#,
        r#""oneOf": [{"minLength": null}]"#,
        r##""$dynamicRef": "#x""##,
    ] {
        let text = schema(&format!(r#"{{"type": "string", {keyword}}}"#));
        assert_eq!(codes(&text), [Code::InvalidKeyword], "{keyword}");
    }
    for keyword in [
        r#""minLength": null"#,
        r#""exclusiveMinimum": true, "minimum": 1"#,
        r#""items2": []"#,
        r#""default": {"$ref": 1}"#,
    ] {
        assert_eq!(codes(&schema(&format!(r#"{{"type": "string", {keyword}}}"#))), [], "{keyword}");
    }
    let fixed = fix(&schema(r#"{"type": "string", "minLength": "5", "deprecated": "no"}"#));
    assert!(fixed.text.contains(r#""minLength": 5, "deprecated": false"#), "{}", fixed.text);
}

#[test]
fn an_empty_name_of_a_return_value_is_a_warning() {
    let text = schema(r#"{"type": "string"}"#)
        .replace("]}]}", r#"], "return": {"name": " ", "schema": {"type": "string"}}}]}"#);
    assert_eq!(codes(&text), [Code::EmptyReturnName]);
}

#[test]
fn a_server_url_that_is_none_is_an_error() {
    for (url, fault) in [
        ("", "it is no URL"),
        ("tools.example", "it is no URL"),
        ("tools.example:80", "it does not begin with http:// or https://"),
        ("/opentool", "it is no URL"),
        ("ftp://tools.example", "it does not begin with http:// or https://"),
        ("http://", "it names no host"),
        ("http://tools.example:99999", "its port is no number up to 65535"),
    ] {
        let text = schema(r#"{"type": "string"}"#)
            .replace(r#""functions""#, &format!(r#""server": {{"url": "{url}"}}, "functions""#));
        let found = faults(&text);
        assert_eq!(
            found,
            [(Code::InvalidServerUrl, format!("`url` cannot be the address of a server: {fault}"))],
            "{url}"
        );
    }
}

fn library(parameter: &str, code: &str) -> String {
    format!(
        r#"{{"opendyn": "1.0.0", "info": {{"title": "T", "version": "1", "callingConvention": "cdecl"}}, "functions": [{{"name": "f", "description": "F.", "parameters": [{{"name": "p", "schema": {parameter}, "isIn": true, "required": true}}]}}]{code}}}"#
    )
}

#[test]
fn a_key_of_code_that_is_no_integer_is_a_warning() {
    let integer = r#"{"type": "integer", "cType": {"type": "int", "isPointer": false}}"#;
    let codes_of = |table: &str| codes(&library(integer, &format!(r#", "code": {table}"#)));
    assert_eq!(codes_of(r#"{"0": "ok", "-1": "no", " 7 ": "x"}"#), []);
    assert_eq!(codes_of(r#"{"OK": "ok", "1.5": "no", "": "x"}"#), [Code::CodeKey; 3]);
    let fixed = fix(&library(integer, r#", "code": {"0x10": "ok"}"#));
    assert!(fixed.text.contains(r#""code": {"16": "ok"}"#), "{}", fixed.text);
}

#[test]
fn types_that_do_not_go_together_need_no_library_to_be_refused() {
    for (kind, c_type, pointer, wrong) in [
        ("boolean", "double", false, true),
        ("boolean", "int", false, false),
        ("string", "int", true, true),
        ("string", "char", true, false),
        ("string", "unsigned char", false, false),
        ("string", "long", false, false),
        ("string", "bool", false, true),
        ("string", "float", false, true),
        ("number", "int", false, false),
        ("boolean", "double", true, true),
    ] {
        let parameter = format!(r#"{{"type": "{kind}", "cType": {{"type": "{c_type}", "isPointer": {pointer}}}}}"#);
        let expected: &[Code] = if wrong { &[Code::TypePair] } else { &[] };
        assert_eq!(codes(&library(&parameter, "")), expected, "{parameter}");
        let handle = library(&parameter, "").replace(r#""isIn""#, r#""x-handle": "h", "isIn""#);
        assert!(!codes(&handle).contains(&Code::TypePair), "a handle is passed as it is");
    }
}

#[test]
fn familiar_faults_of_json_are_named_and_judging_goes_on() {
    let clean = schema(r#"{"type": "string", "minLength": -1}"#);
    for (from, to, message) in [
        (r#""F.""#, "\"F\t.\"", "a tab in a string is written as `\\t`"),
        (r#""F.""#, "\"F\u{1}.\"", "a control character in a string is written as an escape"),
        (r#""required": true"#, r#""required": True"#, "JSON has no `True`"),
        (r#""F.""#, r#"'F. "quoted" it\'s'"#, "JSON strings stand in double quotes"),
        (r#""title""#, "'title'", "JSON strings stand in double quotes"),
        (r#""title""#, "title", "a key must stand in double quotes"),
        (r#""required": true}"#, r#""required": true,}"#, "JSON allows no comma before a closing bracket"),
        (r#""functions""#, "// all of them\n\"functions\"", "JSON has no comments"),
        (r#""required": true"#, r#""required": true, "description": None"#, "JSON has no `None`"),
    ] {
        let text = clean.replacen(from, to, 1);
        let found = faults(&text);
        let named: Vec<_> = found.iter().filter(|(code, _)| *code == Code::NotJson).collect();
        assert_eq!(named.len(), 1, "{text}: {found:?}");
        assert_eq!(named[0].1, message);
        assert!(found.iter().any(|(code, _)| *code == Code::InvalidKeyword), "judging goes on: {found:?}");
        let fixed = fix(&text).text;
        assert_eq!(codes(&fixed), [Code::InvalidKeyword], "{fixed}");
        assert!(serde_json::from_str::<serde_json::Value>(&fixed).is_ok(), "{fixed}");
    }
}

#[test]
fn help_says_what_a_newcomer_can_do() {
    let help = |text: &str| {
        let finding = check(text).findings.into_iter().find(|finding| finding.severity > opentool_spec::Severity::Note);
        let finding = finding.unwrap();
        (finding.message, finding.help.unwrap_or_default())
    };
    let (message, advice) = help(&schema(r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#));
    assert_eq!(message, "the schema has no `type`: `anyOf` alone is not understood by readers of the spec");
    assert!(advice.starts_with("choose one type for the value"), "{advice}");
    assert_eq!(help(&schema(r#"{"oneOf": [{"type": "string"}, {"type": "string"}]}"#)).1, r#"add `"type": "string"`"#);
    assert_eq!(help(&schema(r#"{"const": 5}"#)).1, r#"add `"type": "integer"`"#);
    assert!(help(&schema(r#"{"type": ""}"#)).0.starts_with("the type is empty"));
    let version = schema(r#"{"type": "string"}"#).replace("1.1.0", "1.x");
    assert_eq!(help(&version).0, "`\"1.x\"` is not a version of `opentool` that is supported: 1.0.0 and 1.1.0 are");
    let yes = schema(r#"{"type": "string"}"#).replace(r#""required": true"#, r#""required": "yes""#);
    assert_eq!(help(&yes).1, "replace it by `true`");
    let often = schema(r#"{"type": "string"}"#).replace(r#""required": true"#, r#""required": "often""#);
    assert_eq!(help(&often).1, "write `true` or `false`");
}

#[test]
fn places_that_are_left_are_those_of_the_text_before_the_fixes() {
    let text = schema(r#"{"type": "string", "minLength": -1}"#)
        .replace(r#""opentool": "1.1.0","#, "\"opentool\": \"1.0.0\",\n// one\n// two\n");
    let fixed = fix(&text);
    assert!(fixed.applied >= 2);
    let place = |report: &opentool_spec::Report| {
        let finding = report.findings.iter().find(|finding| finding.code == Code::InvalidKeyword).unwrap();
        (finding.line, finding.span.clone(), finding.pointer.clone())
    };
    let (line, span, pointer) = place(&fixed.left);
    assert_eq!((line, &text[span]), (4, "-1"));
    assert_eq!(pointer, "/functions/0/parameters/0/schema/minLength");
    assert_eq!(&fixed.text[place(&fixed.report).1], "-1");
}

#[test]
fn memory_stays_in_proportion_to_the_text() {
    let text = format!(
        r#"{{"opentool": "1.1.0", "info": {{"title": "T", "version": "1"}}, "functions": [], {}"x-end": 1}}"#,
        (0..100_000).map(|index| format!(r#""k{index}": 1, "#)).collect::<String>()
    );
    let report = check(&text);
    assert!(report.findings.len() < 6_000 + text.len() / 64, "{}", report.findings.len());
    assert_eq!(report.count(opentool_spec::Severity::Note), 100_000);
}

#[test]
fn a_misspelt_key_is_ignored_until_it_is_corrected() {
    let text = schema(r#"{"type": "object", "properties": {"a": {"type": "number"}}, "re'quired": ["a", "z"]}"#);
    let strict = |text: &str| OpenTool::read(text).document.unwrap().to_strict().document;
    let kept = strict(&text);
    assert_eq!(kept.functions[0].parameters[0].schema.required, None);
    let kept = serde_json::to_string(&kept).unwrap();
    assert!(kept.contains(r#""re'quired":["a","z"]"#), "{kept}");
    // What stands under it is looked at, so that correcting the key uncovers nothing.
    let places = |text: &str| check(text).findings.into_iter().map(|finding| (finding.code, finding.pointer));
    let key = "/functions/0/parameters/0/schema/re'quired";
    let found = [(Code::UnknownKey, key.to_owned()), (Code::UnknownRequired, format!("{key}/1"))];
    assert_eq!(
        (places(&text).collect::<Vec<_>>(), places(&kept).collect::<Vec<_>>()),
        (found.to_vec(), found.to_vec())
    );
    let corrected = strict(&fix(&text).text);
    assert_eq!(corrected.functions[0].parameters[0].schema.required, Some(vec!["a".to_owned()]));
    assert_eq!(codes(&serde_json::to_string(&corrected).unwrap()), []);
    crate::bodies::document(text.as_bytes());
}

#[test]
fn an_output_of_an_unknown_c_type_has_only_that_fault() {
    let text = |c_type: &str| {
        format!(
            r#"{{"opendyn": "1.0.0", "info": {{"title": "T", "description": "D.", "version": "1", "callingConvention": "cdecl"}},
                "functions": [{{"name": "f", "description": "F.", "parameters": [
                    {{"name": "n", "isIn": false, "required": true, "schema": {{"type": "integer"{c_type}}}}}],
                  "return": {{"name": "r", "schema": {{"type": "integer", "cType": {{"type": "int", "isPointer": false}}}}}}}}]}}"#
        )
    };
    assert_eq!(codes(&text(r#", "cType": {"type": "int", "isPointer": true}"#)), []);
    assert_eq!(codes(&text(r#", "cType": {"type": "int", "isPointer": false}"#)), [Code::OutNeedsPointer]);
    assert_eq!(codes(&text(r#", "cType": {"type": "integr", "isPointer": false}"#)), [Code::UnknownCType]);

    let object =
        |c_type: &str| text(c_type).replace(r#""isIn": false"#, r#""isIn": true"#).replacen("integer", "object", 1);
    assert_eq!(codes(&object(r#", "cType": {"type": "int", "isPointer": false}"#)), [Code::NotAPointer]);
    assert_eq!(codes(&object(r#", "cType": {"type": "integr", "isPointer": false}"#)), [Code::UnknownCType]);
}
