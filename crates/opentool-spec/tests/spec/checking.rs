//! The texts of findings, and that no finding hides another.
use opentool_spec::{
    Code, Document, DocumentGeneration, OpenDyn, OpenTool, ReferenceError, Schema, SchemaType, Severity, check, fix,
};

const TWELVE: &str = r##"{
  "opentool": "1.0.0",
  "info": {"title": 7, "version": "1.0.0"},
  "functions": [
    {"name": "bad name", "description": "A.", "parameters": []},
    {"name": "b", "parameters": []},
    {"name": "c", "description": ""},
    {"name": "d", "description": "D.", "parameters": [
      {"name": "p", "schema": {"type": "int"}, "required": true},
      {"name": "p", "schema": {"type": "strin"}},
      {"name": "q", "schema": {"$ref": "#/schemas/Nowhere"}, "required": true},
      {"name": "r", "schema": {"description": "no type"}, "required": true},
      {"name": "s", "schema": {"type": "array"}, "required": true}
    ]}
  ]
}"##;

#[test]
fn twelve_faults_are_reported_once_each_in_text_order() {
    let found: Vec<_> =
        check(TWELVE).findings.iter().map(|f| (f.code.as_str(), f.pointer.clone(), f.line, f.column)).collect();
    let expected = [
        ("OT011", "/info/title", 3, 21),
        ("OT020", "/functions/0/name", 5, 14),
        ("OT010", "/functions/1", 6, 5),
        ("OT025", "/functions/2", 7, 5),
        ("OT024", "/functions/2/description", 7, 34),
        ("OT042", "/functions/3/parameters/0/schema/type", 9, 40),
        ("OT026", "/functions/3/parameters/1", 10, 7),
        ("OT022", "/functions/3/parameters/1/name", 10, 16),
        ("OT041", "/functions/3/parameters/1/schema/type", 10, 40),
        ("OT050", "/functions/3/parameters/2/schema/$ref", 11, 40),
        ("OT040", "/functions/3/parameters/3/schema", 12, 31),
        ("OT045", "/functions/3/parameters/4/schema", 13, 31),
    ]
    .map(|(code, pointer, line, column)| (code, pointer.to_owned(), line, column));
    assert_eq!(found, expected);
    let codes: std::collections::HashSet<_> = expected.iter().map(|(code, ..)| code).collect();
    assert_eq!(codes.len(), 12, "twelve different ones");
}

fn codes(text: &str) -> Vec<&'static str> {
    check(text).findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn with(parameters: &str, rest: &str) -> String {
    format!(
        r#"{{"opentool": "1.1.0", "info": {{"title": "T", "version": "1"}}, "functions": [{{"name": "f", "description": "F.", "parameters": {parameters}}}]{rest}}}"#
    )
}

