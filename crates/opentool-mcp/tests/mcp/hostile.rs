//! What no client should send: the checks of the server come before the protocol, and its limits hold.

use opentool_core::testing::FakeTool;
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::json;

use crate::client::{message, post, post_text, start, start_with, stateless};
use crate::tools::{Changing, every_way};

#[tokio::test]
async fn keys_hosts_and_origins_are_checked_first() {
    let server = start(Server::new(every_way()).api_keys(["k"])).await;
    let list = stateless("tools/list", json!({}));
    let reply = server.ask(&list).await;
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(reply.json().get("id"), None, "the request was not read: {reply:?}");
    let list = list.header("Authorization", "Bearer k");
    assert_eq!(server.ask(&list).await.status, 200);
    assert_eq!(server.ask(&list.clone().replace("Host", Some("evil.example"))).await.status, 403);
    assert_eq!(server.ask(&list.clone().header("Origin", "https://evil.example")).await.status, 403);
    assert_eq!(server.ask(&list.clone().header("Origin", "null")).await.status, 403);
    assert_eq!(server.ask(&list.header("Origin", "http://localhost")).await.status, 200, "its own page");
}

#[tokio::test]
async fn bodies_are_bounded_and_must_be_json() {
    let server = start(Server::new(every_way()).configure(|config| config.max_body(100_000))).await;
    let list = stateless("tools/list", json!({}));
    assert_eq!(server.ask(&list.clone().body(&" ".repeat(100_001))).await.status, 413);
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        server.ask(&list.clone().replace("Content-Type", kind)).await.error(415, -32600);
    }
    let with_charset = list.clone().replace("Content-Type", Some("Application/JSON; charset=utf-8"));
    assert_eq!(server.ask(&with_charset).await.status, 200);
    server.ask(&list.clone().replace("Accept", Some("text/html"))).await.error(406, -32600);
    for accepted in [None, Some("*/*"), Some("application/*;q=0.5"), Some("application/json")] {
        assert_eq!(server.ask(&list.clone().replace("Accept", accepted)).await.status, 200, "{accepted:?}");
    }
    for broken in ["", "{", "nonsense", "\u{0}", "{\"jsonrpc\":"] {
        server.ask(&post_text(broken)).await.error(400, -32700);
    }
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{}"#, "[".repeat(50_000));
    server.ask(&post_text(&deep)).await.error(400, -32700);
    for wrong in ["7", "null", "{}", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
        server.ask(&post_text(wrong)).await.error(400, -32600);
    }
    server.ask(&post_text(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#)).await.error(400, -32602);
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(server.ask(&post(&answer)).await.status, 202, "nothing was asked, so nothing is answered");
}

#[tokio::test]
async fn calls_in_flight_are_bounded() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = start(Server::new(tool).configure(|config| config.max_calls_in_flight(1))).await;
    let call = stateless("tools/call", json!({ "name": "hangs" }));
    let _first = server.open(&call).await;
    while log.running() == 0 {
        tokio::task::yield_now().await;
    }
    let refused = server.ask(&call).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.error(503, -32603).contains("too many calls"), "{refused:?}");
    assert_eq!(server.ask(&stateless("tools/list", json!({}))).await.status, 200);
}

#[tokio::test]
async fn sessions_are_bounded() {
    let server = start_with(Server::new(every_way()), Mcp::new().max_sessions(2)).await;
    let first = server.initialize("2025-11-25").await;
    let (second, third) = (server.initialize("2025-11-25").await, server.initialize("2025-11-25").await);
    let status = async |session: &crate::client::Session<'_>| {
        server.ask(&session.post(&message("ping", json!({})))).await.status
    };
    assert_eq!(status(&first).await, 404, "it was not used for the longest time");
    assert_eq!((status(&second).await, status(&third).await), (200, 200));
}

#[tokio::test]
async fn what_a_client_made_up_comes_back_shortened() {
    let server = start(Server::new(every_way())).await;
    let long = "x".repeat(5_000);
    let name = server.ask(&stateless("tools/call", json!({ "name": long }))).await;
    assert!(name.error(200, -32602).len() < 300);
    assert!(server.ask(&stateless(&long, json!({}))).await.error(404, -32601).len() < 300);
    let revision = stateless("tools/list", json!({})).replace("MCP-Protocol-Version", Some(&long));
    assert!(server.ask(&revision).await.error(400, -32020).len() < 400);
}

#[tokio::test]
async fn a_message_of_sixteen_megabytes_is_answered_and_a_larger_one_refused() {
    let server = start(Server::new(every_way())).await;
    let call = |text: &str| message("tools/call", json!({ "name": "text", "arguments": { "a": text } })).to_string();
    let largest = call(&"x".repeat((16 << 20) - call("").len()));
    let reply = server.ask(&post_text(&largest)).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "plain \"text\"");
    assert_eq!(server.ask(&post_text(&(largest + " "))).await.status, 413);
    assert_eq!(server.ask(&post(&message("ping", json!({})))).await.status, 200);
}

#[tokio::test]
async fn ten_thousand_listeners_are_refused_beyond_the_limit_and_calls_answered() {
    let changing = Changing::default();
    let server = start(Server::new(changing.clone())).await;
    let listen = stateless("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let (mut streams, mut refused) = (Vec::new(), 0);
    for _ in 0..10_000 {
        let mut stream = server.open(&listen).await;
        let head = stream.head().await;
        match head.status {
            200 => streams.push(stream),
            503 => {
                assert_eq!(head.header("retry-after"), Some("1"));
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((streams.len(), refused), (1024, 10_000 - 1024));
    let refusal = server.ask(&listen).await.error(503, -32603);
    assert!(refusal.contains("as many streams are open as may be"), "{refusal}");
    changing.set(&["a"]);
    assert_eq!(server.ask(&stateless("tools/call", json!({ "name": "a" }))).await.status, 200);
    for stream in &mut streams {
        assert_eq!(stream.event().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(stream.event().await.unwrap()["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn headers_that_contradict_the_body_or_each_other_are_refused() {
    let server = start(Server::new(every_way())).await;
    let call = stateless("tools/call", json!({ "name": "text" }));
    assert_eq!(server.ask(&call).await.status, 200);
    for (name, value) in [
        ("MCP-Protocol-Version", Some("2025-11-25")),
        ("MCP-Protocol-Version", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Method", None),
        ("Mcp-Name", Some("fails")),
        ("Mcp-Name", Some("=?base64?!?=")),
        ("Mcp-Name", None),
    ] {
        server.ask(&call.clone().replace(name, value)).await.error(400, -32020);
    }
    for name in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"] {
        let twice = call.clone().header(name, "text");
        server.ask(&twice).await.error(400, -32020);
    }
    let unknown = call.clone().replace("MCP-Protocol-Version", Some("1999-01-01"));
    assert!([-32020, -32022].contains(&server.ask(&unknown).await.json()["error"]["code"].as_i64().unwrap()));
}
