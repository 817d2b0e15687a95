//! Turns of a chat: what the person says, and what happens until the model has answered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use opentool_chat::{
    ChatClientBuilder, ChatError, ChatEvent, ChatRequest, ChatResponse, ChatStream, Media, Message, ToolAnswer, Usage,
    UserMessage, UserPart,
};
use opentool_core::{ApprovalRequest, BoxFuture, CallRef, Cancellation, Decision, Outcome, ToolError, ToolEvent};
use opentool_server::{
    CallCounter, ClientGone, CountedCall, FrontendRequest, FrontendResponse, RequestBody, TooManyCalls,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::approval::{CallOrigin, PersonAsked, denied};
use crate::calls::{self, ProgressForm, answer_question, check_id, read_body};
use crate::conversations::{ApprovedTool, Chat, Conversations};
use crate::error::ApiError;
use crate::lines::LineSender;
use crate::outcome::ErrorForm;
use crate::parts::{self, PartForm, raw_arguments};
use crate::questions::{OpenQuestions, PageRespondent};
use crate::sessions::Session;
use crate::state::PageState;
use crate::tools::HintForm;
use crate::turns::{OpenApprovals, PersonsWord, RunningTurn, RunningTurns, TurnEntry};

/// How many questions and approvals of a turn may wait to be sent.
const BACKLOG: usize = 16;

/// How many files a message may have.
const MAX_ATTACHMENTS: usize = 16;

#[derive(Deserialize)]
struct TurnBody {
    conversation: String,
    turn: String,
    text: String,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment {
    name: Option<String>,
    mime_type: String,
    data: String,
}

/// Starts a turn; what happens is the body of the answer.
pub(crate) fn start(
    state: &Arc<PageState>,
    session: &Arc<Session>,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let chat = chat_of(state)?;
    let model = chat.model().ok_or_else(no_model)?;
    let mut body = request.take_body();
    let given: TurnBody = read_body(&body)?;
    check_id(&given.conversation)?;
    check_id(&given.turn)?;
    let message = message(&given)?;
    let owner: Arc<str> = session.key_name.clone().unwrap_or_default();
    let conversation = kept_name(session, &given.conversation);
    let (questions, approvals) = (Arc::new(OpenQuestions::default()), Arc::new(OpenApprovals::default()));
    let cancellation = session.over.child();
    let entry = chat.turns.enter(RunningTurn {
        owner,
        id: given.turn,
        conversation: conversation.clone(),
        cancellation: cancellation.clone(),
        questions: questions.clone(),
        approvals: approvals.clone(),
    })?;
    let is_recorded = is_recorded(state);
    let (queue, queued) = mpsc::channel(BACKLOG);
    let (asking, asked) = mpsc::channel(BACKLOG);
    let person = PersonAtPage {
        asking,
        approvals: approvals.clone(),
        is_recorded,
        turns: chat.turns.clone(),
        conversations: chat.conversations.clone(),
        conversation: conversation.clone(),
    };
    let context = calls::context(session, request)
        .with_typed(CallOrigin::Model(Arc::new(person)))
        .with_respondent(PageRespondent { questions, lines: queue });
    let client = recorded(state, chat.client(&model, request.host())).build();
    let turn =
        client.prompt(message).conversation(conversation).tool_context(&context).cancellation(cancellation.clone());
    // The message has its own copy.
    body.release();
    let (response, lines) = LineSender::open();
    let cut_off = request.cut_off();
    let calls = TurnCalls::new(request.call_counter());
    let approvals = is_recorded.then_some(approvals);
    let task = TurnTask { turn, queued, asked, approvals, lines, calls, cancellation, cut_off, _kept: (entry, body) };
    tokio::spawn(task.run().in_current_span());
    Ok(response)
}

/// Makes every turn of a client a run, where the page has a journal.
#[cfg(feature = "journal")]
fn recorded(state: &PageState, client: ChatClientBuilder) -> ChatClientBuilder {
    let Some(journal) = &state.journal else { return client };
    let client = client.journal(journal.clone());
    match &state.settings.run_details {
        Some(details) => client.run_details(details()),
        None => client,
    }
}

#[cfg(not(feature = "journal"))]
fn recorded(_: &PageState, client: ChatClientBuilder) -> ChatClientBuilder {
    client
}

#[cfg(feature = "journal")]
fn is_recorded(state: &PageState) -> bool {
    state.journal.is_some()
}

#[cfg(not(feature = "journal"))]
fn is_recorded(_: &PageState) -> bool {
    false
}

/// Passes the person's word about a call on.
pub(crate) fn approve(
    state: &PageState,
    session: &Session,
    approval: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let word = read_body(&request.take_body())?;
    if chat_of(state)?.turns.decide(session.key_name.as_deref().unwrap_or_default(), approval, word) {
        return Ok(FrontendResponse::empty(StatusCode::NO_CONTENT));
    }
    Err(ApiError::not_found("no call waits for this approval"))
}

/// Answers a question of a tool that a turn called.
pub(crate) fn answer(
    state: &PageState,
    session: &Session,
    turn: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let turn = chat_of(state)?.turns.find(session.key_name.as_deref().unwrap_or_default(), turn);
    let turn = turn.ok_or_else(|| ApiError::not_found("no turn of this id is running"))?;
    answer_question(&turn.questions, &request.take_body())
}

/// Cancels the turn of an id, otherwise forgets the conversation of that id.
pub(crate) fn end(state: &PageState, session: &Session, id: &str) -> Result<FrontendResponse, ApiError> {
    let chat = chat_of(state)?;
    match chat.turns.find(session.key_name.as_deref().unwrap_or_default(), id) {
        Some(turn) => turn.cancellation.cancel(),
        None if chat.conversations.forget(&kept_name(session, id)) => {}
        None => return Err(ApiError::not_found("there is no turn and no conversation of this id")),
    }
    Ok(FrontendResponse::empty(StatusCode::NO_CONTENT))
}

/// Answers with what was said in a conversation.
pub(crate) fn show(state: &PageState, session: &Session, id: &str) -> Result<FrontendResponse, ApiError> {
    let chat = chat_of(state)?;
    let name = kept_name(session, id);
    let messages = chat.conversations.messages(&name);
    let messages: Vec<Value> = messages.iter().filter_map(message_form).collect();
    let body = json!({ "messages": messages, "turn": chat.turns.of_conversation(&name) });
    Ok(FrontendResponse::json(StatusCode::OK, body.to_string()))
}

fn chat_of(state: &PageState) -> Result<&Chat, ApiError> {
    state.chat.as_ref().ok_or_else(no_model)
}

fn no_model() -> ApiError {
    ApiError::not_found("this server has no model to chat with")
        .with_hint("name one in opentool.toml or on the command line of `opentool serve`")
}

/// The name under which a conversation is kept: callers with different API keys do not see each other's.
fn kept_name(session: &Session, id: &str) -> String {
    format!("{}/{id}", session.key_name.as_deref().unwrap_or_default())
}

/// Makes what the model reads of what the person said.
fn message(given: &TurnBody) -> Result<UserMessage, ApiError> {
    if given.text.trim().is_empty() && given.attachments.is_empty() {
        return Err(ApiError::invalid_request("the message is empty: write something, or attach a file"));
    }
    if given.attachments.len() > MAX_ATTACHMENTS {
        let message = format!("a message has at most {MAX_ATTACHMENTS} files");
        return Err(ApiError::invalid_request(message));
    }
    given.attachments.iter().try_fold(UserMessage::new(given.text.as_str()), |message, attachment| {
        let media = Media::from_base64(&attachment.mime_type, &attachment.data)
            .map_err(|error| ApiError::invalid_request(format!("a file cannot be attached: {error}")))?;
        Ok(message.with_media(match &attachment.name {
            Some(name) => media.with_name(name.as_str()),
            None => media,
        }))
    })
}

/// A message as the page shows it; none for what the application asks of the model.
fn message_form(message: &Message) -> Option<Value> {
    Some(match message {
        Message::User(user) => {
            let attachments = user
                .media()
                .map(|media| json!({ "name": media.name(), "mimeType": media.media_type(), "data": media.base64() }));
            let more = user.parts.iter().filter_map(|part| match part {
                UserPart::Text(text) => Some(&**text),
                _ => None,
            });
            let text = std::iter::once(&*user.text).chain(more).collect::<Vec<_>>().join("\n");
            json!({ "role": "user", "text": text, "attachments": attachments.collect::<Vec<_>>() })
        }
        Message::Assistant(assistant) => {
            let calls = assistant.tool_calls.iter().map(
                |call| json!({ "id": &*call.id, "tool": &*call.name, "arguments": arguments(call.arguments.as_str()) }),
            );
            json!({
                "role": "assistant", "text": &*assistant.text, "reasoning": &*assistant.reasoning,
                "calls": calls.collect::<Vec<_>>(), "failure": assistant.failure.as_deref(),
            })
        }
        Message::Tool(tool) => {
            let answers = tool.answers.iter().map(|answer| {
                json!({ "id": &*answer.call_id, "tool": &*answer.tool, "ok": !answer.is_error(), "text": &*answer.text })
            });
            json!({ "role": "tool", "answers": answers.collect::<Vec<_>>() })
        }
        _ => return None,
    })
}

/// The arguments of a call as JSON, or as a text where they are none.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A call that waits for the person's word.
struct AskedCall {
    approval: String,
    call_id: String,
    tool: String,
    arguments: Option<Box<RawValue>>,
    hints: HintForm,
}

/// Asks the person at the page about the calls of a turn.
struct PersonAtPage {
    asking: mpsc::Sender<AskedCall>,
    approvals: Arc<OpenApprovals>,
    /// Whether a call can wait in a journal.
    is_recorded: bool,
    turns: RunningTurns,
    conversations: Arc<Conversations>,
    conversation: String,
}

impl PersonAsked for PersonAtPage {
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let definition = request.tool.definition();
            let tool = ApprovedTool::new(definition);
            if self.conversations.is_always_approved(&self.conversation, &tool) {
                return Decision::Approve;
            }
            let name = self.turns.name_approval();
            let mut approval = self.approvals.open(&name);
            let asked = AskedCall {
                approval: name.clone(),
                call_id: request.call_id.to_owned(),
                tool: definition.name().to_owned(),
                arguments: raw_arguments(request.arguments.as_str()),
                hints: request.tool.metadata().into(),
            };
            let word = match self.asking.send(asked).await {
                Ok(()) => approval.word().await,
                Err(_) => None,
            };
            let Some(word) = word else {
                return if self.is_recorded { Decision::Suspend } else { denied(None) };
            };
            match word.decision {
                PersonsWord::Allow => Decision::Approve,
                PersonsWord::Always => {
                    self.conversations.always_approve(&self.conversation, tool);
                    Decision::Approve
                }
                PersonsWord::Deny => denied(word.reason.as_deref()),
            }
        })
    }
}

