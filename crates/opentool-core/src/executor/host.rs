//! What a server serves: [`Host`].

use std::fmt;
use std::sync::Arc;

use super::settle::{Job, settle};
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
        let asked;
        let tools = match self.source.fixed() {
            Some(toolbox) => toolbox,
            None => {
                asked = self.source.toolbox().await?;
                &asked
            }
        };
        let mut job = self.job(tools, None, name, arguments.into(), &EMPTY);
        settle(&mut job).await;
        job.answer.unwrap_or_else(|| Err(nobody_to_resume()))
    }

    /// Calls a tool with an id and a context.
    pub async fn run(&self, call: ToolCall, context: &ToolContext) -> Outcome {
        let ToolCall { id, name, arguments } = call;
        let (result, return_direct) = match self.toolbox().await {
            Ok(tools) => {
                let mut job = self.job(&tools, Some(&id), &name, arguments, context);
                settle(&mut job).await;
                (job.answer.unwrap_or_else(|| Err(nobody_to_resume())), job.return_direct)
            }
            Err(error) => (Err(error), false),
        };
        Outcome { call_id: id, tool: name, result, return_direct }
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

    fn job<'a>(
        &'a self,
        tools: &'a Toolbox,
        call_id: Option<&'a Arc<str>>,
        name: &'a str,
        arguments: Arguments,
        context: &'a ToolContext,
    ) -> Job<'a> {
        Job {
            policies: &self.executor.0,
            tools,
            call_id,
            name,
            arguments,
            context,
            round: None,
            answer: None,
            return_direct: false,
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
