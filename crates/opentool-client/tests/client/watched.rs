//! Watched calls of remote tools.

use std::time::Duration;

use futures_util::StreamExt;
use opentool_client::Client;
use opentool_core::{
    Cancellation, ErrorKind, Executor, Host, Outcome, ToolCall, ToolContext, ToolEvent, ToolMetadata, ToolOutput,
};

use crate::script::{self, Reply, Server, Step, events, html, json, reply, result};

const DOCUMENT: &str = r#"{"opentool":"1.1.0","info":{"title":"News","version":"1.0.0"},"functions":[
    {"name":"read","description":"Read.","parameters":[],"return":{"name":"text","schema":{"type":"string"}}}]}"#;

fn piece(text: &str) -> String {
    data("data", text)
}

fn data(event: &str, text: &str) -> String {
    format!(
        "event:{event}\ndata:{{\"jsonrpc\":\"2.0\",\"result\":{{\"text\":\"{text}\"}},\"error\":null,\"id\":\"7\"}}\n\n"
    )
}

/// A stream of events in which the result has a name of its own.
fn named_events(pieces: &[&str]) -> Reply {
    let mut reply = events(pieces.iter().copied());
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream;result=named\r\nconnection: close\r\n\r\n";
    reply[0] = Step::Write(head.into());
    reply
}

async fn host(replies: impl IntoIterator<Item = Reply>) -> (Server, Host) {
    let server = Server::start([json(200, DOCUMENT)].into_iter().chain(replies)).await;
    let host = Executor::new().host(Client::new(server.url()));
    (server, host)
}

/// What was emitted, as texts, and the outcome.
async fn watch(host: &Host) -> (Vec<String>, Outcome) {
    let context = ToolContext::new();
    let mut batch = host.watch(ToolCall::new("7", "read", "{}"), &context).await;
    let mut emitted = Vec::new();
    while let Some(event) = batch.next().await {
        if let ToolEvent::Output(_, output) = event {
            assert!(matches!(output, ToolOutput::Text(_)), "{output:?}");
            emitted.push(output.to_text());
        }
    }
    let outcomes = batch.finish().await;
    (emitted, outcomes[0].clone())
}

fn lines(server: &Server) -> Vec<String> {
    server.seen().iter().map(|seen| seen.line().to_owned()).collect()
}

#[tokio::test]
async fn values_of_a_running_tool_are_emitted_and_the_last_is_the_result() {
    let stream = events([&*piece("one"), &*piece("two"), &*piece("all"), "event:done\ndata:{\"done\":\"read\"}\n\n"]);
    let (server, host) = host([stream]).await;
    let (emitted, outcome) = watch(&host).await;
    assert_eq!(emitted, ["one", "two"]);
    assert_eq!(outcome.result.unwrap(), ToolOutput::text("all"));
    assert_eq!(lines(&server), ["GET /opentool/load", "POST /opentool/streamCall"]);
    let seen = &server.seen()[1];
    assert_eq!(seen.header("accept"), Some("text/event-stream;result=named"));
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","method":"read","params":{},"id":"7"}"#);
}

#[tokio::test]
async fn a_named_result_event_is_the_result() {
    let (_server, host1) = host([named_events(&[&piece("one"), &data("result", "all")])]).await;
    let (emitted, outcome) = watch(&host1).await;
    assert_eq!((emitted, outcome.result.unwrap()), (vec!["one".to_owned()], ToolOutput::text("all")));
    let (_server, host2) = host([named_events(&[&piece("one"), &piece("two")])]).await;
    let (emitted, outcome) = watch(&host2).await;
    assert_eq!(emitted, ["one", "two"]);
    assert_eq!(outcome.result.unwrap(), ToolOutput::Empty);
}

