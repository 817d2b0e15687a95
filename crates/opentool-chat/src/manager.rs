//! Who runs the calls of an answer: [`ToolCallingManager`].

mod default;
mod execution;

use futures_core::future::BoxFuture;
use opentool_core::{ToolCall, Turn};

pub use self::default::DefaultToolCallingManager;
pub use self::execution::{Execution, ToolEvents};
use crate::{ChatError, ChatOptions, ChatResponse, FinishReason, Generation, Message, Prompt, ToolDefinitions};

/// Finds the tools of a request and runs the calls of an answer.
///
/// A [`ChatModel`](crate::ChatModel) does it through its manager, and whoever takes the loop into their own hands calls the manager
/// themselves. What an implementation owes:
///
/// - Every call of the answer has exactly one answer in the history that it gives, in call order, or is pending.
/// - Where a call is pending, the history is the one of the prompt: a call that waits is in the turn, not in the history.
/// - A turn that has [pending](Turn::pending) calls is gone on with, by the decisions made about them.
/// - An error carries what was done until then ([`ChatError::with_exchange`]).
///
/// A user-controlled loop, stepping model and manager:
///
/// ```
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_chat::{ChatModel, ChatOptions, DefaultToolCallingManager, Prompt, ToolCallingManager};
/// use opentool_core::{FnTool, Turn};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ChatModel::new(ScriptedModel::new([Reply::call("customer", "{}"), Reply::text("It is Ann.")]));
/// let manager = DefaultToolCallingManager::new();
/// let options = ChatOptions::new().with_tools(FnTool::new("customer", || "Ann")).with_internal_execution(false);
///
/// let mut turn = Turn::new();
/// let mut prompt = Prompt::new("Who is customer 42?").with_options(options);
/// let mut response = model.call(prompt.clone()).await?;
/// while response.has_tool_calls() {
///     let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await?;
///     prompt.messages = result.conversation_history;
///     response = model.call(prompt.clone()).await?;
/// }
/// assert_eq!(response.text(), "It is Ann.");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
pub trait ToolCallingManager: Send + Sync + 'static {
    /// Finds the tools of a request and returns what a model is told about them.
    ///
    /// It is called once per request. Where the definitions come [from a toolbox](ToolDefinitions::of), that toolbox stands for
    /// the tools of the request in all its rounds.
    fn resolve_tool_definitions<'a>(
        &'a self,
        options: &'a ChatOptions,
    ) -> BoxFuture<'a, Result<ToolDefinitions, ChatError>>;

    /// Runs the calls of an answer: await it for the result, or read it first as a stream of events.
    fn execute_tool_calls<'a>(
        &'a self,
        prompt: &'a Prompt,
        response: &'a ChatResponse,
        turn: &'a mut Turn,
    ) -> Execution<'a>;
}

/// What became of the calls of an answer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolExecutionResult {
    /// The conversation of the prompt, the answer that called, and the answers of the tools.
    ///
    /// Where calls are pending, only the conversation of the prompt.
    pub conversation_history: Vec<Message>,
    /// Whether the results go to the caller instead of back to the model.
    pub return_direct: bool,
    /// The calls that wait for a decision: [decide](Turn::decide) about them, then execute again with the same turn.
    pub pending: Vec<ToolCall>,
}

impl ToolExecutionResult {
    /// Makes a result with a history.
    #[must_use]
    pub fn new(conversation_history: Vec<Message>) -> Self {
        Self { conversation_history, ..Self::default() }
    }

    /// Sets whether the results go to the caller instead of back to the model.
    #[must_use]
    pub fn with_return_direct(mut self, return_direct: bool) -> Self {
        self.return_direct = return_direct;
        self
    }

    /// Sets the calls that wait for a decision.
    #[must_use]
    pub fn with_pending(mut self, pending: Vec<ToolCall>) -> Self {
        self.pending = pending;
        self
    }

    /// Returns the results as answers to the caller, one each, for tools that [return direct](Self::return_direct).
    #[must_use]
    pub fn generations(&self) -> Vec<Generation> {
        let answers = self.conversation_history.last().map_or(&[][..], Message::answers);
        answers
            .iter()
            .map(|answer| {
                let message = crate::AssistantMessage::new(answer.text.clone());
                Generation::new(message, FinishReason::ReturnDirect)
            })
            .collect()
    }
}
