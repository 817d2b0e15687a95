//! The requests that the client sends.

use std::sync::Arc;

use opentool_client::{Client, ClientError, FunctionCall};
use opentool_core::{Executor, IdempotencyKey, MemoryBudget, MemoryJournal, ToolCall, ToolContext, TraceContext};

use crate::script::{Server, json, result};
use crate::{add, object};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn a_call_is_sent_with_a_string_id_a_bearer_key_json_and_params() {
    let server = Server::start([result("{}")]).await;
    Client::new(server.url()).api_key("s3cret").call(add()).await.unwrap();
    let seen = server.only_request();
    assert_eq!(seen.line(), "POST /opentool/call");
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","method":"add","params":{"a":1,"b":2},"id":"1"}"#);
}

#[tokio::test]
async fn params_are_sent_even_without_arguments() {
    let server = Server::start([result("{}")]).await;
    Client::new(server.url()).call(FunctionCall::new("7", "now", object("{}"))).await.unwrap();
    let seen = server.only_request();
    assert_eq!(seen.body, r#"{"jsonrpc":"2.0","method":"now","params":{},"id":"7"}"#);
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn any_path_but_an_empty_one_is_taken_as_given() {
    for (path, line) in [
        ("", "GET /opentool/version"),
        ("/", "GET /opentool/version"),
        ("/opentool", "GET /opentool/version"),
        ("/opentool/", "GET /opentool/version"),
        ("/tools/v1/", "GET /tools/v1/version"),
    ] {
        let server = Server::start([json(200, r#"{"version":"1.0.0"}"#)]).await;
        Client::new(format!("{}{path}", server.url())).version().await.unwrap();
        assert_eq!(server.only_request().line(), line, "{path}");
    }
}

#[tokio::test]
async fn an_invalid_address_is_an_error_of_the_first_request() {
    let client = Client::new("localhost:9627").api_key("s3cret");
    for error in [client.version().await.unwrap_err(), client.toolbox().await.unwrap_err()] {
        assert!(matches!(error, ClientError::InvalidUrl { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            "`localhost:9627` cannot be the address of a server: it does not begin with http:// or https://"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_gets_no_key() {
    let other = Server::start([result("{}")]).await;
    for status in [301, 302, 303, 307, 308] {
        let redirect =
            format!("HTTP/1.1 {status} Moved\r\nlocation: {}/opentool/call\r\ncontent-length: 0\r\n\r\n", other.url());
        let server = Server::start([vec![crate::script::Step::Write(redirect.into())]]).await;
        let client = Client::new(server.url()).api_key("s3cret");
        let error = client.call(add()).await.unwrap_err();
        assert!(matches!(error, ClientError::NoAccess { status: Some(s), .. } if s == status), "{error:?}");
        assert!(error.to_string().contains("redirects are not followed"), "{error}");
        assert!(client.version().await.is_err());
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start([result("{}")]).await;
    let client = Client::new(server.url());
    for _ in 0..20 {
        client.clone().call(add()).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (20, 1));
}

#[tokio::test]
async fn the_trace_of_a_context_is_sent() {
    let server = Server::start([result("{}")]).await;
    let trace = TraceContext::parse(TRACE).unwrap().with_tracestate("vendor=1");
    let context = ToolContext::new().with_typed(trace).with("tenant", "acme");
    Client::new(server.url()).call_in(add(), &context).await.unwrap();
    let seen = server.only_request();
    assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some(TRACE), Some("vendor=1")));
    assert!(!format!("{}{}", seen.head, seen.body).contains("acme"), "the rest of the context stays here");
}

#[tokio::test]
async fn the_trace_function_overrides_the_context() {
    let server = Server::start([result("{}")]).await;
    let current = TRACE.replace("00f067aa0ba902b7", "1111111111111111");
    let given = current.clone();
    let client = Client::new(server.url()).trace_context(move || TraceContext::parse(&given));
    let context = ToolContext::new().with_typed(TraceContext::parse(TRACE).unwrap());
    client.call_in(add(), &context).await.unwrap();
    assert_eq!(server.only_request().header("traceparent"), Some(current.as_str()));
}

#[tokio::test]
async fn the_key_and_the_time_of_a_recorded_call_are_sent() {
    const DOCUMENT: &str = r#"{"opentool":"1.1.0","info":{"title":"Bank","version":"1.0.0"},
        "functions":[{"name":"pay","description":"Pay.","parameters":[]}]}"#;
    let server = Server::start([json(200, DOCUMENT), result("{}"), result("{}")]).await;
    let host = Executor::new().host(Client::new(server.url()).toolbox().await.unwrap());
    let journal = Arc::new(MemoryJournal::new(MemoryBudget::new(1 << 20)));
    let key = IdempotencyKey::parse("order-17").unwrap();
    let recorded = ToolContext::new().with_idempotency_key(journal, key);
    for context in [recorded, ToolContext::new()] {
        host.run(ToolCall::new("1", "pay", "{}"), &context).await.result.unwrap();
    }
    let seen = server.seen();
    let sent = seen[1].header("idempotency-key").unwrap();
    assert!(sent.starts_with("key-") && sent.contains("/0/pay/") && sent.len() <= 255, "{sent}");
    let time: u64 = seen[1].header("opentool-timeout-ms").unwrap().parse().unwrap();
    assert!((20_000..=30_000).contains(&time), "{time}");
    assert_eq!(seen[2].header("idempotency-key"), None, "a call that is not recorded has no key");
}

/// The environment belongs to the whole process, so the test runs itself again in one of its own.
#[tokio::test]
async fn the_key_is_not_sent_to_a_proxy_of_the_environment() {
    const URL: &str = "OPENTOOL_TEST_SERVER";
    if let Ok(url) = std::env::var(URL) {
        Client::new(url).api_key("s3cret").call(add()).await.unwrap();
        return;
    }
    let server = Server::start([result("{}")]).await;
    let proxy = Server::start([result("{}")]).await;
    let this = "requests::the_key_is_not_sent_to_a_proxy_of_the_environment";
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", this]).env(URL, server.url());
    again.env("http_proxy", proxy.url()).env("HTTP_PROXY", proxy.url()).env("ALL_PROXY", proxy.url());
    again.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((server.seen().len(), proxy.connections()), (1, 0));
}

#[tokio::test]
async fn debug_shows_the_url_and_the_times_but_no_key() {
    let client = Client::new("http://127.0.0.1:9627").api_key("s3cret").retries(7);
    let shown = format!("{client:?}");
    assert!(shown.contains("http://127.0.0.1:9627/opentool") && shown.contains("retries: 7"), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
    assert_eq!(format!("{:?}", client.stream_call(add())), "CallStream");
    assert!(format!("{:?}", Client::new("localhost:9627")).contains("InvalidUrl"));
}
