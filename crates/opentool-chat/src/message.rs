//! What is said in a conversation: [`Message`].

use std::collections::BTreeMap;
use std::sync::Arc;

use opentool_core::{ErrorKind, Outcome, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::media::Media;

/// One message of a conversation.
///
/// It can be written and read with serde; a clone shares its texts.
///
/// ```
/// use opentool_chat::{AssistantMessage, Message, ToolAnswer, ToolMessage};
/// use opentool_core::ToolCall;
///
/// let conversation = vec![
///     Message::system("You are terse."),
///     Message::user("What is 6 * 8?"),
///     AssistantMessage::new("").with_tool_calls(vec![ToolCall::new("1", "multiply", r#"{"a":6,"b":8}"#)]).into(),
///     ToolMessage::new(vec![ToolAnswer::new("1", "multiply", "48")]).into(),
///     Message::assistant("48"),
/// ];
/// let stored = serde_json::to_string(&conversation)?;
/// assert_eq!(serde_json::from_str::<Vec<Message>>(&stored)?, conversation);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the application asks of the model, before everything else.
    System(SystemMessage),
    /// What the user says.
    User(UserMessage),
    /// What the model says and which tools it calls.
    Assistant(AssistantMessage),
    /// The answers to all calls of the assistant message before it.
    Tool(ToolMessage),
}

/// What the application asks of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SystemMessage {
    /// The text.
    pub text: Arc<str>,
}

/// What the user says: a text, and what follows it.
///
/// ```
/// use opentool_chat::{Media, UserMessage};
///
/// let message = UserMessage::new("Which of these two is a cat?")
///     .with_media(Media::from_bytes("image/png", b"...")?)
///     .with_text("And the second:")
///     .with_media(Media::from_url("image/jpeg", "https://photos.example/2.jpg")?);
/// assert_eq!(message.parts.len(), 3);
/// # Ok::<(), opentool_chat::MediaError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserMessage {
    /// The text; empty where there is only something to see or to hear.
    pub text: Arc<str>,
    /// What follows the text, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<UserPart>,
}

/// A part of what the user says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserPart {
    /// More text.
    Text(Arc<str>),
    /// An image, a sound or a file.
    Media(Media),
}

/// What the model says and which tools it calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The text; empty where the model only calls tools.
    pub text: Arc<str>,
    /// The calls, in the order in which the model made them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the model thought, where its provider sends that; empty otherwise.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reasoning: Arc<str>,
    /// Why the turn ended here without a whole answer, in one [word](crate::Cause::as_str); none where it did not.
    ///
    /// A memory keeps such a message at the end of a turn that failed after a tool had run or a text had begun. The model is
    /// sent it as a note, so that it knows what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Arc<str>>,
    /// What only one provider understands and wants to see again, by the [name](crate::Provider::name) of the provider.
    ///
    /// For instance the signature of a thought. A provider reads its own entry and no other.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub provider_data: BTreeMap<String, Value>,
}

/// The answers to all calls of one assistant message, in call order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolMessage {
    /// The answers.
    pub answers: Vec<ToolAnswer>,
}

/// The answer to one call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// The id of the call.
    pub call_id: Arc<str>,
    /// The name under which the tool was called.
    pub tool: Arc<str>,
    /// What the tool returned, or what the model sees of the failure. For each piece of media it has the type and the size,
    /// which is all that a model sees whose provider cannot take the media.
    pub text: Arc<str>,
    /// The images, sounds and files that the tool returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Why there is no result; none where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
}

impl Message {
    /// Makes a system message.
    pub fn system(text: impl Into<Arc<str>>) -> Self {
        Self::System(SystemMessage { text: text.into() })
    }

