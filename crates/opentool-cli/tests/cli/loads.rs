//! What passes `opentool check` loads.

use opentool::{FnTool, ToolDefinition, Toolbox};
use opentool_client::{Client, ClientError};
use opentool_spec::{
    Code, Document, OpenTool, check,
    schema::{Target, document_tool_list},
};
use proptest::prelude::*;

use super::*;

/// Whether a document that can be used is taken by everything that loads documents.
pub(crate) fn loads(text: &str) -> Result<(), String> {
    let reading = Document::read(text);
    if !reading.report.is_usable() {
        return Ok(());
    }
    let document: OpenTool = match reading.document {
        Some(Document::OpenTool(document)) => document,
        Some(Document::OpenDyn(document)) => document.to_opentool(),
        _ => return Err("it is not read".to_owned()),
    };
    let tool = |definition: ToolDefinition| FnTool::new("", |_: opentool::Arguments| "").definition(definition);
    Toolbox::from_document(&document, tool).map_err(|error| error.to_string())?;
    document_tool_list(&document, Target::JsonSchema).map_err(|error| error.to_string())?;
    Ok(())
}

proptest! {
    // `PROPTEST_CASES=100000` runs more cases.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_passes_check_loads(value in documents::document()) {
        let text = value.to_string();
        prop_assert_eq!(loads(&text), Ok(()), "{}", text);
    }

    #[test]
    fn any_json_that_passes_check_loads(value in documents::soup()) {
        let text = value.to_string();
        prop_assert_eq!(loads(&text), Ok(()), "{}", text);
    }
}

#[tokio::test]
async fn a_server_url_that_passes_check_is_taken_by_the_client() {
    for url in [
        "http://127.0.0.1:1",
        " http://127.0.0.1:1/opentool/ ",
        "HTTP://127.0.0.1:1",
        "http://[::1]:1",
        "127.0.0.1:1",
        "http://",
        "http://127.0.0.1:99999",
        "ws://127.0.0.1:1",
        "http://a b",
        "",
    ] {
        let text = CLEAN.replace("\"functions\"", &format!("\"server\": {{ \"url\": \"{url}\" }}, \"functions\""));
        let passes = !check(&text).findings.iter().any(|finding| finding.code == Code::InvalidServerUrl);
        let refused = matches!(Client::new(url).load().await, Err(ClientError::InvalidUrl { .. }));
        assert_eq!(passes, !refused, "{url:?}");
    }
    // The client would take it, as browsers do; it is more likely a slip.
    let slip = CLEAN.replace("\"functions\"", "\"server\": { \"url\": \"http:127.0.0.1:1\" }, \"functions\"");
    assert!(check(&slip).findings.iter().any(|finding| finding.code == Code::InvalidServerUrl));
}

#[test]
fn what_passes_check_is_taken_by_tools_and_convert() {
    let folder = TestFolder::new();
    for (name, text) in [
        ("pattern.json", r#"{"type": "string", "pattern": "^[a-z]+$", "minLength": 2}"#),
        ("look.json", r#"{"type": "string", "pattern": "(?=a)"}"#),
        ("bound.json", r#"{"type": "string", "minLength": "2"}"#),
        ("empty.json", r#"{"type": "string", "enum": []}"#),
        ("any.json", r#"{"type": "string", "anyOf": [{"type": "double"}]}"#),
    ] {
        let parameters = format!(r#""parameters": [{{ "name": "p", "schema": {text}, "required": true }}]"#);
        folder.put(name, CLEAN.replace(r#""parameters": []"#, &parameters));
        let passes = folder.run(&["check", name]).code == Some(0);
        assert_eq!(passes, name == "pattern.json", "{name}");
        assert_eq!(folder.run(&["tools", name]).code, Some(if passes { 0 } else { 2 }), "{name}");
        assert_eq!(folder.run(&["convert", name, "--to", "json-schema"]).code, Some(i32::from(!passes)), "{name}");
    }
}
