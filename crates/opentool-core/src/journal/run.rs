//! Runs, which have calls and notes in order: [`RunJournal`].

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::record::{Journal, RecordedResult};
use crate::{Arguments, Decision};

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// It goes on, or its process ended before it did.
    Running,
    /// It waits for a decision.
    Waiting,
    /// It is over.
    Done,
    /// It is over, without a result.
    Failed,
}

impl RunStatus {
    /// Returns the state as a stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// A journal that keeps runs besides single calls: what was noted in them, in order, and which process each belongs to.
///
/// A chat needs one to go on after its process has died.
pub trait RunJournal: Journal {
    /// Starts a run of a kind, with a title for lists. It belongs to this process.
    fn begin_run<'a>(&'a self, kind: &'a str, title: &'a str) -> BoxFuture<'a, Result<Arc<dyn OwnedRun>, RunError>>;

    /// Takes a run over, whose process has ended or has finished with it. Of several that try at once, one gets it.
    fn claim_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Arc<dyn OwnedRun>, RunError>>;

    /// Returns what a run has recorded, whichever process it belongs to.
    fn run_log<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<RunLog, RunError>>;
}

/// A run that belongs to this process, and to one part of it at a time, until that [ends](Self::end) it or [gives it back](Self::give_back).
pub trait OwnedRun: Send + Sync + 'static {
    /// Returns the id of the run.
    fn id(&self) -> &Arc<str>;

    /// Returns the journal that records the calls of the run.
    fn journal(&self) -> Arc<dyn Journal>;

    /// Notes a step: a word that says what it is, and JSON.
    fn note<'a>(&'a self, kind: &'a str, body: String) -> BoxFuture<'a, Result<(), RunError>>;

    /// Returns what the run has recorded.
    fn log(&self) -> BoxFuture<'_, Result<RunLog, RunError>>;

    /// Gives the run back as it is, without waiting for that: another part or process may then claim it, and nothing more is recorded here.
    fn give_back(&self);

    /// Notes the last step, where there is one, says how far the run is, and gives it back: all of it is recorded, or nothing.
    fn end(&self, status: RunStatus, last: Option<RunStep>) -> BoxFuture<'_, Result<(), RunError>>;
}

impl fmt::Debug for dyn RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunJournal")
    }
}

impl fmt::Debug for dyn OwnedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedRun").field(self.id()).finish()
    }
}

/// Why a journal does not do what was asked about a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no such run.
    #[error("the journal has no run `{run}`")]
    Unknown {
        /// The id that was asked for.
        run: String,
    },
    /// A process that is alive has the run.
    #[error("run {run} belongs to process {process}, which is alive: wait until it is done, or end that process")]
    Owned {
        /// The run.
        run: String,
        /// The process.
        process: i64,
    },
    /// This process had the run, and another one has taken it over.
    #[error("run {run} does not belong to this process any more: another one has taken it over")]
    Lost {
        /// The run.
        run: String,
    },
    /// What the run has recorded cannot be used.
    #[error("run {run} cannot go on: {reason}")]
    Unusable {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
    /// The journal failed.
    #[error(transparent)]
    Journal(Box<dyn StdError + Send + Sync>),
}

/// What a run has recorded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunLog {
    /// What was noted, in order.
    pub steps: Vec<RunStep>,
    /// The calls, in the order in which they began.
    pub calls: Vec<RunCall>,
}

impl RunLog {
    /// Makes a log.
    #[must_use]
    pub fn new(steps: Vec<RunStep>, calls: Vec<RunCall>) -> Self {
        Self { steps, calls }
    }

    /// Returns the call at a place.
    #[must_use]
    pub fn call(&self, place: &str) -> Option<&RunCall> {
        self.calls.iter().find(|call| call.place == place)
    }
}

/// Something that was noted in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStep {
    /// What it is, in a word.
    pub kind: String,
    /// What was noted: JSON.
    pub body: String,
}

impl RunStep {
    /// The kind of a step that says which calls wait; its body has `calls`, a list of [`WaitingCall`].
    pub const SUSPENDED: &'static str = "suspended";
    /// The kind of a step that decides about one of them; its body is an [`ApprovalDecision`].
    pub const DECISION: &'static str = "decision";

    /// Makes a step.
    pub fn new(kind: impl Into<String>, body: impl Into<String>) -> Self {
        Self { kind: kind.into(), body: body.into() }
    }
}

/// A call of a run, as it was recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunCall {
    /// Its place in the run.
    pub place: String,
    /// The tool.
    pub tool: String,
    /// Its arguments as run.
    pub arguments: Arguments,
    /// Its outcome; none where it began and has none.
    pub outcome: Option<RecordedResult>,
}

impl RunCall {
    /// Describes a call that began.
    pub fn new(place: impl Into<String>, tool: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self { place: place.into(), tool: tool.into(), arguments: arguments.into(), outcome: None }
    }

    /// Sets its outcome.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Option<RecordedResult>) -> Self {
        self.outcome = outcome;
        self
    }
}

/// A call of a run that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WaitingCall {
    /// Its place in the run.
    pub place: String,
    /// The id that the model gave it.
    pub call_id: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments.
    pub arguments: Arguments,
    /// What it waits for.
    pub waits_for: WaitsFor,
}

impl WaitingCall {
    /// Describes a call that waits.
    pub fn new(place: impl Into<String>, call: &crate::ToolCall, waits_for: WaitsFor) -> Self {
        let crate::ToolCall { id, name, arguments } = call.clone();
        Self { place: place.into(), call_id: id, tool: name, arguments, waits_for }
    }
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitsFor {
    /// That it is approved; it has not begun.
    Approval,
    /// That its outcome is known: it began, and it is not known whether it had its effect, or a call inside it waits.
    Outcome,
}

/// What was decided about a call that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalDecision {
    /// The place of the call.
    pub place: String,
    /// The decision.
    pub decision: Decision,
}

impl ApprovalDecision {
    /// Decides about the call at a place.
    pub fn new(place: impl Into<String>, decision: Decision) -> Self {
        Self { place: place.into(), decision }
    }
}
