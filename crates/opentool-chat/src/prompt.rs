//! What a model is asked: [`Prompt`].

use crate::message::{Message, UserMessage};
use crate::options::ChatOptions;

/// A conversation for a model to continue, and the options of the request.
///
/// ```
/// use opentool_chat::{ChatOptions, Message, Prompt};
///
/// let prompt = Prompt::new("What is 6 * 8?");
/// assert_eq!(prompt.messages, [Message::user("What is 6 * 8?")]);
/// let prompt = Prompt::new([Message::system("You are terse."), Message::user("What is 6 * 8?")])
///     .with_options(ChatOptions::new().with_temperature(0.0));
/// assert_eq!(prompt.options.temperature, Some(0.0));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prompt {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The options.
    pub options: ChatOptions,
}

impl Prompt {
    /// Makes a prompt of what the user says, of a message, or of a conversation.
    pub fn new(messages: impl Into<Self>) -> Self {
        messages.into()
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(mut self, options: ChatOptions) -> Self {
        self.options = options;
        self
    }

    /// Returns where the current turn begins: at the last thing the user said.
    pub(crate) fn turn_start(&self) -> usize {
        let is_question = |message: &Message| matches!(message, Message::User(_));
        self.messages.iter().rposition(is_question).unwrap_or(self.messages.len())
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}

impl From<Message> for Prompt {
    fn from(message: Message) -> Self {
        vec![message].into()
    }
}

impl From<UserMessage> for Prompt {
    fn from(message: UserMessage) -> Self {
        Message::User(message).into()
    }
}

impl From<Vec<Message>> for Prompt {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, options: ChatOptions::new() }
    }
}

impl From<&[Message]> for Prompt {
    fn from(messages: &[Message]) -> Self {
        messages.to_vec().into()
    }
}

impl<const N: usize> From<[Message; N]> for Prompt {
    fn from(messages: [Message; N]) -> Self {
        Vec::from(messages).into()
    }
}
