use std::fmt;
use std::sync::Arc;

use opentool_core::{IntoToolSource, ToolContext};
use serde_json::Value;

use super::{ChatClient, Inner};
use crate::{ChatMemory, ChatModel, ChatOptions};

/// Builds a [`ChatClient`] with what all its requests share.
///
/// Default tools are at hand in every request of the client; a request that gives its own replaces them.
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
pub struct ChatClientBuilder(Inner);

impl ChatClientBuilder {
    pub(super) fn new(model: ChatModel) -> Self {
        Self(Inner {
            model,
            options: ChatOptions::new(),
            system: None,
            memory: None,
            memory_in_loop: false,
            conversation: None,
        })
    }

    /// Sets what every conversation begins with, unless the request says otherwise.
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

    /// Adds a value to what tools are handed in every request; a request's own value of that name wins.
    pub fn default_context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.options = self.0.options.with_context(key, value);
        self
    }

    /// Adds everything in a context to what tools are handed in every request.
    pub fn default_tool_context(mut self, context: &ToolContext) -> Self {
        self.0.options = self.0.options.with_tool_context(context);
        self
    }

    /// Adds options for every request that does not say otherwise.
    pub fn default_options(mut self, options: ChatOptions) -> Self {
        self.0.options = self.0.options.and(&options);
        self
    }

    /// Sets the memory of the conversations.
    ///
    /// A request gets what its conversation remembers, and its whole turn is added when it is over: a turn that fails, is
    /// cancelled or waits for a decision leaves nothing behind. Each request says [which
    /// conversation](super::ChatRequest::conversation) it belongs to.
    pub fn memory(mut self, memory: impl ChatMemory) -> Self {
        self.0.memory = Some(Arc::new(memory));
        self
    }

    /// Sets whether the memory is inside the loop: false.
    ///
    /// Inside, every round is remembered when it is over, and the next one gets what the memory makes of it: the model sees the
    /// window and not the whole turn, and a turn that fails leaves its finished rounds behind.
    pub fn memory_in_loop(mut self, inside: bool) -> Self {
        self.0.memory_in_loop = inside;
        self
    }

    /// Sets the conversation of every request that does not name its own; for a client with a single user.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.0.conversation = Some(id.into());
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
