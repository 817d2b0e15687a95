//! A model with answers written by a test: [`ScriptedModel`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};

use super::reply::Reply;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::message::Message;
use crate::options::ChatOptions;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// A model that gives prepared replies, one per round, and keeps what it was asked.
///
/// A clone shares both. When the script is over it fails.
///
/// ```
/// use opentool_chat::ChatClient;
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_core::FnTool;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("It is noon.")]);
/// let answer = ChatClient::new(model.clone()).prompt("What time is it?").tools(FnTool::new("now", || "12:00")).call().await?;
/// assert_eq!(answer.text(), "It is noon.");
/// assert_eq!(model.requests()[1].messages[2].answers()[0].text.as_ref(), "12:00");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<Script>,
    typed_answers: TypedAnswers,
}

struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<SentRequest>>,
}

/// What a model of the test kit was asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SentRequest {
    /// The conversation.
    pub messages: Vec<Message>,
    /// How it was asked, with all defaults merged in.
    pub options: ChatOptions,
    /// The names of the tools it got.
    pub tools: Vec<String>,
    /// Whether the answer was to be streamed.
    pub streamed: bool,
}

impl SentRequest {
    fn new(request: ModelRequest<'_>, streamed: bool) -> Self {
        Self {
            messages: request.messages.to_vec(),
            options: request.options.clone(),
            tools: request.tools.iter().map(|definition| definition.name().to_owned()).collect(),
            streamed,
        }
    }
}

impl ScriptedModel {
    /// Makes a model of replies.
    #[must_use]
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let script = Script { replies: Mutex::new(replies.into_iter().collect()), requests: Mutex::default() };
        Self { script: Arc::new(script), typed_answers: TypedAnswers::Native }
    }

    /// Sets how the model is held to the form of an answer; natively by default.
    #[must_use]
    pub fn typed_answers_by(mut self, means: TypedAnswers) -> Self {
        self.typed_answers = means;
        self
    }

    /// Returns what the model was asked, round by round.
    #[must_use]
    pub fn requests(&self) -> Vec<SentRequest> {
        lock(&self.script.requests).clone()
    }

    /// Returns how many replies are left.
    #[must_use]
    pub fn replies_left(&self) -> usize {
        lock(&self.script.replies).len()
    }

    fn next(&self, request: ModelRequest<'_>, streamed: bool) -> Reply {
        let mut requests = lock(&self.script.requests);
        requests.push(SentRequest::new(request, streamed));
        let round = requests.len();
        match lock(&self.script.replies).pop_front() {
            Some(reply) => reply.with_ids(round),
            None => Reply::error(ChatError::setup(format!("the script of the model has no reply for round {round}"))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Provider for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> Option<&str> {
        Some("script")
    }

    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    fn typed_answers(&self, _with_tools: bool) -> TypedAnswers {
        self.typed_answers
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        whole(self.next(request, false))
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        streamed(self.next(request, true))
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("replies_left", &self.replies_left()).finish_non_exhaustive()
    }
}

/// A model whose replies come from a function.
///
/// ```
/// use opentool_chat::testing::{FunctionModel, Reply};
/// use opentool_chat::{ChatClient, ModelRequest};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let echo = FunctionModel::new(|request: ModelRequest<'_>| Reply::text(request.messages[0].text()));
/// assert_eq!(ChatClient::new(echo).prompt("Hello?").call().await?.text(), "Hello?");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct FunctionModel {
    function: Arc<Function>,
    typed_answers: TypedAnswers,
}

type Function = dyn Fn(ModelRequest<'_>) -> Reply + Send + Sync;

impl FunctionModel {
    /// Makes a model of a function.
    pub fn new(function: impl Fn(ModelRequest<'_>) -> Reply + Send + Sync + 'static) -> Self {
        Self { function: Arc::new(function), typed_answers: TypedAnswers::Native }
    }

    /// Sets how the model is held to the form of an answer; natively by default.
    #[must_use]
    pub fn typed_answers_by(mut self, means: TypedAnswers) -> Self {
        self.typed_answers = means;
        self
    }

    fn reply(&self, request: ModelRequest<'_>) -> Reply {
        let round = request.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count() + 1;
        (self.function)(request).with_ids(round)
    }
}

impl Provider for FunctionModel {
    fn name(&self) -> &str {
        "function"
    }

    fn model(&self) -> Option<&str> {
        Some("function")
    }

    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    fn typed_answers(&self, _with_tools: bool) -> TypedAnswers {
        self.typed_answers
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        whole(self.reply(request))
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        streamed(self.reply(request))
    }
}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionModel").finish_non_exhaustive()
    }
}

fn whole(reply: Reply) -> BoxFuture<'static, Result<ChatResponse, ChatError>> {
    Box::pin(async move {
        reply.wait().await;
        reply.into_response()
    })
}

fn streamed(reply: Reply) -> BoxStream<'static, Result<Delta, ChatError>> {
    stream::once(async move {
        reply.wait().await;
        stream::iter(reply.into_deltas())
    })
    .flatten()
    .boxed()
}
