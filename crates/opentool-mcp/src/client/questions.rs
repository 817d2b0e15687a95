//! What a server asks the user in the middle of a call: [`ServerQuestions`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use opentool_core::{Question, ToolContext, ToolError, UserAnswer};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses, RequestId,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::call_clock::CallClock;
use super::error::McpError;

/// How many questions a call may have, so that no server asks without end.
const MAX_QUESTIONS: usize = 32;

/// How many questions are kept track of that no call has taken up.
const MAX_ORIGINS: usize = 256;

/// How long a call may take to be known here once its request was sent.
const KNOWN: Duration = Duration::from_secs(5);

/// The calls of one connection that questions may belong to.
#[derive(Default)]
pub(crate) struct ServerQuestions {
    calls: Mutex<Vec<Arc<AskingCall>>>,
    /// Which call each question came with, where the transport can tell.
    origins: Mutex<HashMap<RequestId, RequestId>>,
    is_known: Notify,
}

/// A call whose server may ask.
pub(crate) struct AskingCall {
    /// The id of its request, once that was sent.
    id: OnceLock<RequestId>,
    context: ToolContext,
    clock: Arc<CallClock>,
    asked: AtomicUsize,
    /// Why a question was not answered.
    unanswered: Mutex<Option<String>>,
}

/// A call under way, until it is dropped.
pub(crate) struct CallGuard<'a> {
    questions: &'a ServerQuestions,
    pub(crate) call: Arc<AskingCall>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerQuestions {
    /// Notes a call before its request is sent.
    pub(crate) fn begin(&self, context: &ToolContext, clock: &Arc<CallClock>) -> CallGuard<'_> {
        let call = Arc::new(AskingCall {
            id: OnceLock::new(),
            context: context.clone(),
            clock: clock.clone(),
            asked: AtomicUsize::new(0),
            unanswered: Mutex::default(),
        });
        lock(&self.calls).push(call.clone());
        CallGuard { questions: self, call }
    }

    /// Notes that a question came with the answer to a request.
    pub(crate) fn note_origin(&self, question: RequestId, request: RequestId) {
        let mut origins = lock(&self.origins);
        if origins.len() < MAX_ORIGINS {
            origins.insert(question, request);
        }
    }

    /// Puts a question to the frontend of the call that it belongs to.
    pub(crate) async fn answer(&self, id: &RequestId, asked: ElicitRequestParams) -> Result<ElicitResult, String> {
        self.call_of(id).await?.answer(None, asked).await.map_err(|error| error.message().to_owned())
    }

    async fn call_of(&self, question: &RequestId) -> Result<Arc<AskingCall>, String> {
        let origin = lock(&self.origins).remove(question);
        let Some(origin) = origin else {
            return match &**lock(&self.calls) {
                [call] => Ok(call.clone()),
                [] => Err("no call is under way that the question could belong to".to_owned()),
                // It might be asked of another user than the one whose call it belongs to.
                _ => Err("several calls are under way, and nothing says to which the question belongs".to_owned()),
            };
        };
        let find = async {
            loop {
                let known = self.is_known.notified();
                let found = lock(&self.calls).iter().find(|call| call.id.get() == Some(&origin)).cloned();
                match found {
                    Some(call) => return call,
                    None => known.await,
                }
            }
        };
        timeout(KNOWN, find).await.map_err(|_| "the call that the question belongs to is over".to_owned())
    }
}

impl CallGuard<'_> {
    /// Notes the id of the call's request.
    pub(crate) fn sent(&self, id: &RequestId) {
        // A call that asks for input is sent again, in revisions in which nothing is asked otherwise.
        let _ = self.call.id.set(id.clone());
        self.questions.is_known.notify_waiters();
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        lock(&self.questions.calls).retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

impl AskingCall {
    /// Answers everything that a call wants to know before it goes on.
    pub(crate) async fn answer_all(&self, asked: Option<InputRequests>) -> Result<InputResponses, ToolError> {
        let mut responses = InputResponses::new();
        for (key, request) in asked.unwrap_or_default() {
            let InputRequest::Elicitation(request) = request else { return Err(McpError::InputRequired.into()) };
            let answer = self.answer(Some(&key), request.params).await?;
            responses.insert(key, serde_json::to_value(answer).map_err(ToolError::fatal)?);
        }
        Ok(responses)
    }

    /// Says why a question had no answer, in the words that belong to the failure of its call.
    pub(crate) fn unanswered(&self) -> Option<String> {
        lock(&self.unanswered).clone()
    }

    async fn answer(&self, key: Option<&str>, asked: ElicitRequestParams) -> Result<ElicitResult, ToolError> {
        let answered = self.ask(key, asked).await;
        if let Err(error) = &answered {
            *lock(&self.unanswered) = Some(error.message().to_owned());
        }
        answered
    }

    async fn ask(&self, key: Option<&str>, asked: ElicitRequestParams) -> Result<ElicitResult, ToolError> {
        if self.asked.fetch_add(1, Relaxed) >= MAX_QUESTIONS {
            return Err(ToolError::failed(format!("the tool has more than {MAX_QUESTIONS} questions")));
        }
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = asked else {
            return Err(McpError::InputRequired.into());
        };
        let schema = serde_json::to_value(requested_schema).map_err(ToolError::fatal)?;
        let question = Question::new(message, schema);
        let question = key.into_iter().fold(question, Question::with_key);
        let _stopped = self.clock.stop();
        Ok(match self.context.ask_question(question).await? {
            UserAnswer::Accepted(content) => {
                let mut result = ElicitResult::new(ElicitationAction::Accept);
                result.content = Some(Value::Object(content));
                result
            }
            UserAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            _ => ElicitResult::new(ElicitationAction::Cancel),
        })
    }
}
