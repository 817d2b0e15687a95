//! What a client is made of: [`ChatClientBuilder`].

use std::fmt;
use std::sync::Arc;

use opentool_core::{IntoToolSource, Respondent, RunJournal, ToolContext};
use serde_json::Value;

use super::chat_client::{ChatClient, ClientParts};
use crate::memory::ChatMemory;
use crate::model::{ChatModel, SavePoint};
use crate::options::ChatOptions;

impl ChatClient {
    /// Makes a client of a provider or a [`ChatModel`].
    pub fn new(model: impl Into<ChatModel>) -> Self {
        Self::builder(model).build()
    }

    /// Starts a client with defaults for all requests.
    pub fn builder(model: impl Into<ChatModel>) -> ChatClientBuilder {
        ChatClientBuilder::new(model.into())
    }
}

/// Builds a [`ChatClient`] with what all its requests share.
///
/// Default tools are available in every request of the client; a request that gives its own replaces them.
///
/// ```
/// # use opentool_chat::testing::ScriptedModel;
/// use opentool_chat::{ChatClient, ChatOptions, InProcessMemory};
/// use opentool_core::FnTool;
///
/// # let model = ScriptedModel::new([]);
/// let client = ChatClient::builder(model)
///     .system("You are terse.")
///     .default_tools(FnTool::new("now", || "noon"))
///     .default_context("tenant", "acme")
///     .default_options(ChatOptions::new().with_temperature(0.2))
///     .memory(InProcessMemory::new())
///     .build();
/// # let _ = client;
/// ```
#[must_use = "a client is made by `build`"]
pub struct ChatClientBuilder(ClientParts);

impl ChatClientBuilder {
    fn new(model: ChatModel) -> Self {
        Self(ClientParts {
            model,
            options: ChatOptions::new(),
            system: None,
            memory: None,
            save: SavePoint::default(),
            conversation: None,
            journal: None,
            run_details: None,
        })
    }

    /// Sets the system text of every conversation, unless the request has its own.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.0.system = Some(text.into());
        self
    }

    /// Sets the tools of every request that does not give its own. An error in them is kept until a request needs them.
    pub fn default_tools<M>(mut self, tools: impl IntoToolSource<M>) -> Self {
        self.0.options = self.0.options.with_tools(tools);
        self
    }

    /// Sets the names of tools for every request that does not give its own.
    pub fn default_tool_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.options = self.0.options.with_tool_names(names);
        self
    }

    /// Adds a value to the tools' context in every request; a request's own value of that name wins.
    pub fn default_context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.options = self.0.options.with_context(key, value);
        self
    }

    /// Adds everything in a context to the tools' context in every request.
    pub fn default_tool_context(mut self, context: &ToolContext) -> Self {
        self.0.options = self.0.options.with_tool_context(context);
        self
    }

    /// Sets what answers the [questions](ToolContext::ask) of tools in every request that does not set its own.
    pub fn respondent(mut self, respondent: impl Respondent) -> Self {
        self.0.options = self.0.options.with_respondent(respondent);
        self
    }

    /// Adds options for every request that does not set its own.
    pub fn default_options(mut self, options: ChatOptions) -> Self {
        self.0.options = self.0.options.and(&options);
        self
    }

    /// Sets the memory of the conversations.
    ///
    /// A request gets what its conversation remembers, and its whole turn is added when it is over. A turn that fails or is
    /// cancelled after a tool has run, or after a text had begun, is added too, with a [mark](crate::AssistantMessage::failure);
    /// one that failed before leaves nothing behind, nor does one that waits for a decision, until it is resumed and ends. A turn
    /// whose future or stream is dropped is not kept: [cancel](crate::ChatRequest::cancellation) it instead. Each request says
    /// [which conversation](crate::ChatRequest::conversation) it belongs to.
    pub fn memory(mut self, memory: impl ChatMemory) -> Self {
        self.0.memory = Some(Arc::new(memory));
        self
    }

    /// Sets whether every round is saved to the memory when it is over, instead of the turn at its end: false.
    ///
    /// The next round then gets what the memory returns: the model sees the window and not the whole turn. Of a process that
    /// dies the finished rounds are kept.
    pub fn memory_in_loop(mut self, inside: bool) -> Self {
        self.0.save = if inside { SavePoint::AfterRound } else { SavePoint::AfterTurn };
        self
    }

    /// Sets the conversation of every request that does not name its own; for a client with a single user.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.0.conversation = Some(id.into());
        self
    }

    /// Records every turn as a run in a journal, so that it can [go on](ChatClient::resume_run) after its process has died.
    ///
    /// The model's answer is recorded before a call of it runs, the start of each call before it runs, and its outcome before it is
    /// seen. What is recorded is not asked or run again. A call that began and has no outcome runs again only if its tool is read-only
    /// or idempotent; any other waits until a person, or its tool, says what became of it. Calls that wait for approval wait in the
    /// journal too, and can be decided by another process. Messages, arguments and results are in the journal; tools, context and
    /// keys are not.
    pub fn journal(mut self, journal: impl RunJournal) -> Self {
        self.0.journal = Some(Arc::new(journal));
        self
    }

    /// Sets what is stored with every run for the application that resumes it: what it needs to make the same client again. No secrets.
    pub fn run_details(mut self, details: impl Into<Value>) -> Self {
        self.0.run_details = Some(details.into());
        self
    }

    /// Makes the client.
    #[must_use]
    pub fn build(self) -> ChatClient {
        ChatClient(Arc::new(self.0))
    }
}

impl fmt::Debug for ChatClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatClientBuilder").field("model", &self.0.model).finish_non_exhaustive()
    }
}
