//! Calls while they run: [`Execution`].

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use opentool_core::ToolEvent;

use super::result::ToolExecutionResult;
use crate::emitter::{Emitter, Watched};
use crate::error::ChatError;
use crate::event::ChatEvent;

type Executed = Result<ToolExecutionResult, ChatError>;
type Start<'a> = Box<dyn FnOnce(ToolEvents) -> BoxFuture<'a, Executed> + Send + 'a>;

/// The calls of an answer while they run.
///
/// It is a stream of what happens, as it happens. Awaiting it, or [`finish`](Self::finish), gives the result, whether or not the
/// stream was read. Dropping it cancels the calls and records nothing in the turn.
#[must_use = "calls run only while the execution is polled"]
pub struct Execution<'a>(Stage<'a>);

/// It starts with its first poll, since only then it is known where its events go.
enum Stage<'a> {
    New(Option<Start<'a>>),
    Streaming(Watched<'a, Executed>),
}

impl<'a> Execution<'a> {
    /// Makes an execution of a future that emits what happens.
    pub fn new<F>(execute: impl FnOnce(ToolEvents) -> F + Send + 'a) -> Self
    where
        F: Future<Output = Result<ToolExecutionResult, ChatError>> + Send + 'a,
    {
        Self(Stage::New(Some(Box::new(|events| Box::pin(execute(events))))))
    }

    /// Runs the calls to their end; events not yet read are dropped.
    ///
    /// # Errors
    ///
    /// Where the tools are not available, one of them ended the turn, or a limit of the turn was reached.
    pub async fn finish(self) -> Result<ToolExecutionResult, ChatError> {
        self.emit_to(Emitter::unwatched()).await
    }

    /// Waits for what happens next to the calls; none after the end.
    pub async fn next(&mut self) -> Option<ToolEvent> {
        StreamExt::next(self).await
    }

    /// Runs the calls to their end, with their events in the stream of the turn.
    pub(crate) async fn emit_to(self, events: Emitter) -> Result<ToolExecutionResult, ChatError> {
        match self.0 {
            Stage::New(Some(start)) => start(ToolEvents(events)).await,
            // The result can be taken only by consuming the execution, so it is there.
            Stage::New(None) => Ok(ToolExecutionResult::default()),
            Stage::Streaming(running) => running.finish().await.unwrap_or_else(|| Ok(ToolExecutionResult::default())),
        }
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
        let stage = &mut self.get_mut().0;
        if let Stage::New(start) = stage
            && let Some(start) = start.take()
        {
            *stage = Stage::Streaming(Watched::new(|events| start(ToolEvents(events))));
        }
        let Stage::Streaming(running) = stage else { return Poll::Ready(None) };
        loop {
            match std::task::ready!(Pin::new(&mut *running).poll_next(cx)) {
                Some(ChatEvent::Tool(event)) => return Poll::Ready(Some(event)),
                Some(_) => {}
                None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}

/// Where a manager puts what happens to the calls it runs.
pub struct ToolEvents(Emitter);

impl ToolEvents {
    /// Says whether the events are read.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0.is_watched()
    }

    /// Passes an event on and waits until it was read; returns at once where events are not read.
    pub async fn emit(&self, event: ToolEvent) {
        self.0.emit(ChatEvent::Tool(event)).await;
    }
}

impl fmt::Debug for ToolEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEvents").field("watched", &self.is_watched()).finish()
    }
}
