//! A server as a source of tools.

use std::time::Duration;

use opentool_client::{Client, ClientError};
use opentool_core::{ErrorKind, Executor, ToolCall, ToolContext, ToolMetadata, ToolOutput, ToolSource};

use crate::script::{self, Reply, Server, Step, html, json, result};

const DOCUMENT: &str = r#"{"opentool":"1.1.0","info":{"title":"Calculator","version":"2.0.0"},"functions":[
    {"name":"add","description":"Add two integers.","parameters":[
        {"name":"a","schema":{"type":"integer"},"required":true},{"name":"b","schema":{"type":"integer"},"required":true}],
     "return":{"name":"sum","schema":{"type":"integer"}}},
    {"name":"now","description":"The time.","parameters":[],"return":{"name":"time","schema":{"type":"string"}}},
    {"name":"place","description":"A place.","parameters":[],"readOnly":true,"idempotent":true,
     "return":{"name":"place","schema":{"type":"object","properties":{"city":{"type":"string"}}}}}]}"#;

fn document() -> Reply {
    json(200, DOCUMENT)
}

#[tokio::test]
async fn the_functions_of_a_server_are_tools() {
    let server = Server::start([document()]).await;
    let toolbox = Client::new(server.url()).api_key("s3cret").toolbox().await.unwrap();
    assert_eq!((toolbox.title(), toolbox.version()), (Some("Calculator"), Some("2.0.0")));
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["add", "now", "place"]);
    assert_eq!(server.only_request().header("authorization"), Some("Bearer s3cret"));
}

