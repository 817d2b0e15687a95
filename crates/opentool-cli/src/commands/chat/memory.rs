//! Where the conversation is kept, and under which name.

use std::{path::PathBuf, sync::Arc};

use opentool_chat::{ChatMemory, InProcessMemory, SqliteMemory};

use super::{Chat, data::DataFolder};
use crate::{failure::Failure, terminal::warn};

/// The memory of a chat.
#[derive(Default)]
pub(super) struct Memory {
    /// The file; none where nothing is kept.
    file: Option<Arc<SqliteMemory>>,
    /// What the client is given; none where one prompt is answered and forgotten.
    pub(super) shared: Option<Arc<dyn ChatMemory>>,
    pub(super) conversation: Option<String>,
    /// Where the lines of earlier days are.
    pub(super) history: Option<PathBuf>,
}

impl Memory {
    /// Opens what the command line asks for. One prompt without a name is kept nowhere.
    pub(super) async fn open(chat: &Chat, is_conversation: bool) -> Result<Self, Failure> {
        if chat.conversation.as_ref().is_some_and(|id| id.trim().is_empty()) {
            return Err(Failure::usage("the name after `--conversation` is empty"));
        }
        if !is_conversation && chat.conversation.is_none() {
            return Ok(Memory::default());
        }
        let folder = DataFolder::of_user().and_then(|folder| folder.make().map(|()| folder));
        let history = folder.as_ref().ok().map(DataFolder::history);
        let path = match &chat.memory {
            Some(path) => Ok(path.clone()),
            None => folder.map(|folder| folder.memory()),
        };
        let conversation = Some(chat.conversation.clone().unwrap_or_else(fresh_name));
        match open(path).await {
            Ok(file) => {
                let file = Arc::new(file);
                Ok(Memory { file: Some(file.clone()), shared: Some(file), conversation, history })
            }
            // Nobody asked for it to be kept, so talking goes before keeping.
            Err(failure) if chat.conversation.is_none() && chat.memory.is_none() => {
                warn(&format_args!("this conversation is not kept: {failure}"));
                Ok(Memory { file: None, shared: Some(Arc::new(InProcessMemory::new())), conversation, history })
            }
            Err(failure) => Err(failure),
        }
    }

    /// The name under which the conversation can be gone on with later.
    pub(super) fn kept(&self) -> Option<&str> {
        self.file.as_ref().and(self.conversation.as_deref())
    }

    pub(super) async fn close(&self) {
        if let Some(file) = &self.file {
            file.close().await;
        }
    }
}

async fn open(path: Result<PathBuf, Failure>) -> Result<SqliteMemory, Failure> {
    SqliteMemory::open(path?).await.map_err(|error| Failure::usage(error.to_string()))
}

/// A name that no other conversation has, unless two begin in the same millisecond.
fn fresh_name() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S-%3f").to_string()
}
