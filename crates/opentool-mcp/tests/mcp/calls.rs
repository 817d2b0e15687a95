//! `tools/call`: what a model gets of each way in which a call can end.

use opentool_core::testing::FakeTool;
use opentool_core::{ToolOutput, TraceContext};
use opentool_server::Server;
use serde_json::{Value, json};

use crate::client::{LEGACY, Running, post_text, start, stateless};
use crate::tools::every_way;

async fn call(server: &Running, name: &str, arguments: Value) -> Value {
    server.stateless("tools/call", json!({ "name": name, "arguments": arguments })).await["result"].take()
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

#[tokio::test]
async fn arguments_reach_the_tool_as_they_came() {
    let server = start(Server::new(every_way())).await;
    let body = |arguments: &str| {
        post_text(&format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        ))
    };
    let reply = server.ask(&body(r#"{"n":1180591620717411303424,"f":1.10}"#)).await;
    assert!(reply.body.contains(r#""text":"{\"n\":1180591620717411303424,\"f\":1.10}""#), "{reply:?}");
    assert!(reply.body.starts_with(r#"{"jsonrpc":"2.0","id":"x","result":"#), "{reply:?}");
    let twice = server.ask(&body(r#"{"a":1,"a":2}"#)).await.json();
    assert_eq!(twice["result"]["isError"], true, "{twice}");
    let said = twice["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("/a") && said.contains("more than once"), "{said}");
    server.ask(&body("[1]")).await.error(200, -32602);
    assert_eq!(server.ask(&body("null")).await.json()["result"]["content"], text("{}"));
}

#[tokio::test]
async fn results_have_text_and_objects_are_structured_too() {
    let server = start(Server::new(every_way())).await;
    let result = call(&server, "text", json!({})).await;
    assert_eq!((&result["content"], result.get("structuredContent")), (&text("plain \"text\""), None));
    assert_eq!((&result["resultType"], result.get("isError")), (&json!("complete"), None));
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "Everything");
    let result = call(&server, "echo", json!({ "x": [1] })).await;
    assert_eq!((&result["content"], &result["structuredContent"]), (&text(r#"{"x":[1]}"#), &json!({ "x": [1] })));
    let result = call(&server, "scalar", json!({})).await;
    assert_eq!((&result["content"], result.get("structuredContent")), (&text("7"), None));
    assert_eq!(call(&server, "nothing", json!({})).await["content"], text("Done"));
}

#[tokio::test]
async fn a_result_whose_schema_is_published_is_structured_as_the_revision_wants() {
    let server = start(Server::new(every_way())).await;
    assert_eq!(call(&server, "count", json!({})).await["structuredContent"], json!(3));
    for (revision, structured) in
        [("2025-11-25", json!({ "things": 3 })), ("2025-06-18", json!({ "things": 3 })), ("2025-03-26", Value::Null)]
    {
        let result = server.initialize(revision).await.call("count", json!({})).await;
        assert_eq!((&result["structuredContent"], &result["content"]), (&structured, &text("3")), "{revision}");
    }
}

#[tokio::test]
async fn parts_take_the_form_that_the_revision_has_for_them() {
    let server = start(Server::new(every_way())).await;
    let content = call(&server, "parts", json!({})).await["content"].take();
    assert_eq!(
        content,
        json!([
            { "type": "text", "text": "for you", "annotations": { "audience": ["user"] } },
            { "type": "image", "data": "aW1n", "mimeType": "image/png" },
            { "type": "audio", "data": "d2F2", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "urn:opentool:part:3", "mimeType": "application/pdf", "blob": "cGRm" } },
            { "type": "resource_link", "uri": "file:///a/report.pdf", "name": "report.pdf", "title": "Report", "size": 7 },
            { "type": "resource", "resource": { "uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside" } },
        ])
    );
    let old = server.initialize("2024-11-05").await.call("parts", json!({})).await["content"].take();
    assert_eq!(old[2], json!({ "type": "text", "text": "[audio/wav, 3 bytes]" }));
    assert_eq!(old[4], json!({ "type": "text", "text": "Report: file:///a/report.pdf" }));
}

#[tokio::test]
async fn a_rich_output_leaves_as_it_came_with_every_digit() {
    let server = start(Server::new(every_way())).await;
    let reply = server.ask(&stateless("tools/call", json!({ "name": "rich" }))).await;
    for part in [
        r#""content":[{"type":"text","text":"a large number"}]"#,
        r#""structuredContent":[1180591620717411303424]"#,
        r#""_meta":{"example.com/cost":1180591620717411303424,"io.modelcontextprotocol/serverInfo":{"#,
    ] {
        assert!(reply.body.contains(part), "{part}: {reply:?}");
    }
    let session = server.initialize("2025-06-18").await;
    let reply = server.ask(&session.post(&crate::client::message("tools/call", json!({ "name": "rich" })))).await;
    assert!(reply.body.contains(r#""structuredContent":{"result":[1180591620717411303424]}"#), "{reply:?}");
    assert!(reply.body.contains(r#""_meta":{"example.com/cost":1180591620717411303424}"#), "{reply:?}");
}

#[tokio::test]
async fn every_failure_of_a_tool_is_text_for_the_model() {
    let server = start(Server::new(every_way())).await;
    for (name, arguments, said) in [
        ("fails", json!({}), "the oven is cold"),
        ("add", json!({ "a": 1 }), "invalid arguments"),
        ("add", json!({ "a": 1, "b": "two" }), "/b"),
        ("panics", json!({}), "internal error"),
        ("approved", json!({}), "approval"),
    ] {
        for result in [
            call(&server, name, arguments.clone()).await,
            server.initialize(LEGACY[0]).await.call(name, arguments.clone()).await,
        ] {
            assert_eq!(result["isError"], true, "{name}: {result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(said), "{name}: {text}");
            assert!(!text.contains("operators only") && !text.contains("secret.rs"), "{text}");
        }
    }
    let result = call(&server, "fails_with_parts", json!({})).await;
    assert_eq!(result["content"], json!([{ "type": "image", "data": "aW1n", "mimeType": "image/png" }]));
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn the_trace_of_a_request_reaches_the_tool() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let tool = FakeTool::new("trace").acts(|_, context| {
        let trace = context
            .typed::<TraceContext>()
            .map(|trace| format!("{} {}", trace.traceparent(), trace.tracestate().unwrap_or("-")));
        async move { Ok(ToolOutput::text(trace.unwrap_or_default())) }
    });
    let server = start(Server::new(tool)).await;
    let meta = json!({ "traceparent": TRACE, "tracestate": "a=1" });
    let with_meta = stateless("tools/call", json!({ "name": "trace", "_meta": meta })).header("traceparent", OTHER);
    let result = server.ask(&with_meta).await.json();
    assert_eq!(result["result"]["content"], text(&format!("{TRACE} a=1")));
    let by_header = stateless("tools/call", json!({ "name": "trace" })).header("traceparent", OTHER);
    assert_eq!(server.ask(&by_header).await.json()["result"]["content"], text(&format!("{OTHER} -")));
}

#[tokio::test]
async fn calls_are_counted_with_those_of_opentool() {
    let server = start(Server::new(every_way())).await;
    call(&server, "text", json!({})).await;
    server.initialize(LEGACY[0]).await.call("fails", json!({})).await;
    let page = server.ask(&crate::client::request("GET").path("/metrics")).await.body;
    assert!(page.contains(r#"opentool_calls_total{tool="text",outcome="ok"} 1"#), "{page}");
    assert!(page.contains(r#"opentool_calls_total{tool="fails",outcome="failed"} 1"#), "{page}");
}

#[tokio::test]
async fn a_result_of_ten_megabytes_arrives() {
    let large = "x".repeat(10 * 1024 * 1024);
    let executor = opentool_core::Executor::builder().max_result_size(large.len()).build();
    let server = start(Server::new(FakeTool::new("large").answers(large.clone())).executor(executor)).await;
    let result = call(&server, "large", json!({})).await;
    assert!(result["content"][0]["text"].as_str() == Some(&large), "it is not what the tool answered");
}

fn with_key(key: &str) -> crate::client::Request {
    stateless("tools/call", json!({ "name": "pay", "_meta": { "dev.opentool/idempotency-key": key } }))
}

#[tokio::test]
async fn a_repeated_key_has_the_answer_of_the_first_call() {
    let tool = FakeTool::new("pay").answers("paid");
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    let first = server.ask(&with_key("order-17")).await.json();
    let second = server.ask(&with_key("order-17")).await.json();
    assert_eq!(first["result"]["content"], text("paid"));
    assert_eq!((&first["result"], log.count()), (&second["result"], 1));
    let refused = server.ask(&with_key("two words")).await.json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("1 to 255 visible ASCII characters"), "{refused}");
    assert_eq!(log.count(), 1);
}

#[cfg(feature = "client")]
#[tokio::test]
async fn a_key_goes_on_to_the_server_behind_a_gateway() {
    let tool = FakeTool::new("pay").answers("paid");
    let log = tool.log();
    let original = start(Server::new(tool)).await;
    // Each gateway forgets what it answered, as one that was killed has.
    for _ in 0..2 {
        let url = opentool_mcp::ServerUrl::new(format!("http://{}/mcp", original.addr));
        let gateway = start(Server::new(opentool_mcp::McpClient::from_url(url))).await;
        assert_eq!(gateway.ask(&with_key("order-17")).await.json()["result"]["content"], text("paid"));
    }
    assert_eq!(log.count(), 1);
}
