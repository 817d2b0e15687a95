//! A window that counts tokens: [`TokenWindow`].

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::chat_memory::ChatMemory;
use super::error::MemoryError;
use crate::message::{Message, UserPart};

type Counter = dyn Fn(&Message) -> usize + Send + Sync;

/// A memory of which a model gets the latest turns that have no more than so many tokens.
///
/// It stands around another memory, whose own window must be wide enough. Turns are kept whole: the first that does not fit is
/// left out with all before it. System messages are always kept and count too, and so is the latest turn, even where it alone has
/// more.
///
/// ```
/// use opentool_chat::{ChatMemory, InProcessMemory, Message, TokenWindow};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let memory = TokenWindow::new(InProcessMemory::with_window(1_000), 2_000);
/// memory.add("ann", &[Message::user("old ".repeat(3_000)), Message::assistant("I see.")]).await?;
/// memory.add("ann", &[Message::user("I am Ann."), Message::assistant("Hello Ann.")]).await?;
/// assert_eq!(memory.get("ann").await?.len(), 2);
/// # Ok::<(), opentool_chat::MemoryError>(())
/// # }).unwrap();
/// ```
pub struct TokenWindow<M> {
    memory: M,
    budget: usize,
    count: Arc<Counter>,
}

impl<M: ChatMemory> TokenWindow<M> {
    /// Gives a model so many tokens of a memory, by [`estimate_tokens`].
    pub fn new(memory: M, budget: usize) -> Self {
        Self { memory, budget, count: Arc::new(estimate_tokens) }
    }

    /// Sets how the tokens of a message are counted, for instance by the tokenizer of the model.
    #[must_use]
    pub fn with_counter(mut self, count: impl Fn(&Message) -> usize + Send + Sync + 'static) -> Self {
        self.count = Arc::new(count);
        self
    }
}

/// Estimates the tokens of a message: a quarter of its bytes, and a thousand for each image, sound or file.
#[must_use]
pub fn estimate_tokens(message: &Message) -> usize {
    const MEDIA: usize = 4_000;
    let bytes = match message {
        Message::System(message) => message.text.len(),
        Message::User(message) => {
            let part = |part: &UserPart| match part {
                UserPart::Text(text) => text.len(),
                UserPart::Media(_) => MEDIA,
            };
            message.text.len() + message.parts.iter().map(part).sum::<usize>()
        }
        Message::Assistant(message) => {
            let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.as_str().len());
            message.text.len() + message.reasoning.len() + calls.sum::<usize>()
        }
        Message::Tool(message) => {
            message.answers.iter().map(|answer| answer.text.len() + answer.media.len() * MEDIA).sum()
        }
    };
    // What a provider writes around a message.
    const FRAME: usize = 4;
    bytes.div_ceil(4) + FRAME
}

/// Leaves the latest turns that fit.
fn cut(messages: Vec<Message>, budget: usize, count: &Counter) -> Vec<Message> {
    let is_system = |message: &Message| matches!(message, Message::System(_));
    let system: usize = messages.iter().filter(|message| is_system(message)).map(count).sum();
    let mut left = budget.saturating_sub(system);
    let mut from = messages.len();
    let mut turn = 0_usize;
    for (place, message) in messages.iter().enumerate().rev().filter(|(_, message)| !is_system(message)) {
        turn = turn.saturating_add(count(message));
        if matches!(message, Message::User(_)) {
            let is_latest = from == messages.len();
            if turn > left && !is_latest {
                break;
            }
            (from, left, turn) = (place, left.saturating_sub(turn), 0);
        }
    }
    // What stands before the first question belongs to no turn, and stays only where everything does.
    let first = messages.iter().position(|message| !is_system(message)).unwrap_or(0);
    let before: usize = messages[first..from.max(first)].iter().map(count).sum();
    let has_question = messages[..from].iter().any(|message| matches!(message, Message::User(_)));
    if !has_question && before <= left {
        from = first;
    }
    let keep = |(place, message): (usize, Message)| (place >= from || is_system(&message)).then_some(message);
    messages.into_iter().enumerate().filter_map(keep).collect()
}

impl<M: ChatMemory> ChatMemory for TokenWindow<M> {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        self.memory.add(conversation, messages)
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async move { Ok(cut(self.memory.get(conversation).await?, self.budget, &*self.count)) })
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        self.memory.clear(conversation)
    }
}

impl<M: fmt::Debug> fmt::Debug for TokenWindow<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenWindow")
            .field("memory", &self.memory)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
