//! What a model answers: [`ChatResponse`], and [`RunState`], a run that waits for a decision.

use std::fmt;
use std::sync::Arc;

use opentool_core::{Decision, NotPending, ToolCall, Turn};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer_form::read_answer;
use crate::error::{Cause, ChatError};
use crate::exchange::Exchange;
use crate::generation::{FinishReason, Generation};
use crate::message::{AssistantMessage, Message};
use crate::options::ChatOptions;
use crate::turn_end::TurnEnd;
use crate::usage::Usage;

/// What a model answers.
///
/// A [provider](crate::Provider) makes one of a single round. A [`ChatModel`](crate::ChatModel) gives the one of the last round, with the
/// usage of all rounds and with [everything that was said](Self::messages).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ChatResponse {
    /// The answers.
    pub generations: Vec<Generation>,
    /// How many tokens were used: by one round in a provider's response, by all rounds in a model's.
    pub usage: Usage,
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that answered, as the provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Further data of the provider.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Exchange::is_empty")]
    pub(crate) exchange: Exchange,
    /// The run that the turn is recorded in.
    #[serde(skip)]
    pub(crate) run: Option<Arc<str>>,
    /// Whether the model answered because a limit of the turn was reached.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) at_limit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suspended: Option<Box<RunState>>,
}

impl ChatResponse {
    /// Makes a response with one answer.
    pub fn new(message: impl Into<AssistantMessage>, finish_reason: FinishReason) -> Self {
        Self { generations: vec![Generation::new(message, finish_reason)], ..Self::default() }
    }

    /// Sets how many tokens were used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Returns the text of the answer; several answers are lines of it.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.generations.iter().map(|generation| &*generation.message.text).collect();
        texts.join("\n")
    }

    /// Returns the first answer's message.
    #[must_use]
    pub fn message(&self) -> Option<&AssistantMessage> {
        self.generations.first().map(|generation| &generation.message)
    }

    /// Returns why the first answer ends where it does.
    #[must_use]
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.generations.first().map(|generation| &generation.finish_reason)
    }

    /// Returns why the turn ended, in the words that an [error](crate::ChatError::end) has too.
    #[must_use]
    pub fn end(&self) -> TurnEnd {
        if self.suspended.is_some() {
            return TurnEnd::Suspended;
        }
        if self.has_tool_calls() {
            return TurnEnd::CallsLeft;
        }
        match self.finish_reason() {
            Some(FinishReason::Length) => TurnEnd::CutOff,
            Some(FinishReason::ContentFilter) => TurnEnd::Filtered,
            Some(FinishReason::Refused) => TurnEnd::Refused,
            Some(FinishReason::Paused) => TurnEnd::Paused,
            Some(FinishReason::ReturnDirect) => TurnEnd::ReturnDirect,
            _ if self.at_limit => TurnEnd::AnsweredAtLimit,
            _ => TurnEnd::Answered,
        }
    }

    /// Returns what the turn cost, by the [prices](crate::ChatModelBuilder::prices) of the model; none where they are not known.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        self.exchange.cost
    }

    /// Reads the answer of a turn that had a [form](crate::ChatRequest::answer_form).
    ///
    /// # Errors
    ///
    /// When the text of the answer does not fit the type, or calls wait for a decision.
    pub fn answer_as<T: DeserializeOwned>(&self) -> Result<T, ChatError> {
        if self.suspended.is_some() {
            let message =
                "calls of the turn wait for a decision: use `answer_form` and `call`, which return the run that waits";
            return Err(ChatError::setup(message).with_exchange(self.exchange.clone()));
        }
        let read = read_answer(&self.text());
        read.map_err(|message| ChatError::from(Cause::Form { message, tries: 1 }).with_exchange(self.exchange.clone()))
    }

    /// Returns the first answer that calls tools.
    #[must_use]
    pub fn calling(&self) -> Option<&AssistantMessage> {
        self.generations.iter().map(|generation| &generation.message).find(|message| !message.tool_calls.is_empty())
    }

    /// Returns the calls that have no answer yet.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.calling().map_or(&[], |message| &message.tool_calls)
    }

    /// Says whether the answer calls tools.
    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.calling().is_some()
    }

    /// Returns the messages of this turn: what the user said last and everything since.
    ///
    /// Empty in a provider's response. Calls without an answer are not among them, but in [`tool_calls`](Self::tool_calls).
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.exchange.messages()
    }

    /// Returns everything that was said, before this turn too.
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns the id of the run that the turn is recorded in, where the client has a [journal](crate::ChatClientBuilder::journal).
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns the run that waits for decisions about its calls, where it does.
    #[must_use]
    pub fn run_state(&self) -> Option<&RunState> {
        self.suspended.as_deref()
    }

    /// Returns the run that waits for decisions about its calls, to store or to [resume](crate::ChatModel::resume) it.
    #[must_use]
    pub fn into_run_state(self) -> Option<RunState> {
        self.suspended.map(|state| *state)
    }
}

/// The text of the answer.
impl fmt::Display for ChatResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A run that waits for decisions about some of its calls.
///
/// It can be written and read with serde, so a run may wait in a database for as long as it takes. Tools and context, which are
/// code and secrets, are not in it: they are given again to [resume](crate::ChatModel::resume) the run.
///
/// Its text is as powerful as an approval: with another one a call counts as approved, or has other arguments. Store it where
/// no one else can write, or signed, by `opentool_core::StateSigner` (feature `signing`).
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
    /// How many messages of the history the memory of the conversation has already.
    #[serde(default)]
    pub(crate) saved: usize,
    /// The run in a journal, which knows what happened since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<String>,
}

#[cfg(feature = "signing")]
impl opentool_core::SignableState for RunState {
    const KIND: &'static str = "opentool.run-state";
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

    /// Returns the id of the run in the journal, where it is recorded in one.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Returns the conversation that the run belongs to, where a memory keeps it.
    #[must_use]
    pub fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_response_that_is_read_back_has_all_that_was_said() {
        let mut response = ChatResponse::new(AssistantMessage::new("yes"), FinishReason::Stop);
        assert!(!serde_json::to_string(&response).unwrap().contains("exchange"));
        response.exchange.history = vec![Message::user("before"), Message::user("now")];
        response.exchange.start = 1;
        let back: ChatResponse = serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
        assert_eq!(back.exchange, response.exchange);
        assert_eq!(back.text(), "yes");
    }
}
