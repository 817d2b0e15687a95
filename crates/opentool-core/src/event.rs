//! What happens while a batch runs: [`ToolEvent`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::{Arguments, Outcome, ToolOutput};

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// How much there is to do, where it is known.
    pub total: Option<f64>,
    /// What is being done, in words.
    pub message: Option<String>,
}

/// Which call an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRef {
    /// The place of the call in its batch, from 0; unique where ids are not.
    pub index: usize,
    /// The id of the call.
    pub id: Arc<str>,
    /// The name under which the tool was called.
    pub tool: Arc<str>,
}

/// Something that happened to a call of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolEvent {
    /// Somebody asked for the call, with these arguments.
    Requested(CallRef, Arguments),
    /// The tool runs.
    Started(CallRef),
    /// The tool says how far it is.
    Progress(CallRef, Progress),
    /// The tool streams a piece of its result.
    Output(CallRef, ToolOutput),
    /// The call has its result.
    Finished(CallRef, Outcome),
    /// The call has no result, and this is why.
    Failed(CallRef, Outcome),
    /// The call waits for a decision.
    Suspended(CallRef),
}

impl ToolEvent {
    /// Returns which call the event is about.
    #[must_use]
    pub fn call(&self) -> &CallRef {
        match self {
            Self::Requested(call, _)
            | Self::Started(call)
            | Self::Progress(call, _)
            | Self::Output(call, _)
            | Self::Finished(call, _)
            | Self::Failed(call, _)
            | Self::Suspended(call) => call,
        }
    }
}

/// Where a call's streamed pieces go.
#[derive(Clone)]
pub(crate) struct EventSink {
    call: CallRef,
    sender: mpsc::Sender<ToolEvent>,
    /// Set when the call has its outcome: code that goes on after it is heard no more.
    over: Arc<AtomicBool>,
}

impl EventSink {
    pub(crate) fn new(call: CallRef, sender: mpsc::Sender<ToolEvent>) -> Self {
        Self { call, sender, over: Arc::default() }
    }

    /// Lets nothing more through.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn is_open(&self) -> bool {
        !self.over.load(Ordering::Acquire)
    }

    pub(crate) async fn started(&self) {
        let _ = self.sender.send(ToolEvent::Started(self.call.clone())).await;
    }

    pub(crate) async fn emit(&self, output: ToolOutput) {
        if self.is_open() {
            // Nobody watching any more is no failure of the tool.
            let _ = self.sender.send(ToolEvent::Output(self.call.clone(), output)).await;
        }
    }

    pub(crate) fn emit_blocking(&self, output: ToolOutput) {
        if !self.is_open() {
            return;
        }
        if let Err(TrySendError::Full(event)) = self.sender.try_send(ToolEvent::Output(self.call.clone(), output)) {
            // Inline code, which runs where its watcher does, must not wait for it: that would be for ever.
            let _ = catch_unwind(AssertUnwindSafe(|| self.sender.blocking_send(event)));
        }
    }

    pub(crate) fn progress(&self, progress: Progress) {
        if !self.is_open() {
            return;
        }
        let _ = self.sender.try_send(ToolEvent::Progress(self.call.clone(), progress));
    }
}
