use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use opentool_core::ToolEvent;

use super::ToolExecutionResult;
use crate::ChatError;
use crate::emitter::{Emitter, Watched};

/// The calls of an answer while they run.
///
/// It is a stream of what happens, as it happens. Awaiting it, or [`finish`](Self::finish), gives the result, whether or not the
/// stream was read. Dropping it cancels the calls and records nothing in the turn.
#[must_use = "calls run only while the execution is polled"]
pub struct Execution<'a>(Watched<'a, ToolEvent, Result<ToolExecutionResult, ChatError>>);

impl<'a> Execution<'a> {
    /// Makes an execution of a future that tells what happens.
    pub fn new<F>(execute: impl FnOnce(ToolEvents) -> F) -> Self
    where
        F: Future<Output = Result<ToolExecutionResult, ChatError>> + Send + 'a,
    {
        Self(Watched::new(|emitter| execute(ToolEvents(emitter))))
    }

    /// Runs the calls to their end; events not yet read are dropped.
    ///
    /// # Errors
    ///
    /// Where the tools cannot be had, one of them ended the turn, or a limit of the turn was reached.
    pub async fn finish(self) -> Result<ToolExecutionResult, ChatError> {
        // The result can be taken only by consuming the execution, so it is there.
        self.0.finish().await.unwrap_or_else(|| Ok(ToolExecutionResult::default()))
    }
}

impl<'a> IntoFuture for Execution<'a> {
    type Output = Result<ToolExecutionResult, ChatError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}

impl Stream for Execution<'_> {
    type Item = ToolEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        Pin::new(&mut self.get_mut().0).poll_next(cx)
    }
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}

/// Where a manager tells what happens to the calls it runs.
pub struct ToolEvents(Emitter<ToolEvent>);

impl ToolEvents {
    /// Says whether anybody watches.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0.is_watched()
    }

    /// Tells what happened, and waits until it was heard; returns at once where nobody watches.
    pub async fn emit(&self, event: ToolEvent) {
        self.0.emit(event).await;
    }
}

impl fmt::Debug for ToolEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEvents").field("watched", &self.is_watched()).finish()
    }
}
