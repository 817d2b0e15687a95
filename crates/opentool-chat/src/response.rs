//! What a model answers: [`ChatResponse`].

use std::fmt;
use std::ops::{Add, AddAssign};

use opentool_core::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AssistantMessage, Exchange, Message, RunState};

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It said what it had to say.
    #[default]
    Stop,
    /// It ran out of tokens; the last call may be cut off.
    Length,
    /// It wants tools to be called.
    ToolCalls,
    /// Its provider withheld the rest.
    ContentFilter,
    /// The results of tools are the answer, and the model was not asked again.
    ReturnDirect,
    /// Calls wait for a decision; see [`ChatResponse::run_state`].
    Suspended,
    /// Something else, in the provider's words.
    Other(String),
}

impl FinishReason {
    /// Returns the reason in a word, as it stands in spans.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::ReturnDirect => "return_direct",
            Self::Suspended => "suspended",
            Self::Other(reason) => reason,
        }
    }
}

/// How many tokens were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// What the model read, cached or not.
    pub input_tokens: u64,
    /// What the model wrote, its reasoning included.
    pub output_tokens: u64,
    /// How much of what the model read came from a cache.
    pub cached_input_tokens: u64,
}

impl Usage {
    /// Counts what was read and what was written.
    #[must_use]
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cached_input_tokens: 0 }
    }

    /// Sets how much of what was read came from a cache.
    #[must_use]
    pub fn with_cached_input_tokens(mut self, tokens: u64) -> Self {
        self.cached_input_tokens = tokens;
        self
    }

    /// Returns everything that was read and written.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// One answer; a model gives one, tools whose results are the answer give one each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Generation {
    /// What is said and called.
    pub message: AssistantMessage,
    /// Why the answer ends here.
    pub finish_reason: FinishReason,
}

impl Generation {
    /// Makes an answer.
    pub fn new(message: impl Into<AssistantMessage>, finish_reason: FinishReason) -> Self {
        Self { message: message.into(), finish_reason }
    }
}

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
    /// The model that answered, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What else the provider says.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    pub(crate) exchange: Exchange,
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

    /// Sets the provider's id of the answer.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the model that answered.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets something else that the provider says.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
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

    /// Returns the first answer that calls tools.
    #[must_use]
    pub fn calling(&self) -> Option<&AssistantMessage> {
        self.generations.iter().map(|generation| &generation.message).find(|message| !message.tool_calls.is_empty())
    }

    /// Returns the calls that nobody has answered.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.calling().map_or(&[], |message| &message.tool_calls)
    }

    /// Says whether the model wants tools to be called.
    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.calling().is_some()
    }

    /// Returns the messages of this turn: what the user said last and everything since.
    ///
    /// Empty in a provider's response. Calls that nobody has answered are not among them, but in [`tool_calls`](Self::tool_calls).
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.exchange.messages()
    }

    /// Returns everything that was said, before this turn too.
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
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
