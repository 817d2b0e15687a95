//! Bodies of many megabytes: read and checked off the async threads, with the memory of one budget.

use std::sync::Arc;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolDefinition, ToolOutput, Toolbox};
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::client::{Running, call, get, post, start};

const MAX_BODY: usize = 16 << 20;

/// A tool that says how long its arguments are, and whose schema needs an index of them.
fn length(schema: Value) -> FakeTool {
    let definition = ToolDefinition::builder("length").input_schema(schema).build().unwrap();
    FakeTool::new("length")
        .with_definition(definition)
        .acts(|arguments, _| async move { ToolOutput::json(&arguments.as_str().len()) })
}

fn with_values() -> Value {
    json!({
        "type": "object",
        "properties": { "values": { "anyOf": [{ "type": "array" }, { "type": "string" }] } },
        "additionalProperties": false,
    })
}

/// The body of a call with an argument, as large as it may be.
fn body(argument: &str, open: &str, part: &str, close: &str) -> String {
    let (start, end) = (
        format!(r#"{{"jsonrpc":"2.0","method":"length","params":{{"{argument}":{open}"#),
        format!(r#"{close}}},"id":"1"}}"#),
    );
    let room = MAX_BODY - start.len() - end.len();
    let mut body = start;
    body.push_str(&part.repeat(room / part.len() - 1));
    body.push_str(part.trim_end_matches(','));
    body.push_str(&end);
    body
}

async fn held(server: &Running) -> String {
    let page = server.ask(get("/metrics")).await;
    page.text().lines().find(|line| line.starts_with("opentool_buffered_bytes")).unwrap().to_owned()
}

#[tokio::test]
async fn two_ordinary_bodies_of_the_full_size_pass_together() {
    let both = Arc::new(Barrier::new(2));
    let tool = length(with_values()).acts(move |arguments, _| {
        let both = both.clone();
        async move {
            // Neither is answered before both run.
            both.wait().await;
            ToolOutput::json(&arguments.as_str().len())
        }
    });
    let server = start(Server::new(Toolbox::from_tools([tool]).unwrap())).await;
    let body = body("values", "\"", "text ", "\"");
    let ask = || server.ask(post("/opentool/call").body(body.clone()));
    let (first, second) = tokio::join!(ask(), ask());
    for reply in [first, second] {
        let length = reply.json()["result"]["result"].as_u64();
        assert!(length.is_some_and(|length| length > (MAX_BODY - 1000) as u64), "{}", reply.text());
    }
    assert_eq!(held(&server).await, "opentool_buffered_bytes 0");
}

#[tokio::test]
async fn a_body_whose_check_needs_more_than_the_budget_is_refused_and_nothing_stays_held() {
    let tools = Toolbox::from_tools([length(with_values())]).unwrap();
    let config = |config: opentool_server::ConfigBuilder| config.max_buffered_bytes(2 * MAX_BODY);
    let server = start(Server::new(tools).configure(config)).await;
    let reply = server.ask(post("/opentool/call").body(body("values", "[", "[[[[]]]],", "]"))).await;
    let message = reply.rpc_error(200, 503);
    assert_eq!(message, "there is no memory left to check the arguments: try again, or send shorter ones");
    assert_eq!(held(&server).await, "opentool_buffered_bytes 0");
    // What the tool does not know is skipped, and needs next to nothing.
    let reply = server.ask(post("/opentool/call").body(body("unknown", "[", "[[[[]]]],", "]"))).await;
    assert_eq!(reply.json()["result"], json!({"result": 2}));
    assert_eq!(held(&server).await, "opentool_buffered_bytes 0");
}

#[tokio::test]
async fn other_requests_are_answered_while_a_large_body_is_checked() {
    let started = Arc::new(Notify::new());
    let server = start(Server::new(Toolbox::from_tools([length(with_values())]).unwrap())).await;
    let large = async {
        started.notify_one();
        server.ask(post("/opentool/call").body(body("values", "[", "[],[1,2],", "]"))).await
    };
    let small = async {
        started.notified().await;
        for _ in 0..20 {
            assert_eq!(server.ask(get("/healthz")).await.status, 200);
            assert_eq!(server.ask(call("length", "{}")).await.json()["result"], json!({"result": 2}));
        }
    };
    let (large, ()) = tokio::join!(large, small);
    assert!(large.json()["result"]["result"].as_u64().is_some(), "{}", large.text());
}
