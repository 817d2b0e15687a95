//! Turns of a chat: what the person says, and what happens until the model has answered.

mod approver;
mod messages;
mod turn_calls;
mod turn_line;
mod turn_task;

use std::sync::Arc;

use http::StatusCode;
use opentool_chat::ChatClientBuilder;
use opentool_server::{FrontendRequest, FrontendResponse};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::Instrument as _;

use self::approver::PageApprover;
use self::messages::{TurnBody, message, message_form};
use self::turn_calls::TurnCalls;
use self::turn_task::TurnTask;
use crate::approval::CallOrigin;
use crate::calls::{self, answer_question, check_id, read_body};
use crate::conversations::Chat;
use crate::error::ApiError;
use crate::lines::LineSender;
use crate::questions::{OpenQuestions, PageRespondent};
use crate::sessions::Session;
use crate::state::PageState;
use crate::turns::{OpenApprovals, RunningTurn};

/// How many questions and approvals of a turn may wait to be sent.
const BACKLOG: usize = 16;

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
    let approver = PageApprover {
        asking,
        approvals: approvals.clone(),
        is_recorded,
        turns: chat.turns.clone(),
        conversations: chat.conversations.clone(),
        conversation: conversation.clone(),
    };
    let context = calls::context(session, request)
        .with_typed(CallOrigin::Model(Arc::new(approver)))
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

/// Passes the person's answer about a call on.
pub(crate) fn approve(
    state: &PageState,
    session: &Session,
    approval: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let answer = read_body(&request.take_body())?;
    if chat_of(state)?.turns.decide(session.key_name.as_deref().unwrap_or_default(), approval, answer) {
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
