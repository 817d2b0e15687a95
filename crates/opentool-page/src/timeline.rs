//! What happened in a run, in order, and what may be decided about its calls: [`Entry`].

use std::borrow::Cow;

use opentool_core::{CallEffect, RunStep, ToolError, WaitingCall, WaitsFor};
use opentool_journal::{CallRecord, CallStatus, RunEvent, RunRecord, StepRecord};
use opentool_server::call_result;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::outcome::ErrorForm;
use crate::parts::{self, PartForm, raw_arguments};

/// What may be decided about a call that is uncertain.
const UNCERTAIN: &[&str] = &["happened", "run-again", "give-up"];
/// What may be decided about a call that waits for approval.
const APPROVAL: &[&str] = &["allow", "deny"];

/// The step of a chat that has what the model is asked.
pub(crate) const REQUEST: &str = "request";

/// Something that happened in a run, or a call that waits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry<'a> {
    at: i64,
    kind: &'a str,
    place: Cow<'a, str>,
    tool: Option<&'a str>,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    /// What was decided, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    /// What a step noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    decidable: &'static [&'static str],
}

/// Lists what happened in a run; `waiting` are its [waiting](RunRecord::waiting) calls.
pub(crate) fn entries<'a>(record: &'a RunRecord, waiting: &'a [WaitingCall]) -> Vec<Entry<'a>> {
    let is_dead = record.summary.process.is_none();
    let events = record.events().into_iter();
    let mut entries: Vec<Entry<'_>> = events
        .filter_map(|event| match event {
            RunEvent::Step(step) => Some(Entry::step(step)),
            RunEvent::Call(call) => Some(Entry::call(call, is_dead)),
            _ => None,
        })
        .collect();
    for call in waiting.iter().filter(|call| call.waits_for == WaitsFor::Approval) {
        let since = waits_since(record, &call.place);
        let next = entries.iter().rposition(|entry| entry.at <= since).map_or(0, |before| before + 1);
        entries.insert(next, Entry::waiting(call, since, is_dead));
    }
    entries
}

/// Counts the calls of a run about which nothing is decided yet.
pub(crate) fn pending(record: &RunRecord) -> u64 {
    let is_dead = record.summary.process.is_none();
    let is_open = |call: &&CallRecord| call.decision.is_none() && is_uncertain(call, is_dead);
    let approvals = record.waiting().iter().filter(|call| call.waits_for == WaitsFor::Approval).count();
    (approvals + record.calls.iter().filter(is_open).count()) as u64
}

/// Says whether it is not known what became of a call, and it does not run again by itself.
fn is_uncertain(call: &CallRecord, is_dead: bool) -> bool {
    let is_interrupted = call.state == CallStatus::Started && is_dead && call.effect == CallEffect::Other;
    call.state == CallStatus::Uncertain || is_interrupted
}

/// What a step says about the calls that wait.
#[derive(Deserialize)]
struct SuspendedCalls {
    calls: Vec<WaitingCall>,
}

/// When the call at a place began to wait.
fn waits_since(record: &RunRecord, place: &str) -> i64 {
    let names_it = |step: &&StepRecord| {
        step.kind == RunStep::SUSPENDED
            && serde_json::from_str::<SuspendedCalls>(step.body.get())
                .is_ok_and(|suspended| suspended.calls.iter().any(|call| call.place == place))
    };
    record.steps.iter().find(names_it).map_or(record.summary.updated_ms, |step| step.at_ms)
}

impl<'a> Entry<'a> {
    fn new(at: i64, kind: &'a str, place: impl Into<Cow<'a, str>>) -> Self {
        Self {
            at,
            kind,
            place: place.into(),
            tool: None,
            status: "done",
            arguments: None,
            result: None,
            parts: Vec::new(),
            error: None,
            attempt: None,
            duration_ms: None,
            decision: None,
            body: None,
            decidable: &[],
        }
    }

    fn step(step: &'a StepRecord) -> Self {
        let entry = Self::new(step.at_ms, &step.kind, step.number.to_string());
        Self { body: Some(&step.body), ..entry }
    }

    fn call(call: &'a CallRecord, is_dead: bool) -> Self {
        let result = call.outcome.as_ref().map(|recorded| &recorded.result);
        let output = result.and_then(|result| match result {
            Ok(output) => Some(output),
            Err(error) => error.output(),
        });
        let shown = result.and_then(|result| result.as_ref().ok()).map(|output| call_result(output, None));
        let is_uncertain = is_uncertain(call, is_dead);
        Self {
            tool: Some(&call.tool),
            status: if is_uncertain { "uncertain" } else { call.state.as_str() },
            arguments: Some(Cow::Borrowed(&call.arguments)),
            result: shown.and_then(|result| RawValue::from_string(result).ok()),
            parts: output.map(parts::of_output).unwrap_or_default(),
            error: result.and_then(|result| result.as_ref().err()).map(|error: &ToolError| ErrorForm::from(error)),
            attempt: Some(call.attempt),
            duration_ms: call.ended_ms.map(|ended| ended.saturating_sub(call.begun_ms)),
            decision: call.decision.as_deref(),
            decidable: if is_uncertain { UNCERTAIN } else { &[] },
            ..Self::new(call.begun_ms, "call", &*call.place)
        }
    }

    /// A call that has not begun, since it waits for approval.
    fn waiting(call: &'a WaitingCall, since: i64, is_dead: bool) -> Self {
        Self {
            tool: Some(&call.tool),
            status: "waiting",
            arguments: raw_arguments(call.arguments.as_str()).map(Cow::Owned),
            // While a process has the run, that process is asked.
            decidable: if is_dead { APPROVAL } else { &[] },
            ..Self::new(since, "call", &*call.place)
        }
    }
}
