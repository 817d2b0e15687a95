//! Documents of other formats: recognised, and never edited.

use opentool_spec::{Code, ForeignFormat, check, fix};

/// Documents in the shape of each format.
fn documents() -> Vec<(ForeignFormat, &'static str)> {
    use ForeignFormat::*;
    vec![
        (
            OpenApi,
            r#"{"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": {}, "components": {"schemas": {"A": {"type": "int"}}}}"#,
        ),
        (OpenApi, "openapi: 3.1.0\ninfo:\n  title: T\npaths: {}\n"),
        (OpenApi, "---\n# a comment\n\"openapi\": '3.0.0'\ninfo: {}\n"),
        (
            Swagger,
            r##"{"swagger": "2.0", "info": {"title": "T", "version": "1"}, "paths": {}, "definitions": {"A": {"$ref": "#/definitions/B"}}}"##,
        ),
        (
            OpenRpc,
            r#"{"openrpc": "1.2.6", "info": {"title": "T", "version": "1"}, "methods": [{"name": "m", "params": []}]}"#,
        ),
        (AsyncApi, r#"{"asyncapi": "2.6.0", "info": {"title": "T", "version": "1"}, "channels": {}}"#),
        (
            OpenModbus,
            r#"{"openmodbus": "1.0.0", "info": {"title": "T", "version": "1"}, "server": {"type": "tcp"}, "functions": [{"name": "read"}]}"#,
        ),
        (McpConfiguration, r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}}}"#),
        (McpConfiguration, r#"{"inputs": [], "servers": {"web": {"type": "http", "url": "https://example.org/mcp"}}}"#),
        (McpConfiguration, r#"{"editor.tabSize": 2, "mcp": {"servers": {"files": {"command": "files"}}}}"#),
        (McpTools, r#"{"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}"#),
        (
            McpTools,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}}"#,
        ),
        (
            OpenAiTools,
            r#"[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]"#,
        ),
        (OpenAiTools, r#"[{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]"#),
        (
            OpenAiTools,
            r#"{"model": "m", "messages": [], "functions": [{"name": "f", "parameters": {"type": "object"}}]}"#,
        ),
        (OpenAiTools, r#"[{"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}]"#),
        (AnthropicTools, r#"{"model": "m", "tools": [{"name": "f", "input_schema": {"type": "object"}}]}"#),
        (GeminiTools, r#"{"tools": [{"functionDeclarations": [{"name": "f"}]}]}"#),
        (GeminiTools, r#"[{"name": "f", "parameters": {"type": "OBJECT", "properties": {}}}]"#),
        (
            JsonSchema,
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"A": {"type": "string"}}}"#,
        ),
        (JsonSchema, r#"{"title": "Person", "type": "object", "properties": {"name": {"type": "string"}}}"#),
        (JsonSchema, r#"[{"type": "object", "properties": {}}, {"type": "string", "enum": ["a"]}]"#),
    ]
}

#[test]
fn documents_of_others_are_recognised_and_the_command_that_helps_is_named() {
    for (format, text) in documents() {
        let report = check(text);
        assert_eq!(report.foreign, Some(format), "{text}");
        assert_eq!(report.kind, None);
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!((finding.code, finding.fix.as_ref()), (Code::ForeignDocument, None));
        assert_eq!(finding.message, format!("this is {}, not an OpenTool or OpenDyn document", format.described()));
        let help = finding.help.as_deref().unwrap();
        assert_eq!(help.contains("opentool import"), format.is_importable(), "{help}");
    }
}

#[test]
fn fix_never_edits_a_document_of_others() {
    for (_, text) in documents() {
        for broken in [text.to_owned(), text.replacen('}', ",}", 1), text.replace("true", "True")] {
            let fixed = fix(&broken);
            assert_eq!((fixed.text.as_str(), fixed.applied), (broken.as_str(), 0));
        }
    }
}

#[test]
fn fix_never_edits_json_that_is_no_document_at_all() {
    for text in [
        r#"{"name": "package", "version": "1.0.0", "dependencies": {"opentool": "1"}}"#,
        r#"{"info": {"titel": "T"}, "item": [1,]}"#,
        r#"{"definitions": {"A": 1}, "compilerOptions": {}}"#,
        r#"{"model": "m", "functions": "functions.json", "info": {}}"#,
        r#"{"functions": {"timeout": 3}, "host": "x"}"#,
        r#"[{"name": "f", "description": "F.", "parameters": {"a": {"type": "string"}}}]"#,
        "[1, 2]",
        "{}",
    ] {
        assert_eq!(fix(text).text, text);
        assert!(!check(text).is_usable(), "{text}");
    }
}

#[test]
fn what_is_meant_to_be_ours_is_not_foreign() {
    for text in [
        r#"{"opentool": "1.1.0", "openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "functions": []}"#,
        r#"{"$schema": "./opentool.schema.json", "opentool": "1.1.0", "info": {"title": "T", "version": "1"}, "functions": []}"#,
        r#"{"info": {"title": "T", "version": "1"}, "functions": [{"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}]}"#,
        r#"{"functions": []}"#,
        r#"{"openworkflow": "1.0.0", "info": {"title": "T", "version": "1"}, "steps": []}"#,
    ] {
        assert_eq!(check(text).foreign, None, "{text}");
    }
    let yaml = check("opentool: 1.1.0\ninfo:\n  title: T\n");
    assert_eq!(yaml.foreign, None);
    assert_eq!(yaml.findings[0].message, "the text has `opentool:` as YAML does: a document is JSON");
}
