//! `tools/list`: what clients learn about the tools.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{BoxFuture, Executor, ToolChanges, ToolError, ToolSource, Toolbox};
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::{Value, json};

use crate::client::{Running, start, start_with};
use crate::tools::{Changing, every_way};

async fn list(server: &Running, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    server.stateless("tools/list", params).await
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()
}

#[tokio::test]
async fn a_tool_says_what_is_known_about_it_and_nothing_else() {
    let server = start(Server::new(every_way())).await;
    let tools = list(&server, None).await["result"]["tools"].take();
    assert_eq!(
        named(&tools, "reads"),
        &json!({
            "name": "reads",
            "description": "reads",
            "inputSchema": { "type": "object", "additionalProperties": true },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        })
    );
    assert_eq!(named(&tools, "text").get("annotations"), None);
    assert_eq!(named(&tools, "count")["title"], "Count things");
    assert_eq!(named(&tools, "count")["outputSchema"], json!({ "type": "integer" }));
    assert_eq!(named(&tools, "unchecked").get("outputSchema"), None, "its results are not checked");
    let old = server.initialize("2025-06-18").await.ask("tools/list", json!({})).await["result"]["tools"].take();
    let wrapped = &named(&old, "count")["outputSchema"];
    assert_eq!((&wrapped["type"], &wrapped["properties"]["things"]["type"]), (&json!("object"), &json!("integer")));
    assert_eq!(wrapped["required"], json!(["things"]));
    let oldest = server.initialize("2024-11-05").await.ask("tools/list", json!({})).await["result"]["tools"].take();
    for absent in ["title", "outputSchema", "annotations"] {
        assert_eq!(named(&oldest, "count").get(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn with_an_executor_that_checks_results_every_output_schema_is_listed() {
    let executor = Executor::builder().check_results(true).build();
    let server = start(Server::new(every_way()).executor(executor)).await;
    let tools = list(&server, None).await["result"]["tools"].take();
    assert_eq!(named(&tools, "unchecked")["outputSchema"], json!({ "type": "object" }));
}

#[tokio::test]
async fn a_thousand_tools_are_one_page_and_more_come_in_order() {
    let names: Vec<String> = (0..2500).map(|index| format!("tool_{index}")).collect();
    let tools = Toolbox::from_tools(names.iter().map(|name| FakeTool::new(name))).unwrap();
    let server = start(Server::new(tools)).await;
    let (mut listed, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = list(&server, cursor.as_ref()).await["result"].take();
        let tools = page["tools"].as_array().unwrap();
        sizes.push(tools.len());
        listed.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!((sizes, listed), (vec![1000, 1000, 500], names));
}

#[tokio::test]
async fn a_cursor_notices_that_the_list_has_changed() {
    let source = Changing::default();
    source.set(&["a", "b", "c"]);
    let server = start_with(Server::new(source.clone()), Mcp::new().page_size(2)).await;
    let cursor = list(&server, None).await["result"]["nextCursor"].take();
    assert_eq!(list(&server, Some(&cursor)).await["result"]["tools"][0]["name"], "c");
    source.set(&["a", "b", "d"]);
    let changed = list(&server, Some(&cursor)).await;
    assert_eq!(changed["error"]["code"], -32602);
    assert!(changed["error"]["message"].as_str().unwrap().contains("changed"), "{changed}");
    for made_up in [json!("nonsense"), json!("zz-1"), json!(7), json!("ffffffff-0")] {
        assert_eq!(list(&server, Some(&made_up)).await["error"]["code"], -32602, "{made_up}");
    }
    assert_eq!(list(&server, None).await["result"]["ttlMs"], 0, "these tools may change at any time");
}

/// A source that panics or never answers.
#[derive(Clone, Copy)]
enum Broken {
    Panics,
    PanicsAtOnce,
    Hangs,
}

impl ToolSource for Broken {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        match self {
            Self::Panics => Box::pin(async { panic!("at src/secret.rs:7") }),
            Self::PanicsAtOnce => panic!("at src/secret.rs:7"),
            Self::Hangs => Box::pin(std::future::pending()),
        }
    }

    fn changes(&self) -> Option<ToolChanges> {
        match self {
            Self::PanicsAtOnce => panic!("at src/secret.rs:7"),
            Self::Panics | Self::Hangs => None,
        }
    }
}

#[tokio::test]
async fn a_source_that_panics_or_hangs_is_an_error_answer_to_every_request() {
    for source in [Broken::Panics, Broken::PanicsAtOnce, Broken::Hangs] {
        let executor = Executor::builder().timeout(Duration::from_millis(100)).build();
        let server = start(Server::new(source).executor(executor)).await;
        let listed = list(&server, None).await;
        assert_eq!(listed["error"]["code"], -32603, "{listed}");
        let called = server.stateless("tools/call", json!({ "name": "any", "arguments": {} })).await;
        assert!(called["error"].is_object() || called["result"]["isError"] == true, "{called}");
        let session = server.initialize("2025-06-18").await;
        let again = session.ask("tools/list", json!({})).await;
        assert_eq!(again["error"]["code"], -32603, "{again}");
        for answer in [listed, called, again] {
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
    }
}
