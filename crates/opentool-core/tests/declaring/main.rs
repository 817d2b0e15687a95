//! How people write tools: functions, methods and closures, and what becomes of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]
// Many functions here are only asked for their definition.
#![allow(dead_code)]

mod closures;
mod combinations;
mod enums;
mod functions;
mod methods;
mod parameters;
mod results;
mod schemas;

use opentool_core::{
    Executor, IntoToolSource, Tool, ToolCall, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolbox,
};
use serde_json::Value;

/// Calls the only tool of a source, through the executor.
async fn call<M>(source: impl IntoToolSource<M>, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with(source, arguments, &ToolContext::new()).await
}

async fn call_with<M>(
    source: impl IntoToolSource<M>,
    arguments: Value,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let host = Executor::new().host(source);
    let name = host.toolbox().await?.names().next().expect("a tool").to_owned();
    host.run(ToolCall::new("1", name, arguments), context).await.result
}

/// The toolbox of a source, which is at hand.
fn toolbox<M>(source: impl IntoToolSource<M>) -> Toolbox {
    source.into_tool_source().unwrap().fixed().unwrap().clone()
}

fn definition<M>(source: impl IntoToolSource<M>) -> ToolDefinition {
    let toolbox = toolbox(source);
    assert_eq!(toolbox.len(), 1);
    toolbox.iter().next().unwrap().definition().clone()
}

/// The schema of one parameter.
fn property(definition: &ToolDefinition, name: &str) -> Value {
    definition.input_schema()["properties"][name].clone()
}

fn required(definition: &ToolDefinition) -> Vec<&str> {
    definition.input_schema()["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn json(output: ToolOutput) -> Value {
    match output {
        ToolOutput::Json(raw) => serde_json::from_str(raw.get()).unwrap(),
        other => panic!("not JSON: {other:?}"),
    }
}

fn the_tool<M>(source: impl IntoToolSource<M>) -> std::sync::Arc<dyn Tool> {
    toolbox(source).iter().next().unwrap().clone()
}
