//! Questions of tools to the person at the page: [`OpenQuestions`], [`PageRespondent`].

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::{BoxFuture, Question, Respondent, ToolError, UserAnswer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::lines::to_line;

/// The questions that wait for their answers.
#[derive(Default)]
pub(crate) struct OpenQuestions {
    open: Mutex<HashMap<String, oneshot::Sender<UserAnswer>>>,
    asked: AtomicU64,
}

/// An answer as the page sends it.
#[derive(Deserialize)]
pub(crate) struct AnswerBody {
    pub(crate) ask: String,
    action: AnswerAction,
    content: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AnswerAction {
    Accept,
    Decline,
    Cancel,
}

impl From<AnswerBody> for UserAnswer {
    fn from(body: AnswerBody) -> Self {
        match body.action {
            AnswerAction::Accept => Self::Accepted(body.content.unwrap_or_default()),
            AnswerAction::Decline => Self::Declined,
            AnswerAction::Cancel => Self::Dismissed,
        }
    }
}

impl OpenQuestions {
    /// Passes an answer on; says whether a question waited for it.
    pub(crate) fn answer(&self, body: AnswerBody) -> bool {
        let waiting = self.lock().remove(&body.ask);
        waiting.is_some_and(|waiting| waiting.send(body.into()).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<UserAnswer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OpenQuestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenQuestions").field("open", &self.lock().len()).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct AskLine<'a> {
    r#type: &'static str,
    ask: &'a str,
    message: &'a str,
    schema: &'a Value,
}

/// Puts the questions of a call's tools to the page.
pub(crate) struct PageRespondent {
    pub(crate) questions: Arc<OpenQuestions>,
    /// The lines of the call that the page reads.
    pub(crate) lines: mpsc::Sender<Vec<u8>>,
}

/// Removes a question that is given up.
struct GiveUp<'a>(&'a OpenQuestions, &'a str);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}

impl Respondent for PageRespondent {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async move {
            let gone = || ToolError::unavailable("the page was closed before it answered the tool's question");
            let id = format!("question-{}", self.questions.asked.fetch_add(1, Relaxed) + 1);
            let (sender, answer) = oneshot::channel();
            self.questions.lock().insert(id.clone(), sender);
            let _give_up = GiveUp(&self.questions, &id);
            let line = AskLine { r#type: "ask", ask: &id, message: &question.message, schema: &question.schema };
            self.lines.send(to_line(&line)).await.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())
        })
    }
}
