//! What the core promises, one test for each promise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approval;
mod arguments;
mod context;
mod deadlines;
mod definitions;
mod errors;
mod events;
mod formats;
mod hardening;
mod journal;
mod limits;
mod names;
mod outcomes;
mod outputs;
mod overdue;
mod patterns;
mod pool;
mod property;
mod questions;
mod results;
mod scheduling;
#[cfg(feature = "signing")]
mod signed;
mod sources;
mod spans;
mod turns;
mod workflow_checks;
mod workflow_records;
mod workflows;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Outcomes, ToolCall, ToolContext, Toolbox, Turn};
use serde_json::{Value, json};

/// Runs calls as a turn of their own.
async fn run(executor: &Executor, tools: &Toolbox, calls: Vec<ToolCall>) -> Outcomes {
    executor.run(tools, calls, &mut Turn::new(), &ToolContext::new()).finish().await
}

fn toolbox(tools: impl IntoIterator<Item = FakeTool>) -> Toolbox {
    Toolbox::from_tools(tools).unwrap()
}

/// Calls of one tool without arguments, with ids from 0 and arguments that tell them apart.
fn calls(tool: &str, count: usize) -> Vec<ToolCall> {
    (0..count).map(|n| ToolCall::new(n.to_string(), tool, json!({ "n": n }))).collect()
}

/// The schema of two integers, of which `b` is optional.
fn pair() -> Value {
    json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a"],
        "additionalProperties": false,
    })
}
