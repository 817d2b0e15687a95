//! What was said so far: [`Exchange`], and [`RunState`], a run that waits for a decision.

use opentool_core::{Decision, NotPending, ToolCall, Turn};
use serde::{Deserialize, Serialize};

use crate::{ChatOptions, ChatResponse, Message, Prompt, Usage};

/// What was said so far and what it cost, whether a turn ended well or not.
///
/// No call in it is without its answer, so it can be sent again as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Exchange {
    /// The whole conversation that the model was sent, and everything since.
    pub history: Vec<Message>,
    /// How many tokens this turn has used.
    pub usage: Usage,
    /// Where this turn begins in the history.
    pub(crate) start: usize,
}

impl Exchange {
    /// What was said, where the turn began with the last thing the user said.
    pub(crate) fn of(prompt: &Prompt, history: Vec<Message>) -> Self {
        Self { start: prompt.turn_start(), history, usage: Usage::default() }
    }

    /// Returns the messages of this turn: what the user said last and everything since.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.history.get(self.start..).unwrap_or_default()
    }
}

/// A run that waits for decisions about some of its calls.
///
/// It can be written and read with serde, so a run may wait in a database for as long as it takes. Tools and context, which are
/// code and secrets, are not in it: whoever [resumes](crate::ChatModel::resume) the run gives them again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunState {
    pub(crate) exchange: Exchange,
    /// The answer whose calls wait.
    pub(crate) response: ChatResponse,
    pub(crate) turn: Turn,
    pub(crate) options: ChatOptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<String>,
    /// Where what a memory outside the loop does not know yet begins in the history.
    #[serde(default)]
    pub(crate) unknown: usize,
}

impl RunState {
    /// Returns the calls that wait for a decision, in call order.
    pub fn pending(&self) -> impl Iterator<Item = &ToolCall> {
        self.turn.pending()
    }

    /// Decides about a call that waits.
    ///
    /// # Errors
    ///
    /// Where no call of that id waits for a decision.
    pub fn decide(&mut self, call_id: &str, decision: Decision) -> Result<(), NotPending> {
        self.turn.decide(call_id, decision)
    }

    /// Returns what was said before the calls that wait.
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns the answer whose calls wait.
    #[must_use]
    pub fn response(&self) -> &ChatResponse {
        &self.response
    }

    /// Returns the conversation that the run belongs to, where a memory keeps it.
    #[must_use]
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }
}
