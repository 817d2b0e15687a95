//! Which requests are repeated.

use std::time::{Duration, Instant};

use opentool_client::{Client, ClientError};
use opentool_core::ToolMetadata;

use crate::add;
use crate::script::{self, Reply, Server, Step, html, json, result};

/// Failures that may pass.
fn transient_failures() -> Vec<Reply> {
    vec![vec![Step::Close], html(502), html(503), html(504), html(429), json(503, "{}"), script::error(503, "busy")]
}

fn client(server: &Server) -> Client {
    Client::new(server.url()).backoff(Duration::from_millis(1))
}

#[tokio::test]
async fn a_call_that_is_not_idempotent_is_sent_once() {
    for failure in transient_failures() {
        let server = Server::start([failure, result("{}")]).await;
        let client = client(&server).retries(5).metadata("subtract", ToolMetadata::new().with_idempotent(true));
        assert!(client.call(add()).await.is_err());
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn an_idempotent_call_is_retried() {
    for failure in transient_failures() {
        let server = Server::start([failure.clone(), failure, result(r#"{"sum":3}"#)]).await;
        let client = client(&server).metadata("add", ToolMetadata::new().with_idempotent(true));
        assert_eq!(client.call(add()).await.unwrap().result["sum"], 3);
        assert_eq!(server.seen().len(), 3);
    }
}

#[tokio::test]
async fn version_and_load_are_retried() {
    for failure in [vec![Step::Close], html(502), json(503, "{}")] {
        let server = Server::start([failure.clone(), json(200, r#"{"version":"1.0.0"}"#)]).await;
        assert_eq!(client(&server).version().await.unwrap().version, "1.0.0");
        assert_eq!(server.seen().len(), 2);
        let server = Server::start([failure, json(200, "{}")]).await;
        assert!(client(&server).load().await.unwrap().is_none());
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn stopping_is_asked_for_once() {
    let server = Server::start([html(503)]).await;
    assert!(client(&server).stop().await.is_err());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn after_the_last_attempt_the_last_error_is_returned() {
    let server = Server::start([html(502), html(503)]).await;
    let error = client(&server).retries(3).version().await.unwrap_err();
    assert!(matches!(error, ClientError::NoAccess { status: Some(503), .. }), "{error:?}");
    assert_eq!(server.seen().len(), 4);
    assert!(client(&server).retries(0).version().await.is_err());
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn a_permanent_error_is_not_retried() {
    let refusals =
        [json(401, "{}"), html(404), html(500), script::error(500, "no"), script::error(429, "no"), json(200, "")];
    for refusal in refusals {
        let server = Server::start([refusal]).await;
        let client = client(&server).metadata("add", ToolMetadata::new().with_idempotent(true));
        assert!(client.call(add()).await.is_err());
        assert_eq!(server.seen().len(), 1);
    }
}

/// A failure with a `Retry-After`.
fn busy_for(status: u16, retry_after: &str) -> Reply {
    vec![Step::Write(format!("HTTP/1.1 {status} X\r\nretry-after: {retry_after}\r\ncontent-length: 0\r\n\r\n").into())]
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    for status in [429, 503] {
        let server = Server::start([busy_for(status, "1"), result(r#"{"sum":3}"#)]).await;
        let client = client(&server).metadata("add", ToolMetadata::new().with_idempotent(true));
        let start = Instant::now();
        assert_eq!(client.call(add()).await.unwrap().result["sum"], 3);
        assert!(start.elapsed() >= Duration::from_secs(1));
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_past_or_invalid_retry_after_delays_nothing() {
    for retry_after in ["0", "Wed, 21 Oct 2015 07:28:00 GMT", "soon"] {
        let server = Server::start([busy_for(503, retry_after), json(200, r#"{"version":"1.0.0"}"#)]).await;
        assert_eq!(client(&server).version().await.unwrap().version, "1.0.0");
    }
}

#[tokio::test]
async fn a_retry_after_past_the_deadline_ends_with_the_server_s_error() {
    let server = Server::start([busy_for(503, "3600")]).await;
    let error = client(&server).retries(5).version().await.unwrap_err();
    assert!(matches!(error, ClientError::NoAccess { status: Some(503), .. }), "{error:?}");
    assert_eq!(server.seen().len(), 1);
}