fn referring(reference: &str, schemas: &str) -> String {
    let schema = format!(r#"{{"$ref": "{reference}"}}"#);
    with(
        &format!(r#"[{{"name": "p", "schema": {schema}, "required": true}}]"#),
        &format!(r#", "schemas": {{{schemas}}}"#),
    )
}

// ---- did you mean

#[test]
fn a_misspelt_required_key_is_one_finding_that_fix_renames() {
    let text = with("[]", "").replace("description", "descripton");
    let report = check(&text);
    assert_eq!(report.findings.len(), 1);
    let finding = &report.findings[0];
    assert_eq!((finding.code, finding.pointer.as_str()), (Code::MissingField, "/functions/0/descripton"));
    assert_eq!(finding.help.as_deref(), Some("did you mean `description`? Rename `descripton`"));
    assert_eq!(fix(&text).text, with("[]", ""));
}

#[test]
fn a_misspelt_optional_key_is_a_note_that_fix_renames() {
    let text = with("[]", r#", "schema": {}"#);
    assert_eq!(codes(&text), ["OT012"]);
    assert_eq!(fix(&text).text, with("[]", r#", "schemas": {}"#));
}

#[test]
fn misspelt_types_names_and_conventions_get_a_suggestion() {
    for (wrong, right) in [("Strng", "string"), ("bolean", "boolean"), ("dict", "object"), ("INTEGER", "integer")] {
        let text = with(
            &format!(r#"[{{"name": "p", "schema": {{"type": "{wrong}", "properties": {{}}}}, "required": true}}]"#),
            "",
        );
        assert_eq!(codes(&text), ["OT041"], "{wrong}");
        assert_eq!(fix(&text).text, text.replace(wrong, right), "{wrong}");
    }
    let text = referring("#/schemas/Usr", r#""User": {"type": "string"}"#);
    assert_eq!(codes(&text), ["OT050", "OT049"]);
    assert_eq!(fix(&text).text, text.replace("Usr", "User"));
}

// ---- references

#[test]
fn references_resolve_forward_deep_and_through_aliases() {
    let schemas = r##""Alias": {"$ref": "#/schemas/a~1b~0c"}, "a/b~c": {"type": "object", "properties": {"x y": {"type": "array", "items": {"type": "integer"}}}}"##;
    for (reference, expected) in [
        ("#/schemas/Alias", SchemaType::Object),
        ("#/schemas/a~1b~0c", SchemaType::Object),
        ("#/schemas/a~1b~0c/properties/x y", SchemaType::Array),
        ("#/schemas/a~1b~0c/properties/x%20y/items", SchemaType::Integer),
        ("#/functions/0/parameters/0/schema", SchemaType::Integer),
    ] {
        let text = referring(reference, schemas).replace(
            r#"[{"name": "p""#,
            r#"[{"name": "first", "schema": {"type": "integer"}, "required": true}, {"name": "p""#,
        );
        assert_eq!(check(&text).count(Severity::Error), 0, "{reference}: {:?}", check(&text).findings);
        let document: OpenTool = text.parse().unwrap();
        assert_eq!(document.resolve(reference).unwrap().schema_type, Some(expected), "{reference}");
    }
}

#[test]
fn references_stay_in_the_document() {
    let first: OpenTool = referring("#/schemas/A", r#""A": {"type": "string"}"#).parse().unwrap();
    assert!(first.resolve("#/schemas/A").is_ok());
    let second = referring("#/schemas/A", r#""Other": {"type": "string"}"#);
    assert!(codes(&second).contains(&"OT050"));
    for remote in ["http://example.com/a.json", "other.json#/A", "file:///etc/passwd"] {
        let text = referring(remote, "");
        assert_eq!(codes(&text), ["OT054"], "{remote}");
        let error = OpenTool::read(&text).document.unwrap().resolve(remote).unwrap_err();
        assert_eq!(error, ReferenceError::Remote(remote.to_owned()));
    }
}

#[test]
fn cyclic_aliases_are_an_error_recursive_schemas_are_not() {
    let cycle = referring("#/schemas/A", r##""A": {"$ref": "#/schemas/B"}, "B": {"$ref": "#/schemas/A"}"##);
    assert_eq!(codes(&cycle), ["OT053", "OT053"]);
    let document = OpenTool::read(&cycle).document.unwrap();
    assert!(matches!(document.resolve("#/schemas/A"), Err(ReferenceError::Circular(_))));

    let tree = referring("#/schemas/Tree", r##""Tree": {"type": "array", "items": {"$ref": "#/schemas/Tree"}}"##);
    assert_eq!(codes(&tree), [] as [&str; 0]);
    let strict = tree.parse::<OpenTool>().unwrap().to_strict();
    let inner = strict.document.functions[0].parameters[0].schema.items.as_deref();
    assert_eq!(inner, Some(&Schema::object().described("Another Tree, of the same form.")));
    assert_eq!(strict.cuts.len(), 2);
}

#[test]
fn schemas_of_other_formats_are_understood_and_moved() {
    for (container, prefix) in [
        (r#""definitions": {"A": {"type": "string"}}"#, "#/definitions/A"),
        (r#""$defs": {"A": {"type": "string"}}"#, "#/$defs/A"),
        (r#""components": {"schemas": {"A": {"type": "string"}}}"#, "#/components/schemas/A"),
    ] {
        let parameter = format!(r#"[{{"name": "p", "schema": {{"$ref": "{prefix}"}}, "required": true}}]"#);
        let text = with(&parameter, &format!(", {container}"));
        assert_eq!(codes(&text), ["OT052", "OT052"]);
        let clean = with(&parameter.replace(prefix, "#/schemas/A"), r#", "schemas": {"A": {"type": "string"}}"#);
        assert_eq!(fix(&text).text, clean);
        assert_eq!(text.parse::<OpenTool>().unwrap(), clean.parse::<OpenTool>().unwrap());
        // Beside schemas of the document's own, they join them, unless a name is taken.
        let text = with(&parameter, &format!(r#", "schemas": {{"B": {{"type": "string"}}}}, {container}"#));
        assert_eq!(check(&fix(&text).text).findings.iter().map(|f| f.code).collect::<Vec<_>>(), [Code::UnusedSchema]);
        // Where a name is taken there, it gets another one, and the references with it.
        let taken = with(&parameter, &format!(r#", "schemas": {{"A": {{"type": "integer"}}}}, {container}"#));
        let moved: OpenTool = fix(&taken).text.parse().unwrap();
        assert_eq!(moved.functions[0].parameters[0].schema, Schema::reference("#/schemas/A_2"));
        assert_eq!(moved.schemas.as_ref().unwrap()["A"], Schema::integer());
        assert_eq!(moved.schemas.as_ref().unwrap()["A_2"], Schema::string());
        assert_eq!(taken.parse::<OpenTool>().unwrap(), moved);
    }
}

#[test]
fn moved_schemas_keep_their_position_and_neighbours() {
    let referring_to =
        |place: &str| format!(r#"[{{"name": "p", "schema": {{"$ref": "{place}A"}}, "required": true}}]"#);
    let text = with(&referring_to("#/$defs/"), r#", "$defs": {"A": {"type": "string"}}, "x-last": 1"#);
    let clean = with(&referring_to("#/schemas/"), r#", "schemas": {"A": {"type": "string"}}, "x-last": 1"#);
    assert_eq!(fix(&text).text, clean, "renamed where it was");

    let components = r#", "components": {"responses": {}, "schemas": {"A": {"type": "string"}}}"#;
    let fixed: OpenTool = fix(&with(&referring_to("#/components/schemas/"), components)).text.parse().unwrap();
    assert_eq!(fixed.schemas.as_ref().unwrap()["A"], Schema::string());
    assert_eq!(fixed.extra["components"], serde_json::json!({"responses": {}}), "other components stay");
}

#[test]
fn the_values_of_a_map_may_be_a_reference() {
    let text = with(
        r##"[{"name": "p", "schema": {"type": "object", "properties": {}, "additionalProperties": {"$ref": "#/schemas/A"}}, "required": true}]"##,
        r#", "schemas": {"A": {"type": "string"}}"#,
    );
    assert_eq!(codes(&text), ["OT012"]);
    let strict = text.parse::<OpenTool>().unwrap().to_strict().document;
    let values = &strict.functions[0].parameters[0].schema.extra["additionalProperties"];
    assert_eq!(values, &serde_json::json!({"type": "string"}));
}

// ---- generations

#[test]
fn the_three_generations_read_as_one() {
    let a = with(
        r#"{"type": "object", "properties": {"x": {"type": "integer", "description": "X.", "required": true}, "y": {"type": "string"}}}"#,
        "",
    );
    let listed = with(
        r#"{"type": "object", "properties": {"x": {"type": "integer", "description": "X."}, "y": {"type": "string"}}, "required": ["x"]}"#,
        "",
    );
    let b = with(
        r#"{"x": {"description": "X.", "schema": {"type": "integer"}, "required": true}, "y": {"schema": {"type": "string"}, "required": false}}"#,
        "",
    );
    let c = with(
        r#"[{"name": "x", "description": "X.", "schema": {"type": "integer"}, "required": true}, {"name": "y", "schema": {"type": "string"}, "required": false}]"#,
        "",
    );
    let current: OpenTool = c.parse().unwrap();
    for (text, generation, code) in [
        (&a, DocumentGeneration::A, "OT027"),
        (&listed, DocumentGeneration::A, "OT027"),
        (&b, DocumentGeneration::B, "OT028"),
    ] {
        assert_eq!(check(text).generation, generation);
        assert_eq!(codes(text), [code]);
        assert_eq!(text.parse::<OpenTool>().unwrap(), current);
        assert_eq!(fix(text).text.parse::<OpenTool>().unwrap(), current);
    }
    assert_eq!(check(&c).generation, DocumentGeneration::C);
}

#[test]
fn older_return_values_read_as_the_current_form() {
    let function = |returned: &str| with("[]", "").replace("[]", &format!("[], {returned}"));
    let current = function(r#""return": {"name": "sum", "schema": {"type": "integer"}}"#).parse::<OpenTool>().unwrap();
    for older in [
        r#""returns": {"sum": {"schema": {"type": "integer"}}}"#,
        r#""returns": {"name": "sum", "schema": {"type": "integer"}}"#,
        r#""return": {"name": "sum", "schema": {"type": "integer"}}, "returns": {"other": {"schema": {"type": "integer"}}}"#,
    ] {
        assert_eq!(codes(&function(older)), ["OT029"], "{older}");
        let mut read: OpenTool = function(older).parse().unwrap();
        read.functions[0].extra.clear();
        assert_eq!(read, current, "{older}");
    }
    let several: OpenTool =
        function(r#""returns": {"a": {"schema": {"type": "integer"}}, "b": {"schema": {"type": "string"}}}"#)
            .parse()
            .unwrap();
    let returns = several.functions[0].returns.as_ref().unwrap();
    assert_eq!(returns.name, "result");
    assert_eq!(returns.schema.properties.as_ref().unwrap().len(), 2);
}

#[test]
fn an_upgrade_loses_nothing() {
    let text = with(
        r#"{"type": "object", "description": "All of it.", "additionalProperties": false, "x-a": 1, "required": ["x", "zz"], "properties": {"x": {"type": "string"}}}"#,
        "",
    );
    assert_eq!(codes(&text), ["OT027", "OT046"]);
    let fixed: OpenTool = fix(&text).text.parse().unwrap();
    let kept = serde_json::json!({"description": "All of it.", "additionalProperties": false, "x-a": 1});
    assert_eq!(fixed.functions[0].extra["x-parameters"], kept);
    assert!(fixed.functions[0].parameters[0].required);

    let returned = |member: &str| with("[]", "").replace("[]", &format!("[], {member}"));
    let text = returned(
        r#""return": null, "returns": {"r": {"schema": {"type": "string"}, "description": "important", "x-k": 1}}"#,
    );
    let fixed: OpenTool = fix(&text).text.parse().unwrap();
    let returns = fixed.functions[0].returns.as_ref().unwrap();
    assert_eq!((returns.description.as_deref(), returns.extra["x-k"].as_i64()), (Some("important"), Some(1)));
    let text = returned(
        r#""returns": {"a": {"schema": {"type": "string"}, "description": "A."}, "b": {"schema": {"type": "integer"}, "x-k": 1}}"#,
    );
    let fixed: OpenTool = fix(&text).text.parse().unwrap();
    let properties = fixed.functions[0].returns.as_ref().unwrap().schema.properties.as_ref().unwrap();
    assert_eq!(properties["a"].description.as_deref(), Some("A."));
    assert_eq!(properties["b"].extra["x-k"], 1);
    let text = returned(r#""returns": {"name": "r"}"#);
    assert_eq!(codes(&text), ["OT029", "OT010"], "the shape is the current one, without its schema");
}

#[test]
fn references_into_moved_schemas_are_reported_at_once() {
    let text = with(
        r##"{"type": "object", "properties": {"x": {"type": "string"}, "y": {"$ref": "#/functions/0/parameters/properties/x"}}}"##,
        "",
    );
    assert_eq!(codes(&text), ["OT027", "OT050"]);
}

#[test]
fn parameters_under_the_names_of_other_formats_are_understood() {
    for name in ["params", "arguments", "inputSchema", "input_schema"] {
        let text = with(r#"{"type": "object", "properties": {"x": {"type": "string", "required": true}}}"#, "")
            .replace("parameters", name);
        assert_eq!(codes(&text), ["OT025", "OT027"], "{name}");
        let fixed: OpenTool = fix(&text).text.parse().unwrap();
        assert_eq!(fixed.functions[0].parameters[0].name, "x", "{name}");
    }
    let text = with(r##"{"$ref": "#/schemas/P"}"##, r#", "schemas": {"P": {"type": "object", "properties": {}}}"#);
    assert_eq!(codes(&text), ["OT011", "OT049"]);
}

#[test]
fn what_stands_under_a_misspelt_key_is_checked_too() {
    let text = r#"{"openTool": "1.1.0", "inf": {"title": "T"}, "function": [{"nam": "f", "description": "F.", "parameters": 7}]}"#;
    assert_eq!(codes(text), ["OT010", "OT010", "OT010", "OT010", "OT010", "OT011"]);
    let text = with(r#"[{"name": "p", "schema": {"type": "array", "itms": {"type": "int"}}, "required": true}]"#, "");
    assert_eq!(codes(&text), ["OT012", "OT042"], "reported once");
    let text = with(
        r##"[{"name": "p", "schema": {"ref": "#/schemas/X"}, "required": true}]"##,
        r#", "schemas": {"X": {"type": "string"}}"#,
    );
    assert_eq!(codes(&text), ["OT012", "OT049"]);
    assert_eq!(check(&fix(&text).text).findings, []);
}

#[test]
fn references_in_keys_of_json_schema_are_followed() {
    let text = with(
        r##"[{"name": "p", "schema": {"type": "object", "properties": {}, "anyOf": [{"$ref": "#/schemas/X"}, {"$ref": "#/schemas/Nope"}]}, "required": true}]"##,
        r#", "schemas": {"X": {"type": "string"}}"#,
    );
    assert_eq!(codes(&text), ["OT012", "OT050"]);
    let strict = OpenTool::read(&text).document.unwrap().to_strict();
    assert_eq!(strict.cuts.len(), 1, "what is left out is reported");
}

#[test]
fn values_are_typed_as_json_has_them() {
    let with_values = |values: &str| {
        with(
            &format!(r#"[{{"name": "p", "schema": {{"type": "integer", "enum": [{values}]}}, "required": true}}]"#),
            "",
        )
    };
    assert_eq!(codes(&with_values(r#""7", "-1", 1.0, 1e3"#)), ["OT047"]);
    assert_eq!(codes(&with_values(r#""007", "+1", 1.5"#)), ["OT048", "OT048", "OT048"]);
}

#[test]
fn unsupported_versions_are_left_alone() {
    for version in [r#""1.beta""#, r#""1.""#, r#""2.0""#, "2", "2.5"] {
        let text = with("[]", "").replace(r#""1.1.0""#, version);
        let fixed = fix(&text).text;
        assert!(!fixed.contains("1.1.0"), "{version}: {fixed}");
        assert!(!check(&fixed).is_usable(), "{version}");
    }
    for version in [r#""1.0""#, "1.0", "1", "null"] {
        let text = with("[]", "").replace(r#""1.1.0""#, version);
        assert_eq!(fix(&text).text, with("[]", ""), "{version}");
    }
}

#[test]
fn line_breaks_and_byte_order_marks_do_not_shift_columns() {
    let text = with("[]", "").replace(", ", ",\r\n  ").replace(r#""parameters": []"#, r#""x-a": 1"#);
    let fixed = fix(&text).text;
    assert_eq!(fixed.matches('\n').count(), fixed.matches("\r\n").count());
    let text = format!("\u{feff}{}", with("[]", "").replace("title", "titel"));
    let finding = &check(&text).findings[1];
    assert_eq!((finding.line, finding.column), (1, 32), "as editors count");
}

// ---- the strict form

#[test]
fn the_strict_form_has_everything_that_old_clients_need() {
    let text = r##"{"opentool": "1.0.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "f", "description": "F.", "return": null, "parameters": [
            {"name": "a", "schema": {"$ref": "#/schemas/Level", "description": "How loud."}, "required": true},
            {"name": "b", "schema": {"type": "array"}},
            {"name": "c", "schema": {"type": "object"}, "required": false},
            {"name": "d", "schema": {"x-free": true}, "required": false}]},
        {"name": "g", "description": "G."}],
        "schemas": {"Level": {"type": "int", "enum": ["1", "2", 3]}}}"##;
    let strict = OpenTool::read(text).document.unwrap().to_strict();
    assert_eq!(strict.cuts, []);
    insta::assert_snapshot!(serde_json::to_string_pretty(&strict.document).unwrap());
}

// ---- OpenDyn

#[test]
fn real_documents_are_read_with_warnings() {
    let text = r#"{"opendyn": "1.0.0", "info": {"title": "maths", "version": "1"}, "functions": [
        {"name": "add", "description": "Add.", "parameters": [
            {"name": "a", "schema": {"type": "double", "cType": {"type": "double", "isPointer": false, "isIn": true}}},
            {"name": "out", "schema": {"type": "int", "cType": {"type": "int32_t *", "isIn": false}}}],
         "return": {"name": "sum", "schema": {"type": "double", "cType": {"type": "double", "isPointer": false}}}}],
        "code": {"0": "Success"}}"#;
    let reading = OpenDyn::read(text);
    assert_eq!(reading.report.count(Severity::Error), 0, "{:?}", reading.report.findings);
    let document = reading.document.unwrap();
    let [a, out] = &document.functions[0].parameters[..] else { panic!("two parameters") };
    assert!(a.is_in && a.required && !out.is_in && out.required);
    assert_eq!(out.schema.schema_type, Some(SchemaType::Integer));
    assert!(out.schema.c_type.as_ref().unwrap().is_pointer);
    assert_eq!(check(&fix(text).text).findings, []);
}

fn dynamic(parameter: &str) -> String {
    format!(
        r#"{{"opendyn": "1.0.0", "info": {{"title": "T", "version": "1", "callingConvention": "cdecl"}}, "functions": [{{"name": "f", "description": "F.", "parameters": [{parameter}]}}]}}"#
    )
}

#[test]
fn a_missing_type_follows_from_the_c_type() {
    for (c_type, seen) in [
        (r#"{"type": "char", "isPointer": true}"#, "string"),
        (r#"{"type": "unsigned char", "isPointer": true}"#, "string"),
        (r#"{"type": "char", "isPointer": false}"#, "integer"),
        (r#"{"type": "bool", "isPointer": false}"#, "boolean"),
        (r#"{"type": "float", "isPointer": false}"#, "number"),
        (r#"{"type": "double", "isPointer": true}"#, "number"),
        (r#"{"type": "long", "isPointer": false}"#, "integer"),
    ] {
        let text =
            dynamic(&format!(r#"{{"name": "a", "schema": {{"cType": {c_type}}}, "isIn": true, "required": true}}"#));
        assert_eq!(codes(&text), ["OT040"], "{c_type}");
        let fixed: OpenDyn = fix(&text).text.parse().unwrap();
        let schema_type = fixed.functions[0].parameters[0].schema.schema_type;
        assert_eq!(schema_type.map(SchemaType::as_str), Some(seen), "{c_type}");
    }
    let void = r#"{"name": "a", "schema": {"cType": {"type": "void", "isPointer": true}}, "x-handle": "db", "isIn": true, "required": true}"#;
    assert!(!check(&dynamic(void)).findings[0].is_fixable(), "a handle may have any type");
}

#[test]
fn a_c_type_is_never_changed_without_asking() {
    let schema = |c_type: &str| {
        format!(r#"{{"name": "a", "schema": {{"type": "integer", {c_type}}}, "isIn": true, "required": true}}"#)
    };
    let text = dynamic(&schema(r#""ctype": {"type": "int", "isPointer": true}"#));
    assert_eq!(codes(&text), ["OT012"]);
    assert_eq!(fix(&text).text, text.replace("ctype", "cType"));
    for (spelt, meant) in
        [("ulong", "unsigned long"), ("ushort", "unsigned short"), ("uchar", "unsigned char"), ("struct db *", "void")]
    {
        let text = dynamic(&schema(&format!(r#""cType": {{"type": "{spelt}", "isPointer": false}}"#)));
        assert!(fix(&text).text.contains(&format!(r#""{meant}""#)), "{spelt}");
    }
    let text = dynamic(&schema(r#""cType": {"type": "int8", "isPointer": false}"#));
    assert_eq!(codes(&text), ["OT068"]);
    assert_eq!(fix(&text).text, text);
}

#[test]
fn a_direction_is_never_inverted() {
    for inside in [r#""false""#, "0", "false"] {
        let text = dynamic(&format!(
            r#"{{"name": "a", "schema": {{"type": "integer", "cType": {{"type": "int", "isPointer": true, "isIn": {inside}}}}}, "required": false}}"#
        ));
        let fixed: OpenDyn = fix(&text).text.parse().unwrap();
        assert!(!fixed.functions[0].parameters[0].is_in, "{inside}");
    }
    let older = dynamic("").replace(
        "[]",
        r#"{"type": "object", "properties": {"a": {"type": "integer", "cType": {"type": "int", "isPointer": true}, "isIn": false, "required": true}}}"#,
    );
    assert_eq!(codes(&older), ["OT027"]);
    let fixed: OpenDyn = fix(&older).text.parse().unwrap();
    let a = &fixed.functions[0].parameters[0];
    assert!(!a.is_in && a.required && a.extra.is_empty() && a.schema.extra.is_empty());
}

#[test]
fn the_kind_of_a_document_is_seen_by_its_shape() {
    let dynamic = r#"{"info": {"title": "T", "version": "1", "callingConvention": "cdecl"}, "functions": []}"#;
    assert!(matches!(Document::read(dynamic).document, Some(Document::OpenDyn(_))));
    assert!(fix(dynamic).text.contains(r#""opendyn": "1.0.0""#));
    assert!(matches!(Document::read(r#"{"functions": []}"#).document, Some(Document::OpenTool(_))));
}

// ---- fixing

#[test]
fn fix_keeps_key_order_layout_and_everything_else() {
    let text = "{\n\t\"x-note\": [1,\n\t  2],\n\t\"functions\": [\n\t\t{\n\t\t\t\"description\": \"F.\",\n\t\t\t\"name\": \"f\"\n\t\t}\n\t],\n\t\"info\": { \"version\": \"1\",  \"title\": \"T\" },\n\t\"opentool\": \"1.0.0\"\n}\n";
    let expected = text.replace("\"f\"\n", "\"f\",\n\t\t\t\"parameters\": []\n").replace("1.0.0", "1.1.0");
    assert_eq!(fix(text).text, expected);
}

#[test]
fn faults_of_hand_written_json_are_fixed_and_hide_nothing() {
    let text = "{\n  // the version\n  \"opentool\": \"1.1.0\"\n  \"info\": {\"title\": \"T\", \"version\": \"1\",},\n  \"functions\": [1 2]\n}";
    assert_eq!(codes(text), ["OT001", "OT001", "OT001", "OT011", "OT001", "OT011"]);
    assert_eq!(check(&fix(text).text).findings.iter().map(|f| f.code.as_str()).collect::<Vec<_>>(), ["OT011", "OT011"]);
}

#[test]
fn an_unreadable_text_reports_where_reading_stopped() {
    for (text, line, column, message) in [
        ("", 1, 1, "the text is empty: a document is a JSON object"),
        ("{\n  \"a\": [1, 2", 2, 8, "the text ends before this is closed"),
        ("{\"a\": tru}", 1, 7, "expected a value, found 't'"),
        ("{'a: 1}", 1, 2, "JSON strings stand in double quotes"),
        ("{a 1}", 1, 2, "expected a key in double quotes, found 'a'"),
        ("{\"a\": \"b\n\"}", 1, 7, "this string has no closing quote on its line"),
        ("{\"a\": 01}", 1, 7, "a number must not start with 0"),
        ("{} {}", 1, 4, "nothing may follow the document"),
        ("{\"a\": 1]", 1, 8, "expected `,` or `}`, found ']'"),
    ] {
        let report = check(text);
        let finding = &report.findings[0];
        assert_eq!((finding.line, finding.column, finding.message.as_str()), (line, column, message), "{text:?}");
    }
}

#[test]
fn strict_turns_warnings_into_errors_and_leaves_notes() {
    let text = with("[]", r#", "note": 1, "note2": 2"#).replace(r#""parameters": []"#, r#""x-a": 1"#);
    let report = check(&text).warnings_as_errors();
    assert_eq!(
        (report.count(Severity::Error), report.count(Severity::Warning), report.count(Severity::Note)),
        (1, 0, 2)
    );
}
