//! Calls with an `Idempotency-Key`: one effect, however often they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{ToolOutput, Toolbox};
use opentool_server::Server;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::client::{MAX_WAIT, Request, Running, call, get, post, start};

/// A tool that answers how often it ran.
fn counter() -> (Server, CallLog) {
    let count = AtomicU32::new(0);
    let tool = FakeTool::new("pay").acts(move |_, _| {
        let count = count.fetch_add(1, SeqCst) + 1;
        async move { ToolOutput::json(&count) }
    });
    let log = tool.log();
    (Server::new(Toolbox::from_tools([tool]).unwrap()), log)
}

fn pay(key: &str) -> Request {
    call("pay", r#"{"cents":100}"#).header("Idempotency-Key", key)
}

#[tokio::test]
async fn a_repeated_key_has_the_answer_of_the_first_call() {
    let (server, log) = counter();
    let server = start(server).await;
    let first = server.ask(pay("order-17")).await;
    let second = server.ask(pay("order-17")).await;
    assert_eq!(first.json()["result"], json!({"result": 1}));
    assert_eq!((first.text(), log.count()), (second.text(), 1));
    assert_eq!(server.ask(pay("order-18")).await.json()["result"], json!({"result": 2}));
    assert_eq!(
        server.call("pay", r#"{"cents":100}"#).await["result"],
        json!({"result": 3}),
        "without a key each call runs"
    );
}

#[tokio::test]
async fn a_key_with_other_arguments_is_refused_with_422() {
    let (server, log) = counter();
    let server = start(server).await;
    server.ask(pay("order-17")).await;
    let other = server.ask(call("pay", r#"{"cents":200}"#).header("Idempotency-Key", "order-17")).await;
    assert!(other.rpc_error(200, 422).contains("choose a new key"), "{other:?}");
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn keys_of_different_api_keys_are_apart() {
    let (server, log) = counter();
    let server = start(server.api_keys(["one-secret", "two-secret"])).await;
    for secret in ["one-secret", "two-secret", "one-secret"] {
        server.ask(pay("k").key(secret)).await;
    }
    assert_eq!(log.count(), 2);
}

#[tokio::test]
async fn a_key_that_cannot_be_one_is_refused() {
    let (server, log) = counter();
    let server = start(server).await;
    let long = "k".repeat(256);
    for key in ["", "two words", &long] {
        let message = server.ask(pay(key)).await.rpc_error(200, -32600);
        assert!(message.contains("1 to 255 visible ASCII characters"), "{message}");
    }
    let twice = server.ask(pay("a").header("Idempotency-Key", "b")).await;
    twice.rpc_error(200, -32600);
    assert_eq!(log.count(), 0);
    assert_eq!(server.ask(pay(&long[..255])).await.json()["result"], json!({"result": 1}));
}

#[tokio::test]
async fn a_call_refused_for_its_headers_is_not_counted() {
    let (server, log) = counter();
    let server = start(server).await;
    let long = format!(r#"{{"cents":1{}}}"#, " ".repeat(100_000));
    for arguments in ["{}", &long] {
        let call = call("pay", arguments);
        server.ask(call.clone().header("Idempotency-Key", "two words")).await.rpc_error(200, -32600);
        server.ask(call.header("OpenTool-Timeout-Ms", "soon")).await.rpc_error(200, -32600);
    }
    assert_eq!(log.count(), 0);
    let page = server.ask(get("/metrics")).await.text().to_owned();
    let counted: Vec<_> = page.lines().filter(|line| line.starts_with("opentool_calls_total{")).collect();
    assert!(counted.iter().all(|line| line.ends_with(" 0")), "{counted:?}");
    assert!(page.contains("opentool_calls_in_flight 0"), "{page}");
}

#[tokio::test]
async fn a_refusal_before_the_call_is_not_kept() {
    let (server, log) = counter();
    let server = start(server).await;
    let unknown = call("pau", "{}").header("Idempotency-Key", "k");
    server.ask(unknown).await.rpc_error(200, 405);
    assert_eq!(server.ask(pay("k")).await.json()["result"], json!({"result": 1}));
    assert_eq!(log.count(), 1);
}

/// A tool that waits for a signal.
async fn gated(change: impl FnOnce(Server) -> Server) -> (Running, CallLog, Arc<Notify>) {
    let open: Arc<Notify> = Arc::default();
    let waiting = open.clone();
    let tool = FakeTool::new("pay").acts(move |_, _| {
        let waiting = waiting.clone();
        async move {
            waiting.notified().await;
            Ok(ToolOutput::text("paid"))
        }
    });
    let log = tool.log();
    (start(change(Server::new(Toolbox::from_tools([tool]).unwrap()))).await, log, open)
}

async fn until(is_true: impl Fn() -> bool) {
    timeout(MAX_WAIT, async {
        while !is_true() {
            sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .expect("it does not happen");
}

#[tokio::test]
async fn a_duplicate_in_flight_waits_for_the_first() {
    let (server, log, open) = gated(|server| server).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    first.send(pay("k").bytes()).await;
    until(|| log.count() == 1).await;
    second.send(pay("k").bytes()).await;
    sleep(Duration::from_millis(30)).await;
    open.notify_one();
    assert_eq!(first.reply().await.text(), second.reply().await.text());
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn a_disconnect_does_not_cancel_a_call_with_a_key() {
    let (server, log, open) = gated(|server| server).await;
    for path in ["/opentool/call", "/opentool/streamCall"] {
        let before = log.finished();
        let mut gone = server.connect().await;
        let key = path.replace('/', "-");
        let body = r#"{"jsonrpc":"2.0","method":"pay","params":{"cents":100},"id":"1"}"#;
        gone.send(post(path).header("Idempotency-Key", &key).body(body).bytes()).await;
        until(|| log.running() == 1).await;
        gone.reset();
        sleep(Duration::from_millis(50)).await;
        assert_eq!(log.running(), 1, "{path}");
        open.notify_one();
        until(|| log.finished() == before + 1).await;
        let answer = server.ask(post("/opentool/call").header("Idempotency-Key", &key).body(body)).await;
        assert_eq!(answer.json()["result"], json!({"result": "paid"}), "{path}");
    }
    assert_eq!(log.count(), 2);
}

#[tokio::test]
async fn a_drain_waits_for_calls_with_a_key_whose_client_is_gone() {
    let (server, log, open) = gated(|server| server).await;
    let mut gone = server.connect().await;
    gone.send(pay("k").bytes()).await;
    until(|| log.running() == 1).await;
    gone.reset();
    server.handle.shutdown();
    sleep(Duration::from_millis(100)).await;
    assert!(!server.task.is_finished());
    open.notify_one();
    server.ended().await;
    assert_eq!(log.finished(), 1);
}

#[tokio::test]
async fn while_the_budget_is_used_up_a_new_key_gets_503() {
    let tool = FakeTool::new("pay").answers("x".repeat(3000));
    let log = tool.log();
    let server = Server::new(Toolbox::from_tools([tool]).unwrap());
    let server = start(server.configure(|config| config.max_buffered_bytes(8000))).await;
    let mut refused = 0;
    for key in 0..12 {
        let answer = server.ask(pay(&key.to_string())).await;
        if answer.json()["error"].is_object() {
            assert!(answer.rpc_error(200, 503).contains("no memory left"), "{answer:?}");
            refused += 1;
        }
    }
    assert!(refused > 0 && log.count() == 12 - refused, "{refused}");
    assert_eq!(
        server.ask(pay("0")).await.json()["result"]["result"].as_str().map(str::len),
        Some(3000),
        "what is kept is kept"
    );
    assert!(server.ask(call("pay", "{}")).await.json()["error"].is_null(), "calls without a key are not refused");
}

#[tokio::test]
async fn a_caller_can_say_how_long_it_waits() {
    let (server, log, _open) = gated(|server| server).await;
    let answer = server.ask(call("pay", "{}").header("OpenTool-Timeout-Ms", "50")).await;
    answer.rpc_error(200, 504);
    let wrong = server.ask(call("pay", "{}").header("OpenTool-Timeout-Ms", "soon")).await;
    assert!(wrong.rpc_error(200, -32600).contains("whole number of milliseconds"));
    assert_eq!(log.count(), 1);
}