/// What happens in a turn.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum TurnLine<'a> {
    Text {
        delta: &'a str,
    },
    Reasoning {
        delta: &'a str,
    },
    Call {
        id: &'a str,
        tool: &'a str,
        arguments: Option<Box<RawValue>>,
        round: u32,
    },
    Approval {
        id: &'a str,
        call: Option<&'a str>,
        tool: &'a str,
        arguments: Option<&'a RawValue>,
        hints: &'a HintForm,
    },
    Progress {
        id: &'a str,
        #[serde(flatten)]
        progress: ProgressForm<'a>,
    },
    Piece {
        id: &'a str,
        parts: Vec<PartForm<'a>>,
    },
    Result {
        id: &'a str,
        ok: bool,
        text: &'a str,
        parts: Vec<PartForm<'a>>,
        error: Option<ErrorForm<'a>>,
        duration_ms: f64,
    },
    Usage(UsageForm),
    End {
        reason: &'a str,
        text: &'a str,
        usage: UsageForm,
        cost: Option<f64>,
        duration_ms: f64,
    },
    Error {
        error: TurnErrorForm<'a>,
        duration_ms: f64,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageForm {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    reasoning_tokens: u64,
}

#[derive(Serialize)]
struct TurnErrorForm<'a> {
    kind: &'a str,
    message: String,
}

