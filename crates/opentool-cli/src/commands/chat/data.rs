//! Where conversations are kept.

use std::path::PathBuf;

use crate::{failure::Failure, folders::UserFolder};

/// The file of conversations.
const MEMORY: &str = "conversations.sqlite";
/// The file of lines that were typed.
const HISTORY: &str = "chat-history.txt";

/// The folder of this user's data.
#[derive(Debug)]
pub(super) struct DataFolder(UserFolder);

impl DataFolder {
    /// The folder where this system has such data.
    pub(super) fn for_user() -> Result<Self, Failure> {
        UserFolder::data().map(DataFolder).ok_or_else(|| {
            Failure::usage("there is no folder to keep conversations in: set HOME, or give a file with `--memory`")
        })
    }

    /// Makes the folder, accessible to its owner only.
    pub(super) fn make(&self) -> Result<(), Failure> {
        self.0.make()
    }

    pub(super) fn memory(&self) -> PathBuf {
        self.0.join(MEMORY)
    }

    pub(super) fn history(&self) -> PathBuf {
        self.0.join(HISTORY)
    }
}
