//! A memory that sums up what falls out of its window: [`SummarisingMemory`].

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use tracing::{debug, warn};

use crate::memory::{ChatMemory, MemoryError, WINDOW};
use crate::message::Message;
use crate::model::ChatModel;
use crate::prompt::Prompt;

/// What the model is asked for.
const INSTRUCTION: &str = "Sum up the conversation below for a colleague who goes on with it: names, facts, decisions, what was \
    done by which tool with which result, and what is still open. Write only the summary, in the language of the conversation.";

/// What stands before a summary.
const HEADING: &str = "Summary of the conversation so far:\n";

/// A memory that sums up what falls out of its window, by asking a model.
///
/// It stands around another memory. Before messages are added that the window might push out, everything that a model
/// would get now is summed up, and the summary is added as a system message, which that memory keeps in front. So the other
/// memory's window must hold at least twice as many messages as [`with_every`](Self::with_every) says. Nothing is ever deleted, and a
/// summary that fails is only logged: the messages are kept all the same, and the next turn tries again.
///
/// ```
/// use opentool_chat::testing::{FunctionModel, Reply};
/// use opentool_chat::{ChatMemory, ChatModel, InProcessMemory, Message, SummarisingMemory};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let model = ChatModel::new(FunctionModel::new(|_| Reply::text("The user is Ann.")));
/// let memory = SummarisingMemory::new(InProcessMemory::with_window(8), model).with_every(4);
/// memory.add("a", &[Message::user("I am Ann."), Message::assistant("Hello Ann.")]).await?;
/// for _ in 0..10 {
///     memory.add("a", &[Message::user("And now?"), Message::assistant("Well.")]).await?;
/// }
/// assert_eq!(memory.get("a").await?[0], Message::system("Summary of the conversation so far:\nThe user is Ann."));
/// # Ok::<(), opentool_chat::MemoryError>(())
/// # }).unwrap();
/// ```
pub struct SummarisingMemory<M> {
    memory: M,
    model: ChatModel,
    every: usize,
    conversations: Mutex<HashMap<String, Arc<SinceSummary>>>,
}

/// How many messages a conversation has since its last summary, where this process knows it.
///
/// The lock is held while the conversation is summed up, so that two turns do not both do it.
type SinceSummary = tokio::sync::Mutex<Option<usize>>;

impl<M: ChatMemory> SummarisingMemory<M> {
    /// Makes a memory that sums up every [10 messages](WINDOW), by asking a model.
    pub fn new(memory: M, model: impl Into<ChatModel>) -> Self {
        Self { memory, model: model.into(), every: WINDOW / 2, conversations: Mutex::default() }
    }

    /// Sets after how many messages a conversation is summed up; at least one.
    #[must_use]
    pub fn with_every(mut self, messages: usize) -> Self {
        self.every = messages.max(1);
        self
    }

    fn since_summary(&self, conversation: &str) -> Arc<SinceSummary> {
        // Entries are only added and removed, so a panic on another thread leaves none half changed.
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.entry(conversation.to_owned()).or_default().clone()
    }

    /// Sums up what a model would get of a conversation; false where that failed.
    async fn sum_up(&self, conversation: &str) -> Result<bool, MemoryError> {
        let mut messages = self.memory.get(conversation).await?;
        if messages.is_empty() {
            return Ok(true);
        }
        // A turn that failed must not be summed up as one that was answered.
        messages.iter_mut().for_each(Message::show_failure);
        let prompt = Prompt::new(format!("{INSTRUCTION}\n\n{}", transcript(&messages)));
        match self.model.call(prompt).await {
            Ok(summary) if !summary.text().trim().is_empty() => {
                debug!(target: "opentool::chat", messages = messages.len(), "summed up a conversation");
                let summary = Message::system(format!("{HEADING}{}", summary.text().trim()));
                self.memory.add(conversation, &[summary]).await?;
                Ok(true)
            }
            Ok(_) => {
                warn!(target: "opentool::chat", "the summary of a conversation is empty");
                Ok(false)
            }
            Err(error) => {
                warn!(target: "opentool::chat", %error, "a conversation could not be summed up");
                Ok(false)
            }
        }
    }
}

/// A conversation as a text.
fn transcript(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        // To write to a string cannot fail.
        let _ = match message {
            Message::Tool(answers) => answers
                .answers
                .iter()
                .try_for_each(|answer| writeln!(text, "{} answered: {}", answer.tool, answer.text)),
            message => {
                if !message.text().is_empty() {
                    let _ = writeln!(text, "{}: {}", message.role(), message.text());
                }
                let mut calls = message.tool_calls().iter();
                calls.try_for_each(|call| writeln!(text, "assistant called {} {}", call.name, call.arguments.as_str()))
            }
        };
    }
    text
}

impl<M: ChatMemory> ChatMemory for SummarisingMemory<M> {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let since = self.since_summary(conversation);
            let mut known = since.lock().await;
            // What an earlier process added is not known, so it is summed up first.
            let is_due = known.is_none_or(|count| count + messages.len() > self.every);
            let kept = if is_due && self.sum_up(conversation).await? { 0 } else { known.unwrap_or(self.every) };
            self.memory.add(conversation, messages).await?;
            *known = Some(kept + messages.len());
            Ok(())
        })
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        self.memory.get(conversation)
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(conversation);
            self.memory.clear(conversation).await
        })
    }
}

impl<M: fmt::Debug> fmt::Debug for SummarisingMemory<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummarisingMemory")
            .field("memory", &self.memory)
            .field("model", &self.model)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}
