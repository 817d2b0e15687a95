//! Questions that a tool asks while it runs: [`Question`], [`UserAnswer`], and what answers them: [`Respondent`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use serde_json::{Map, Value};

use crate::ToolError;

/// A question of a tool to the person on whose behalf it was called.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What the tool calls the question, where it has a name for it.
    pub key: Option<String>,
    /// The question, in words.
    pub message: String,
    /// The JSON Schema of the answer: an object with properties that are text, numbers, booleans or one of several texts.
    pub schema: Value,
}

impl Question {
    /// Asks something.
    pub fn new(message: impl Into<String>, schema: Value) -> Self {
        Self { key: None, message: message.into(), schema }
    }

    /// Names the question, so that it is known again where a call starts again with its answer.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// What became of a [`Question`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UserAnswer {
    /// The answer, which fits the schema of the question.
    Accepted(Map<String, Value>),
    /// The person does not want to answer.
    Declined,
    /// The question was closed without a decision.
    Dismissed,
}

/// What answers the questions of tools: a frontend that can reach a person, or code that stands in for one.
///
/// ```
/// use opentool_core::{BoxFuture, Executor, FnTool, Question, Respondent, ToolCall, ToolContext, ToolError, UserAnswer};
/// use serde_json::json;
///
/// struct AlwaysAnn;
///
/// impl Respondent for AlwaysAnn {
///     fn respond(&self, _: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
///         let answer = json!({ "name": "Ann" }).as_object().cloned().unwrap_or_default();
///         Box::pin(async { Ok(UserAnswer::Accepted(answer)) })
///     }
/// }
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let greet = FnTool::fallible("greet", |context: ToolContext| async move {
///     let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
///     match context.ask("What is your name?", schema).await? {
///         UserAnswer::Accepted(answer) => Ok(format!("Hello, {}!", answer["name"].as_str().unwrap_or_default())),
///         _ => Ok("Hello!".to_owned()),
///     }
/// });
/// let context = ToolContext::new().with_respondent(AlwaysAnn);
/// let outcome = Executor::new().host(greet).run(ToolCall::new("1", "greet", "{}"), &context).await;
/// assert_eq!(outcome.result.unwrap().to_text(), "Hello, Ann!");
/// # });
/// ```
pub trait Respondent: Send + Sync + 'static {
    /// Answers a question.
    ///
    /// # Errors
    ///
    /// Where it cannot be put to anybody.
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>>;

    /// Says whether the call starts again to get an answer, because its caller has to call again with it: false.
    ///
    /// A [workflow](crate::Workflow) then asks nothing after a step that must not be repeated.
    fn restarts_call(&self) -> bool {
        false
    }
}

/// A closure answers questions too.
impl<F, A> Respondent for F
where
    F: Fn(Question) -> A + Send + Sync + 'static,
    A: Future<Output = Result<UserAnswer, ToolError>> + Send + 'static,
{
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(self(question))
    }
}

/// A respondent in a context, and how long the call of that context has waited for it.
pub(crate) struct AttachedRespondent {
    respondent: Arc<dyn Respondent>,
    waits: Mutex<Waits>,
    /// That of the context with which the call was made: while this call waits, so does the one that made it.
    outer: Option<Arc<AttachedRespondent>>,
}

#[derive(Default)]
struct Waits {
    over: Duration,
    open: usize,
    since: Option<Instant>,
}

impl AttachedRespondent {
    pub(crate) fn new(respondent: Arc<dyn Respondent>) -> Self {
        Self { respondent, waits: Mutex::default(), outer: None }
    }

    /// Returns the same respondent for a call, which has waited for nothing yet.
    pub(crate) fn for_call(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { respondent: self.respondent.clone(), waits: Mutex::default(), outer: Some(self.clone()) })
    }

    /// Puts a question; the time until it is answered counts against no deadline.
    pub(crate) async fn ask(&self, question: Question, now: fn() -> Instant) -> Result<UserAnswer, ToolError> {
        let _open = OpenQuestion::new(self, now);
        self.respondent.respond(question).await
    }

    /// Says whether the call starts again to get an answer.
    pub(crate) fn restarts_call(&self) -> bool {
        self.respondent.restarts_call()
    }

    /// Returns how long the call has waited for answers.
    pub(crate) fn waited(&self, now: Instant) -> Duration {
        let waits = self.lock();
        waits.over + waits.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Returns this and those of the calls around it.
    fn with_outer(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |inner| inner.outer.as_deref())
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for its answer.
struct OpenQuestion<'a> {
    respondent: &'a AttachedRespondent,
    now: fn() -> Instant,
}

impl<'a> OpenQuestion<'a> {
    fn new(respondent: &'a AttachedRespondent, now: fn() -> Instant) -> Self {
        let begun = now();
        for waiting in respondent.with_outer() {
            let mut waits = waiting.lock();
            waits.open += 1;
            waits.since.get_or_insert(begun);
        }
        Self { respondent, now }
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let now = (self.now)();
        for waiting in self.respondent.with_outer() {
            let mut waits = waiting.lock();
            waits.open -= 1;
            if waits.open == 0
                && let Some(since) = waits.since.take()
            {
                waits.over += now.saturating_duration_since(since);
            }
        }
    }
}
