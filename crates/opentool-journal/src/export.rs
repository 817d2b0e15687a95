//! A run as JSON Lines: [`RunExport`].

use std::fmt;

use opentool_core::{Arguments, CallEffect, CallKey, RecordedResult, RunStatus, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::form;
use crate::row::{CallRecord, CallStatus, RunRecord, RunSummary, StepRecord};

/// The version of the lines.
const VERSION: u32 = 1;

/// A run, to be written as JSON Lines or read from them.
///
/// Each line is an object with one member, which says what it is: `run` first, then `step` and `call` in the order in which they
/// began, and `end` with their numbers last. Shown as text it is these lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunExport {
    /// The run.
    pub record: RunRecord,
}

/// Why lines are no export of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A line is no JSON, or not of the form of the export.
    #[error("line {line}: {source}")]
    Line {
        /// Which one, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The first line is not the `run`.
    #[error("the first line is no `run`: is it an export of `opentool runs export`?")]
    NoRun,
    /// It is of a newer version.
    #[error("the export has version {version} and this program knows versions up to {VERSION}: use a newer program")]
    Newer {
        /// Its version.
        version: u32,
    },
    /// Lines are missing at the end.
    #[error("the export is not complete: its last line is no `end` with {steps} steps and {calls} calls")]
    Incomplete {
        /// How many steps were read.
        steps: usize,
        /// How many calls were read.
        calls: usize,
    },
}

#[derive(Serialize, Deserialize)]
struct RunLine {
    version: u32,
    id: String,
    kind: String,
    state: RunStatus,
    title: String,
    caller: Option<String>,
    created_ms: i64,
    updated_ms: i64,
    parent: Option<String>,
    forked_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct CallLine {
    place: String,
    call_id: String,
    tool: String,
    effect: CallEffect,
    state: CallStatus,
    attempt: u32,
    key: String,
    arguments_hash: String,
    arguments: Box<RawValue>,
    begun_ms: i64,
    ended_ms: Option<i64>,
    outcome: Option<Box<RawValue>>,
    decision: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct EndLine {
    steps: usize,
    calls: usize,
}

/// A line, of which one member is there.
#[derive(Serialize, Deserialize, Default)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<CallLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndLine>,
}

impl RunExport {
    /// Starts the record of a run that no journal has, for a recorder that needs no database.
    ///
    /// Its times only say in which order things happened, so that the same run is the same lines.
    pub fn new(id: impl Into<String>, kind: impl Into<String>, title: impl Into<String>) -> Self {
        let summary = RunSummary {
            id: id.into(),
            kind: kind.into(),
            state: RunStatus::Done,
            title: title.into(),
            caller: None,
            created_ms: 0,
            updated_ms: 0,
            parent: None,
            forked_at: None,
            calls: 0,
            uncertain: 0,
            started: 0,
            process: None,
        };
        Self { record: RunRecord { summary, steps: Vec::new(), calls: Vec::new() } }
    }

    /// Counts what happens, instead of the time.
    fn tick(&mut self) -> i64 {
        self.record.summary.updated_ms += 1;
        self.record.summary.updated_ms
    }

    /// Adds a step.
    ///
    /// # Errors
    ///
    /// Where it cannot be written as JSON.
    pub fn add_step<T: Serialize + ?Sized>(&mut self, kind: &str, body: &T) -> Result<(), serde_json::Error> {
        let body = to_raw_value(body)?;
        let at_ms = self.tick();
        let number = i64::try_from(self.record.steps.len()).unwrap_or(i64::MAX).saturating_add(1);
        self.record.steps.push(StepRecord { number, kind: kind.to_owned(), at_ms, body });
        Ok(())
    }

    /// Adds a call that begins, and returns its number in [`RunRecord::calls`].
    ///
    /// # Errors
    ///
    /// Where its arguments are no JSON.
    pub fn begin_call(
        &mut self,
        place: &str,
        call_id: &str,
        tool: &str,
        effect: CallEffect,
        arguments: &Arguments,
    ) -> Result<usize, serde_json::Error> {
        let json = RawValue::from_string(arguments.as_str().to_owned())?;
        let key = CallKey::new(&*self.record.summary.id, place, tool, arguments);
        let begun_ms = self.tick();
        self.record.calls.push(CallRecord {
            place: place.to_owned(),
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            effect,
            state: CallStatus::Started,
            attempt: 1,
            arguments_hash: key.arguments_hash.to_string(),
            arguments: json,
            begun_ms,
            ended_ms: None,
            outcome: None,
            decision: None,
        });
        self.record.summary.calls += 1;
        Ok(self.record.calls.len() - 1)
    }

    /// Sets the outcome of a call that began.
    pub fn end_call(&mut self, number: usize, outcome: RecordedResult) {
        let ended_ms = self.tick();
        if let Some(call) = self.record.calls.get_mut(number) {
            call.state = CallStatus::Done;
            call.ended_ms = Some(ended_ms);
            call.outcome = Some(outcome);
        }
    }

