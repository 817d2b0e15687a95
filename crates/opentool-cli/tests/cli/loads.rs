//! What passes `opentool check` loads.

use opentool::{FnTool, ToolDefinition, Toolbox, Workflow};
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
        Some(Document::OpenWorkflow(document)) => {
            return Workflow::new(&document, Toolbox::new()).map(drop).map_err(|error| error.to_string());
        }
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

/// How many documents are generated to be served; one in fifty passes `check`.
const GENERATED: usize = 4_000;

/// What passes `check` and names a server is served: generated documents, all in one process, under prefixes of their own.
#[test]
fn what_passes_check_and_names_a_server_is_served() {
    use proptest::strategy::ValueTree as _;

    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (folder, mut tables, mut passing) = (TestFolder::new(), String::from("port = 0\n"), 0);
    let strategy = documents::document();
    for place in 0..GENERATED {
        let mut document = strategy.new_tree(&mut runner).unwrap().current();
        if document.get("opentool").is_none() {
            continue;
        }
        document["opentool"] = "1.1.0".into();
        document["server"] = serde_json::json!({ "url": format!("http://127.0.0.1:{}/opentool", place + 1) });
        let text = document.to_string();
        if !check(&text).is_usable() {
            continue;
        }
        passing += 1;
        folder.put(&format!("{place}.json"), text);
        tables.push_str(&format!(
            "[sources.d{place}]\nkind = \"opentool\"\ndocument = \"{place}.json\"\nprefix = \"d{place}_\"\n"
        ));
    }
    assert!(passing >= GENERATED / 100, "only {passing} of {GENERATED} documents pass");
    folder.put("opentool.toml", tables);
    let served = super::serving::Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let reply = served.get("/opentool/load");
    assert_eq!(reply.status, 200);
    assert!(check(&reply.body).is_usable(), "what is served passes too: {}", reply.body);
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
        "http://me@127.0.0.1:1",
        "http://me:s3cret@127.0.0.1:1/opentool",
        "http://127.0.0.1:1/opentool?key=s3cret",
        "http://127.0.0.1:1/#tools",
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
