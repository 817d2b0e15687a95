//! Messages a line each.

use std::collections::BTreeMap;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Host, IntoToolSource, ToolOutput, UserAnswer};
use opentool_mcp::Mcp;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::{LEGACY, MAX_WAIT, message};
use crate::tools::{Changing, every_way};

/// A client at the other end of a pipe.
struct Client {
    writer: Option<DuplexStream>,
    lines: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Client {
    fn start<M>(mcp: Mcp, tools: impl IntoToolSource<M>) -> Self {
        Self::with_host(mcp, Executor::new().host(tools))
    }

    fn with_host(mcp: Mcp, host: Host) -> Self {
        let (writer, input) = tokio::io::duplex(64 * 1024);
        let (output, reader) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(mcp.serve_streams(host, input, output));
        Self { writer: Some(writer), lines: BufReader::new(reader).lines(), served }
    }

    async fn send_text(&mut self, text: &str) {
        self.writer.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.send_text(&format!("{message}\n")).await;
    }

    async fn receive(&mut self) -> Value {
        let line = timeout(MAX_WAIT, self.lines.next_line()).await.expect("nothing comes").unwrap();
        serde_json::from_str(&line.expect("the server is gone")).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&message(method, params)).await;
        self.receive().await
    }

    /// Closes the input and returns everything that still comes.
    async fn close(mut self) -> Vec<Value> {
        drop(self.writer.take());
        let mut rest = Vec::new();
        while let Some(line) =
            timeout(MAX_WAIT, self.lines.next_line()).await.expect("the server does not end").unwrap()
        {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        timeout(MAX_WAIT, self.served).await.expect("the server does not end").unwrap().unwrap();
        rest
    }
}

fn stateless_meta() -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} })
}

#[tokio::test]
async fn both_kinds_of_revisions_are_served_over_one_pipe() {
    let mut client = Client::start(Mcp::new(), every_way());
    let discovered = client.ask("server/discover", json!({ "_meta": stateless_meta() })).await;
    assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28");
    let modern = client.ask("tools/call", json!({ "name": "count", "_meta": stateless_meta() })).await;
    assert_eq!(modern["result"]["structuredContent"], 3);
    for revision in LEGACY {
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": {} });
        assert_eq!(client.ask("initialize", params).await["result"]["protocolVersion"], revision);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let result = client.ask("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })).await;
        assert_eq!(result["result"], json!({ "content": [{ "type": "text", "text": "3" }] }));
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    }
    for (method, meta, code) in [
        ("ping", stateless_meta(), -32601),
        ("server/discover", json!({}), -32602),
        ("tools/list", json!({ "io.modelcontextprotocol/protocolVersion": "1900-01-01" }), -32022),
        ("tools/list", json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" }), -32602),
    ] {
        assert_eq!(client.ask(method, json!({ "_meta": meta })).await["error"]["code"], code, "{method}");
    }
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn requests_run_at_once_and_a_result_is_one_line() {
    let slow = FakeTool::new("slow").answers_after(Duration::from_millis(300), "slow");
    let mut client = Client::start(Mcp::new(), (every_way(), slow));
    for (id, name) in [("a", "slow"), ("b", "lines")] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } })).await;
    }
    let first = client.receive().await;
    assert_eq!((&first["id"], &first["result"]["structuredContent"]), (&json!("b"), &json!({ "x": 1 })));
    assert_eq!(client.receive().await["id"], "a");
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let slow = FakeTool::new("slow").answers_after(Duration::from_millis(200), "slow");
    let mut client = Client::start(Mcp::new(), slow);
    for id in 0..20 {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "slow" } })).await;
    }
    let answers: BTreeMap<i64, Value> =
        client.close().await.into_iter().map(|answer| (answer["id"].as_i64().unwrap(), answer)).collect();
    assert_eq!(answers.keys().copied().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered() {
    let hangs = FakeTool::new("hangs").hangs();
    let log = hangs.log();
    let mut client = Client::start(Mcp::new(), (every_way(), hangs));
    client.send(&json!({ "jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": { "name": "hangs" } })).await;
    while log.running() == 0 {
        tokio::task::yield_now().await;
    }
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "h" } });
    client.send(&cancel).await;
    while log.running() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.ask("ping", json!({})).await["id"], 1, "nothing came before it");
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn progress_and_changes_come_between_the_answers() {
    let source = Changing::default();
    let steps = FakeTool::new("steps").acts(|_, context| async move {
        context.progress(1.0, None, None);
        Ok(ToolOutput::Empty)
    });
    let mut client = Client::start(Mcp::new(), (source.clone(), steps));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let initialized = client.ask("initialize", params).await;
    assert_eq!(initialized["result"]["capabilities"]["tools"]["listChanged"], true);
    source.set(&["a"]);
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
    let progress = client.ask("tools/call", json!({ "name": "steps", "_meta": { "progressToken": 5 } })).await;
    assert_eq!(progress["params"], json!({ "progressToken": 5, "progress": 1 }));
    assert_eq!(client.receive().await["id"], 1);
}

#[tokio::test]
async fn a_subscription_ends_with_the_client() {
    let source = Changing::default();
    let mut client = Client::start(Mcp::new(), source.clone());
    let params = json!({ "_meta": stateless_meta(), "notifications": { "toolsListChanged": true } });
    let acknowledged = client.ask("subscriptions/listen", params).await;
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    source.set(&["a"]);
    assert_eq!(client.receive().await["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let rest = client.close().await;
    assert_eq!(rest[0]["result"]["resultType"], "complete");
}

#[tokio::test]
async fn bad_lines_are_refused_and_the_next_one_is_read() {
    let mut client = Client::start(Mcp::new().max_line(1000), every_way());
    client.send_text(&format!("{}\n", "x".repeat(200_000))).await;
    let refused = client.receive().await;
    assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32600), None));
    client.send_text("nonsense\n\n  \n").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    client.send_text("[]\n").await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "result": {} })).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn calls_at_once_are_bounded() {
    let hangs = FakeTool::new("hangs").hangs();
    let mut client = Client::start(Mcp::new().max_calls_in_flight(2), hangs);
    for id in 0..3 {
        client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "hangs" } }))
            .await;
    }
    let refused = client.receive().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32603)));
}

#[tokio::test]
async fn a_tool_asks_over_the_same_pipe() {
    let asks = || {
        FakeTool::new("asks").acts(|_, context| async move {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            Ok(match context.ask("Your name?", schema).await? {
                UserAnswer::Accepted(content) => ToolOutput::text(content["name"].to_string()),
                _ => ToolOutput::text("nobody"),
            })
        })
    };
    let mut client = Client::start(Mcp::new(), asks());
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} }, "clientInfo": {} });
    client.ask("initialize", params).await;
    let question = client.ask("tools/call", json!({ "name": "asks" })).await;
    assert_eq!(question["method"], "elicitation/create");
    let answer = json!({ "action": "accept", "content": { "name": "Ann" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
    assert_eq!(client.receive().await["result"]["content"][0]["text"], "\"Ann\"");
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    let asked = client.ask("tools/call", json!({ "name": "asks", "_meta": meta })).await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let again = json!({
        "name": "asks", "_meta": meta, "requestState": asked["requestState"], "inputResponses": { "question-1": answer },
    });
    assert_eq!(client.ask("tools/call", again).await["result"]["content"][0]["text"], "\"Ann\"");
    client.send(&message("tools/call", json!({ "name": "asks" }))).await;
    client.receive().await;
    let rest = client.close().await;
    assert_eq!(rest[0]["result"]["isError"], true, "there is nobody left to answer: {rest:?}");
}
