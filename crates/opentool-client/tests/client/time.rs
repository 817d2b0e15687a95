//! Deadlines and cancellations.

use std::time::{Duration, Instant};

use opentool_client::{Client, ClientError, OpenTool};
use opentool_core::{Cancellation, ErrorKind, Executor, ToolCall, ToolContext, ToolMetadata};
use opentool_spec::{Function, Info};

use crate::script::{Server, Step, json, result};
use crate::{add, json_of};

/// Short, but enough to connect and send a request on a busy machine.
pub(crate) const SHORT: Duration = Duration::from_secs(1);
/// Longer than any test runs, even on a busy machine.
const FOREVER: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a_late_request_is_a_timeout_and_closes_the_connection() {
    let server = Server::start([vec![Step::Hang]]).await;
    let client = Client::new(server.url()).timeout(SHORT);
    let error = client.call(add()).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after } if after == SHORT), "{error:?}");
    assert_eq!(json_of(&error), r#"{"code":504,"message":"the server did not answer within 1s"}"#);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn an_answer_that_never_ends_is_a_timeout_too() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"result\"";
    let server = Server::start([vec![Step::Write(half.into()), Step::Hang]]).await;
    let error = Client::new(server.url()).timeout(SHORT).version().await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }), "{error:?}");
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let server = Server::start([vec![Step::Hang]]).await;
    let client = Client::new(server.url()).timeout(FOREVER);
    let call = tokio::spawn(async move { client.call(add()).await });
    server.wait_for_requests(1).await;
    call.abort();
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn cancelling_the_context_ends_the_call_and_closes_the_connection() {
    let server = Server::start([vec![Step::Hang]]).await;
    let client = Client::new(server.url()).timeout(FOREVER);
    let cancellation = Cancellation::new();
    let context = ToolContext::new().with_cancellation(cancellation.clone());
    let call = tokio::spawn(async move { client.call_in(add(), &context).await });
    server.wait_for_requests(1).await;
    cancellation.cancel();
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Cancelled), "{error:?}");
    assert_eq!(json_of(&error), r#"{"code":499,"message":"the request was cancelled"}"#);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn a_tool_call_s_deadline_bounds_the_request() {
    let server = Server::start([json(200, "{}"), vec![Step::Hang]]).await;
    let client = Client::new(server.url()).timeout(FOREVER).metadata("slow", ToolMetadata::new().with_timeout(SHORT));
    let host = Executor::new().host(client);
    let started = Instant::now();
    let error = host.call("slow", "{}").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(started.elapsed() < FOREVER / 10);
    server.wait_for_closed(1).await;
}

#[tokio::test]
async fn a_call_s_deadline_overrides_the_client_s_timeout() {
    let mut slowly = vec![Step::Wait(Duration::from_millis(200))];
    slowly.extend(result(r#"{"done":true}"#));
    let server = Server::start([slowly]).await;
    let client = Client::new(server.url()).timeout(Duration::from_millis(20));
    let document = OpenTool::new(Info::new("T", "1")).function(Function::new("slow", "Take your time."));
    let metadata = ToolMetadata::new().with_timeout(FOREVER);
    let toolbox = client.metadata("slow", metadata).toolbox_from_document(&document).unwrap();
    let output = Executor::new().host(toolbox).call("slow", "{}").await.unwrap();
    assert_eq!(output.to_text(), r#"{"done":true}"#);
}

#[tokio::test]
async fn cancelling_a_tool_call_closes_the_connection() {
    let server = Server::start([json(200, "{}"), vec![Step::Hang]]).await;
    let host = Executor::new().host(Client::new(server.url()).timeout(FOREVER));
    let cancellation = Cancellation::new();
    let context = ToolContext::new().with_cancellation(cancellation.clone());
    let call = tokio::spawn(async move { host.run(ToolCall::new("1", "slow", "{}"), &context).await });
    server.wait_for_requests(2).await;
    cancellation.cancel();
    assert_eq!(call.await.unwrap().error().unwrap().kind(), ErrorKind::Cancelled);
    server.wait_for_closed(1).await;
}
