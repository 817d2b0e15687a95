//! The pieces of a streamed answer: [`Delta`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::generation::FinishReason;
use crate::usage::Usage;

/// A piece of an answer, as a [provider](crate::Provider::stream) streams it.
///
/// It can be written and read with serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// The answer begins; whatever of this is known.
    Begin {
        /// The provider's id of the answer.
        id: Option<String>,
        /// The model that answers.
        model: Option<String>,
    },
    /// The next piece of the text.
    Text(String),
    /// The next piece of the model's reasoning.
    Reasoning(String),
    /// The next piece of a call.
    ToolCall(ToolCallDelta),
    /// What the provider wants to see again with this message; objects are merged, anything else is replaced.
    ProviderData {
        /// The name of the provider.
        provider: String,
        /// What it wants to see again.
        data: Value,
    },
    /// How many tokens the answer has used so far; a later count replaces an earlier one.
    Usage(Usage),
    /// Further data of the provider.
    Metadata(Map<String, Value>),
    /// Why the model stopped; usage may still follow.
    Finish(FinishReason),
}

impl Delta {
    /// Makes a piece of the text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a piece of the model's reasoning.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning(text.into())
    }
}

/// A piece of a call: whatever of it came.
///
/// Pieces belong together by index, where the provider counts, else by id, else to the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// The place of the call in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// The id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The next piece of the arguments.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}

impl ToolCallDelta {
    /// Makes an empty piece.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the place of the call in the answer.
    #[must_use]
    pub fn with_index(mut self, index: usize) -> Self {
        self.index = Some(index);
        self
    }

    /// Sets the id of the call.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the name of the tool.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the piece of the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<String>) -> Self {
        self.arguments = arguments.into();
        self
    }
}

impl From<ToolCallDelta> for Delta {
    fn from(delta: ToolCallDelta) -> Self {
        Self::ToolCall(delta)
    }
}
