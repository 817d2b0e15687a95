//! What bounds a page: the limits of the server around it, its own, and the drain.

use std::time::Duration;

use opentool_core::{BoxFuture, ChangeSignal, Executor, FnTool, ToolChanges, ToolError, ToolSource, Toolbox};
use opentool_page::Page;
use opentool_server::Server;
use serde_json::json;

use crate::browser::start;
use crate::tools::every_way;

#[tokio::test]
async fn the_limits_of_the_server_hold_for_the_page() {
    let server = Server::new(every_way()).configure(|config| config.max_body(2_000).max_calls_in_flight(1));
    let server = start(server, Page::new()).await;
    let browser = server.browser().await;
    let large = json!({ "id": "c1", "tool": "echo", "arguments": { "text": "x".repeat(3_000) } }).to_string();
    assert_eq!(browser.post("/ui/api/calls", &large).await.status, 413);
    let mut lines = browser.open("/ui/api/calls", r#"{"id":"slow","tool":"hang","arguments":{}}"#).await;
    lines.next_of("started").await;
    let reply = browser.post("/ui/api/calls", r#"{"id":"c2","tool":"add","arguments":{"a":1,"b":2}}"#).await;
    assert_eq!((reply.refused(503).as_str(), reply.header("retry-after")), ("busy", Some("1")));
}

#[tokio::test]
async fn one_page_has_so_many_calls_at_once() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let browser = server.browser().await;
    let mut open = Vec::new();
    for number in 0..32 {
        let body = format!(r#"{{"id":"c{number}","tool":"hang","arguments":{{}}}}"#);
        open.push(browser.open("/ui/api/calls", &body).await);
    }
    let more = browser.post("/ui/api/calls", r#"{"id":"more","tool":"hang","arguments":{}}"#).await;
    assert_eq!(more.refused(503), "busy");
    // A page that is closed cancels its calls.
    drop(open);
    for _ in 0..100 {
        let reply = browser.post("/ui/api/calls", r#"{"id":"more","tool":"add","arguments":{"a":1,"b":2}}"#).await;
        if reply.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the calls of a closed page go on");
}

#[tokio::test]
async fn signing_out_ends_calls_and_streams() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let browser = server.browser().await;
    let mut call = browser.open("/ui/api/calls", r#"{"id":"c","tool":"hang","arguments":{}}"#).await;
    call.next_of("started").await;
    let mut events = browser.request("GET", "/ui/api/events").open().await;
    assert_eq!(events.head.header("content-type"), Some("text/event-stream"));
    events.piece().await.unwrap();
    assert_eq!(browser.delete("/ui/api/session").await.status, 204);
    assert_eq!(call.last().await["error"]["kind"], "cancelled");
    assert!(events.piece().await.is_none());
}

#[tokio::test]
async fn the_server_drains_with_pages_open() {
    let server = Server::new(every_way()).configure(|config| config.drain_timeout(Duration::from_millis(300)));
    let server = start(server, Page::new()).await;
    let browser = server.browser().await;
    let mut events = browser.request("GET", "/ui/api/events").open().await;
    events.piece().await.unwrap();
    let mut call = browser.open("/ui/api/calls", r#"{"id":"c","tool":"hang","arguments":{}}"#).await;
    call.next_of("started").await;
    server.handle.shutdown();
    assert!(events.piece().await.is_none(), "a stream without an end ends at once");
    let outcome = call.last().await;
    assert_eq!((&outcome["error"]["kind"], &outcome["error"]["retryable"]), (&json!("timeout"), &json!(false)));
    drop((events, call));
    server.ended().await;
}

/// Tools that change.
struct Changing(ChangeSignal);

impl ToolSource for Changing {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async { Toolbox::from_tools([FnTool::new("now", || "noon")]).map_err(ToolError::fatal) })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.0.changes())
    }
}

/// A source that panics, or else never answers.
struct Broken {
    panics: bool,
}

impl ToolSource for Broken {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        assert!(!self.panics, "at src/secret.rs:7");
        Box::pin(std::future::pending())
    }

    fn changes(&self) -> Option<ToolChanges> {
        assert!(!self.panics, "at src/secret.rs:7");
        None
    }
}

#[tokio::test]
async fn a_source_that_panics_or_hangs_is_an_error_answer() {
    for panics in [true, false] {
        let executor = Executor::builder().timeout(Duration::from_millis(100)).build();
        let server = start(Server::new(Broken { panics }).executor(executor), Page::new()).await;
        let browser = server.browser().await;
        let tools = browser.get("/ui/api/tools").await;
        assert!(!tools.refused(503).contains("secret"), "{tools:?}");
        let mut call = browser.open("/ui/api/calls", r#"{"id":"c","tool":"any","arguments":{}}"#).await;
        let outcome = call.last().await;
        assert!(outcome["error"]["kind"].is_string(), "{outcome}");
        assert_eq!(browser.get("/ui/api/info").await.status, 200);
    }
}

#[tokio::test]
async fn a_page_is_notified_when_tools_change() {
    let signal = ChangeSignal::new();
    let server = start(Server::new(Changing(signal.clone())), Page::new()).await;
    let browser = server.browser().await;
    let mut events = browser.request("GET", "/ui/api/events").open().await;
    events.piece().await.unwrap();
    signal.send();
    let event = events.piece().await.unwrap();
    assert_eq!(String::from_utf8(event).unwrap(), "event: tools\ndata: {}\n\n");
}

#[tokio::test]
async fn streams_of_events_are_bounded() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let browser = server.browser().await;
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(browser.request("GET", "/ui/api/events").open().await);
    }
    assert_eq!(browser.get("/ui/api/events").await.refused(503), "busy");
}

#[tokio::test]
async fn an_unauthenticated_caller_is_refused_before_its_body_is_read() {
    let server = start(Server::new(every_way()).api_keys(["s3cret-key"]), Page::new()).await;
    // The body never comes: a server that waits for it never answers.
    let announced = |method: &str, path: &str| {
        server.request(method, path).header("Content-Type", "application/json").header("Content-Length", "9000000")
    };
    assert_eq!(announced("POST", "/ui/api/calls").send().await.refused(401), "not-signed-in");
    let foreign = announced("POST", "/ui/api/calls").without("Sec-Fetch-Site");
    assert_eq!(foreign.send().await.refused(403), "wrong-origin");
    assert_eq!(announced("POST", "/ui/api/session").send().await.refused(413), "invalid-request");
    assert_eq!(announced("GET", "/ui/").send().await.status, 200);
    assert_eq!(announced("POST", "/ui/app.js").send().await.refused(405), "method-not-allowed");
}
