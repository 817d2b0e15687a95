//! The interface between a model's answer and the tools: [`ToolCallingManager`].

use futures_core::future::BoxFuture;
use opentool_core::Turn;

use super::execution::Execution;
use crate::definitions::ToolDefinitions;
use crate::error::ChatError;
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::ChatResponse;

/// Finds the tools of a request and runs the calls of an answer.
///
/// A [`ChatModel`](crate::ChatModel) does it through its manager; a loop of your own calls the manager itself. What an
/// implementation must do:
///
/// - Every call of the answer has exactly one answer in the history that it gives, in call order, or is pending.
/// - Where a call is pending, the history is the one of the prompt: a call that waits is in the turn, not in the history.
/// - A turn that has [pending](Turn::pending) calls is resumed, by the decisions made about them.
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
    /// Finds the tools of a request and returns what a model gets to see of them.
    ///
    /// It is called once per request. Where the definitions come [from a toolbox](ToolDefinitions::from_toolbox), that toolbox stands for
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
