//! The form of an answer: [`ResponseFormat`], and how a provider holds a model to it: [`TypedAnswers`].

use std::sync::Arc;

use opentool_core::spec::schema::{Adapted, Dialect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form that an answer must have: JSON that follows a schema.
///
/// The schema is the original one. A provider whose [typed answers](TypedAnswers) are native writes it in its own dialect, which
/// may drop what the dialect cannot say and, if it is strict, makes optional properties required and nullable: so an answer is
/// checked against the original, with null for an optional property read as absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResponseFormat {
    /// What the form is called: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What the answer is, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema, whose root is an object.
    pub schema: Arc<Value>,
    /// Whether the provider must hold the model to the schema, as far as its dialect can express that.
    pub strict: bool,
}

/// The [form](crate::AnswerForm) of an answer, as it is noted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FormDescription {
    /// What the model is held to.
    pub format: ResponseFormat,
    /// Whether the schema was wrapped in an object for the model.
    pub is_wrapped: bool,
    /// How often the model is asked.
    pub tries: u32,
}

impl ResponseFormat {
    /// Makes a format that is strict where the provider can be; letters that a name cannot have become `_`.
    pub fn new(name: impl AsRef<str>, schema: impl Into<Arc<Value>>) -> Self {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        let name: String = name.as_ref().chars().map(plain).take(64).collect();
        let name = if name.is_empty() { "answer".to_owned() } else { name };
        Self { name, description: None, schema: schema.into(), strict: true }
    }

    /// Sets what the answer is, for the model.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets whether the provider must hold the model to the schema.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Returns the schema in a provider's dialect, for a provider that sends it.
    #[must_use]
    pub fn adapted(&self, dialect: Dialect) -> Adapted {
        let adapted = dialect.adapt(&self.schema);
        if !adapted.dropped.is_empty() || !adapted.obstacles.is_empty() {
            tracing::debug!(
                target: "opentool::chat", name = %self.name,
                dropped = adapted.dropped.len(), obstacles = adapted.obstacles.len(),
                "the schema of the answer cannot be sent in full"
            );
        }
        adapted
    }
}

/// How a provider holds a model to the form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TypedAnswers {
    /// It sends [`ChatOptions::response_format`](crate::ChatOptions::response_format), and the answer is a text that follows it.
    Native,
    /// It sends no response format, but a model that must call a tool calls it with arguments that follow its schema.
    ForcedTool,
    /// It can only be asked in words.
    #[default]
    Prompt,
}
