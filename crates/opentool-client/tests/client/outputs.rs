//! Outputs that are more than one value.

use opentool_client::Client;
use opentool_core::{
    Arguments, ErrorKind, Executor, Invocation, Part, RichOutput, ToolContext, ToolMetadata, ToolOutput,
};
use serde_json::value::to_raw_value;

use crate::add;
use crate::script::{Reply, Server, json, result};

const DOCUMENT: &str = r#"{"opentool":"1.1.0","info":{"title":"T","version":"1"},"functions":[
    {"name":"add","description":"Add.","parameters":[],"return":{"name":"sum","schema":{"type":"array"}}}]}"#;

fn rich() -> ToolOutput {
    let meta = to_raw_value(&serde_json::json!({ "trace": "x" })).unwrap();
    RichOutput::new()
        .with_structured(serde_json::from_str("[12345678901234567890123, 1.0]").unwrap())
        .with_part(Part::text("two numbers"))
        .with_part(Part::media("image/png", "AAEC"))
        .with_meta(meta)
        .into()
}

/// An answer with an output beside its result and its error.
fn answer(result: &str, output: &str, error: &str) -> Reply {
    json(200, &format!(r#"{{"jsonrpc":"2.0","result":{result},"output":{output},"error":{error},"id":"1"}}"#))
}

fn written(output: &ToolOutput) -> String {
    serde_json::to_string(output).unwrap()
}

#[tokio::test]
async fn a_tool_asks_for_outputs_and_reads_them_as_they_were() {
    for output in [rich(), ToolOutput::Parts(vec![Part::text("one"), Part::media("image/png", "AAEC")])] {
        let server = Server::start([json(200, DOCUMENT), answer("{}", &written(&output), "null")]).await;
        let returned = Executor::new().host(Client::new(server.url())).call("add", "{}").await.unwrap();
        assert_eq!(returned, output);
        assert_eq!(server.seen()[1].header("accept"), Some("application/json;output=typed"));
    }
}

#[tokio::test]
async fn an_output_that_cannot_be_read_counts_as_absent() {
    for output in ["null", "7", r#"{"parts":7}"#, r#"{"unknown":{}}"#] {
        let server = Server::start([json(200, DOCUMENT), answer(r#"{"sum":[3]}"#, output, "null")]).await;
        let returned = Executor::new().host(Client::new(server.url())).call("add", "{}").await.unwrap();
        assert_eq!(returned.to_text(), "[3]", "{output}");
    }
}

#[tokio::test]
async fn a_failed_call_keeps_its_output_unless_it_holds_the_key() {
    let error = r#"{"code":500,"message":"no"}"#;
    let server = Server::start([json(200, DOCUMENT), answer("{}", &written(&rich()), error)]).await;
    let failed = Executor::new().host(Client::new(server.url())).call("add", "{}").await.unwrap_err();
    assert_eq!((failed.kind(), failed.message(), failed.output()), (ErrorKind::Failed, "no", Some(&rich())));

    let leak = written(&ToolOutput::Parts(vec![Part::text("the key is s3cret")]));
    let server = Server::start([json(200, DOCUMENT), answer("{}", &leak, error)]).await;
    let client = Client::new(server.url()).api_key("s3cret");
    let failed = Executor::new().host(client).call("add", "{}").await.unwrap_err();
    assert_eq!((failed.message(), failed.output()), ("no", None));
}

#[tokio::test]
async fn the_sdk_interface_does_not_ask_for_outputs() {
    let server = Server::start([result(r#"{"sum":3}"#)]).await;
    assert_eq!(Client::new(server.url()).call(add()).await.unwrap().result["sum"], 3);
    assert_ne!(server.only_request().header("accept"), Some("application/json;output=typed"));
}

#[tokio::test]
async fn a_timeout_is_retryable_only_for_a_repeatable_tool() {
    for (metadata, retryable) in [
        (ToolMetadata::new(), false),
        (ToolMetadata::new().with_read_only(true), true),
        (ToolMetadata::new().with_idempotent(true), true),
        (ToolMetadata::new().with_destructive(true), false),
    ] {
        let late = answer("{}", "null", r#"{"code":504,"message":"too late"}"#);
        let server = Server::start([json(200, DOCUMENT), late]).await;
        let toolbox = Client::new(server.url()).metadata("add", metadata).toolbox().await.unwrap();
        let tool = toolbox.get("add").unwrap();
        let (arguments, context) = (Arguments::default(), ToolContext::new());
        let direct = tool.call(Invocation::new(&arguments, &context)).await.unwrap_err();
        let run = Executor::new().host(toolbox.clone()).call("add", "{}").await.unwrap_err();
        for error in [direct, run] {
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, retryable));
        }
    }
}

#[tokio::test]
async fn a_read_only_call_is_retried() {
    let server = Server::start([json(503, "{}"), result(r#"{"sum":3}"#)]).await;
    let client = Client::new(server.url()).backoff(std::time::Duration::from_millis(1));
    let returned = client.metadata("add", ToolMetadata::new().with_read_only(true)).call(add()).await.unwrap();
    assert_eq!((returned.result["sum"].as_i64(), server.seen().len()), (Some(3), 2));
}
