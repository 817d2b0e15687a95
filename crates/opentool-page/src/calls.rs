//! Calls that the person at the page makes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use http::StatusCode;
use opentool_core::{
    Batch, Cancellation, Executor, Progress, ToolCall, ToolContext, ToolError, ToolEvent, ToolOutput, Toolbox, Turn,
};
use opentool_server::{ClientGone, CountedCall, FrontendRequest, FrontendResponse, RequestBody, call_result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::approval::{CallOrigin, is_confirmed_first, with_person};
use crate::error::ApiError;
use crate::lines::LineSender;
use crate::outcome::{EndedCall, OutcomeLine, raw_request};
use crate::parts::{self, PartForm};
use crate::questions::{OpenQuestions, PageRespondent};
use crate::running::{CallEntry, RunningCall};
use crate::sessions::Session;
use crate::state::PageState;

/// How many questions of a call may wait to be sent.
const BACKLOG: usize = 16;

#[derive(Deserialize)]
struct CallBody<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    tool: Cow<'a, str>,
    /// As the person gave them, so that no number is rounded.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    confirmed: bool,
}

/// What happens while a call runs.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum CallLine<'a> {
    Started {},
    Progress(ProgressForm<'a>),
    Piece { value: Box<RawValue>, parts: Vec<PartForm<'a>> },
}

/// How far a call is.
#[derive(Serialize)]
pub(crate) struct ProgressForm<'a> {
    progress: f64,
    total: Option<f64>,
    message: Option<&'a str>,
}

impl<'a> From<&'a Progress> for ProgressForm<'a> {
    fn from(progress: &'a Progress) -> Self {
        let Progress { done, total, message, .. } = progress;
        // What is no number in JSON would be written as null.
        let finite = |number: &f64| number.is_finite();
        Self {
            progress: if done.is_finite() { *done } else { 0.0 },
            total: total.filter(finite),
            message: message.as_deref(),
        }
    }
}

/// Starts a call; what happens is the body of the answer.
pub(crate) async fn start(
    state: &Arc<PageState>,
    session: &Arc<Session>,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let mut body = request.take_body();
    let given: CallBody<'_> = read_body(&body)?;
    check_id(&given.id)?;
    let executor = with_person(request.host().executor());
    // Asked once: what is confirmed is what runs. A source that does not answer is the outcome of the call.
    let toolbox = request.host().toolbox().await;
    if let Ok(toolbox) = &toolbox
        && !given.confirmed
    {
        check_needs_no_confirmation(toolbox, &given.tool)?;
    }
    let arguments = given.arguments.map_or("{}", RawValue::get);
    let call = ToolCall::new(&*given.id, &*given.tool, arguments);
    let counted = request.count_call(call.name.clone()).map_err(|error| ApiError::busy(error.to_string()))?;
    let (cancellation, questions) = (session.over.child(), Arc::new(OpenQuestions::default()));
    let running = RunningCall { cancellation: cancellation.clone(), questions: questions.clone() };
    let entry = state.calls.enter(session.number, &given.id, running)?;
    let (queue, queued) = mpsc::channel(BACKLOG);
    let context = context(session, request)
        .with_cancellation(cancellation)
        .with_typed(CallOrigin::Person { confirmed: given.confirmed })
        .with_respondent(PageRespondent { questions, lines: queue });
    let (response, lines) = LineSender::open();
    let response = response.with_call(&counted);
    drop(given);
    // The call has its own copy of what it needs.
    body.release();
    let cut_off = request.cut_off();
    let task = CallTask { executor, toolbox, call, context, queued, lines, counted, cut_off, _kept: (entry, body) };
    tokio::spawn(task.run().in_current_span());
    Ok(response)
}

/// Cancels a call, whose stream then ends.
pub(crate) fn cancel(state: &PageState, session: &Session, id: &str) -> Result<FrontendResponse, ApiError> {
    state.calls.find(session.number, id)?.cancellation.cancel();
    Ok(FrontendResponse::empty(StatusCode::NO_CONTENT))
}

/// Answers a question of a call.
pub(crate) fn answer(
    state: &PageState,
    session: &Session,
    id: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let questions = state.calls.find(session.number, id)?.questions;
    answer_question(&questions, &request.take_body())
}

/// Passes an answer on to the question that waits for it.
pub(crate) fn answer_question(questions: &OpenQuestions, body: &[u8]) -> Result<FrontendResponse, ApiError> {
    if questions.answer(read_body(body)?) {
        Ok(FrontendResponse::empty(StatusCode::NO_CONTENT))
    } else {
        Err(ApiError::not_found("no question of this id waits for an answer"))
    }
}

/// Reads the body of a request.
pub(crate) fn read_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::invalid_request(format!("the body cannot be used: {error}")))
}

