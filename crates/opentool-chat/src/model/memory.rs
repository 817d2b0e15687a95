//! The memory of a conversation, as one turn uses it.

use std::sync::Arc;

use crate::memory::{ChatMemory, MemoryError};
use crate::message::Message;

/// When the messages of a turn are added to the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SavePoint {
    /// All at once, after the last; of a turn that fails, what must not be forgotten.
    #[default]
    AfterTurn,
    /// The question at the start, then every round when it is over. The next round gets what the memory returns.
    AfterRound,
}

/// The memory of the conversation that a turn belongs to.
pub(super) struct TurnMemory {
    pub(super) memory: Arc<dyn ChatMemory>,
    pub(super) conversation: String,
    pub(super) save: SavePoint,
    /// The system messages, which stand before what the memory returns and are not saved.
    pub(super) system: Vec<Message>,
}

impl TurnMemory {
    /// Takes up the conversation: returns the messages for the model, and how many of them need not be saved any more.
    pub(super) async fn begin(&self, asked: Vec<Message>) -> Result<(Vec<Message>, usize), MemoryError> {
        match self.save {
            SavePoint::AfterRound => {
                self.add(&asked).await?;
                let messages = self.load().await?;
                let saved = messages.len();
                Ok((messages, saved))
            }
            SavePoint::AfterTurn => {
                let mut messages = self.load().await?;
                let saved = messages.len();
                messages.extend(asked);
                Ok((messages, saved))
            }
        }
    }

    pub(super) async fn add(&self, messages: &[Message]) -> Result<(), MemoryError> {
        self.memory.add(&self.conversation, messages).await
    }

    /// Returns the system messages and what the memory returns of the conversation.
    pub(super) async fn load(&self) -> Result<Vec<Message>, MemoryError> {
        let mut messages = self.system.clone();
        messages.extend(self.memory.get(&self.conversation).await?);
        Ok(messages)
    }
}
