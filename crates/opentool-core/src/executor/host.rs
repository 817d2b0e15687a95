//! What a server serves: [`Host`].

use std::fmt;
use std::sync::Arc;

use super::settle::{Job, Settled, settle};
use super::{Batch, Executor};
use crate::{Arguments, Outcome, Source, ToolCall, ToolContext, ToolError, ToolOutput, Toolbox};

/// An executor with a source of tools; each of its calls is a turn of its own.
///
/// A clone shares both.
#[derive(Clone)]
pub struct Host {
    executor: Executor,
    source: Source,
}

impl Host {
    pub(super) fn new(executor: Executor, source: Source) -> Self {
        Self { executor, source }
    }

    /// Returns the executor.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Returns the source.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the tools of this moment.
    ///
    /// # Errors
    ///
    /// Where the source cannot be reached, or its tools cannot stand in one toolbox.
    pub async fn toolbox(&self) -> Result<Toolbox, ToolError> {
        match self.source.fixed() {
            Some(toolbox) => Ok(toolbox.clone()),
            None => self.source.toolbox().await,
        }
    }

    /// Calls a tool with an empty context.
    ///
    /// # Errors
    ///
    /// Whatever kept the call from having a result.
    pub async fn call(&self, name: &str, arguments: impl Into<Arguments>) -> Result<ToolOutput, ToolError> {
        static EMPTY: ToolContext = ToolContext::new();
        self.settle(None, name, arguments.into(), &EMPTY).await.0
    }

    /// Calls a tool with an id and a context.
    pub async fn run(&self, call: ToolCall, context: &ToolContext) -> Outcome {
        let (result, return_direct) = self.settle(Some(&call.id), &call.name, call.arguments, context).await;
        Outcome { call_id: call.id, tool: call.name, result, return_direct }
    }

    /// Calls a tool and watches it: a batch of one call, whose events come as they happen.
    ///
    /// # Errors
    ///
    /// Where the tools cannot be had. Everything else is the outcome of the call.
    pub async fn watch<'a>(&'a self, call: ToolCall, context: &'a ToolContext) -> Result<Batch<'a>, ToolError> {
        let toolbox = self.toolbox().await?;
        Ok(Batch::of_host(&self.executor.0, toolbox, call, context))
    }

    async fn settle(
        &self,
        call_id: Option<&Arc<str>>,
        name: &str,
        arguments: Arguments,
        context: &ToolContext,
    ) -> (Result<ToolOutput, ToolError>, bool) {
        let asked;
        let tools = match self.source.fixed() {
            Some(toolbox) => toolbox,
            None => match self.source.toolbox().await {
                Ok(toolbox) => {
                    asked = toolbox;
                    &asked
                }
                Err(error) => return (Err(error), false),
            },
        };
        let settled =
            settle(Job { policies: &self.executor.0, tools, call_id, name, arguments, context, round: None }).await;
        match settled {
            Settled::Answered { result, return_direct } => (result, return_direct),
            Settled::Suspended => (Err(nobody_to_resume()), false),
        }
    }
}

/// The answer to a call that would have to wait in a turn which nobody will see again.
pub(super) fn nobody_to_resume() -> ToolError {
    ToolError::denied("the tool needs approval, for which this caller cannot wait")
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("executor", &self.executor).field("source", &self.source).finish()
    }
}