/// Checks an id that the page made.
pub(crate) fn check_id(id: &str) -> Result<(), ApiError> {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&id.len()) && id.bytes().all(is_fine) {
        return Ok(());
    }
    Err(ApiError::invalid_request("an id has 1 to 64 characters, of A-Z, a-z, 0-9, _ and -"))
}

/// Returns what every call of a session has in its context.
pub(crate) fn context(session: &Session, request: &FrontendRequest<'_>) -> ToolContext {
    let mut context = ToolContext::new().with_typed(request.memory_budget().clone());
    if let Some(trace) = request.trace() {
        context.insert_typed(trace.clone());
    }
    match &session.key_name {
        Some(name) => context.with_caller(name.clone()),
        None => context,
    }
}

/// Refuses a call that was not confirmed and has to be.
fn check_needs_no_confirmation(toolbox: &Toolbox, name: &str) -> Result<(), ApiError> {
    if !toolbox.get(name).is_some_and(|tool| is_confirmed_first(&**tool)) {
        return Ok(());
    }
    let message = format!("`{name}` may change or destroy something: confirm the call first");
    Err(ApiError::new(StatusCode::CONFLICT, "confirmation-required", message).with_hint("send `\"confirmed\": true`"))
}

/// A call that runs.
struct CallTask {
    executor: Executor,
    toolbox: Result<Toolbox, ToolError>,
    call: ToolCall,
    context: ToolContext,
    /// Lines that do not come from the executor.
    queued: mpsc::Receiver<Vec<u8>>,
    lines: LineSender,
    counted: CountedCall,
    cut_off: Cancellation,
    /// Kept until the call is over: its place among those that run, and what its arguments count against the server's budget.
    _kept: (CallEntry, RequestBody),
}

/// What became of a call, and what its function calls the result.
type NamedResult = (Result<ToolOutput, ToolError>, Option<String>);

impl CallTask {
    async fn run(self) {
        let Self { executor, toolbox, call, context, mut queued, lines, mut counted, cut_off, _kept } = self;
        let (id, tool, raw_request) = (call.id.clone(), call.name.clone(), raw_request(&call));
        let started = Instant::now();
        let running = async {
            let toolbox = match toolbox {
                Ok(toolbox) => toolbox,
                Err(error) => return Ok((Err(error), None)),
            };
            let mut turn = Turn::new();
            let batch = executor.run(&toolbox, vec![call], &mut turn, &context);
            watch(batch, &mut queued, &lines).await
        };
        let ended = tokio::select! {
            biased;
            ended = running => ended,
            () = cut_off.cancelled() => Ok((Err(ToolError::stopped()), None)),
            // The page is gone: dropping the call cancels it.
            () = lines.closed() => return,
        };
        let Ok((result, output_name)) = ended else { return };
        counted.finish(result.as_ref().err().map(ToolError::kind));
        drop(counted);
        let ended = EndedCall {
            id: &id,
            tool: &tool,
            result: &result,
            output_name: output_name.as_deref(),
            raw_request,
            duration: started.elapsed(),
        };
        // A page that reads no longer misses it.
        let _ = lines.send(&OutcomeLine::from(ended)).await;
    }
}

/// Runs a call and sends what happens.
async fn watch(
    mut batch: Batch<'_>,
    queued: &mut mpsc::Receiver<Vec<u8>>,
    lines: &LineSender,
) -> Result<NamedResult, ClientGone> {
    loop {
        let event = tokio::select! {
            biased;
            event = batch.next() => event,
            Some(line) = queued.recv() => {
                lines.send_text(line).await?;
                continue;
            }
        };
        match event {
            Some(ToolEvent::Started(_)) => lines.send(&CallLine::Started {}).await?,
            Some(ToolEvent::Progress(_, progress)) => lines.send(&CallLine::Progress((&progress).into())).await?,
            Some(ToolEvent::Output(call, output)) => {
                let name = call.definition.as_ref().and_then(|definition| definition.output_name());
                if let Ok(value) = RawValue::from_string(call_result(&output, name)) {
                    lines.send(&CallLine::Piece { value, parts: parts::of_output(&output) }).await?;
                }
            }
            Some(ToolEvent::Finished(_, outcome) | ToolEvent::Failed(_, outcome)) => {
                let name = outcome.definition.as_ref().and_then(|definition| definition.output_name());
                let name = name.map(str::to_owned);
                return Ok((outcome.result, name));
            }
            Some(ToolEvent::Suspended(_)) | None => {
                let message = "the call waits for a decision, which cannot be made on this page";
                return Ok((Err(ToolError::denied(message)), None));
            }
            Some(_) => {}
        }
    }
}
