//! The runs of a journal: what happened in them, and what is decided about their calls.

use http::StatusCode;
use opentool_core::{Decision, ToolOutput, UncertainDecision};
use opentool_journal::{JournalError, RunRecord, RunStatus, RunSummary, SqliteJournal};
use opentool_server::{FrontendRequest, FrontendResponse};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::approval::denied;
use crate::calls::read_body;
use crate::error::ApiError;
use crate::state::PageState;
use crate::timeline::{self, Entry};

/// How many runs a list has by default, and at most.
const LISTED: (usize, usize) = (50, 500);

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
#[serde(rename_all = "camelCase")]
struct RunDetail<'a> {
    run: RunForm,
    timeline: Vec<Entry<'a>>,
    /// The words of the command that goes on with the run, where it can go on.
    resume: Option<Vec<String>>,
    /// What has to be added to that command, since a journal does not hold it.
    resume_needs: Vec<String>,
}

impl RunForm {
    fn new(run: RunSummary, pending: u64) -> Self {
        Self {
            pending,
            status: run.shown_state(),
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

/// Says how many calls of a run may have had their effect: what began in a process that is not there any more is as uncertain as what
/// says so.
fn uncertain(run: &RunSummary) -> u64 {
    let is_interrupted = run.process.is_none() && run.state == RunStatus::Running;
    run.uncertain + if is_interrupted { run.started } else { 0 }
}

/// Says how many calls of a run are to be decided.
async fn pending(journal: &SqliteJournal, run: &RunSummary) -> Result<u64, ApiError> {
    let is_interrupted = run.process.is_none() && run.state == RunStatus::Running;
    let counted = uncertain(run);
    if run.kind == "call" || !(is_interrupted || run.state == RunStatus::Waiting) {
        return Ok(counted);
    }
    // Only its steps say which calls wait for approval.
    match journal.run(&run.id).await {
        Ok(record) => Ok(timeline::pending(&record)),
        // It was deleted since the list was read.
        Err(JournalError::UnknownRun { .. }) => Ok(counted),
        Err(error) => Err(failed(&error)),
    }
}

/// Answers with the newest runs.
pub(crate) async fn list(state: &PageState, request: &FrontendRequest<'_>) -> Result<FrontendResponse, ApiError> {
    let journal = journal_of(state)?;
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
    let fits = |run: &RunSummary| match query.status.as_deref() {
        None => true,
        // The timeline of an interrupted run calls what had begun uncertain.
        Some("uncertain") => uncertain(run) > 0,
        Some(status) => run.shown_state() == status,
    };
    let mut listed: Vec<RunSummary> = runs.into_iter().skip(from).filter(fits).take(limit + 1).collect();
    let has_more = listed.len() > limit;
    listed.truncate(limit);
    let next = listed.last().filter(|_| has_more).map(|run| run.id.clone());
    let mut runs = Vec::with_capacity(listed.len());
    for run in listed {
        let pending = pending(journal, &run).await?;
        runs.push(RunForm::new(run, pending));
    }
    Ok(json(&RunList { runs, next }))
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
    let journal = journal_of(state)?;
    let record = journal.run(id).await.map_err(|error| failed(&error))?;
    let (waiting, pending) = (record.waiting(), timeline::pending(&record));
    let resume = can_go_on(&record, pending).then(|| resume_command(journal, id));
    let resume_needs = if resume.is_some() { not_stored(&record) } else { Vec::new() };
    let run = RunForm::new(record.summary.clone(), pending);
    Ok(json(&RunDetail { run, timeline: timeline::entries(&record, &waiting), resume, resume_needs }))
}

/// Says whether a chat stopped before its answer and nothing is left to decide.
fn can_go_on(record: &RunRecord, pending: u64) -> bool {
    let run = &record.summary;
    let has_begun = record.steps.iter().any(|step| step.kind == timeline::REQUEST);
    run.kind == "chat" && run.process.is_none() && run.state != RunStatus::Done && has_begun && pending == 0
}

/// The words of the command that goes on with a run, from any folder.
fn resume_command(journal: &SqliteJournal, run: &str) -> Vec<String> {
    let path = std::path::absolute(journal.path()).unwrap_or_else(|_| journal.path().to_owned());
    ["opentool", "runs", "--journal", &path.to_string_lossy(), "resume", run].map(str::to_owned).to_vec()
}

/// What the request of a chat says about how it goes on.
#[derive(Deserialize)]
struct RequestDetails {
    details: StoredDetails,
}

#[derive(Deserialize)]
struct StoredDetails {
    not_stored: Vec<String>,
}

/// Names what a chat was started with and its journal does not hold.
fn not_stored(record: &RunRecord) -> Vec<String> {
    let request = record.steps.iter().find(|step| step.kind == timeline::REQUEST);
    // The details are those of an application, which may not say it.
    let read = request.and_then(|step| serde_json::from_str::<RequestDetails>(step.body.get()).ok());
    read.map(|request| request.details.not_stored).unwrap_or_default()
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
    Allow,
    Deny,
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
    let journal = journal_of(state)?;
    let body = request.take_body();
    let given: DecisionBody<'_> = read_body(&body)?;
    let (place, reason) = (&given.place, given.reason);
    match given.decision {
        RunDecision::Allow => journal.decide_approval(id, place, Decision::Approve).await,
        RunDecision::Deny => journal.decide_approval(id, place, denied(reason.as_deref())).await,
        RunDecision::RunAgain => journal.decide_call(id, place, UncertainDecision::RunAgain).await,
        RunDecision::GiveUp => {
            let reason = reason.unwrap_or_else(|| "given up on the page".to_owned());
            journal.decide_call(id, place, UncertainDecision::GiveUp(reason)).await
        }
        RunDecision::Happened => {
            let output = output(given.result)?;
            journal.decide_call(id, place, UncertainDecision::Happened(output)).await
        }
    }
    .map_err(|error| failed(&error))?;
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

fn journal_of(state: &PageState) -> Result<&SqliteJournal, ApiError> {
    let missing = || {
        ApiError::not_found("this server has no journal")
            .with_hint("start it with `--journal FILE`, or name one in opentool.toml")
    };
    state.journal.as_ref().ok_or_else(missing)
}

fn failed(error: &JournalError) -> ApiError {
    match error {
        JournalError::UnknownRun { .. } | JournalError::UnknownCall { .. } => ApiError::not_found(error.to_string()),
        JournalError::NotUncertain { .. } | JournalError::NotWaiting { .. } | JournalError::Owned { .. } => {
            ApiError::conflict(error.to_string())
        }
        _ => ApiError::unavailable(format!("the journal cannot be used: {error}")),
    }
}

fn json(value: &impl Serialize) -> FrontendResponse {
    // It holds texts, numbers and JSON, which can always be written.
    FrontendResponse::json(StatusCode::OK, serde_json::to_vec(value).unwrap_or_default())
}
