//! A function of a library as a tool: [`DynTool`].

use std::sync::Arc;

use opentool_core::{BoxFuture, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::value::RawValue;

use crate::engine::{Engine, Notes};
use crate::plan::Plan;
use crate::supervisor::Supervisor;

/// Where the functions of a library run.
#[derive(Debug)]
pub(crate) enum Place {
    /// In this process.
    Here(Engine),
    /// In worker processes.
    Worker(Supervisor),
}

/// What the tools of one library share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) place: Place,
}

/// A function of a library.
#[derive(Debug)]
pub(crate) struct DynTool {
    pub(crate) definition: ToolDefinition,
    pub(crate) metadata: ToolMetadata,
    /// Which function of the plan it is.
    pub(crate) function: usize,
    pub(crate) shared: Arc<Shared>,
}

impl Tool for DynTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(invocation))
    }
}

impl DynTool {
    async fn run(&self, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let arguments = invocation.arguments.as_str();
        let (notes, text) = match &self.shared.place {
            Place::Here(engine) => {
                let mut out = Vec::new();
                let notes = engine.call(self.function, arguments, &mut out)?;
                (notes, String::from_utf8(out).map_err(ToolError::from_error)?)
            }
            Place::Worker(supervisor) => {
                self.shared.plan.check_arguments(self.function, arguments)?;
                supervisor.call(self.function, arguments, invocation.context).await?
            }
        };
        if notes.contains(Notes::REPLACED) {
            tracing::warn!(tool = self.definition.name(), "the library's text is not UTF-8: what is not was replaced");
        }
        RawValue::from_string(text)
            .map(ToolOutput::Json)
            .map_err(|error| ToolError::invalid_result(format!("`{}`: {error}", self.definition.name())))
    }
}