    /// Makes a user message.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::User(UserMessage::new(text))
    }

    /// Makes an assistant message without calls.
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::Assistant(AssistantMessage::new(text))
    }

    /// Returns the text; of tool answers there may be several, so a tool message has none here.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::System(message) => &message.text,
            Self::User(message) => &message.text,
            Self::Assistant(message) => &message.text,
            Self::Tool(_) => "",
        }
    }

    /// Returns the calls that the message makes.
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        match self {
            Self::Assistant(message) => &message.tool_calls,
            _ => &[],
        }
    }

    /// Returns the answers that the message gives.
    #[must_use]
    pub fn answers(&self) -> &[ToolAnswer] {
        match self {
            Self::Tool(message) => &message.answers,
            _ => &[],
        }
    }

    /// Says whether the turn ended with this message and without a whole answer.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Assistant(message) if message.failure.is_some())
    }

    /// Writes a failure into the text, where a model can read it.
    pub(crate) fn show_failure(&mut self) {
        let Self::Assistant(message) = self else { return };
        if let Some(failure) = message.failure.take() {
            let said = if message.text.is_empty() { String::new() } else { format!("{}\n", message.text) };
            message.text = format!("{said}[The turn ended here without a whole answer: {failure}]").into();
        }
    }

    /// Returns the role as it is serialised: `system`, `user`, `assistant` or `tool`.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::Tool(_) => "tool",
        }
    }
}

impl UserMessage {
    /// Makes a message of a text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), parts: Vec::new() }
    }

    /// Adds more text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Arc<str>>) -> Self {
        self.parts.push(UserPart::Text(text.into()));
        self
    }

    /// Adds an image, a sound or a file.
    #[must_use]
    pub fn with_media(mut self, media: Media) -> Self {
        self.parts.push(UserPart::Media(media));
        self
    }

    /// Returns the images, sounds and files.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().filter_map(|part| match part {
            UserPart::Media(media) => Some(media),
            UserPart::Text(_) => None,
        })
    }
}

impl AssistantMessage {
    /// Makes a message that says something.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Sets the calls.
    #[must_use]
    pub fn with_tool_calls(mut self, tool_calls: Vec<ToolCall>) -> Self {
        self.tool_calls = tool_calls;
        self
    }

    /// Sets what the model thought.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<Arc<str>>) -> Self {
        self.reasoning = reasoning.into();
        self
    }

    /// Marks the end of a turn that failed, with the reason in one word.
    #[must_use]
    pub fn with_failure(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.failure = Some(reason.into());
        self
    }

    /// Sets what a provider wants to see again.
    #[must_use]
    pub fn with_provider_data(mut self, provider: impl Into<String>, data: Value) -> Self {
        self.provider_data.insert(provider.into(), data);
        self
    }
}

impl ToolMessage {
    /// Makes a message of answers.
    #[must_use]
    pub fn new(answers: Vec<ToolAnswer>) -> Self {
        Self { answers }
    }
}

impl ToolAnswer {
    /// Makes an answer that is a result.
    pub fn new(call_id: impl Into<Arc<str>>, tool: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { call_id: call_id.into(), tool: tool.into(), text: text.into(), media: Vec::new(), error: None }
    }

    /// Sets the images, sounds and files that the tool returned.
    #[must_use]
    pub fn with_media(mut self, media: Vec<Media>) -> Self {
        self.media = media;
        self
    }

    /// Makes it the answer to a call that has no result.
    #[must_use]
    pub fn with_error(mut self, kind: ErrorKind) -> Self {
        self.error = Some(kind);
        self
    }

    /// Makes the answer that a model sees of an outcome.
    ///
    /// No value is `Done`. An error that must reach the caller instead of the model is replaced by a general text, so that
    /// the history can still be sent.
    #[must_use]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let (text, error) = match &outcome.result {
            Ok(output) if output.is_empty() => ("Done".into(), None),
            Ok(output) => (output.to_text().into(), None),
            Err(error) if error.is_fatal() && error.kind() != ErrorKind::Limit => {
                ("the application ended the turn because of this call".into(), Some(error.kind()))
            }
            Err(error) => (error.message().into(), Some(error.kind())),
        };
        let parts = outcome.result.as_ref().map_or(&[][..], |output| output.parts());
        let media = parts.iter().filter_map(Media::from_part).collect();
        Self { call_id: outcome.call_id.clone(), tool: outcome.tool.clone(), text, media, error }
    }

    /// Says whether the call has no result.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

impl From<SystemMessage> for Message {
    fn from(message: SystemMessage) -> Self {
        Self::System(message)
    }
}

impl From<UserMessage> for Message {
    fn from(message: UserMessage) -> Self {
        Self::User(message)
    }
}

impl From<AssistantMessage> for Message {
    fn from(message: AssistantMessage) -> Self {
        Self::Assistant(message)
    }
}

impl From<ToolMessage> for Message {
    fn from(message: ToolMessage) -> Self {
        Self::Tool(message)
    }
}
