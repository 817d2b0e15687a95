use super::*;

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).to_str().unwrap().to_owned()
}

#[test]
fn each_target_gets_the_list_it_takes() {
    for target in ["openai", "openai-strict", "anthropic", "gemini", "ollama", "mcp", "json-schema", "opentool"] {
        let ran = run(&["convert", &example("weather.opentool.json"), "--to", target]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{target}");
        insta::assert_json_snapshot!(format!("convert_{target}"), json(&ran.stdout));
    }
}

#[test]
fn a_library_converts_as_its_callers_see_it() {
    for target in ["openai", "opentool"] {
        let ran = run(&["convert", &example("libm.opendyn.json"), "--to", target]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{target}");
        assert!(!ran.stdout.contains("cType") && !ran.stdout.contains("$ref"));
        insta::assert_json_snapshot!(format!("convert_library_{target}"), json(&ran.stdout));
    }
}

#[test]
fn the_strict_document_is_clean_and_says_what_was_cut() {
    let ran = run(&["convert", &example("calculator.opentool.json"), "--to", "opentool"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "warning: `#/schemas/Expression` is replaced by a plain object: it contains itself\n");
    let checked = TestFolder::new().run_with(&["check", "--strict", "-"], ran.stdout.clone());
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(!ran.stdout.contains("$ref"));
}

#[test]
fn what_a_target_cannot_say_is_a_warning() {
    let document = r#"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "f", "description": "d", "parameters": [
          {"name": "a", "schema": {"type": "string", "maxLength": 5}, "required": true}]},
        {"name": "g", "description": "d", "parameters": [
          {"name": "a", "schema": {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}, "required": true}]}]}"#;
    let ran = TestFolder::new().run_with(&["convert", "-", "--to", "openai-strict"], document);
    assert_eq!(ran.code, Some(0));
    let list = json(&ran.stdout);
    assert_eq!([&list[0]["function"]["strict"], &list[1]["function"]["strict"]], [true, false]);
    assert!(ran.stderr.contains("warning: f lost maxLength at /properties/a: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: g is not strict: additionalProperties at /properties/a: "), "{}", ran.stderr);
}

#[test]
fn a_reference_into_another_function_is_followed() {
    let document = r##"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "f", "description": "d", "parameters": [{"name": "a", "schema": {"type": "integer"}, "required": true}]},
        {"name": "g", "description": "d", "parameters": [
          {"name": "b", "schema": {"$ref": "#/functions/0/parameters/0/schema"}, "required": true}]}]}"##;
    let ran = TestFolder::new().run_with(&["convert", "-", "--to", "anthropic"], document);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let schema = &json(&ran.stdout)[1]["input_schema"];
    let reference = schema["properties"]["b"]["$ref"].as_str().unwrap();
    assert_eq!(schema.pointer(reference.trim_start_matches('#')).unwrap()["type"], "integer");
}

#[test]
fn an_older_document_is_converted_with_a_word_about_its_warnings() {
    let document = r#"{"opentool": "1.0.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "half", "description": "Halve.", "parameters":
          {"type": "object", "properties": {"x": {"type": "double", "required": true}}}}]}"#;
    let ran = TestFolder::with("a.json", document).run(&["convert", "a.json", "--to", "openai"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(json(&ran.stdout)[0]["function"]["parameters"]["properties"]["x"]["type"], "number");
    assert_eq!(ran.stderr, "warning: a.json has 2 warnings: `opentool check` shows how it was understood\n");
}

#[test]
fn a_document_with_errors_is_refused_with_them() {
    let ran = TestFolder::with("a.json", FAULTY).run(&["convert", "a.json", "--to", "mcp"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(ran.stderr.matches("error[").count(), 2);
    assert!(ran.stderr.ends_with("error: a.json has 2 errors and was not converted\n"), "{}", ran.stderr);
}

#[test]
fn faulty_requests_end_with_2() {
    let folder = TestFolder::with("a.json", CLEAN);
    for (arguments, message) in [
        (&["convert", "a.json"][..], "--to <TO>"),
        (&["convert", "a.json", "--to", "openia"], "similar value exists: 'openai'"),
        (&["convert", "missing.json", "--to", "mcp"], "cannot read missing.json"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn hidden_characters_stand_escaped_in_the_json() {
    let document = CLEAN.replace("The time.", "a\u{9b}b\u{202e}c");
    let ran = TestFolder::new().run_with(&["convert", "-", "--to", "openai"], document);
    assert!(ran.stdout.contains(r"a\u009bb\u202ec"), "{}", ran.stdout);
    assert_eq!(json(&ran.stdout)[0]["function"]["description"], "a\u{9b}b\u{202e}c");
}

#[test]
fn every_loss_of_a_conversion_is_a_warning() {
    let document = r#"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "f", "description": "d", "stream": true, "parameters": [
          {"name": "a", "description": "outer", "schema": {"type": "string", "description": "inner", "default": null}, "required": true},
          {"name": "b", "schema": {"type": "object", "properties": {}}, "required": true}]},
        {"name": "g", "description": "d", "parameters":
          {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}}]}"#;
    let folder = TestFolder::with("a.json", document);
    for target in ["openai", "anthropic", "gemini", "ollama", "mcp", "json-schema"] {
        let ran = folder.run(&["convert", "a.json", "--to", target]);
        assert_eq!(ran.code, Some(0), "{target}");
        for loss in [
            "f lost stream at the root: ",
            "f lost description at /properties/a: that of the schema",
            "f lost default at /properties/a: ",
            "f lost properties at /properties/b: it is empty",
            "g lost additionalProperties at the root: the arguments are closed",
        ] {
            assert_eq!(ran.stderr.matches(&format!("warning: {loss}")).count(), 1, "{target}: {loss}\n{}", ran.stderr);
        }
        assert_eq!(folder.run(&["convert", "-q", "a.json", "--to", target]).stdout, ran.stdout);
    }
}

#[test]
fn a_name_that_a_provider_refuses_is_refused_with_its_rule() {
    let document = CLEAN.replace("\"now\"", "\"2now\"").replace(
        r#""parameters": []"#,
        r#""parameters": [{"name": "größe", "schema": {"type": "string"}, "required": true}]"#,
    );
    let folder = TestFolder::with("a.json", document);
    for (target, rule) in [
        ("gemini", "gemini takes only names that begin with a letter or `_`"),
        ("anthropic", "anthropic refuses the parameter \"größe\": it takes only names that have 1 to 64 of a-z"),
    ] {
        let ran = folder.run(&["convert", "a.json", "--to", target]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(ran.stderr.contains(rule), "{}", ran.stderr);
    }
    assert_eq!(folder.run(&["convert", "a.json", "--to", "openai"]).code, Some(0));
}

#[test]
fn ollama_gets_references_written_out_and_what_it_does_not_read_is_said() {
    let document = r##"{"opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": [
        {"name": "f", "description": "d", "parameters": [
          {"name": "p", "schema": {"$ref": "#/schemas/Tree"}, "required": true},
          {"name": "n", "schema": {"type": "integer", "minimum": 1}, "required": true}]}],
        "schemas": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/schemas/Tree"}}}}}"##;
    let ran = TestFolder::new().run_with(&["convert", "-", "--to", "ollama"], document);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("$ref"));
    let list = json(&ran.stdout);
    assert_eq!(list[0]["function"]["parameters"]["properties"]["p"]["properties"]["child"]["type"], "object");
    assert!(ran.stderr.contains("f lost minimum at /properties/n: not read by Ollama"), "{}", ran.stderr);
    assert!(ran.stderr.contains("it contains itself"), "{}", ran.stderr);
}
