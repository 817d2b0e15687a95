//! An executor with its tools: [`Host`].

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::batch::Batch;
use super::interrupt::{no_timer, unless_cancelled};
use super::job::Job;
use super::policies::Executor;
use super::settle::{not_resumable, refuse, settle};
use crate::error::readable;
use crate::{
    Arguments, ErrorKind, IntoToolSource, Outcome, Source, ToolCall, ToolContext, ToolError, ToolOutput, Toolbox,
};

/// An executor with a source of tools; each of its calls is a turn of its own.
///
/// A clone shares both.
#[derive(Clone)]
pub struct Host {
    executor: Executor,
    source: Source,
}

impl Executor {
    /// Pairs the executor with a source of tools, for callers whose every call is a turn of its own.
    ///
    /// Where the source cannot be used, for instance because two tools have the same name, each call
    /// returns that error.
    pub fn host<M>(&self, source: impl IntoToolSource<M>) -> Host {
        Host { executor: self.clone(), source: Source::new(source) }
    }

    /// Asks a source for its current tools, within the executor's timeout and the time that the context has, and until the context
    /// is cancelled.
    ///
    /// # Errors
    ///
    /// Where the source cannot be reached, panics, or does not answer in time, where its tools cannot be in one toolbox, and where
    /// the context is cancelled.
    pub async fn toolbox(&self, source: &Source, context: &ToolContext) -> Result<Toolbox, ToolError> {
        match source.fixed() {
            Some(toolbox) => Ok(toolbox.clone()),
            None => Box::pin(self.ask(source, context)).await,
        }
    }

    async fn ask(&self, source: &Source, context: &ToolContext) -> Result<Toolbox, ToolError> {
        let limits = [self.0.timeout, context.time_limit(), context.remaining()];
        let asked = async {
            match limits.into_iter().flatten().min() {
                Some(limit) => unless_late(limit, source.toolbox()).await,
                None => source.toolbox().await,
            }
        };
        unless_cancelled(context, asked).await?
    }
}

impl Host {
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

    /// Returns the current tools.
    ///
    /// # Errors
    ///
    /// Where the source cannot be reached, panics, or does not answer within the executor's timeout, and where its tools cannot
    /// be in one toolbox.
    pub async fn toolbox(&self) -> Result<Toolbox, ToolError> {
        self.executor.toolbox(&self.source, &ToolContext::new()).await
    }

    /// Calls a tool with an empty context.
    ///
    /// # Errors
    ///
    /// Whatever kept the call from having a result.
    pub async fn call(&self, name: &str, arguments: impl Into<Arguments>) -> Result<ToolOutput, ToolError> {
        let (mut arguments, context) = (arguments.into(), ToolContext::new());
        // Borrowed where it is fixed: a count of references shared by all threads is slow (`benches/calls.rs one`).
        let asked = match self.source.fixed() {
            Some(_) => None,
            None => Some(Box::pin(self.executor.ask(&self.source, &context)).await),
        };
        let tools = match (self.source.fixed(), &asked) {
            (Some(toolbox), _) | (None, Some(Ok(toolbox))) => toolbox,
            (None, _) => Toolbox::none(),
        };
        let mut job = Job::new(&self.executor.0, tools, name, &mut arguments, &context);
        match &asked {
            Some(Err(error)) => refuse(&mut job, error.clone()),
            _ => settle(&mut job).await,
        }
        job.answer.unwrap_or_else(|| Err(not_resumable()))
    }

    /// Calls a tool with an id and a context.
    pub async fn run(&self, call: ToolCall, context: &ToolContext) -> Outcome {
        // Made now, so that a caller who asks the context for it during the call gets the one that stops the call.
        let _ = context.cancellation();
        self.run_until_dropped(call, context).await
    }

    /// Calls a tool as [`run`](Self::run) does, for a caller who stops the call by dropping it.
    ///
    /// A cancellation that the context has before the call stops it too; one that is first asked for during the call does not.
    /// Most calls then need none, which saves a server a tenth of what the executor costs (`scripts/bench http`).
    pub async fn run_until_dropped(&self, call: ToolCall, context: &ToolContext) -> Outcome {
        let ToolCall { id, name, mut arguments } = call;
        let asked = self.executor.toolbox(&self.source, context).await;
        let tools = asked.as_ref().unwrap_or_else(|_| Toolbox::none());
        let mut job = Job::new(&self.executor.0, tools, &name, &mut arguments, context);
        job.call_id = Some(&id);
        match &asked {
            Ok(_) => settle(&mut job).await,
            Err(error) => refuse(&mut job, error.clone()),
        }
        let Job { answer, return_direct, edited, definition, .. } = job;
        let result = answer.unwrap_or_else(|| Err(not_resumable()));
        Outcome { call_id: id, tool: name, arguments, result, return_direct, edited, definition }
    }

    /// Calls a tool and watches it: a batch of one call, whose events come as they happen. Where the source has no tools to offer,
    /// that is the outcome of the call.
    pub async fn watch<'a>(&'a self, call: ToolCall, context: &'a ToolContext) -> Batch<'a> {
        let _ = context.cancellation();
        let toolbox = self.executor.toolbox(&self.source, context).await;
        Batch::for_host(&self.executor.0, toolbox, call, context)
    }
}

/// Waits for the tools of a source until it is too late.
async fn unless_late(
    limit: Duration,
    toolbox: impl Future<Output = Result<Toolbox, ToolError>>,
) -> Result<Toolbox, ToolError> {
    // Made when the source first waits: one that answers at once needs no timer. A timer panics on a runtime that has none.
    let late = async {
        if Handle::try_current().is_err() {
            return no_timer();
        }
        sleep(limit).await;
        source_timeout(limit)
    };
    let late = AssertUnwindSafe(late).catch_unwind().map(|ended| ended.unwrap_or_else(|_| no_timer()));
    match select(pin!(toolbox), pin!(late)).await {
        Either::Left((toolbox, _)) => toolbox,
        Either::Right((error, _)) => Err(error),
    }
}

/// The error of a source that does not answer. It is retryable, since no tool ran.
fn source_timeout(limit: Duration) -> ToolError {
    ToolError::new(ErrorKind::Timeout, format!("the source of the tools did not answer within {:?}", readable(limit)))
        .with_retryable(true)
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("executor", &self.executor).field("source", &self.source).finish()
    }
}
