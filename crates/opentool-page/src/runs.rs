//! The runs of a journal: what happened in them, and what is decided about their calls.

use http::StatusCode;
use opentool_core::{CallEffect, ToolError, ToolOutput, UncertainDecision};
use opentool_journal::{
    CallRecord, CallStatus, JournalError, RunRecord, RunStatus, RunSummary, SqliteJournal, StepRecord,
};
use opentool_server::{FrontendRequest, FrontendResponse, call_result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::calls::read_body;
use crate::error::ApiError;
use crate::outcome::ErrorForm;
use crate::parts::{self, PartForm};
use crate::state::PageState;

/// How many runs a list has by default, and at most.
const LISTED: (usize, usize) = (50, 500);

/// What may be decided about a call that is uncertain.
const UNCERTAIN: &[&str] = &["happened", "run-again", "give-up"];

#[derive(Serialize)]
struct RunList {
    runs: Vec<RunForm>,
    /// The id of the run before which the next page begins.
    next: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunForm {
    id: String,
    kind: String,
    title: String,
    status: &'static str,
    created_at: i64,
    updated_at: i64,
    calls: u64,
    pending: u64,
    caller: Option<String>,
    parent: Option<String>,
}

#[derive(Serialize)]
struct RunDetail<'a> {
    run: RunForm,
    timeline: Vec<Entry<'a>>,
}

/// Something that happened in a run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    at: i64,
    kind: &'a str,
    place: &'a str,
    tool: Option<&'a str>,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
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

impl From<RunSummary> for RunForm {
    fn from(run: RunSummary) -> Self {
        let status = run.shown_state();
        // What began in a process that is not there any more is as uncertain as what says so.
        let is_interrupted = run.process.is_none() && run.state == RunStatus::Running;
        let pending = run.uncertain + if is_interrupted { run.started } else { 0 };
        Self {
            status,
            pending,
            id: run.id,
            kind: run.kind,
            title: run.title,
            created_at: run.created_ms,
            updated_at: run.updated_ms,
            calls: run.calls,
            caller: run.caller,
            parent: run.parent,
        }
    }
}

/// Answers with the newest runs.
pub(crate) async fn list(state: &PageState, request: &FrontendRequest<'_>) -> Result<FrontendResponse, ApiError> {
    let journal = of(state)?;
    let query = Query::read(request.query())?;
    let (usual, most) = LISTED;
    let limit = query.limit.unwrap_or(usual).clamp(1, most);
    // The journal lists from the newest on; a page further back is read past.
    let wanted = if query.before.is_some() || query.status.is_some() { MAX_SCANNED } else { limit + 1 };
    let runs = journal.runs(wanted).await.map_err(|error| failed(&error))?;
    let from = match &query.before {
        None => 0,
        Some(before) => match runs.iter().position(|run| run.id == *before) {
            Some(place) => place + 1,
            None => return Err(ApiError::not_found("there is no run before which the list could begin")),
        },
    };
    let fits = |run: &RunSummary| query.status.as_ref().is_none_or(|status| run.shown_state() == status);
    let mut listed: Vec<RunSummary> = runs.into_iter().skip(from).filter(fits).take(limit + 1).collect();
    let has_more = listed.len() > limit;
    listed.truncate(limit);
    let next = listed.last().filter(|_| has_more).map(|run| run.id.clone());
    Ok(json(&RunList { runs: listed.into_iter().map(RunForm::from).collect(), next }))
}

/// How many runs are looked at for a list that begins further back, or has one status only.
const MAX_SCANNED: usize = 10_000;

/// The query of a list.
#[derive(Default)]
struct Query {
    limit: Option<usize>,
    before: Option<String>,
    status: Option<String>,
}

impl Query {
    fn read(query: Option<&str>) -> Result<Self, ApiError> {
        let mut read = Self::default();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match name {
                "limit" => {
                    let limit = value.parse().map_err(|_| ApiError::invalid_request("`limit` must be a number"))?;
                    read.limit = Some(limit);
                }
                "before" if !value.is_empty() => read.before = Some(value.to_owned()),
                "status" if !value.is_empty() => read.status = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Answers with what happened in a run.
pub(crate) async fn show(state: &PageState, id: &str) -> Result<FrontendResponse, ApiError> {
    let RunRecord { summary, steps, calls, .. } = of(state)?.run(id).await.map_err(|error| failed(&error))?;
    let is_dead = summary.process.is_none();
    let numbers: Vec<String> = steps.iter().map(|step| step.number.to_string()).collect();
    let mut timeline: Vec<Entry<'_>> = steps.iter().zip(&numbers).map(|(step, number)| of_step(step, number)).collect();
    timeline.extend(calls.iter().map(|call| of_call(call, is_dead)));
    timeline.sort_by_key(|entry| entry.at);
    Ok(json(&RunDetail { run: summary.into(), timeline }))
}

fn of_step<'a>(step: &'a StepRecord, number: &'a str) -> Entry<'a> {
    Entry {
        at: step.at_ms,
        kind: &step.kind,
        place: number,
        tool: None,
        status: "done",
        arguments: None,
        result: None,
        parts: Vec::new(),
        error: None,
        attempt: None,
        duration_ms: None,
        decision: None,
        body: Some(&step.body),
        decidable: &[],
    }
}

fn of_call(call: &CallRecord, is_dead: bool) -> Entry<'_> {
    let result = call.outcome.as_ref().map(|recorded| &recorded.result);
    let output = result.and_then(|result| match result {
        Ok(output) => Some(output),
        Err(error) => error.output(),
    });
    let shown = result.and_then(|result| result.as_ref().ok()).map(|output| call_result(output, None));
    // A call that may be repeated runs again by itself.
    let is_interrupted = call.state == CallStatus::Started && is_dead && call.effect == CallEffect::Other;
    let is_uncertain = call.state == CallStatus::Uncertain || is_interrupted;
    Entry {
        at: call.begun_ms,
        kind: "call",
        place: &call.place,
        tool: Some(&call.tool),
        status: if is_uncertain { "uncertain" } else { call.state.as_str() },
        arguments: Some(&call.arguments),
        result: shown.and_then(|result| RawValue::from_string(result).ok()),
        parts: output.map(parts::of_output).unwrap_or_default(),
        error: result.and_then(|result| result.as_ref().err()).map(|error: &ToolError| ErrorForm::from(error)),
        attempt: Some(call.attempt),
        duration_ms: call.ended_ms.map(|ended| ended.saturating_sub(call.begun_ms)),
        decision: call.decision.as_deref(),
        body: None,
        decidable: if is_uncertain { UNCERTAIN } else { &[] },
    }
}

#[derive(Deserialize)]
struct DecisionBody<'a> {
    place: String,
    decision: RunDecision,
    /// What the call returned, where it happened.
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RunDecision {
    Happened,
    RunAgain,
    GiveUp,
}

/// Decides about a call of a run.
pub(crate) async fn decide(
    state: &PageState,
    id: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let journal = of(state)?;
    let body = request.take_body();
    let given: DecisionBody<'_> = read_body(&body)?;
    let decision = match given.decision {
        RunDecision::RunAgain => UncertainDecision::RunAgain,
        RunDecision::GiveUp => {
            UncertainDecision::GiveUp(given.reason.unwrap_or_else(|| "given up on the page".to_owned()))
        }
        RunDecision::Happened => UncertainDecision::Happened(output(given.result)?),
    };
    journal.decide_call(id, &given.place, decision).await.map_err(|error| failed(&error))?;
    Ok(FrontendResponse::empty(StatusCode::NO_CONTENT))
}

/// What a call returned, as the person says: a text, any other JSON, or nothing.
fn output(result: Option<&RawValue>) -> Result<ToolOutput, ApiError> {
    let Some(json) = result.map(RawValue::get) else { return Ok(ToolOutput::Empty) };
    match serde_json::from_str::<String>(json) {
        Ok(text) => Ok(ToolOutput::text(text)),
        Err(_) => ToolOutput::from_json_text(json)
            .map_err(|error| ApiError::invalid_request(format!("`result` cannot be used: {error}"))),
    }
}

fn of(state: &PageState) -> Result<&SqliteJournal, ApiError> {
    let missing = || {
        ApiError::not_found("this server has no journal")
            .with_hint("start it with `--journal FILE`, or name one in opentool.toml")
    };
    state.journal.as_ref().ok_or_else(missing)
}

fn failed(error: &JournalError) -> ApiError {
    match error {
        JournalError::UnknownRun { .. } | JournalError::UnknownCall { .. } => ApiError::not_found(error.to_string()),
        JournalError::NotUncertain { .. } | JournalError::Owned { .. } => ApiError::conflict(error.to_string()),
        _ => ApiError::unavailable(format!("the journal cannot be used: {error}")),
    }
}

fn json(value: &impl Serialize) -> FrontendResponse {
    // It holds texts, numbers and JSON, which can always be written.
    FrontendResponse::json(StatusCode::OK, serde_json::to_vec(value).unwrap_or_default())
}
