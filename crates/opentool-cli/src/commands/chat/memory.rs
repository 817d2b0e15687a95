//! Where the conversation is kept, and under which name.

use std::{path::PathBuf, sync::Arc};

use opentool_chat::{ChatMemory, InProcessMemory, SqliteMemory};

use super::{args::Chat, data::DataFolder};
use crate::{failure::Failure, terminal::warn};

/// The memory of a chat.
#[derive(Default)]
pub(super) struct Memory {
    /// The file; none where nothing is kept.
    file: Option<Arc<SqliteMemory>>,
    /// The client's memory; none if one prompt is answered and not kept.
    pub(super) shared: Option<Arc<dyn ChatMemory>>,
    pub(super) conversation: Option<String>,
    /// The file that was asked for.
    given: Option<PathBuf>,
    /// Where the lines of earlier sessions are.
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
        let folder = DataFolder::for_user().and_then(|folder| folder.make().map(|()| folder));
        let history = folder.as_ref().ok().map(DataFolder::history);
        let path = match &chat.memory {
            Some(path) => Ok(path.clone()),
            None => folder.map(|folder| folder.memory()),
        };
        let given = chat.memory.clone();
        let conversation = Some(chat.conversation.clone().unwrap_or_else(fresh_name));
        match open(path).await {
            Ok(file) => {
                let file = Arc::new(file);
                Ok(Memory { file: Some(file.clone()), shared: Some(file), conversation, given, history })
            }
            // The user did not ask for the conversation to be kept, so a warning is enough.
            Err(failure) if chat.conversation.is_none() && chat.memory.is_none() => {
                warn(&format_args!("this conversation is not kept: {failure}"));
                let shared = Some(Arc::new(InProcessMemory::new()) as Arc<dyn ChatMemory>);
                Ok(Memory { file: None, shared, conversation, given, history })
            }
            Err(failure) => Err(failure),
        }
    }

    /// The name with which the conversation can be continued later.
    pub(super) fn kept(&self) -> Option<&str> {
        self.file.as_ref().and(self.conversation.as_deref())
    }

    /// The options with which the conversation can be continued later, quoted for a shell.
    pub(super) fn options(&self) -> Option<String> {
        let conversation = option("--conversation", self.kept()?);
        let file = self.given.as_ref().map(|file| option("--memory", &file.to_string_lossy()));
        Some(file.into_iter().chain([conversation]).collect::<Vec<_>>().join(" "))
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

/// An option with its value in quotes where a shell, or the option, would take it for something else.
fn option(name: &str, value: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-.,:/@%+".contains(char);
    if !value.is_empty() && !value.starts_with('-') && value.chars().all(is_plain) {
        return format!("{name} {value}");
    }
    format!("{name}='{}'", value.replace('\'', r"'\''"))
}

/// A name that no other conversation has, unless two begin in the same millisecond.
fn fresh_name() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S-%3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_quoted_where_a_shell_would_not_take_it_as_it_is() {
        for (value, written) in [
            ("2026-01-01-120000-000", "--id 2026-01-01-120000-000"),
            ("/home/me/talks.sqlite", "--id /home/me/talks.sqlite"),
            ("two words", "--id='two words'"),
            ("it's", r"--id='it'\''s'"),
            ("$HOME", "--id='$HOME'"),
            ("-x", "--id='-x'"),
            ("é", "--id='é'"),
            ("", "--id=''"),
        ] {
            assert_eq!(option("--id", value), written);
        }
    }
}
