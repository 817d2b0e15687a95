//! A tool that runs documents given as arguments: [`WorkflowRunner`].

use std::fmt;

use futures_core::future::BoxFuture;
use opentool_spec::OpenWorkflow;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::WorkflowError;
use super::plan::WorkflowPlan;
use super::run::run;
use super::step_tools::step_tools;
use crate::{Executor, IntoToolSource, Invocation, Source, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// Longer documents are checked off the async threads.
const LONG: usize = 64 * 1024;

/// What a model reads about the tool.
const DESCRIPTION: &str = "\
Run an OpenWorkflow 1.0.0 document: calls of the other tools in a fixed order, without a word in between. Use it where several \
calls always follow each other. `workflow` maps step names to steps; the first is `start`. A step has `function` (the name of a \
tool, or `sleep` with `milliseconds`), `arguments`, `results` (the results that must be there, each with a value of its type) and \
`next` (the name of the next step, or \"null\"). An argument \"#/STEP/results/KEY\" is the result of an earlier step. A result that \
is no object is called by the tool's output name, or `result`. The answer is the result of the last step.";

/// A tool that runs OpenWorkflow documents which its caller writes, usually a model: `run_workflow`.
///
/// The steps of such a document may call the tools that the runner was made with, and no others. They are calls through the executor
/// that runs it, so that each one that needs approval is asked about.
pub struct WorkflowRunner {
    tools: Source,
    definition: ToolDefinition,
    metadata: ToolMetadata,
}

#[derive(Deserialize)]
struct RunnerArguments<'a> {
    #[serde(borrow)]
    document: &'a RawValue,
}

impl WorkflowRunner {
    /// The name of the tool.
    pub const NAME: &'static str = "run_workflow";

    /// Makes the tool, with the tools that documents may call.
    ///
    /// # Errors
    ///
    /// Where the tools cannot be used together.
    pub fn new<M>(tools: impl IntoToolSource<M>) -> Result<Self, WorkflowError> {
        let tools = tools.into_tool_source().map_err(WorkflowError::Tools)?;
        let text = |description: &str| json!({ "type": "string", "description": description });
        let info = json!({
            "type": "object",
            "properties": { "title": text("What it is for."), "version": text("1.0.0") },
            "required": ["title", "version"],
        });
        let step = json!({
            "type": "object",
            "properties": {
                "function": text("The name of a tool, or `sleep`."),
                "description": text("What the step is for."),
                "arguments": { "type": "object" },
                "results": { "type": "object" },
                "next": text("The name of the next step, or `null` as text."),
            },
            "required": ["function", "arguments", "results", "next"],
        });
        let document = json!({
            "type": "object",
            "description": "The OpenWorkflow document.",
            "properties": {
                "openworkflow": text("1.0.0"),
                "info": info,
                "workflow": { "type": "object", "additionalProperties": step },
            },
            "required": ["openworkflow", "info", "workflow"],
        });
        let definition = ToolDefinition::builder(Self::NAME)
            .title("Run a workflow")
            .description(DESCRIPTION)
            .input_schema(json!({
                "type": "object",
                "properties": { "document": document },
                "required": ["document"],
                "additionalProperties": false,
            }))
            .build()?;
        let metadata = ToolMetadata::new().with_composite(true);
        Ok(Self { tools, definition, metadata })
    }
}

impl Tool for WorkflowRunner {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let context = invocation.context;
            let RunnerArguments { document } = invocation.arguments.parse()?;
            let plan = if document.get().len() > LONG {
                let document = document.to_owned();
                context.run_blocking(move || plan(&document)).await??
            } else {
                plan(document)?
            };
            let executor = Executor::calling(context).cloned().unwrap_or_default();
            let attached = executor.toolbox(&self.tools, context).await?;
            let tools = step_tools(&plan, &attached)?;
            run(&plan, &tools, &executor, context).await
        })
    }
}

/// Reads a document; the caller gets all its errors, so that it can correct them.
fn plan(document: &RawValue) -> Result<WorkflowPlan, ToolError> {
    match document.get().parse::<OpenWorkflow>() {
        Ok(document) => Ok(WorkflowPlan::of_checked(&document)),
        Err(errors) => Err(ToolError::invalid_arguments("/document", errors)),
    }
}

impl fmt::Debug for WorkflowRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowRunner").field("tools", &self.tools).finish_non_exhaustive()
    }
}
