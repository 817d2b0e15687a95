//! What a journal holds, as it is read: runs, steps and calls.

use opentool_core::{ApprovalDecision, CallEffect, RecordedResult, RunStatus, RunStep, WaitingCall, WaitsFor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Reads the word of a run's state.
#[cfg(feature = "sqlite")]
pub(crate) fn run_status(text: &str) -> RunStatus {
    match text {
        "waiting" => RunStatus::Waiting,
        "done" => RunStatus::Done,
        "failed" => RunStatus::Failed,
        _ => RunStatus::Running,
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallStatus {
    /// It began, and has no outcome.
    Started,
    /// It has its outcome.
    Done,
    /// It began, and it is not known whether it had its effect.
    Uncertain,
}

impl CallStatus {
    /// Returns the state as a stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Done => "done",
            Self::Uncertain => "uncertain",
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "done" => Self::Done,
            "uncertain" => Self::Uncertain,
            _ => Self::Started,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// What kind of run it is: `chat`, `workflow`, or `call` for one call with a key.
    pub kind: String,
    /// How far it is.
    pub state: RunStatus,
    /// What it is about.
    pub title: String,
    /// Who asked for it, where that is known.
    pub caller: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was last written to by its owner, in milliseconds since 1970.
    pub updated_ms: i64,
    /// The run that it was forked from.
    pub parent: Option<String>,
    /// The step at which it was forked.
    pub forked_at: Option<i64>,
    /// How many calls it has.
    pub calls: u64,
    /// How many of them are uncertain.
    pub uncertain: u64,
    /// How many of them began and have no outcome.
    pub started: u64,
    /// The process that it belongs to, if that is alive.
    pub process: Option<i64>,
}

impl RunSummary {
    /// Returns the state as a person wants to know it: `uncertain` where a call is, `interrupted` where its process is not there any more.
    #[must_use]
    pub fn shown_state(&self) -> &'static str {
        match self.state {
            _ if self.uncertain > 0 => "uncertain",
            RunStatus::Running if self.kind == "call" && self.calls > 0 && self.started == 0 => "done",
            RunStatus::Running if self.process.is_none() => "interrupted",
            state => state.as_str(),
        }
    }
}

/// A step of a run: something that its owner noted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepRecord {
    /// Its number, from 1.
    pub number: i64,
    /// What it is, in a word.
    pub kind: String,
    /// When it was noted, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was noted: JSON.
    pub body: Box<RawValue>,
}

/// A call of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRecord {
    /// Its place in the run.
    pub place: String,
    /// The id that its caller gave it.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it may do.
    pub effect: CallEffect,
    /// How far it is.
    pub state: CallStatus,
    /// How often it began.
    pub attempt: u32,
    /// The hash of its arguments.
    pub arguments_hash: String,
    /// Its arguments as run: JSON.
    pub arguments: Box<RawValue>,
    /// When it last began, in milliseconds since 1970.
    pub begun_ms: i64,
    /// When it had its outcome, in milliseconds since 1970.
    pub ended_ms: Option<i64>,
    /// Its outcome.
    pub outcome: Option<RecordedResult>,
    /// What was decided about it, in a word, while it was uncertain.
    pub decision: Option<String>,
}

/// A run with everything in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRecord {
    /// What the list says about it.
    pub summary: RunSummary,
    /// Its steps, in order.
    pub steps: Vec<StepRecord>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<CallRecord>,
}

/// What a step says about the calls that wait.
#[derive(Deserialize)]
struct WaitingRound {
    #[serde(default)]
    within: String,
    round: u32,
    #[serde(default)]
    calls: Vec<WaitingCall>,
}

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A step.
    Step(&'a StepRecord),
    /// A call, at the time at which it began.
    Call(&'a CallRecord),
}

/// The steps with which a chat notes what it was asked, and what the model answered.
const REQUEST: &str = "request";
const ANSWER: &str = "answer";

impl RunRecord {
    /// Returns steps and calls in the order in which they happened.
    ///
    /// Times are milliseconds: within one, a call of a chat comes after the answer that makes it and before the end of its round.
    #[must_use]
    pub fn events(&self) -> Vec<RunEvent<'_>> {
        let mut answers = 0;
        let mut events: Vec<((i64, u32, u8), RunEvent<'_>)> = Vec::with_capacity(self.steps.len() + self.calls.len());
        for step in &self.steps {
            answers += u32::from(step.kind == ANSWER);
            let rank = if step.kind == REQUEST || step.kind == ANSWER { 0 } else { 2 };
            events.push(((step.at_ms, answers, rank), RunEvent::Step(step)));
        }
        for call in &self.calls {
            // The place of a call in a chat begins with the number of its round.
            let round = call.place.split('.').next().and_then(|round| round.parse().ok());
            let round = round.filter(|_| answers > 0).unwrap_or_default();
            events.push(((call.begun_ms, round, 1), RunEvent::Call(call)));
        }
        // Steps of one millisecond stay as they are.
        events.sort_by_key(|(order, _)| *order);
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// Returns the calls that wait for a decision, in the order in which they began to wait.
    #[must_use]
    pub fn waiting(&self) -> Vec<WaitingCall> {
        let mut waiting: Vec<WaitingCall> = Vec::new();
        for step in &self.steps {
            let body = step.body.get();
            match &*step.kind {
                RunStep::SUSPENDED => {
                    let Ok(round) = serde_json::from_str::<WaitingRound>(body) else { continue };
                    waiting.retain(|call| !round.calls.iter().any(|newer| newer.place == call.place));
                    waiting.extend(round.calls);
                }
                RunStep::DECISION => {
                    let Ok(decided) = serde_json::from_str::<ApprovalDecision>(body) else { continue };
                    waiting.retain(|call| call.place != decided.place);
                }
                // Every call of the round has its outcome.
                "round" => {
                    let Ok(WaitingRound { within, round, .. }) = serde_json::from_str(body) else { continue };
                    let outer = if within.is_empty() { String::new() } else { format!("{within}>") };
                    let begin = format!("{outer}{round}.");
                    waiting.retain(|call| !call.place.starts_with(&begin));
                }
                _ => {}
            }
        }
        let recorded = |place: &str| self.calls.iter().find(|call| call.place == place);
        waiting.retain(|call| match (call.waits_for, recorded(&call.place)) {
            (WaitsFor::Approval, None) => true,
            (_, Some(recorded)) => recorded.outcome.is_none() && recorded.decision.is_none(),
            _ => false,
        });
        // A call waits because one that it makes does: that one is decided.
        let places: Vec<_> = waiting.iter().map(|call| call.place.clone()).collect();
        waiting.retain(|call| !places.iter().any(|inner| inner.starts_with(&format!("{}>", call.place))));
        waiting
    }
}
