//! What keeps conversations: [`ChatMemory`].

use std::sync::Arc;

use futures_core::future::BoxFuture;

use super::error::MemoryError;
use crate::message::Message;

/// Keeps conversations, each under its id.
///
/// What an implementation must do:
///
/// - [`add`](Self::add) is one transaction: after it returns, all messages are kept, in order, behind those that were there; if
///   it fails or the process dies meanwhile, none is. Messages of two concurrent calls are not mixed.
/// - [`get`](Self::get) gives what [`window`](crate::window()) makes of everything that was kept: the latest messages, without a call that lacks
///   its answer and without an answer that lacks its call.
/// - An id that was never used is an empty conversation, not an error. Ids are compared as they are.
///
/// A client adds whole turns, or every round with [`memory_in_loop`](crate::ChatClientBuilder::memory_in_loop).
///
/// ```
/// use opentool_chat::{ChatMemory, InProcessMemory, Message};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let memory = InProcessMemory::new();
/// memory.add("ann", &[Message::user("I am Ann."), Message::assistant("Hello Ann.")]).await?;
/// assert_eq!(memory.get("ann").await?.len(), 2);
/// memory.clear("ann").await?;
/// assert!(memory.get("ann").await?.is_empty());
/// # Ok::<(), opentool_chat::MemoryError>(())
/// # }).unwrap();
/// ```
pub trait ChatMemory: Send + Sync + 'static {
    /// Adds messages to a conversation, all of them or none.
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>>;

    /// Returns what a model should be sent of a conversation.
    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>>;

    /// Forgets a conversation.
    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>>;
}

impl<T: ChatMemory + ?Sized> ChatMemory for Arc<T> {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        (**self).add(conversation, messages)
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        (**self).get(conversation)
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        (**self).clear(conversation)
    }
}