impl From<&Usage> for UsageForm {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}

/// The calls of a turn as the page knows them.
struct TurnCalls {
    counter: CallCounter,
    round: u32,
    /// The ids that were given out. Models repeat theirs.
    ids: HashSet<String>,
    /// The calls of this round, by their place in it.
    open: HashMap<usize, ShownCall>,
}

struct ShownCall {
    /// The id that the page knows the call by.
    id: String,
    /// The id that the model gave it.
    model_id: Arc<str>,
    counted: CountedCall,
    since: Instant,
}

impl TurnCalls {
    fn new(counter: CallCounter) -> Self {
        Self { counter, round: 0, ids: HashSet::new(), open: HashMap::new() }
    }

    /// Notes a call that the model asked for.
    fn add(&mut self, call: &CallRef) -> Result<&str, TooManyCalls> {
        if call.index == 0 {
            self.round += 1;
        }
        let mut id = call.id.to_string();
        let mut number = 1;
        while id.is_empty() || self.ids.contains(&id) {
            number += 1;
            id = format!("{}-{number}", call.id);
        }
        self.ids.insert(id.clone());
        let counted = self.counter.count(call.tool.clone())?;
        let shown = ShownCall { id, model_id: call.id.clone(), counted, since: Instant::now() };
        Ok(&self.open.entry(call.index).insert_entry(shown).into_mut().id)
    }

