//! Limits, and what a hostile client can and cannot do.

use std::sync::Arc;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolMetadata, Toolbox};
use opentool_server::Server;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, timeout};

use crate::client::{MAX_WAIT, Running, call, get, post, start};
use crate::tools::{Echo, every_way};

/// Waits until a page of metrics has a line.
async fn until_metric(server: &Running, line: &str) {
    let until = Instant::now() + MAX_WAIT;
    loop {
        let page = server.ask(get("/metrics")).await;
        if page.text().lines().any(|found| found == line) {
            return;
        }
        assert!(Instant::now() < until, "no `{line}` in {}", page.text());
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_head_that_does_not_arrive_gets_408() {
    let server = start(Server::new(Echo).configure(|config| config.header_timeout(Duration::from_millis(300)))).await;
    let mut wire = server.connect().await;
    wire.send("GET /opentool/version HT").await;
    wire.reply().await.rpc_error(408, 408);
    wire.closed().await;
    // Also on a connection that was used before.
    let mut wire = server.connect().await;
    wire.send(get("/opentool/version").bytes()).await;
    assert_eq!(wire.reply().await.status, 200);
    wire.send("GET").await;
    wire.reply().await.rpc_error(408, 408);
}

#[tokio::test]
async fn idle_connections_have_the_idle_timeout_not_that_of_heads() {
    let server = start(Server::new(Echo).configure(|config| {
        config.header_timeout(Duration::from_millis(100)).idle_timeout(Duration::from_millis(1500))
    }))
    .await;
    let (mut silent, mut used) = (server.connect().await, server.connect().await);
    used.send(get("/opentool/version").bytes()).await;
    assert_eq!(used.reply().await.status, 200);
    sleep(Duration::from_millis(700)).await;
    used.send(get("/opentool/version").bytes()).await;
    assert_eq!(used.reply().await.status, 200);
    silent.closed().await;
    used.closed().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_gets_408() {
    let server = start(Server::new(Echo).configure(|config| config.body_timeout(Duration::from_millis(200)))).await;
    for head in ["Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"] {
        let mut wire = server.connect().await;
        wire.send(format!("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\n{head}")).await;
        let reply = wire.reply().await;
        reply.rpc_error(408, 408);
        assert_eq!(reply.header("connection"), Some("close"));
    }
}

#[tokio::test]
async fn a_large_content_length_is_refused_before_the_body() {
    let server = start(Server::new(Echo)).await;
    let mut wire = server.connect().await;
    wire.send(format!("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 1u64 << 30))
        .await;
    wire.reply().await.rpc_error(413, 413);
}

#[tokio::test]
async fn endless_chunks_are_refused_at_the_limit() {
    let server = start(Server::new(Echo).configure(|config| config.max_body(100_000))).await;
    let mut wire = server.connect().await;
    wire.send("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    // One more than may come; whatever is sent after that may or may not be taken.
    for _ in 0..=100_000 / 0x1000 {
        wire.send(&chunk).await;
    }
    wire.reply().await.rpc_error(413, 413);
    let mut wire = server.connect().await;
    wire.send("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let body = r#"{"method":"f","params":{"a":1},"id":"1"}"#;
    for byte in body.chars() {
        wire.send(format!("1\r\n{byte}\r\n")).await;
    }
    wire.send("0\r\n\r\n").await;
    assert_eq!(wire.reply().await.json()["result"], json!({"a": 1}), "chunks are no fault in themselves");
}

#[tokio::test]
async fn deep_nesting_and_broken_text_are_answered() {
    let server = start(Server::new(every_way())).await;
    let deep = "[".repeat(100_000);
    server.ask(post("/opentool/call").body(deep.clone())).await.rpc_error(400, -32700);
    server.ask(post("/opentool/call").body("{\"a\":".repeat(100_000))).await.rpc_error(400, -32700);
    let body = format!(r#"{{"method":"nothing","id":"1","params":{{"a":{deep}{}}}}}"#, "]".repeat(100_000));
    let reply = server.ask(post("/opentool/call").body(body)).await;
    assert_eq!((reply.status, &reply.json()["id"]), (200, &json!("1")));
    let reply = server.ask(post("/opentool/call").body(*b"{\"method\":\"\xff\",\"id\":\"1\"}")).await;
    assert_eq!(reply.rpc_error(400, -32700), "the body is not UTF-8: byte 11 breaks it");
    assert_eq!(server.call("add", r#"{"a":1,"b":2}"#).await["result"]["result"], 3);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = start(Server::new(Echo)).await;
    let mut wire = server.connect().await;
    wire.try_send(get("/opentool/version").header("X", &"x".repeat(100_000)).bytes()).await;
    assert_eq!(wire.reply().await.status, 431);
    let reply = server.ask(get("/opentool/version").header("X", &"x".repeat(12_000))).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn over_the_head_budget_large_heads_get_503_small_ones_pass() {
    // The heads wait for each other, on a busy machine longer than a head may take by default.
    let server = start(Server::new(Echo).configure(|config| config.header_timeout(Duration::from_secs(120)))).await;
    let large = format!("GET /opentool/version HTTP/1.1\r\nhost: localhost\r\nx-large: {}", "x".repeat(15_000));
    let mut held = Vec::new();
    let refused = loop {
        let mut wire = server.connect().await;
        wire.send(&large).await;
        let waited = timeout(Duration::from_millis(5), wire.head()).await;
        if let Ok(reply) = waited {
            break reply.unwrap();
        }
        held.push(wire);
        assert!(held.len() < 1000, "4 MiB hold no 1,000 heads of 15 KB");
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(server.call("f", r#"{"a":1}"#).await["result"], json!({"a": 1}));
    let small = format!("GET /opentool/version HTTP/1.1\r\nhost: localhost\r\nx-small: {}", "x".repeat(7_900));
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let mut wire = server.connect().await;
        wire.send(&small).await;
        waiting.push(wire);
    }
    for mut wire in waiting {
        wire.try_send("\r\n\r\n").await;
        assert_eq!(wire.reply().await.status, 200, "heads up to 8 KiB are not counted, however many arrive at once");
    }
    let mut first = held.swap_remove(0);
    first.send("\r\n\r\n").await;
    assert_eq!(first.reply().await.status, 200, "what was admitted is answered");
    drop((first, held));
    let whole = format!("{large}\r\n\r\n");
    let start = Instant::now();
    loop {
        let mut wire = server.connect().await;
        wire.send(&whole).await;
        if wire.head().await.is_some_and(|reply| reply.status == 200) {
            break;
        }
        assert!(start.elapsed() < MAX_WAIT, "their bytes were not given back");
    }
}

#[tokio::test]
async fn calls_over_the_limit_in_flight_are_refused() {
    let go = Arc::new(Notify::new());
    let tool = FakeTool::new("waits").acts({
        let go = go.clone();
        move |_, _| {
            let go = go.clone();
            async move {
                go.notified().await;
                Ok("went".into())
            }
        }
    });
    let log = tool.log();
    let server = start(Server::new(tool).configure(|config| config.max_calls_in_flight(2))).await;
    let mut first = [server.connect().await, server.connect().await];
    for wire in &mut first {
        wire.send(call("waits", "{}").bytes()).await;
    }
    until_metric(&server, "opentool_calls_in_flight 2").await;
    let reply = server.ask(call("waits", "{}")).await;
    assert_eq!(reply.rpc_error(200, 503), "too many calls in flight: the server runs 2 at once");
    let reply = server.ask(post("/opentool/streamCall").body(r#"{"method":"waits","id":"1"}"#)).await;
    reply.rpc_error(200, 503);
    assert_eq!(log.count(), 2);
    go.notify_waiters();
    for wire in &mut first {
        assert_eq!(wire.reply().await.json()["result"]["result"], "went");
    }
    go.notify_one();
    assert_eq!(server.call("waits", "{}").await["result"]["result"], "went");
}

#[tokio::test]
async fn over_the_budget_large_bodies_get_503_small_ones_pass() {
    let server = start(Server::new(Echo).configure(|config| config.max_buffered_bytes(200_000))).await;
    let mut slow = server.connect().await;
    slow.send("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n").await;
    slow.send(" ".repeat(150_000)).await;
    // With the buffer that its connection reads into.
    until_metric(&server, "opentool_buffered_bytes 182768").await;
    let reply = server.ask(post("/opentool/call").body(" ".repeat(100_000))).await;
    reply.rpc_error(503, 503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(server.call("f", r#"{"a":1}"#).await["result"], json!({"a": 1}));
    drop(slow);
    until_metric(&server, "opentool_buffered_bytes 0").await;
    let body = format!(r#"{{"method":"f","id":"1","params":{{"a":"{}"}}}}"#, "x".repeat(150_000));
    let reply = server.ask(post("/opentool/call").body(body)).await;
    assert_eq!(reply.json()["result"]["a"].as_str().unwrap().len(), 150_000);
}

#[tokio::test]
async fn at_the_cap_the_longest_idle_connection_is_closed() {
    let go = Arc::new(Notify::new());
    let tool = FakeTool::new("waits").acts({
        let go = go.clone();
        move |_, _| {
            let go = go.clone();
            async move {
                go.notified().await;
                Ok("went".into())
            }
        }
    });
    let log = tool.log();
    let server = start(Server::new(tool).configure(|config| config.max_connections(3))).await;
    let mut busy = server.connect().await;
    busy.send(call("waits", "{}").bytes()).await;
    let until = Instant::now() + MAX_WAIT;
    while log.running() == 0 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(10)).await;
    }
    let mut idle = server.connect().await;
    idle.send(get("/opentool/version").bytes()).await;
    idle.reply().await;
    sleep(Duration::from_millis(600)).await;
    let mut newer = server.connect().await;
    newer.send(get("/opentool/version").bytes()).await;
    newer.reply().await;
    let mut newest = server.connect().await;
    newest.send(get("/opentool/version").bytes()).await;
    assert_eq!(newest.reply().await.status, 200);
    idle.closed().await;
    newer.send(get("/opentool/version").bytes()).await;
    assert_eq!(newer.reply().await.status, 200);
    go.notify_waiters();
    assert_eq!(busy.reply().await.json()["result"]["result"], "went");
}

#[tokio::test]
async fn a_new_connection_gets_503_when_all_are_busy() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = start(Server::new(tool).configure(|config| config.max_connections(1))).await;
    let mut busy = server.connect().await;
    busy.send(call("hangs", "{}").bytes()).await;
    let until = Instant::now() + MAX_WAIT;
    while log.running() == 0 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(10)).await;
    }
    server.connect().await.reply().await.rpc_error(503, 503);
}

#[tokio::test]
async fn closing_the_connection_cancels_the_call() {
    let (sender, mut cancelled) = mpsc::channel(1);
    let tool = FakeTool::new("f").acts(move |_, context| {
        let (sender, cancellation) = (sender.clone(), context.cancellation().clone());
        async move {
            tokio::spawn(async move {
                cancellation.cancelled().await;
                sender.send(()).await.unwrap();
            });
            std::future::pending().await
        }
    });
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    let mut wire = server.connect().await;
    wire.send(call("f", "{}").bytes()).await;
    until_metric(&server, "opentool_calls_in_flight 1").await;
    assert_eq!(log.running(), 1);
    drop(wire);
    timeout(MAX_WAIT, cancelled.recv()).await.expect("the call goes on").unwrap();
    until_metric(&server, "opentool_calls_in_flight 0").await;
    until_metric(&server, r#"opentool_calls_total{tool="f",outcome="cancelled"} 1"#).await;
}

#[tokio::test]
async fn idle_and_half_open_connections_do_not_block_others() {
    let slow =
        FakeTool::new("slow").hangs().with_metadata(ToolMetadata::new().with_timeout(Duration::from_millis(100)));
    let tools = Toolbox::from_tools([slow, FakeTool::new("f").answers("ok")]).unwrap();
    let server = start(Server::new(tools).configure(|config| config.max_connections(100))).await;
    let mut held = Vec::new();
    for index in 0..300 {
        let mut wire = server.connect().await;
        match index % 3 {
            0 => wire.send("POST /opentool/call HTTP/1.1\r\nHo").await,
            1 => wire.send("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{").await,
            _ => {}
        }
        held.push(wire);
        if index % 10 == 0 {
            assert_eq!(server.call("f", "{}").await["result"]["result"], "ok");
        }
    }
}

#[tokio::test]
async fn a_client_that_reads_no_answers_is_closed() {
    let tool = FakeTool::new("large").answers("x".repeat(1_000_000));
    let server = start(Server::new(tool).configure(|config| config.idle_timeout(Duration::from_secs(1)))).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        let mut wire = server.connect().await;
        // More than the buffers of two sockets hold.
        wire.send(call("large", "{}").bytes().repeat(20)).await;
        silent.push(wire);
    }
    until_metric(&server, "opentool_connections 4").await;
    // Those three are gone; this is the one that asks.
    until_metric(&server, "opentool_connections 1").await;
    drop(silent);
}
