//! What a server serves: [`Host`].

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::settle::{Job, panicked, refuse, settle, unless_cancelled};
use super::{Batch, Executor};
use crate::{Arguments, ErrorKind, Outcome, Source, ToolCall, ToolContext, ToolError, ToolOutput, Toolbox};

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
    /// Where the source cannot be reached, panics, or does not answer within the executor's timeout, and where its tools cannot
    /// stand in one toolbox.
    pub async fn toolbox(&self) -> Result<Toolbox, ToolError> {
        match self.source.fixed() {
            Some(toolbox) => Ok(toolbox.clone()),
            None => self.ask(&ToolContext::new()).await,
        }
    }

    /// Calls a tool with an empty context.
    ///
    /// # Errors
    ///
    /// Whatever kept the call from having a result.
    pub async fn call(&self, name: &str, arguments: impl Into<Arguments>) -> Result<ToolOutput, ToolError> {
        // What a policy is handed must be the call's own; nobody else sees the context of a host's call.
        static NOTHING: ToolContext = ToolContext::new();
        let own = self.executor.0.approval.is_some().then(ToolContext::new);
        let context = own.as_ref().unwrap_or(&NOTHING);
        let mut arguments = arguments.into();
        let asked = match self.source.fixed() {
            Some(_) => None,
            None => Some(Box::pin(self.ask(context)).await),
        };
        let tools = match (self.source.fixed(), &asked) {
            (Some(toolbox), _) | (None, Some(Ok(toolbox))) => toolbox,
            (None, _) => Toolbox::none(),
        };
        let mut job = self.job(None, name, tools, &mut arguments, context);
        match &asked {
            Some(Err(error)) => refuse(&mut job, error.clone()),
            _ => settle(&mut job).await,
        }
        job.answer.unwrap_or_else(|| Err(nobody_to_resume()))
    }

    /// Calls a tool with an id and a context.
    pub async fn run(&self, call: ToolCall, context: &ToolContext) -> Outcome {
        // Made now, so that whoever asks for it while the call runs gets the one that stops the call.
        let _ = context.cancellation();
        let ToolCall { id, name, mut arguments } = call;
        let asked = match self.source.fixed() {
            Some(toolbox) => Ok(toolbox.clone()),
            None => Box::pin(self.ask(context)).await,
        };
        let tools = asked.as_ref().unwrap_or_else(|_| Toolbox::none());
        let mut job = self.job(Some(&id), &name, tools, &mut arguments, context);
        match &asked {
            Ok(_) => settle(&mut job).await,
            Err(error) => refuse(&mut job, error.clone()),
        }
        let Job { answer, return_direct, edited, definition, .. } = job;
        let result = answer.unwrap_or_else(|| Err(nobody_to_resume()));
        Outcome { call_id: id, tool: name, arguments, result, return_direct, edited, definition }
    }

    /// Asks the source for its tools, within the time a call has and as long as it is not cancelled.
    async fn ask(&self, context: &ToolContext) -> Result<Toolbox, ToolError> {
        let asked = AssertUnwindSafe(async { self.source.toolbox().await }).catch_unwind();
        let asked = async { asked.await.unwrap_or_else(|panic| Err(panicked(panic))) };
        let asked = async {
            match self.executor.0.timeout.filter(|_| Handle::try_current().is_ok()) {
                Some(most) => timeout(most, asked).await.unwrap_or_else(|_| Err(source_too_slow(most))),
                None => asked.await,
            }
        };
        unless_cancelled(context, asked).await?
    }

    /// Calls a tool and watches it: a batch of one call, whose events come as they happen.
    ///
    /// # Errors
    ///
    /// Where the tools cannot be had. Everything else is the outcome of the call.
    pub async fn watch<'a>(&'a self, call: ToolCall, context: &'a ToolContext) -> Result<Batch<'a>, ToolError> {
        let _ = context.cancellation();
        let toolbox = match self.source.fixed() {
            Some(toolbox) => toolbox.clone(),
            None => Box::pin(self.ask(context)).await?,
        };
        Ok(Batch::of_host(&self.executor.0, toolbox, call, context))
    }

    fn job<'a>(
        &'a self,
        call_id: Option<&'a Arc<str>>,
        name: &'a str,
        tools: &'a Toolbox,
        arguments: &'a mut Arguments,
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
            definition: None,
            edited: false,
            answer: None,
            return_direct: false,
            resumable: false,
        }
    }
}

/// The error of a source that does not answer; nothing ran, so another attempt does no harm.
fn source_too_slow(limit: Duration) -> ToolError {
    ToolError::new(ErrorKind::Timeout, format!("the source of the tools did not answer within {limit:?}"))
        .with_retryable(true)
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
