//! What a journal notes of a call, and the interface [`Journal`].

use std::fmt;

use futures_core::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::key::CallKey;
use crate::{Arguments, ToolError, ToolOutput};

/// What a call may do to the world, which decides what happens to it after a crash.
///
/// Only what the operator or the code says about a tool counts; "not said" is [`Other`](Self::Other).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallEffect {
    /// It changes nothing: it runs again.
    ReadOnly,
    /// A second call changes nothing more: it runs again, with the same key.
    Idempotent,
    /// It consists of other calls: it runs again, and the records of those decide about them.
    Composite,
    /// A second call may do it twice: it never runs again by itself.
    Other,
}

impl CallEffect {
    /// Returns the effect as a stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Composite => "composite",
            Self::Other => "other",
        }
    }

    /// Says whether a call that began and has no outcome may run again.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        !matches!(self, Self::Other)
    }
}

/// A call that is about to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallStart<'a> {
    /// What makes it this call.
    pub key: &'a CallKey,
    /// What it may do.
    pub effect: CallEffect,
    /// The id that the caller gave it; empty where there is none.
    pub call_id: &'a str,
    /// The arguments as they will be run.
    pub arguments: &'a Arguments,
    /// Who makes the call, where that is known.
    pub caller: Option<&'a str>,
    /// Whether the call is a run of its own, with a key that its caller chose.
    pub is_keyed: bool,
}

impl<'a> CallStart<'a> {
    /// Describes a call that belongs to a run.
    #[must_use]
    pub fn new(key: &'a CallKey, effect: CallEffect, arguments: &'a Arguments) -> Self {
        Self { key, effect, call_id: "", arguments, caller: None, is_keyed: false }
    }
}

/// A call that has its outcome.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallEnd<'a> {
    /// What makes it this call.
    pub key: &'a CallKey,
    /// The attempt that has the outcome.
    pub attempt: u32,
    /// What the tool answered, or why there is no answer; after the last word on errors.
    pub result: &'a Result<ToolOutput, ToolError>,
    /// Whether the result goes to the caller instead of back to the model.
    pub return_direct: bool,
}

impl<'a> CallEnd<'a> {
    /// Describes the end of a call.
    #[must_use]
    pub fn new(key: &'a CallKey, attempt: u32, result: &'a Result<ToolOutput, ToolError>) -> Self {
        Self { key, attempt, result, return_direct: false }
    }
}

/// The outcome of a call, as it was recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedResult {
    /// What the tool answered, or why there is no answer.
    #[serde(with = "crate::to_json::stored_result")]
    pub result: Result<ToolOutput, ToolError>,
    /// Whether the result goes to the caller instead of back to the model.
    #[serde(default)]
    pub return_direct: bool,
}

impl RecordedResult {
    /// Describes an outcome.
    #[must_use]
    pub fn new(result: Result<ToolOutput, ToolError>, return_direct: bool) -> Self {
        Self { result, return_direct }
    }
}

/// What a journal knows of a call that is about to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Begun {
    /// Its start is recorded, and it may run: the how-manieth time, from 1.
    Run {
        /// The attempt.
        attempt: u32,
    },
    /// It has run already, and this is its outcome.
    Answer(RecordedResult),
    /// It runs now, here or in another process.
    InFlight,
    /// It began, it is not known whether it had its effect, and it may not run again by itself.
    Uncertain,
}

/// What is decided about a call of which it is not known whether it had its effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UncertainDecision {
    /// It happened, and this is its result.
    Happened(ToolOutput),
    /// It did not happen, or may happen twice: it runs again.
    RunAgain,
    /// It is given up, for this reason.
    GiveUp(String),
}

/// Records calls, so that after a crash it is known which of them ran.
///
/// The executor asks it about every call of a context that [belongs to a run](crate::ToolContext::with_run) or
/// [has a key](crate::ToolContext::with_idempotency_key), after checks and approval and before the clock of the call starts;
/// calls of other contexts are not recorded. Neither `begin` nor `end` counts against the deadline of a call, and no outcome is seen before
/// `end` has recorded it.
///
/// An error of `begin` is the outcome of a call, which then does not run.
pub trait Journal: Send + Sync + 'static {
    /// Records that a call is about to run, or says what is known of it.
    fn begin<'a>(&'a self, call: CallStart<'a>) -> BoxFuture<'a, Result<Begun, ToolError>>;

    /// Records the outcome of an attempt that `begin` let run.
    ///
    /// Where that fails, the caller gets an error instead of the outcome, because after a crash nothing would be known of it.
    fn end<'a>(&'a self, call: CallEnd<'a>) -> BoxFuture<'a, Result<(), ToolError>>;

    /// Notes that an attempt will have no outcome, because its caller does not wait for it any more.
    fn abandon(&self, key: &CallKey, attempt: u32);

    /// Waits until a call that is in flight may have its outcome; `begin` then says more.
    fn changed<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, ()>;

    /// Records what is decided about an uncertain call, for a tool that can find out; `begin` then acts on it.
    fn decide<'a>(&'a self, key: &'a CallKey, decision: UncertainDecision) -> BoxFuture<'a, Result<(), ToolError>>;
}

impl fmt::Debug for dyn Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal")
    }
}
