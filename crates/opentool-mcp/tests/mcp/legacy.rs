//! The revisions that begin with `initialize`.

use opentool_core::ToolOutput;
use opentool_core::testing::FakeTool;
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{LEGACY, MAX_WAIT, message, post, post_text, request, start, start_with};
use crate::tools::every_way;

#[tokio::test]
async fn each_revision_lists_and_calls() {
    let server = start(Server::new(every_way())).await;
    for revision in LEGACY {
        let session = server.initialize(revision).await;
        assert_eq!(session.ask("ping", json!({})).await["result"], json!({}));
        let list = session.ask("tools/list", json!({})).await;
        assert!(list["result"]["tools"].as_array().unwrap().len() > 10);
        assert_eq!((list["result"].get("resultType"), list["result"].get("ttlMs")), (None, None));
        let result = session.call("add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(result, json!({ "content": [{ "type": "text", "text": "3" }] }), "{revision}");
        assert_eq!(session.ask("no/such", json!({})).await["error"]["code"], -32601);
        assert_eq!(session.ask("tools/call", json!({ "name": "ad" })).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn initialize_agrees_on_a_revision() {
    let server = start(Server::new(every_way())).await;
    let ask = async |version: Value| {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {} });
        server.ask(&post(&message("initialize", params))).await
    };
    for (requested, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-10-07", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        assert_eq!(ask(requested.into()).await.json()["result"]["protocolVersion"], agreed);
    }
    let result = ask("2025-11-25".into()).await.json()["result"].take();
    assert_eq!(result["serverInfo"], json!({ "name": "Everything", "title": "Everything", "version": "3.2.1" }));
    assert_eq!(
        (&result["capabilities"], &result["instructions"]),
        (&json!({ "tools": {} }), &json!("Use `add` for sums."))
    );
    let reply = ask(7.into()).await;
    reply.error(200, -32602);
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn a_session_ends_when_its_client_says_so() {
    let server = start(Server::new(every_way())).await;
    let session = server.initialize("2025-11-25").await;
    let end = request("DELETE").header("Mcp-Session-Id", &session.id);
    assert_eq!(server.ask(&end).await.status, 204);
    assert_eq!(server.ask(&end).await.status, 404);
    let listed = server.ask(&session.post(&message("tools/list", json!({})))).await;
    assert_eq!(listed.status, 404, "{listed:?}");
    let made_up = post(&message("tools/list", json!({}))).header("Mcp-Session-Id", "made-up");
    assert_eq!(server.ask(&made_up).await.status, 404);
}

#[tokio::test]
async fn a_session_belongs_to_the_key_that_began_it() {
    let config = |config: opentool_server::ConfigBuilder| config.named_key("ann", "a").named_key("ben", "b");
    let server = start(Server::new(every_way()).configure(config)).await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let begin = post(&message("initialize", params)).header("Authorization", "Bearer a");
    let id = server.ask(&begin).await.header("mcp-session-id").unwrap().to_owned();
    let listed = post(&message("tools/list", json!({}))).header("Mcp-Session-Id", &id);
    assert_eq!(server.ask(&listed.clone().header("Authorization", "Bearer a")).await.status, 200);
    assert_eq!(server.ask(&listed.clone().header("Authorization", "Bearer b")).await.status, 404);
    assert_eq!(server.ask(&listed).await.status, 401);
}

#[tokio::test]
async fn each_session_is_a_caller_of_its_own() {
    let who = FakeTool::new("who")
        .acts(|_, context| async move { Ok(ToolOutput::text(context.caller().unwrap_or("somebody"))) });
    let server = start(Server::new(who)).await;
    let (first, second) = (server.initialize("2025-11-25").await, server.initialize("2025-11-25").await);
    let mut callers = Vec::new();
    for session in [&first, &first, &second] {
        let caller = session.call("who", json!({})).await["content"][0]["text"].take();
        assert!(!caller.to_string().contains(&session.id), "the id is as good as a key");
        callers.push(caller);
    }
    assert!(callers[0] == callers[1] && callers[1] != callers[2], "{callers:?}");
}

#[tokio::test]
async fn a_client_without_a_session_is_served_without() {
    let server = start_with(Server::new(every_way()), Mcp::new().max_sessions(0)).await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let reply = server.ask(&post(&message("initialize", params))).await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    let call = message("tools/call", json!({ "name": "text" }));
    for request in [post(&call), post(&call).header("MCP-Protocol-Version", "2025-11-25")] {
        assert_eq!(server.ask(&request).await.json()["result"]["content"][0]["text"], "plain \"text\"");
    }
    server.ask(&post(&call).header("MCP-Protocol-Version", "1900-01-01")).await.error(400, -32022);
}

#[tokio::test]
async fn a_call_is_cancelled_by_notification_and_not_by_disconnecting() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    let session = server.initialize("2025-11-25").await;
    let call = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "hangs" } });
    let wait_for = async |running: usize| {
        let until = Instant::now() + MAX_WAIT;
        while log.running() != running {
            assert!(Instant::now() < until, "{} calls run, not {running}", log.running());
            sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let gone = server.open(&session.post(&call(7))).await;
    let waits = server.open(&session.post(&call(8))).await;
    wait_for(2).await;
    drop(gone);
    let cancel = |id: u32| {
        session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
    };
    let stranger = server.initialize("2025-11-25").await;
    let others =
        stranger.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 8 } }));
    assert_eq!(server.ask(&others).await.status, 202);
    assert_eq!(server.ask(&cancel(8)).await.status, 202);
    let result = waits.reply().await.json();
    assert_eq!((&result["id"], &result["result"]["isError"]), (&json!(8), &json!(true)));
    wait_for(1).await;
    assert_eq!(server.ask(&cancel(7)).await.status, 202);
    wait_for(0).await;
}

#[tokio::test]
async fn one_revision_has_batches() {
    let server = start(Server::new(every_way())).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "add", "arguments": { "a": 1, "b": 2 } } },
        { "jsonrpc": "2.0", "method": "notifications/whatever" },
        { "jsonrpc": "2.0", "id": 2, "method": "ping" },
        { "jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {} },
        7,
    ]);
    let session = server.initialize("2025-03-26").await;
    let answers = server.ask(&session.post(&batch)).await.json();
    assert_eq!(answers.as_array().unwrap().len(), 4);
    assert_eq!((&answers[0]["id"], &answers[0]["result"]["content"][0]["text"]), (&json!(1), &json!("3")));
    assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    assert_eq!((&answers[2]["error"]["code"], &answers[3]["error"]["code"]), (&json!(-32600), &json!(-32600)));
    let only_notified = json!([{ "jsonrpc": "2.0", "method": "notifications/initialized" }]);
    assert_eq!(server.ask(&session.post(&only_notified)).await.status, 202);
    for revision in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let session = server.initialize(revision).await;
        server.ask(&session.post(&batch)).await.error(400, -32600);
    }
    server.ask(&post_text("[]")).await.error(400, -32600);
    server.ask(&post_text(&format!("[{}]", ["7"; 101].join(",")))).await.error(400, -32600);
}