    /// Reads lines.
    ///
    /// # Errors
    ///
    /// Where they are no complete export.
    pub fn parse(text: &str) -> Result<Self, ExportError> {
        let mut run = None;
        let (mut steps, mut calls, mut end) = (Vec::new(), Vec::new(), None);
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let at = |source| ExportError::Line { line: index + 1, source };
            let line: Line = serde_json::from_str(line).map_err(at)?;
            if run.is_none() {
                let first = line.run.ok_or(ExportError::NoRun)?;
                if first.version > VERSION {
                    return Err(ExportError::Newer { version: first.version });
                }
                run = Some(first);
                continue;
            }
            steps.extend(line.step);
            if let Some(call) = line.call {
                calls.push(call.record().map_err(at)?);
            }
            end = line.end;
        }
        let run = run.ok_or(ExportError::NoRun)?;
        if end.is_none_or(|end| (end.steps, end.calls) != (steps.len(), calls.len())) {
            return Err(ExportError::Incomplete { steps: steps.len(), calls: calls.len() });
        }
        let count = |state| calls.iter().filter(|call: &&CallRecord| call.state == state).count() as u64;
        let summary = RunSummary {
            id: run.id,
            kind: run.kind,
            state: run.state,
            title: run.title,
            caller: run.caller,
            created_ms: run.created_ms,
            updated_ms: run.updated_ms,
            parent: run.parent,
            forked_at: run.forked_at,
            calls: calls.len() as u64,
            uncertain: count(CallStatus::Uncertain),
            started: count(CallStatus::Started),
            process: None,
        };
        Ok(Self { record: RunRecord { summary, steps, calls } })
    }

    fn lines(&self) -> Result<String, serde_json::Error> {
        let RunRecord { summary, steps, calls } = &self.record;
        let mut out = String::new();
        let mut push = |line: Line| -> Result<(), serde_json::Error> {
            out.push_str(&serde_json::to_string(&line)?);
            out.push('\n');
            Ok(())
        };
        push(Line { run: Some(RunLine::new(summary)), ..Line::default() })?;
        let (mut steps_left, mut calls_left) = (steps.iter().peekable(), calls.iter().peekable());
        loop {
            let line = match (steps_left.peek(), calls_left.peek()) {
                (None, None) => break,
                (Some(step), Some(call)) if step.at_ms > call.begun_ms => call_line(summary, calls_left.next())?,
                (None, Some(_)) => call_line(summary, calls_left.next())?,
                (Some(_), _) => Line { step: steps_left.next().cloned(), ..Line::default() },
            };
            push(line)?;
        }
        push(Line { end: Some(EndLine { steps: steps.len(), calls: calls.len() }), ..Line::default() })?;
        Ok(out)
    }
}

fn call_line(run: &RunSummary, call: Option<&CallRecord>) -> Result<Line, serde_json::Error> {
    let call = call.map(|call| CallLine::new(run, call)).transpose()?;
    Ok(Line { call, ..Line::default() })
}

impl RunLine {
    fn new(run: &RunSummary) -> Self {
        Self {
            version: VERSION,
            id: run.id.clone(),
            kind: run.kind.clone(),
            state: run.state,
            title: run.title.clone(),
            caller: run.caller.clone(),
            created_ms: run.created_ms,
            updated_ms: run.updated_ms,
            parent: run.parent.clone(),
            forked_at: run.forked_at,
        }
    }
}

impl CallLine {
    fn new(run: &RunSummary, call: &CallRecord) -> Result<Self, serde_json::Error> {
        let arguments = opentool_core::Arguments::from(call.arguments.get());
        let key = CallKey::new(&*run.id, &*call.place, &*call.tool, &arguments);
        let outcome = match &call.outcome {
            Some(RecordedResult { result, return_direct, .. }) => {
                Some(RawValue::from_string(form::write(result, *return_direct)?)?)
            }
            None => None,
        };
        Ok(Self {
            place: call.place.clone(),
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            effect: call.effect,
            state: call.state,
            attempt: call.attempt,
            key: key.to_string(),
            arguments_hash: call.arguments_hash.clone(),
            arguments: call.arguments.clone(),
            begun_ms: call.begun_ms,
            ended_ms: call.ended_ms,
            outcome,
            decision: call.decision.clone(),
        })
    }

    fn record(self) -> Result<CallRecord, serde_json::Error> {
        Ok(CallRecord {
            place: self.place,
            call_id: self.call_id,
            tool: self.tool,
            effect: self.effect,
            state: self.state,
            attempt: self.attempt,
            arguments_hash: self.arguments_hash,
            arguments: self.arguments,
            begun_ms: self.begun_ms,
            ended_ms: self.ended_ms,
            outcome: self.outcome.map(|outcome| form::read(outcome.get())).transpose()?,
            decision: self.decision,
        })
    }
}

/// Changes the JSON of an outcome: that of an output, or that of an error.
pub(crate) fn rewrite_outcome(
    outcome: &RecordedResult,
    change: impl FnOnce(&str) -> String,
) -> Result<RecordedResult, serde_json::Error> {
    let result = match &outcome.result {
        Ok(ToolOutput::Json(json)) => Ok(ToolOutput::from_json_text(change(json.get()))?),
        Ok(output) => Ok(ToolOutput::parse(&change(&serde_json::to_string(output)?))?),
        Err(error) => Err(serde_json::from_str(&change(&serde_json::to_string(error)?))?),
    };
    Ok(RecordedResult::new(result, outcome.return_direct))
}

impl fmt::Display for RunExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines().map_err(|_| fmt::Error)?;
        f.write_str(&lines)
    }
}
