//! Answers that take time: progress, cancellation, and news of changed tools.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, ToolOutput};
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::client::{MAX_WAIT, message, request, start, start_with, stateless};
use crate::tools::{Changing, every_way};

fn progressing() -> FakeTool {
    FakeTool::new("steps").acts(|_, context| async move {
        for done in [1.0, 1.0, 0.5, f64::NAN, 2.5] {
            context.progress(done, Some(4.0), "on the way");
        }
        Ok(ToolOutput::text("arrived"))
    })
}

#[tokio::test]
async fn progress_comes_only_for_a_token_and_only_if_it_increases() {
    let server = start(Server::new(progressing())).await;
    let call = |meta: Value| stateless("tools/call", json!({ "name": "steps", "_meta": meta }));
    let reply = server.ask(&call(json!({ "progressToken": "t" }))).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    let events = reply.events();
    let progress = |done: Value| {
        let params = json!({ "progressToken": "t", "progress": done, "total": 4, "message": "on the way" });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    assert_eq!(events[..2], [progress(json!(1)), progress(json!(2.5))]);
    assert_eq!((events.len(), &events[2]["result"]["content"][0]["text"]), (3, &json!("arrived")));
    let plain = server.ask(&call(json!({}))).await;
    assert_eq!(plain.header("content-type"), Some("application/json"));
    let unread = server.ask(&call(json!({ "progressToken": "t" })).replace("Accept", Some("application/json"))).await;
    assert_eq!(unread.json()["result"]["content"][0]["text"], "arrived");
    let old = server.initialize("2024-11-05").await;
    let asked = message("tools/call", json!({ "name": "steps", "_meta": { "progressToken": 9 } }));
    let events = server.ask(&old.post(&asked)).await.events();
    assert_eq!(events[0]["params"], json!({ "progressToken": 9, "progress": 1, "total": 4 }), "it has no messages");
}

#[tokio::test]
async fn a_call_without_progress_is_answered_by_a_body_even_where_a_token_came() {
    let server = start(Server::new(FakeTool::new("large").answers("x".repeat(600_000)))).await;
    let params = json!({ "name": "large", "_meta": { "progressToken": 7 } });
    let old = server.initialize("2025-06-18").await;
    for request in [stateless("tools/call", params.clone()), old.post(&message("tools/call", params))] {
        let reply = server.ask(&request).await;
        assert_eq!(reply.header("content-type"), Some("application/json"), "events of many clients have a limit");
        assert_eq!(reply.json()["result"]["content"][0]["text"].as_str().unwrap().len(), 600_000);
    }
}

#[tokio::test]
async fn a_stateless_call_ends_with_its_connection() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = start(Server::new(tool).executor(Executor::builder().timeout(None).build())).await;
    for meta in [json!({}), json!({ "progressToken": 1 })] {
        let connection = server.open(&stateless("tools/call", json!({ "name": "hangs", "_meta": meta }))).await;
        let until = Instant::now() + MAX_WAIT;
        let wait_for = async |running: usize| {
            while log.running() != running {
                assert!(Instant::now() < until, "{} calls run, not {running}", log.running());
                sleep(Duration::from_millis(5)).await;
            }
        };
        wait_for(1).await;
        drop(connection);
        wait_for(0).await;
    }
}

