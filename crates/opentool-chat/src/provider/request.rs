//! One round's question to a provider: [`ModelRequest`].

use crate::{ChatOptions, Message, ToolDefinitions};

/// One round's question to a [`Provider`](crate::Provider).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'a> {
    /// The conversation, first to last; every call in it has its answer.
    pub messages: &'a [Message],
    /// The options, with all defaults merged in and the tool choice of this round.
    pub options: &'a ChatOptions,
    /// The tools that the model sees; empty if it may call none.
    pub tools: &'a ToolDefinitions,
}

impl<'a> ModelRequest<'a> {
    /// Makes a request.
    #[must_use]
    pub fn new(messages: &'a [Message], options: &'a ChatOptions, tools: &'a ToolDefinitions) -> Self {
        Self { messages, options, tools }
    }
}
