use super::*;

const PARAMETERS: &str = r#"{"type": "object", "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer", "minimum": 1}}, "required": ["city"]}"#;

/// The same tool as each provider takes it.
fn lists() -> Vec<(&'static str, String)> {
    vec![
        ("openai", format!(r#"[{{"type": "function", "function": {{"name": "weather", "description": "Tell it.", "parameters": {PARAMETERS}}}}}]"#)),
        ("responses", format!(r#"{{"model": "m", "tools": [{{"type": "function", "name": "weather", "description": "Tell it.", "parameters": {PARAMETERS}}}]}}"#)),
        ("legacy", format!(r#"[{{"name": "weather", "description": "Tell it.", "parameters": {PARAMETERS}}}]"#)),
        ("anthropic", format!(r#"{{"tools": [{{"name": "weather", "description": "Tell it.", "input_schema": {PARAMETERS}}}]}}"#)),
        ("gemini", format!(r#"{{"tools": [{{"functionDeclarations": [{{"name": "weather", "description": "Tell it.", "parameters": {}}}]}}]}}"#, PARAMETERS.replace("\"string\"", "\"STRING\"").replace("\"integer\"", "\"INTEGER\"").replace("\"object\"", "\"OBJECT\""))),
        ("mcp", format!(r#"{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": [{{"name": "weather", "description": "Tell it.", "inputSchema": {PARAMETERS}}}]}}}}"#)),
        ("json-schema", format!(r#"{{"weather": {{"description": "Tell it.", "input": {PARAMETERS}}}}}"#)),
        ("schema", PARAMETERS.replacen('{', r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "weather", "description": "Tell it.", "#, 1)),
    ]
}

#[test]
fn the_tool_list_of_every_provider_becomes_a_document() {
    for (provider, list) in lists() {
        let folder = TestFolder::with("tools.json", list);
        let ran = folder.run(&["import", "tools.json", "-o", "out.json", "--title", "Weather"]);
        assert_eq!(ran.code, Some(0), "{provider}: {}", ran.stderr);
        let document = json(&folder.read("out.json"));
        assert_eq!(document["info"]["title"], "Weather");
        let function = &document["functions"][0];
        assert_eq!(
            (&function["name"], &function["description"]),
            (&"weather".into(), &"Tell it.".into()),
            "{provider}"
        );
        assert_eq!(
            function["parameters"][0],
            serde_json::json!({"name": "city", "description": "Where.", "schema": {"type": "string"}, "required": true})
        );
        assert_eq!(function["parameters"][1]["schema"]["minimum"], 1, "{provider}");
        let checked = folder.run(&["check", "--strict", "out.json"]);
        assert_eq!(checked.code, Some(0), "{provider}: {}", checked.stdout);
    }
}

#[test]
fn what_convert_writes_can_be_imported_again() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/weather.opentool.json");
    let original = json(&std::fs::read_to_string(&example).unwrap());
    let names = |document: &serde_json::Value| -> Vec<(String, Vec<String>)> {
        let functions = document["functions"].as_array().unwrap().iter();
        functions
            .map(|function| {
                let parameters = function["parameters"].as_array().unwrap().iter();
                let parameters = parameters.map(|parameter| parameter["name"].as_str().unwrap().to_owned());
                (function["name"].as_str().unwrap().to_owned(), parameters.collect())
            })
            .collect()
    };
    for target in ["openai", "openai-strict", "anthropic", "gemini", "ollama", "mcp", "json-schema"] {
        let folder = TestFolder::new();
        let converted = folder.run(&["convert", "--quiet", example.to_str().unwrap(), "--to", target]);
        assert_eq!((converted.code, converted.stderr.as_str()), (Some(0), ""), "{target}");
        let imported = folder.run_with(&["import", "-q", "-"], converted.stdout);
        assert_eq!((imported.code, imported.stderr.as_str()), (Some(0), ""), "{target}");
        let document = json(&imported.stdout);
        assert_eq!(names(&document), names(&original), "{target}");
        let checked = folder.run_with(&["check", "-"], imported.stdout);
        assert_eq!(checked.code, Some(0), "{target}: {}", checked.stdout);
    }
}

#[test]
fn what_a_document_cannot_say_is_a_warning() {
    let list = r#"{"tools": [
        {"name": "files.read", "title": "Read", "description": "Read.", "annotations": {"readOnlyHint": true},
         "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "title": "A", "pattern": "("}, "b": {"title": "B", "anyOf": [{"type": "string"}, {"type": "integer"}]}}}},
        {"name": "files/read", "inputSchema": {"type": "object", "title": "X"}}]}"#;
    let ran = TestFolder::new().run_with(&["import", "-"], list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let document = json(&ran.stdout);
    assert_eq!(document["functions"][0]["name"], "files_read");
    assert_eq!(document["functions"][0]["x-title"], "Read");
    assert_eq!(document["functions"][1]["name"], "files_read_2");
    for warning in [
        "files_read lost annotations: a document has no place for it",
        r#"files_read lost name: "files.read" is not a name that a function may have; it becomes "files_read""#,
        "files_read lost title at /properties/a and 1 place more: ",
        "files_read lost pattern at /functions/0/parameters/0/schema: ",
        "files_read lost anyOf at /functions/0/parameters/1/schema: ",
    ] {
        assert!(ran.stderr.contains(warning), "{warning}\n{}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_imported_is_said_to_be_so() {
    let folder = TestFolder::new();
    for (text, message) in [
        (CLEAN, "it is an OpenTool or OpenDyn document already"),
        (r#"{"openapi": "3.0.0", "paths": {}}"#, "it is an OpenAPI document, which cannot be imported"),
        (r#"{"mcpServers": {}}"#, "it is the configuration of an MCP client, which cannot be imported"),
        (r#"{"a": 1}"#, "it is no list of tools of OpenAI, Anthropic, Gemini, Ollama or MCP, and no JSON Schema"),
        ("{", "it is not JSON: "),
    ] {
        let ran = folder.run_with(&["import", "-", "-o", "out.json"], text);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{text}");
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    assert!(folder.names().is_empty(), "nothing is written");
    assert_eq!(folder.run(&["import", "missing.json"]).code, Some(2));
}

#[test]
fn a_json_schema_of_anything_becomes_one_function() {
    let folder = TestFolder::with("colour.schema.json", r#"{"type": "string", "enum": ["red", "green"]}"#);
    let ran = folder.run(&["import", "colour.schema.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let function = &json(&ran.stdout)["functions"][0];
    assert_eq!(function["name"], "colour");
    assert_eq!(function["parameters"][0]["schema"], serde_json::json!({"type": "string", "enum": ["red", "green"]}));
}

#[test]
fn a_tool_with_an_unusable_schema_is_not_imported() {
    let list = r##"[{"name": "good", "input_schema": {"type": "object"}},
        {"name": "bad", "input_schema": {"type": "object", "properties": {"a": {"$ref": "#/definitions/Gone"}}}}]"##;
    let ran = TestFolder::new().run_with(&["import", "-"], list);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("error: the tool \"bad\" is left out: schema refers to \"#/definitions/Gone\""),
        "{}",
        ran.stderr
    );
    assert_eq!(json(&ran.stdout)["functions"].as_array().unwrap().len(), 1);
}