#[tokio::test]
async fn with_named_results_a_value_is_emitted_at_once() {
    let mut reply = named_events(&[&piece("one")]);
    reply.pop();
    reply.push(Step::Hang);
    let (server, host) = host([reply]).await;
    let context = ToolContext::new().with_cancellation(Cancellation::new());
    let mut batch = host.watch(ToolCall::new("7", "read", "{}"), &context).await;
    loop {
        if let ToolEvent::Output(_, output) = batch.next().await.unwrap() {
            assert_eq!(output, ToolOutput::text("one"));
            break;
        }
    }
    batch.cancellation().cancel();
    assert_eq!(batch.finish().await[0].error().unwrap().kind(), ErrorKind::Cancelled);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn a_server_without_streams_is_called_the_plain_way_from_then_on() {
    for refusal in [html(404), json(405, "{}"), script::reply(501, "text/plain", "no"), html(200)] {
        let (server, host) = host([refusal, result(r#"{"text":"all"}"#)]).await;
        for _ in 0..2 {
            let (emitted, outcome) = watch(&host).await;
            assert!(emitted.is_empty());
            assert_eq!(outcome.result.unwrap(), ToolOutput::text("all"));
        }
        let calls = ["POST /opentool/streamCall", "POST /opentool/call", "POST /opentool/call"];
        assert_eq!(lines(&server)[1..], calls);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_the_answer() {
    let (server, host1) = host([result(r#"{"text":"all"}"#)]).await;
    assert_eq!(watch(&host1).await.1.result.unwrap(), ToolOutput::text("all"));
    assert_eq!(lines(&server).len(), 2);
    let (server, host2) = host([script::error(403, "not you")]).await;
    assert_eq!(watch(&host2).await.1.error().unwrap().kind(), ErrorKind::Denied);
    assert_eq!(lines(&server).len(), 2);
}

#[tokio::test]
async fn a_failure_after_values_is_the_outcome_and_is_not_retried() {
    let error = "event:error\ndata:{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":{\"code\":503,\"message\":\"busy\"},\"id\":\"7\"}\n\n";
    let server = Server::start([json(200, DOCUMENT), events([&*piece("one"), &*piece("two"), error])]).await;
    let client = Client::new(server.url()).metadata("read", ToolMetadata::new().with_idempotent(true));
    let (emitted, outcome) = watch(&Executor::new().host(client)).await;
    assert_eq!(emitted, ["one"]);
    assert_eq!(outcome.error().unwrap().message(), "busy");
    assert_eq!(lines(&server).len(), 2);
}

#[tokio::test]
async fn an_idempotent_call_is_retried_before_its_first_value() {
    for failure in [vec![Step::Close], html(503), reply(502, "text/plain", "")] {
        let replies = [json(200, DOCUMENT), failure, result(r#"{"text":"all"}"#)];
        let server = Server::start(replies.clone()).await;
        let client = Client::new(server.url()).backoff(Duration::from_millis(1));
        let outcome = watch(&Executor::new().host(client.clone())).await.1;
        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Unavailable);
        assert_eq!(lines(&server).len(), 2, "it may have run");

        let server = Server::start(replies).await;
        let client = Client::new(server.url()).metadata("read", ToolMetadata::new().with_idempotent(true));
        let outcome = watch(&Executor::new().host(client)).await.1;
        assert_eq!(outcome.result.unwrap(), ToolOutput::text("all"));
        assert_eq!(lines(&server)[1..], ["POST /opentool/streamCall", "POST /opentool/call"]);
    }
}

#[tokio::test]
async fn the_deadline_of_a_watched_call_holds() {
    let server = Server::start([json(200, DOCUMENT), vec![Step::Hang]]).await;
    let metadata = ToolMetadata::new().with_timeout(Duration::from_millis(100));
    let client = Client::new(server.url()).metadata("read", metadata);
    let outcome = watch(&Executor::new().host(client)).await.1;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Timeout);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn an_unwatched_call_is_a_plain_one() {
    let (server, host) = host([result(r#"{"text":"all"}"#)]).await;
    assert_eq!(host.call("read", "{}").await.unwrap(), ToolOutput::text("all"));
    assert_eq!(lines(&server)[1], "POST /opentool/call");
}