    fn id(&self, call: &CallRef) -> Option<&str> {
        self.open.get(&call.index).map(|shown| &*shown.id)
    }

    /// Finds the call that an approval is about: itself, or the one that makes it.
    fn of_model_id(&self, id: &str) -> Option<&str> {
        let calls = || self.open.values();
        let found = calls().find(|shown| *shown.model_id == *id);
        let around = || calls().find(|shown| !shown.model_id.is_empty() && id.starts_with(&*shown.model_id));
        found.or_else(around).map(|shown| &*shown.id)
    }

    /// Takes a call that is over.
    fn end(&mut self, call: &CallRef, outcome: Option<&Outcome>) -> Option<(String, Duration)> {
        let mut shown = self.open.remove(&call.index)?;
        if let Some(outcome) = outcome {
            shown.counted.finish(outcome.error().map(ToolError::kind));
        }
        Some((shown.id, shown.since.elapsed()))
    }
}

/// A turn that runs.
struct TurnTask {
    turn: ChatRequest,
    queued: mpsc::Receiver<Vec<u8>>,
    asked: mpsc::Receiver<AskedCall>,
    /// The calls that wait for the person; none where they cannot wait in a journal.
    approvals: Option<Arc<OpenApprovals>>,
    lines: LineSender,
    calls: TurnCalls,
    cancellation: Cancellation,
    cut_off: Cancellation,
    /// Kept until the turn is over: its place among those that run, and what the message counts against the server's budget.
    _kept: (TurnEntry, RequestBody),
}

/// Why a turn is not shown to its end.
enum TurnStop {
    Gone,
    TooManyCalls(TooManyCalls),
}

impl From<ClientGone> for TurnStop {
    fn from(ClientGone: ClientGone) -> Self {
        Self::Gone
    }
}

