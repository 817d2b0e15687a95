//! What became of the calls of one answer: [`ToolExecutionResult`].

use opentool_core::ToolCall;

use crate::generation::{FinishReason, Generation};
use crate::message::{AssistantMessage, Message};

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
    /// The calls that wait for a decision: [decide](opentool_core::Turn::decide) about them, then execute again with the same turn.
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
                let message = AssistantMessage::new(answer.text.clone());
                Generation::new(message, FinishReason::ReturnDirect)
            })
            .collect()
    }
}
