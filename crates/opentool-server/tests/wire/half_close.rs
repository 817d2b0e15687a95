//! Clients that close their side of the connection once they have sent their request.

use std::sync::Arc;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolOutput, Toolbox};
use opentool_server::Server;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::client::{MAX_WAIT, Running, call, post, start};

/// A tool that waits for a signal, and gives one when its call has ended, however it did.
struct Gate {
    started: Arc<Notify>,
    open: Arc<Notify>,
    ended: Arc<Notify>,
}

struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn gated(half_close_timeout: Duration) -> (Running, Gate) {
    let gate = Gate { started: Arc::default(), open: Arc::default(), ended: Arc::default() };
    let (started, open, ended) = (gate.started.clone(), gate.open.clone(), gate.ended.clone());
    let tool = FakeTool::new("wait").acts(move |_, _| {
        let (started, open, ended) = (started.clone(), open.clone(), NotifyOnDrop(ended.clone()));
        async move {
            let _ended = ended;
            started.notify_one();
            open.notified().await;
            Ok(ToolOutput::text("done"))
        }
    });
    let server = Server::new(Toolbox::from_tools([tool]).unwrap());
    (start(server.configure(|config| config.half_close_timeout(half_close_timeout))).await, gate)
}

#[tokio::test]
async fn a_call_of_a_half_closed_client_is_answered() {
    let (server, gate) = gated(MAX_WAIT).await;
    for _ in 0..50 {
        let mut wire = server.connect().await;
        wire.send(call("wait", "{}").bytes()).await;
        wire.end().await;
        gate.started.notified().await;
        gate.open.notify_one();
        assert_eq!(wire.reply().await.json()["result"], json!({"result": "done"}));
        wire.closed().await;
    }
}

#[tokio::test]
async fn a_call_of_a_half_closed_client_is_cancelled_after_the_timeout() {
    let (server, gate) = gated(Duration::from_millis(100)).await;
    for path in ["/opentool/call", "/opentool/streamCall"] {
        let mut wire = server.connect().await;
        wire.send(post(path).body(r#"{"method":"wait","id":"1"}"#).bytes()).await;
        gate.started.notified().await;
        wire.end().await;
        timeout(MAX_WAIT, gate.ended.notified()).await.expect("the call goes on");
    }
    let mut wire = server.connect().await;
    wire.send(call("wait", "{}").bytes()).await;
    wire.end().await;
    wire.closed().await;
}

#[tokio::test]
async fn a_reset_cancels_a_call_at_once() {
    let (server, gate) = gated(Duration::from_secs(3600)).await;
    let mut wire = server.connect().await;
    wire.send(call("wait", "{}").bytes()).await;
    gate.started.notified().await;
    wire.reset();
    timeout(MAX_WAIT, gate.ended.notified()).await.expect("the call goes on");
}

#[tokio::test]
async fn a_body_that_a_half_closed_client_did_not_send_is_not_waited_for() {
    let (server, _gate) = gated(Duration::from_secs(3600)).await;
    let mut wire = server.connect().await;
    wire.send("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{").await;
    wire.end().await;
    // With an answer or without one, it does not wait for an hour.
    while wire.head().await.is_some() {}
}