impl TurnTask {
    async fn run(self) {
        let Self { turn, mut queued, mut asked, approvals, lines, mut calls, cancellation, cut_off, _kept } = self;
        let started = Instant::now();
        let mut stream = turn.stream();
        let forwarded = tokio::select! {
            biased;
            forwarded = forward(&mut stream, &mut queued, &mut asked, &lines, &mut calls, started) => forwarded,
            () = cut_off.cancelled() => {
                let error = TurnErrorForm { kind: "unavailable", message: "the server stopped".to_owned() };
                let _ = lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await;
                return;
            }
            () = lines.closed() => Err(TurnStop::Gone),
        };
        match forwarded {
            Ok(()) => {}
            Err(TurnStop::TooManyCalls(error)) => {
                cancellation.cancel();
                let error = TurnErrorForm { kind: "busy", message: error.to_string() };
                let _ = lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await;
            }
            // A call that waited for the person waits in the journal from now on, which ends the turn.
            Err(TurnStop::Gone) if approvals.is_some_and(|approvals| approvals.leave()) => {
                drop((queued, asked));
                tokio::select! {
                    () = finish(&mut stream, &mut calls) => {}
                    () = cut_off.cancelled() => {}
                }
            }
            // Dropping the turn ends the request to the model and cancels the calls.
            Err(TurnStop::Gone) => {}
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs a turn that no page shows any more until it waits for decisions.
async fn finish(stream: &mut ChatStream, calls: &mut TurnCalls) {
    while let Some(Ok(event)) = stream.next().await {
        match event {
            ChatEvent::Tool(ToolEvent::Finished(call, outcome) | ToolEvent::Failed(call, outcome)) => {
                drop(calls.end(&call, Some(&outcome)));
            }
            // Before the end, the model was asked for a person who has gone: another process goes on, where one is wanted.
            ChatEvent::Done(_)
            | ChatEvent::Text(_)
            | ChatEvent::Reasoning(_)
            | ChatEvent::Tool(ToolEvent::Requested(..)) => return,
            _ => {}
        }
    }
}

/// Runs a turn and sends what happens.
async fn forward(
    stream: &mut ChatStream,
    queued: &mut mpsc::Receiver<Vec<u8>>,
    asked: &mut mpsc::Receiver<AskedCall>,
    lines: &LineSender,
    calls: &mut TurnCalls,
    started: Instant,
) -> Result<(), TurnStop> {
    loop {
        // What happened comes first, so that a call is known before it is asked about.
        let event = tokio::select! {
            biased;
            event = stream.next() => event,
            Some(call) = asked.recv() => {
                let AskedCall { approval, call_id, tool, arguments, hints } = &call;
                let (call, arguments) = (calls.of_model_id(call_id), arguments.as_deref());
                lines.send(&TurnLine::Approval { id: approval, call, tool, arguments, hints }).await?;
                continue;
            }
            Some(line) = queued.recv() => {
                lines.send_text(line).await?;
                continue;
            }
        };
        match event {
            None => return Ok(()),
            Some(Ok(ChatEvent::Done(response))) => return Ok(send_end(lines, &response, started).await?),
            Some(Err(error)) => return Ok(send_error(lines, &error, started).await?),
            Some(Ok(ChatEvent::Text(delta))) => lines.send(&TurnLine::Text { delta: &delta }).await?,
            Some(Ok(ChatEvent::Reasoning(delta))) => lines.send(&TurnLine::Reasoning { delta: &delta }).await?,
            Some(Ok(ChatEvent::Usage(usage))) => lines.send(&TurnLine::Usage((&usage).into())).await?,
            Some(Ok(ChatEvent::Tool(event))) => send_tool_event(lines, calls, event).await?,
            Some(Ok(_)) => {}
        }
    }
}

async fn send_end(lines: &LineSender, response: &ChatResponse, started: Instant) -> Result<(), ClientGone> {
    let line = TurnLine::End {
        reason: response.end().as_str(),
        text: &response.text(),
        usage: (&response.usage).into(),
        cost: response.cost().filter(|cost| cost.is_finite()),
        duration_ms: millis(started.elapsed()),
    };
    lines.send(&line).await
}

async fn send_error(lines: &LineSender, error: &ChatError, started: Instant) -> Result<(), ClientGone> {
    let error = TurnErrorForm { kind: error.cause().as_str(), message: error.to_string() };
    lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await
}

async fn send_tool_event(lines: &LineSender, calls: &mut TurnCalls, event: ToolEvent) -> Result<(), TurnStop> {
    match event {
        ToolEvent::Requested(call, arguments) => {
            calls.add(&call).map_err(TurnStop::TooManyCalls)?;
            let (id, round) = (calls.id(&call).unwrap_or_default(), calls.round);
            let arguments = raw_arguments(arguments.as_str());
            lines.send(&TurnLine::Call { id, tool: &call.tool, arguments, round }).await?;
        }
        ToolEvent::Progress(call, progress) => {
            if let Some(id) = calls.id(&call) {
                lines.send(&TurnLine::Progress { id, progress: (&progress).into() }).await?;
            }
        }
        ToolEvent::Output(call, output) => {
            if let Some(id) = calls.id(&call) {
                lines.send(&TurnLine::Piece { id, parts: parts::of_output(&output) }).await?;
            }
        }
        ToolEvent::Finished(call, outcome) | ToolEvent::Failed(call, outcome) => {
            let Some((id, time)) = calls.end(&call, Some(&outcome)) else { return Ok(()) };
            let answer = ToolAnswer::from_outcome(&outcome);
            let output = outcome.output().or_else(|| outcome.error().and_then(ToolError::output));
            let line = TurnLine::Result {
                id: &id,
                ok: !outcome.is_error(),
                text: &answer.text,
                parts: output.map(parts::of_output).unwrap_or_default(),
                error: outcome.error().map(ErrorForm::from),
                duration_ms: millis(time),
            };
            lines.send(&line).await?;
        }
        ToolEvent::Suspended(call) => drop(calls.end(&call, None)),
        _ => {}
    }
    Ok(())
}