#[tokio::test]
async fn a_value_is_unwrapped_from_the_object_of_the_wire() {
    let cases = [
        ("add", r#"{"a":1,"b":2}"#, r#"{"sum":12345678901234567890123}"#, r#"12345678901234567890123"#),
        ("now", "{}", r#"{"time":"12:00"}"#, "12:00"),
        ("place", "{}", r#"{"place":"Rome"}"#, r#"{"place":"Rome"}"#),
        ("now", "{}", "{}", ""),
        ("now", "{}", "null", ""),
    ];
    for (name, arguments, answer, expected) in cases {
        let server = Server::start([document(), result(answer)]).await;
        let output = Executor::new().host(Client::new(server.url())).call(name, arguments).await.unwrap();
        assert_eq!(output.to_text(), expected, "{name} {answer}");
        assert_eq!(matches!(output, ToolOutput::Text(_)), answer.contains("12:00"), "{output:?}");
    }
}

#[tokio::test]
async fn the_arguments_and_the_id_of_a_call_arrive_as_they_were() {
    let server = Server::start([document(), result("{}")]).await;
    let host = Executor::new().host(Client::new(server.url()));
    let call = ToolCall::new("call_7", "add", r#"{"a": 12345678901234567890123, "b": 2}"#);
    host.run(call, &ToolContext::new()).await.result.unwrap();
    let body = &server.seen()[1].body;
    assert_eq!(
        body,
        r#"{"jsonrpc":"2.0","method":"add","params":{"a": 12345678901234567890123, "b": 2},"id":"call_7"}"#
    );
}

#[tokio::test]
async fn calls_without_an_id_get_one_each() {
    let server = Server::start([document(), result("{}")]).await;
    let host = Executor::new().host(Client::new(server.url()));
    host.call("now", "{}").await.unwrap();
    host.call("now", "{}").await.unwrap();
    let ids: Vec<_> = server.seen()[1..].iter().map(|seen| crate::object(&seen.body)["id"].clone()).collect();
    assert!(ids[0].as_str().is_some_and(|id| !id.is_empty()) && ids[0] != ids[1], "{ids:?}");
}

#[tokio::test]
async fn bad_arguments_are_refused_before_sending() {
    let server = Server::start([document(), result("{}")]).await;
    let host = Executor::new().host(Client::new(server.url()));
    assert_eq!(host.call("add", r#"{"a":"x","b":2}"#).await.unwrap_err().kind(), ErrorKind::InvalidArguments);
    assert_eq!(host.call("subtract", "{}").await.unwrap_err().kind(), ErrorKind::UnknownTool);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn codes_of_the_server_become_kinds_of_errors() {
    for (code, kind, retryable) in [
        (405, ErrorKind::UnknownTool, false),
        (400, ErrorKind::InvalidArguments, false),
        (504, ErrorKind::Timeout, false),
        (403, ErrorKind::Denied, false),
        (429, ErrorKind::Limit, true),
        (503, ErrorKind::Unavailable, true),
        (499, ErrorKind::Cancelled, false),
        (500, ErrorKind::Failed, false),
    ] {
        let server = Server::start([document(), script::error(code, "because")]).await;
        let error = Executor::new().host(Client::new(server.url())).call("now", "{}").await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{code}");
        assert_eq!((error.message(), error.code()), ("because", Some(code)));
    }
}

#[tokio::test]
async fn a_server_s_own_hints_are_not_trusted() {
    let server = Server::start([document()]).await;
    let toolbox = Client::new(server.url()).toolbox().await.unwrap();
    for tool in toolbox.iter() {
        let metadata = tool.metadata();
        assert_eq!((metadata.read_only(), metadata.destructive(), metadata.idempotent()), (None, None, None));
        assert!(metadata.is_destructive(), "the careful case");
    }
}

#[tokio::test]
async fn the_operator_s_hints_are_used() {
    let server = Server::start([document()]).await;
    let metadata = ToolMetadata::new().with_destructive(true).with_approval(true);
    let client = Client::new(server.url()).metadata("add", metadata);
    let toolbox = client.toolbox().await.unwrap();
    let destructive = |name| toolbox.get(name).unwrap().metadata().destructive();
    assert_eq!((destructive("add"), destructive("now")), (Some(true), None));
    let error = Executor::new().host(client).call("add", r#"{"a":1,"b":2}"#).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn an_idempotent_tool_is_retried() {
    let server = Server::start([document(), vec![Step::Close], result(r#"{"time":"12:00"}"#)]).await;
    let client = Client::new(server.url())
        .backoff(Duration::from_millis(1))
        .metadata("now", ToolMetadata::new().with_idempotent(true));
    assert_eq!(Executor::new().host(client).call("now", "{}").await.unwrap().to_text(), "12:00");
}

#[tokio::test]
async fn a_server_without_a_document_takes_every_call() {
    let server = Server::start([json(200, "{}"), result(r#"{"x":1}"#)]).await;
    let client = Client::new(server.url());
    let toolbox = client.toolbox().await.unwrap();
    assert!(toolbox.is_open() && toolbox.is_empty());
    let output = Executor::new().host(toolbox).call("anything", r#"{"a":[1]}"#).await.unwrap();
    assert_eq!(output.to_text(), r#"{"x":1}"#);
    assert!(server.seen()[1].body.contains(r#""method":"anything","params":{"a":[1]}"#));
}

#[tokio::test]
async fn a_source_asks_once_until_its_tools_are_old() {
    let server = Server::start([document()]).await;
    let client = Client::new(server.url());
    let (a, b) = tokio::join!(ToolSource::toolbox(&client), ToolSource::toolbox(&client));
    assert_eq!((a.unwrap().len(), b.unwrap().len()), (3, 3));
    assert_eq!(server.seen().len(), 1);
    client.toolbox().await.unwrap();
    assert_eq!(server.seen().len(), 2, "asked outright, the client asks the server");

    let client = client.refresh_after(Duration::ZERO);
    ToolSource::toolbox(&client).await.unwrap();
    ToolSource::toolbox(&client).await.unwrap();
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn changed_tools_appear_after_a_refresh() {
    let changed = DOCUMENT.replace("\"now\"", "\"today\"");
    let server = Server::start([document(), document(), json(200, &changed)]).await;
    let client = Client::new(server.url());
    let first = client.toolbox().await.unwrap();
    let same = client.toolbox().await.unwrap();
    assert!(std::sync::Arc::ptr_eq(first.get("now").unwrap(), same.get("now").unwrap()), "nothing is compiled twice");
    client.toolbox().await.unwrap();
    let names = ToolSource::toolbox(&client).await.unwrap();
    assert_eq!(names.names().collect::<Vec<_>>(), ["add", "today", "place"]);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn the_tools_of_an_unreachable_server_are_kept() {
    let server = Server::start([document(), html(502)]).await;
    let client = Client::new(server.url()).retries(0).refresh_after(Duration::ZERO);
    assert_eq!(ToolSource::toolbox(&client).await.unwrap().len(), 3);
    assert_eq!(ToolSource::toolbox(&client).await.unwrap().len(), 3);
    assert_eq!(server.seen().len(), 2);
    assert!(client.toolbox().await.is_err(), "asked outright, the client says so");

    let fresh = Client::new(server.url()).retries(0);
    assert_eq!(ToolSource::toolbox(&fresh).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_function_that_cannot_be_a_tool_is_left_out() {
    let server = Server::start([json(200, &DOCUMENT.replace("\"now\"", "\"what time?\""))]).await;
    let toolbox = Client::new(server.url()).toolbox().await.unwrap();
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["add", "place"]);
}

#[tokio::test]
async fn two_functions_of_one_name_are_an_error() {
    let server = Server::start([json(200, &DOCUMENT.replace("\"now\"", "\"add\""))]).await;
    let error = Client::new(server.url()).toolbox().await.unwrap_err();
    assert!(matches!(&error, ClientError::InvalidDocument { reason } if reason.contains("`add`")), "{error:?}");
}

#[tokio::test]
async fn a_given_document_makes_tools_without_asking_the_server() {
    let server = Server::start([result(r#"{"sum":3}"#)]).await;
    let toolbox = Client::new(server.url()).toolbox_from_document(&DOCUMENT.parse().unwrap()).unwrap();
    let output = Executor::new().host(toolbox).call("add", r#"{"a":1,"b":2}"#).await.unwrap();
    assert_eq!(output.to_text(), "3");
    assert_eq!(server.only_request().line(), "POST /opentool/call");
}
