//! A document as a tool: [`Workflow`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use opentool_spec::OpenWorkflow;

use super::error::WorkflowError;
use super::plan::WorkflowPlan;
use super::run::run;
use super::step_tools::{attached, check_sleep, metadata_of, step_tools};
use crate::{
    DefinitionError, Executor, IntoToolSource, Invocation, Source, Tool, ToolDefinition, ToolError, ToolMetadata,
    ToolOutput,
};

/// An OpenWorkflow document as a tool: calls of other tools in a fixed order.
///
/// It takes no arguments, and its result is that of the last step, by name. Its steps are calls through the executor that runs
/// it ([composite](ToolMetadata::with_composite)): the same checks, deadlines, limits of a turn, approval and spans hold for each of
/// them. Only the tools that it was made with may run, besides `sleep`, which every workflow has. A step that fails ends the run with
/// an error that has the step's name.
///
/// ```
/// use opentool_core::{Executor, FnTool, Workflow};
/// use opentool_spec::OpenWorkflow;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Number { n: i64 }
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let document: OpenWorkflow = r##"{
///   "openworkflow": "1.0.0",
///   "info": {"title": "Six and double", "version": "1.0.0"},
///   "workflow": {
///     "start": {"function": "six", "arguments": {}, "results": {"result": 0}, "next": "twice"},
///     "twice": {"function": "double", "arguments": {"n": "#/start/results/result"}, "results": {"result": 0}, "next": "null"}
///   }
/// }"##.parse()?;
/// let tools = (FnTool::new("six", || 6), FnTool::new("double", |i: Number| 2 * i.n));
/// let host = Executor::new().host(Workflow::new(&document, tools)?);
/// assert_eq!(host.call("six_and_double", "{}").await?.to_text(), r#"{"result":12}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Workflow {
    plan: WorkflowPlan,
    tools: Source,
    definition: ToolDefinition,
    metadata: ToolMetadata,
}

impl Workflow {
    /// Makes a tool of a document and the tools that its steps may call.
    ///
    /// The name of the tool is the title of the document, in lower case and with underscores: `Store and look` becomes
    /// `store_and_look`; where nothing is left of it, `workflow`. Whether every function is attached is found when the workflow runs, before its
    /// first step, because a source may have other tools by then; [`workflow_faults`](crate::workflow_faults) says it earlier.
    ///
    /// # Errors
    ///
    /// Where the document has [errors](opentool_spec::check()), or the tools cannot be used together.
    pub fn new<M>(document: &OpenWorkflow, tools: impl IntoToolSource<M>) -> Result<Self, WorkflowError> {
        let plan = WorkflowPlan::new(document)?;
        let tools = tools.into_tool_source().map_err(WorkflowError::Tools)?;
        let name = tool_name(&document.info.title).unwrap_or_else(|| "workflow".to_owned());
        let functions: Vec<_> = plan.functions().map(|function| format!("`{function}`")).collect();
        let description = match &document.info.description {
            Some(description) if !description.trim().is_empty() => description.clone(),
            _ => format!("Call {} in this order.", functions.join(", ")),
        };
        let definition = ToolDefinition::builder(name).title(&document.info.title).description(description).build()?;
        let mut metadata = ToolMetadata::new().with_composite(true);
        if let Some(fixed) = tools.fixed() {
            if plan.functions().any(|function| **function == *OpenWorkflow::SLEEP) {
                check_sleep(fixed)?;
            }
            let called = plan.functions().filter(|function| ***function != *OpenWorkflow::SLEEP);
            let called: Option<Vec<_>> = called.map(|function| attached(fixed, function)).collect();
            if let Some(called) = called {
                metadata = metadata_of(called.iter().map(|tool| tool.metadata()));
            }
        }
        Ok(Self { plan, tools, definition, metadata })
    }

    /// Gives the tool another name.
    ///
    /// # Errors
    ///
    /// Where the name is none that a tool can have.
    pub fn with_name(mut self, name: &str) -> Result<Self, DefinitionError> {
        self.definition = self.definition.to_builder().name(name).build()?;
        Ok(self)
    }

    /// Sets how long a run may take; without it, only its steps have deadlines.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.metadata = self.metadata.with_timeout(timeout);
        self
    }

    /// Returns the names of the functions that the steps call, each once, in the order of the run.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.plan.functions().map(|function| &**function)
    }

    /// Returns the source of the tools that the steps may call.
    #[must_use]
    pub fn tools(&self) -> &Source {
        &self.tools
    }
}

/// A name for a tool, of a title; none where the title has no letter or digit of ASCII.
fn tool_name(title: &str) -> Option<String> {
    const LONGEST: usize = 64;
    let mut name = String::new();
    for character in title.chars() {
        if character.is_ascii_alphanumeric() || character == '-' {
            name.push(character.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if name.len() == LONGEST {
            break;
        }
    }
    let name = name.trim_matches(['_', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

impl Tool for Workflow {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let context = invocation.context;
            let executor = Executor::calling(context).cloned().unwrap_or_default();
            let attached = executor.toolbox(&self.tools, context).await?;
            let tools: Vec<Arc<dyn Tool>> = step_tools(&self.plan, &attached)?;
            run(&self.plan, &tools, &executor, context).await
        })
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow")
            .field("definition", &self.definition)
            .field("steps", &self.plan.steps.len())
            .finish_non_exhaustive()
    }
}