#[tokio::test]
async fn a_subscription_is_acknowledged_and_gets_changes() {
    let source = Changing::default();
    source.set(&["a"]);
    let server = start(Server::new(source.clone())).await;
    let discovered = server.stateless("server/discover", json!({})).await;
    assert_eq!(discovered["result"]["capabilities"]["tools"]["listChanged"], true);
    let filter = json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let mut stream = server.open(&stateless("subscriptions/listen", filter)).await;
    assert_eq!(stream.head().await.header("content-type"), Some("text/event-stream"));
    let tagged = json!({ "io.modelcontextprotocol/subscriptionId": 1 });
    let acknowledged = stream.event().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"], json!({ "_meta": tagged, "notifications": { "toolsListChanged": true } }));
    source.set(&["a", "b"]);
    let changed = stream.event().await.unwrap();
    let expected =
        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": tagged } });
    assert_eq!(changed, expected);
    server.handle.shutdown();
    let end = stream.event().await.unwrap();
    assert_eq!(end, json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete", "_meta": tagged } }));
    assert_eq!(stream.event().await, None);
    server.ended().await;
}

#[tokio::test]
async fn a_subscription_gets_only_what_it_asked_for() {
    let source = Changing::default();
    let server = start(Server::new(source.clone())).await;
    let mut stream = server.open(&stateless("subscriptions/listen", json!({ "notifications": {} }))).await;
    stream.head().await;
    assert_eq!(stream.event().await.unwrap()["params"]["notifications"], json!({}));
    source.set(&["a"]);
    server.handle.shutdown();
    assert_eq!(stream.event().await.unwrap()["result"]["resultType"], "complete");
    let fixed = start(Server::new(every_way())).await;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut stream = fixed.open(&stateless("subscriptions/listen", filter)).await;
    stream.head().await;
    assert_eq!(stream.event().await.unwrap()["params"]["notifications"], json!({}), "these tools never change");
    fixed.ask(&stateless("subscriptions/listen", json!({}))).await.error(200, -32602);
}

#[tokio::test]
async fn a_session_has_one_stream_for_news_of_changes() {
    let source = Changing::default();
    let server = start(Server::new(source.clone())).await;
    let session = server.initialize("2025-11-25").await;
    let listen = request("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &session.id);
    let mut stream = server.open(&listen).await;
    assert_eq!(stream.head().await.status, 200);
    assert_eq!(server.ask(&listen).await.status, 409, "a message must come on one stream only");
    source.set(&["a"]);
    let changed = stream.event().await.unwrap();
    assert_eq!(changed, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {} }));
    let end = request("DELETE").header("Mcp-Session-Id", &session.id);
    assert_eq!(server.ask(&end).await.status, 204);
    assert_eq!(stream.event().await, None, "the stream ends with the session");
    let fixed = start(Server::new(every_way())).await;
    let session = fixed.initialize("2025-11-25").await;
    let listen = request("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &session.id);
    assert_eq!(fixed.ask(&listen).await.status, 405, "there would never be news");
}

#[tokio::test]
async fn there_is_a_limit_to_those_who_listen() {
    let server = start_with(Server::new(Changing::default()), Mcp::new().max_listeners(1)).await;
    let listen = stateless("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let mut first = server.open(&listen).await;
    assert_eq!(first.head().await.status, 200);
    let refused = server.ask(&listen).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.error(503, -32603);
    drop(first);
    let until = Instant::now() + MAX_WAIT;
    loop {
        let mut next = server.open(&listen).await;
        if next.head().await.status == 200 {
            break;
        }
        assert!(Instant::now() < until, "the place stays taken");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_call_that_never_ends_is_answered_when_the_drain_is_over() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = Server::new(tool)
        .executor(Executor::builder().timeout(None).build())
        .configure(|config| config.drain_timeout(Duration::from_millis(300)));
    let server = start(server).await;
    let plain = server.open(&stateless("tools/call", json!({ "name": "hangs" }))).await;
    let meta = json!({ "progressToken": 1 });
    let streamed = server.open(&stateless("tools/call", json!({ "name": "hangs", "_meta": meta }))).await;
    let session = server.initialize("2025-11-25").await;
    let legacy = server.open(&session.post(&message("tools/call", json!({ "name": "hangs" })))).await;
    let until = Instant::now() + MAX_WAIT;
    while log.running() < 3 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(5)).await;
    }
    server.handle.shutdown();
    for connection in [plain, streamed, legacy] {
        let result = connection.reply().await.message()["result"].take();
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], "the server stopped before the tool answered");
    }
    server.ended().await;
}

/// A tool that reports progress whenever the test lets it.
fn stepping() -> (FakeTool, tokio::sync::mpsc::UnboundedSender<()>) {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let receiver = std::sync::Arc::new(tokio::sync::Mutex::new(receiver));
    let tool = FakeTool::new("steps").acts(move |_, context| {
        let receiver = receiver.clone();
        async move {
            let (mut receiver, mut done) = (receiver.lock().await, 0.0);
            while receiver.recv().await.is_some() && done < 4.0 {
                done += 1.0;
                context.progress(done, None, None);
            }
            Ok(ToolOutput::text("arrived"))
        }
    });
    (tool, sender)
}

#[tokio::test]
async fn in_a_session_a_stream_that_broke_off_is_taken_up_where_it_was() {
    let (tool, step) = stepping();
    let server = start(Server::new(tool)).await;
    let session = server.initialize("2025-11-25").await;
    let call = message("tools/call", json!({ "name": "steps", "_meta": { "progressToken": 1 } }));
    let mut stream = server.open(&session.post(&call)).await;
    // There are events once there is something to say before the answer.
    step.send(()).unwrap();
    stream.head().await;
    let (first, id) = stream.event_with_id().await.unwrap();
    assert_eq!(first["params"]["progress"], 1);
    drop(stream);
    step.send(()).unwrap();
    let resume = |id: &str| {
        let get = request("GET").header("Accept", "text/event-stream").header("Mcp-Session-Id", &session.id);
        get.header("Last-Event-ID", id)
    };
    // What comes while the client is away, and what comes after.
    let mut stream = server.open(&resume(&id)).await;
    assert_eq!(stream.head().await.status, 200);
    let (second, second_id) = stream.event_with_id().await.unwrap();
    assert_eq!(second["params"]["progress"], 2);
    step.send(()).unwrap();
    assert_eq!(stream.event().await.unwrap()["params"]["progress"], 3);
    drop(step);
    assert_eq!(stream.event().await.unwrap()["result"]["content"][0]["text"], "arrived");
    assert_eq!(stream.event().await, None);
    // A stream that is over is there once more, for its session only.
    let rest = server.ask(&resume(&second_id)).await.events();
    assert_eq!((rest.len(), &rest[0]["params"]["progress"]), (2, &json!(3)));
    let other = server.initialize("2025-11-25").await;
    assert_eq!(server.ask(&resume(&id).replace("Mcp-Session-Id", Some(&other.id))).await.status, 405);
    for unknown in ["7-0", "x", "0-", "0-99999999999999999999", "-1-1"] {
        assert_eq!(server.ask(&resume(unknown)).await.status, 405, "{unknown}");
    }
}
