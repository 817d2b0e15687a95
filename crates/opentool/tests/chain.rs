//! A chain of two servers: arguments arrive as they were sent, and outputs as they were returned.
#![cfg(all(feature = "client", feature = "server"))]
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use opentool::prelude::*;
use opentool::{BoxFuture, Invocation, Link, Part, RichOutput, ToolEvent, ToolMetadata};
use serde_json::json;

const KEY: &str = "s3cret";

/// A tool that records its arguments, emits all of its outputs but the last, and returns the last.
struct Recorder {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    emitted: Vec<ToolOutput>,
    result: Result<ToolOutput, ToolError>,
    arguments: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn new(emitted: Vec<ToolOutput>, result: Result<ToolOutput, ToolError>) -> Self {
        let schema = json!({ "type": "object", "properties": {
            "field": { "type": ["string", "null"] }, "count": { "type": "integer" } } });
        let definition = ToolDefinition::builder("patch").description("Patch.").input_schema(schema).build().unwrap();
        let (metadata, arguments) = (ToolMetadata::new(), Arc::default());
        Self { definition, metadata, emitted, result, arguments }
    }
}

impl Tool for Recorder {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.arguments.lock().unwrap().push(invocation.arguments.as_str().to_owned());
            for output in &self.emitted {
                invocation.context.emit(output.clone()).await;
            }
            self.result.clone()
        })
    }
}

async fn start(server: Server) -> Client {
    let server = server.api_keys([KEY]).bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(format!("http://{}", server.local_addr().unwrap())).api_key(KEY);
    tokio::spawn(server.serve());
    client
}

/// A host whose calls go through two servers to the tool.
async fn chain(tool: Recorder) -> Host {
    let near = start(Server::new(tool)).await;
    Executor::new().host(start(Server::new(near)).await)
}

fn rich() -> ToolOutput {
    let mut link = Link::new("file:///report");
    link.name = Some("report".to_owned());
    link.size = Some(7);
    RichOutput::new()
        .with_structured(serde_json::from_str(r#"{"n":123456789012345678901234567890,"x":1.0}"#).unwrap())
        .with_part(Part::text("a number"))
        .with_part(Part::media("image/png", "AAEC"))
        .with_part(Part::from(link))
        .with_meta(serde_json::from_str(r#"{"trace":"x"}"#).unwrap())
        .into()
}

fn parts() -> ToolOutput {
    ToolOutput::Parts(vec![Part::text("one"), Part::raw_json(serde_json::from_str("[1.0]").unwrap())])
}

#[tokio::test]
async fn an_output_through_two_servers_is_the_same() {
    let object = ToolOutput::from_json_text(r#"{"parts":[{"type":"text","text":"mine"}],"n":1.0}"#).unwrap();
    for output in [rich(), parts(), object] {
        let host = chain(Recorder::new(Vec::new(), Ok(output.clone()))).await;
        assert_eq!(host.call("patch", "{}").await.unwrap(), output);
    }
}

#[tokio::test]
async fn emitted_outputs_through_two_servers_are_the_same() {
    let host = chain(Recorder::new(vec![parts(), rich()], Ok(rich()))).await;
    let context = ToolContext::new();
    let mut batch = host.watch(ToolCall::new("1", "patch", "{}"), &context).await;
    let mut emitted = Vec::new();
    while let Some(event) = batch.next().await {
        if let ToolEvent::Output(_, output) = event {
            emitted.push(output);
        }
    }
    assert_eq!(emitted, [parts(), rich()]);
    assert_eq!(batch.finish().await[0].result.clone().unwrap(), rich());
}

#[tokio::test]
async fn the_output_of_an_error_through_two_servers_is_the_same() {
    let failed = ToolError::failed("no such field").with_output(rich());
    let host = chain(Recorder::new(Vec::new(), Err(failed))).await;
    let error = host.call("patch", "{}").await.unwrap_err();
    assert_eq!((error.kind(), error.message(), error.output()), (ErrorKind::Failed, "no such field", Some(&rich())));
}

#[tokio::test]
async fn arguments_through_two_servers_are_the_text_sent() {
    let tool = Recorder::new(Vec::new(), Ok(ToolOutput::Empty));
    let arguments = tool.arguments.clone();
    let host = chain(tool).await;
    let sent = [r#"{"field":null}"#, r#"{"count":1.0}"#, r#"{"count":1e3,"field":"x"}"#];
    for text in sent {
        host.call("patch", text).await.unwrap();
    }
    assert_eq!(*arguments.lock().unwrap(), sent);
}

#[tokio::test]
async fn what_a_toolbox_says_of_itself_arrives_through_two_servers() {
    let tools = Toolbox::new()
        .with_title("Patches")
        .with_version("2.1.0")
        .with_description("Call `patch` last.")
        .with(Recorder::new(Vec::new(), Ok(ToolOutput::Empty)))
        .unwrap();
    let near = start(Server::new(tools)).await;
    let toolbox = start(Server::new(near)).await.toolbox().await.unwrap();
    let said = (toolbox.title(), toolbox.version(), toolbox.description());
    assert_eq!(said, (Some("Patches"), Some("2.1.0"), Some("Call `patch` last.")));
}
