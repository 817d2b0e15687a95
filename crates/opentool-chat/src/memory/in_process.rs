//! Conversations in this process: [`InProcessMemory`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;

use super::chat_memory::ChatMemory;
use super::error::MemoryError;
use super::window::{WINDOW, trim, window};
use crate::message::Message;

/// Keeps conversations in this process, and of each as many messages as its window has.
///
/// A turn that is longer than the window is kept whole. What falls out of the window is forgotten, so a conversation needs
/// no more memory however long it lasts.
pub struct InProcessMemory {
    most: usize,
    conversations: Mutex<HashMap<String, Vec<Message>>>,
}

impl InProcessMemory {
    /// Makes a memory with a window of [20 messages](WINDOW).
    #[must_use]
    pub fn new() -> Self {
        Self::with_window(WINDOW)
    }

    /// Makes a memory with a window of so many messages.
    #[must_use]
    pub fn with_window(most: usize) -> Self {
        Self { most, conversations: Mutex::default() }
    }

    /// Returns how many conversations are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Says whether no conversation is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Message>>> {
        // A conversation is changed by one assignment, so a panic on another thread leaves none half changed.
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatMemory for InProcessMemory {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            let mut conversations = self.lock();
            let kept = conversations.entry(conversation.to_owned()).or_default();
            kept.extend_from_slice(messages);
            // Trimmed now and then, not at every message, and to twice the window, since the window hides some.
            if kept.len() > self.most.saturating_mul(4) {
                *kept = trim(std::mem::take(kept), self.most.saturating_mul(2));
            }
            Ok(())
        })
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async move {
            let kept = self.lock().get(conversation).cloned().unwrap_or_default();
            Ok(window(kept, self.most))
        })
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            self.lock().remove(conversation);
            Ok(())
        })
    }
}

impl Default for InProcessMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for InProcessMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcessMemory").field("window", &self.most).field("conversations", &self.len()).finish()
    }
}
