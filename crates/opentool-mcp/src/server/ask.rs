//! Questions of tools to the person behind a client: [`Elicitor`] asks at once, [`Collector`] lets the client call again.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::{BoxFuture, Question, Respondent, ToolError, UserAnswer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};

use super::answer;
use super::json_text::JsonText;
use super::sink::MessageSink;

pub(crate) const METHOD: &str = "elicitation/create";

/// A question as the protocol words it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ElicitParams<'a> {
    mode: &'static str,
    message: &'a str,
    requested_schema: &'a Value,
}

impl<'a> From<&'a Question> for ElicitParams<'a> {
    fn from(question: &'a Question) -> Self {
        Self { mode: "form", message: &question.message, requested_schema: &question.schema }
    }
}

#[derive(Deserialize)]
struct ElicitResult {
    action: ElicitAction,
    content: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ElicitAction {
    Accept,
    Decline,
    Cancel,
}

/// Reads the answer to a question from its JSON.
pub(crate) fn read_answer(json: &str) -> Result<UserAnswer, serde_json::Error> {
    let ElicitResult { action, content } = serde_json::from_str(json)?;
    Ok(match action {
        ElicitAction::Accept => UserAnswer::Accepted(content.unwrap_or_default()),
        ElicitAction::Decline => UserAnswer::Declined,
        ElicitAction::Cancel => UserAnswer::Dismissed,
    })
}

/// Says whether the capabilities of a client include questions with a form.
pub(crate) fn answers_questions(capabilities: Option<JsonText<'_>>) -> bool {
    #[derive(Deserialize)]
    struct ClientCapabilities {
        elicitation: Option<Map<String, Value>>,
    }
    // Most clients do not, and need not be parsed.
    let capabilities = capabilities.map(JsonText::get).filter(|json| json.contains("\"elicitation\""));
    let capabilities = capabilities.and_then(|json| serde_json::from_str::<ClientCapabilities>(json).ok());
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// The questions of one client that wait for their answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenQuestions(Arc<Questions>);

#[derive(Debug, Default)]
struct Questions {
    open: Mutex<HashMap<String, oneshot::Sender<Result<UserAnswer, ToolError>>>>,
    asked: AtomicU64,
}

impl OpenQuestions {
    /// Passes the answer of a client on; one that no call waits for is dropped.
    pub(crate) fn answer(&self, id: JsonText<'_>, result: Option<JsonText<'_>>) {
        let waiting = id.string().and_then(|id| self.lock().remove(&*id));
        let Some(waiting) = waiting else { return };
        let answer = match result.map(|result| read_answer(result.get())) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => {
                Err(ToolError::failed(format!("the client's answer to a question cannot be read: {error}")))
            }
            None => Err(ToolError::failed("the client refused to ask the tool's question")),
        };
        let _ = waiting.send(answer);
    }

    /// Gives up all questions.
    pub(crate) fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Result<UserAnswer, ToolError>>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts questions to a client while the call runs, as the revisions with `initialize` do.
pub(crate) struct Elicitor {
    pub(crate) sink: Arc<dyn MessageSink>,
    pub(crate) questions: OpenQuestions,
}

/// Removes a question that is given up.
struct GiveUp<'a>(&'a OpenQuestions, &'a str);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}

impl Respondent for Elicitor {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async move {
            let id = format!("question-{}", self.questions.0.asked.fetch_add(1, Relaxed) + 1);
            let (sender, answer) = oneshot::channel();
            self.questions.lock().insert(id.clone(), sender);
            let _give_up = GiveUp(&self.questions, &id);
            let gone = || ToolError::unavailable("the client went away before it answered the tool's question");
            if !self.sink.send(answer::request(&id, METHOD, ElicitParams::from(&question))).await {
                return Err(gone());
            }
            tokio::select! {
                answer = answer => answer.unwrap_or_else(|_| Err(gone())),
                () = self.sink.closed() => Err(gone()),
            }
        })
    }
}

/// Collects the questions of a call whose client calls again with the answers, as the stateless revisions do.
#[derive(Clone)]
pub(crate) struct Collector(Arc<Collected>);

struct Collected {
    /// The answers that the client has given so far.
    answers: HashMap<String, UserAnswer>,
    open: Mutex<Vec<(String, Question)>>,
    asked: Notify,
    count: AtomicUsize,
}

impl Collector {
    pub(crate) fn new(answers: HashMap<String, UserAnswer>) -> Self {
        let (open, asked, count) = (Mutex::default(), Notify::new(), AtomicUsize::new(0));
        Self(Arc::new(Collected { answers, open, asked, count }))
    }

    /// Waits until the call has a question without an answer, and returns all that it has then.
    pub(crate) async fn questions(&self) -> Vec<(String, Question)> {
        self.0.asked.notified().await;
        std::mem::take(&mut *self.0.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn answers(&self) -> &HashMap<String, UserAnswer> {
        &self.0.answers
    }
}

impl Respondent for Collector {
    fn respond(&self, mut question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        let number = self.0.count.fetch_add(1, Relaxed) + 1;
        Box::pin(async move {
            let key = question.key.take().unwrap_or_else(|| format!("question-{number}"));
            if let Some(answer) = self.0.answers.get(&key) {
                return Ok(answer.clone());
            }
            self.0.open.lock().unwrap_or_else(PoisonError::into_inner).push((key, question));
            self.0.asked.notify_one();
            // The call ends here, and starts again when the client has the answer.
            pending().await
        })
    }

    fn restarts_call(&self) -> bool {
        true
    }
}
