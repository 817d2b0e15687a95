//! How a server stops: nothing that it accepted is lost.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Toolbox};
use opentool_server::Server;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::client::{MAX_WAIT, call, get, post, start};
use crate::tools::takes;

#[tokio::test]
async fn a_call_in_flight_is_answered_and_its_connection_closed() {
    let tool = takes("takes", Duration::from_millis(800));
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    let mut wire = server.connect().await;
    wire.send(call("takes", "{}").bytes()).await;
    let until = Instant::now() + MAX_WAIT;
    while log.running() == 0 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(10)).await;
    }
    server.handle.shutdown();
    let reply = wire.reply().await;
    assert_eq!(reply.json()["result"]["result"], "done");
    assert_eq!(reply.header("connection"), Some("close"));
    wire.closed().await;
    let addr = server.addr;
    server.ended().await;
    TcpStream::connect(addr).await.unwrap_err();
}

#[tokio::test]
async fn during_the_drain_delay_calls_are_still_answered() {
    let server =
        start(Server::new(takes("f", Duration::ZERO)).configure(|config| config.drain_delay(Duration::from_secs(2))))
            .await;
    assert_eq!(server.ask(get("/readyz")).await.status, 200);
    server.handle.shutdown();
    assert!(server.handle.is_draining());
    let reply = server.ask(get("/readyz")).await;
    assert_eq!((reply.status, reply.text()), (503, r#"{"status":"draining"}"#));
    assert_eq!(server.ask(get("/healthz")).await.status, 200);
    assert_eq!(server.call("f", "{}").await["result"]["result"], "done");
    server.ended().await;
}

#[tokio::test]
async fn a_busy_keep_alive_client_loses_no_answer_in_a_drain() {
    let server = start(
        Server::new(takes("f", Duration::from_millis(5)))
            .configure(|config| config.drain_delay(Duration::from_millis(300))),
    )
    .await;
    let handle = server.handle.clone();
    let addr = server.addr;
    let client = tokio::spawn(async move {
        let mut answered = 0;
        // As a pool would: a new connection where the old one was closed, until the listener is closed.
        while let Ok(stream) = TcpStream::connect(addr).await {
            let mut wire = crate::client::Connection::new(stream);
            loop {
                wire.send(call("f", "{}").bytes()).await;
                let reply = wire.reply().await;
                assert_eq!(reply.json()["result"]["result"], "done");
                answered += 1;
                if reply.header("connection") == Some("close") {
                    break;
                }
            }
        }
        answered
    });
    sleep(Duration::from_millis(200)).await;
    handle.shutdown();
    server.ended().await;
    assert!(client.await.unwrap() > 3);
}

#[tokio::test]
async fn a_drain_closes_idle_clients_and_answers_new_requests() {
    let server = start(Server::new(takes("f", Duration::ZERO))).await;
    let (mut idle, mut sends) = (server.connect().await, server.connect().await);
    for wire in [&mut idle, &mut sends] {
        wire.send(call("f", "{}").bytes()).await;
        wire.reply().await;
    }
    server.handle.shutdown();
    sends.send(call("f", "{}").bytes()).await;
    assert_eq!(sends.reply().await.json()["result"]["result"], "done");
    idle.closed().await;
    server.ended().await;
}

#[tokio::test]
async fn calls_that_never_end_fail_when_the_drain_is_over() {
    let tool = FakeTool::new("hangs").hangs();
    let log = tool.log();
    let server = Server::new(Toolbox::from_tools([tool]).unwrap())
        .executor(Executor::builder().timeout(None).build())
        .configure(|config| config.drain_timeout(Duration::from_millis(300)));
    let server = start(server).await;
    let (mut called, mut streamed) = (server.connect().await, server.connect().await);
    called.send(call("hangs", "{}").bytes()).await;
    streamed.send(post("/opentool/streamCall").body(r#"{"method":"hangs","id":"1"}"#).bytes()).await;
    let until = Instant::now() + MAX_WAIT;
    while log.running() < 2 {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(10)).await;
    }
    server.handle.shutdown();
    let message = called.reply().await.rpc_error(200, 504);
    assert_eq!(message, "the server stopped before the tool answered");
    let stream = streamed.reply().await;
    assert!(
        stream.text().contains("event:error\ndata:{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":{\"code\":504,"),
        "{stream:?}"
    );
    server.ended().await;
    assert_eq!(log.running(), 0);
}

#[tokio::test]
async fn a_deadline_still_holds_during_the_drain() {
    let executor = Executor::builder().timeout(Duration::from_millis(500)).build();
    let server = start(Server::new(FakeTool::new("hangs").hangs()).executor(executor)).await;
    let mut wire = server.connect().await;
    wire.send(call("hangs", "{}").bytes()).await;
    sleep(Duration::from_millis(100)).await;
    server.handle.shutdown();
    assert_eq!(wire.reply().await.rpc_error(200, 504), "the tool did not answer within 500ms");
    server.ended().await;
}

#[tokio::test]
async fn a_server_without_connections_stops_at_once() {
    let server = start(Server::new(takes("f", Duration::ZERO))).await;
    server.handle.shutdown();
    server.handle.shutdown();
    server.ended().await;
}
