//! One answer of a model and why it ends: [`Generation`], [`FinishReason`].

use serde::{Deserialize, Serialize};

use crate::message::AssistantMessage;

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The answer is complete.
    #[default]
    Stop,
    /// It ran out of tokens; the last call may be cut off.
    Length,
    /// It calls tools.
    ToolCalls,
    /// The provider withheld the rest.
    ContentFilter,
    /// The model refuses to answer; the text, where there is one, says why.
    Refused,
    /// The provider paused a long answer: sent back as it is, it goes on.
    Paused,
    /// The results of tools are the answer, and the model was not asked again.
    ReturnDirect,
    /// Calls wait for a decision; see [`ChatResponse::run_state`](crate::ChatResponse::run_state).
    Suspended,
    /// Something else, as the provider names it.
    Other(String),
}

impl FinishReason {
    /// Returns the reason as it stands in spans.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refused => "refused",
            Self::Paused => "paused",
            Self::ReturnDirect => "return_direct",
            Self::Suspended => "suspended",
            Self::Other(reason) => reason,
        }
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
