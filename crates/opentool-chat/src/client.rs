//! The front door: [`ChatClient`].

mod as_tool;
mod builder;
mod request;

use std::fmt;
use std::sync::Arc;

pub use self::builder::ChatClientBuilder;
pub use self::request::ChatRequest;
use crate::{ChatMemory, ChatModel, ChatOptions, Prompt, RunState};

/// Asks a model that uses your tools, in three lines.
///
/// ```
/// use opentool_chat::ChatClient;
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_core::FnTool;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("Tomorrow is 2015-10-21.")]);
/// let answer = ChatClient::new(model)
///     .prompt("What day is tomorrow?")
///     .tools(FnTool::new("now", || "2015-10-20T12:00:00Z"))
///     .call().await?;
/// assert_eq!(answer.text(), "Tomorrow is 2015-10-21.");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
///
/// [`builder`](Self::builder) has what all requests share: default tools, system text, memory. A clone shares everything.
#[derive(Clone)]
pub struct ChatClient(Arc<Inner>);

struct Inner {
    model: ChatModel,
    options: ChatOptions,
    system: Option<Arc<str>>,
    memory: Option<Arc<dyn ChatMemory>>,
    memory_in_loop: bool,
    conversation: Option<String>,
}

impl ChatClient {
    /// Makes a client of a provider or a [`ChatModel`].
    pub fn new(model: impl Into<ChatModel>) -> Self {
        Self::builder(model).build()
    }

    /// Starts a client with defaults for all requests.
    pub fn builder(model: impl Into<ChatModel>) -> ChatClientBuilder {
        ChatClientBuilder::new(model.into())
    }

    /// Starts a request with what the user says, or with a whole conversation.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> ChatRequest {
        ChatRequest::ask(self.clone(), prompt.into())
    }

    /// Starts to go on with a run that waited for decisions.
    ///
    /// Tools and context that were given with the first request, and not by default, are given again.
    pub fn resume(&self, state: RunState) -> ChatRequest {
        ChatRequest::resume(self.clone(), state)
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &ChatModel {
        &self.0.model
    }
}

impl fmt::Debug for ChatClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatClient")
            .field("model", &self.0.model)
            .field("options", &self.0.options)
            .field("remembers", &self.0.memory.is_some())
            .finish_non_exhaustive()
    }
}
