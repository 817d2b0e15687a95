//! Conversations in a file: [`SqliteMemory`].

mod error;
mod file;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_core::future::BoxFuture;
use sqlx::SqlitePool;
use tokio::sync::Mutex;

use self::error::FileError;
use super::chat_memory::ChatMemory;
use super::error::MemoryError;
use super::window::WINDOW;
use crate::message::Message;

/// Keeps conversations in an SQLite file, where they outlive the process.
///
/// Everything that was added stays in the file; [`get`](ChatMemory::get) reads no more of it than its window needs. What
/// [`add`](ChatMemory::add) has acknowledged survives a killed process and a power cut, and nothing of an `add` that was not
/// acknowledged is ever half there. Any number of tasks and processes may use one file: they read at the same time and take
/// turns to write. While it is open there are two more files beside it (`-wal`, `-shm`), which belong to it; once it is
/// [closed](Self::close) the file alone holds everything.
///
/// A turn of which a row cannot be read any more is left out, with a warning that says where it stands; the others are
/// there.
///
/// ```
/// use opentool_chat::{ChatMemory, Message, SqliteMemory};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("conversations.sqlite");
/// let memory = SqliteMemory::open(&path).await?;
/// memory.add("ann", &[Message::user("I am Ann."), Message::assistant("Hello Ann.")]).await?;
/// memory.close().await;
///
/// let memory = SqliteMemory::open(&path).await?.with_window(100);
/// assert_eq!(memory.get("ann").await?.len(), 2);
/// # Ok::<(), opentool_chat::MemoryError>(())
/// # }).unwrap();
/// ```
pub struct SqliteMemory {
    path: PathBuf,
    pool: SqlitePool,
    /// Writers of this process queue here, in order; at the file they would poll its lock.
    writing: Mutex<()>,
    most: usize,
}

impl SqliteMemory {
    /// Opens a file, which is made where there is none, with a window of [20 messages](WINDOW).
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened, is no SQLite database, is one of another program or of a newer version of this one.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, MemoryError> {
        Self::open_within(path.as_ref(), file::MAX_WAIT).await
    }

    /// Opens a file whose lock, now or later, is waited for no longer than this.
    async fn open_within(path: &Path, max_wait: Duration) -> Result<Self, MemoryError> {
        let path = path.to_owned();
        let pool = file::open(&path, max_wait).await?;
        Ok(Self { path, pool, writing: Mutex::default(), most: WINDOW })
    }

    /// Sets how many messages [`get`](ChatMemory::get) gives at most.
    #[must_use]
    pub fn with_window(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes the file, so that it alone holds everything. Using the memory afterwards is an error.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn append(&self, conversation: &str, messages: &[Message]) -> Result<(), FileError> {
        let bodies = messages.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let rows = messages.iter().map(Message::role).zip(&bodies);
        let _turn = self.writing.lock().await;
        // To begin as a reader and to become a writer later could fail half-way.
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        rows::append(&mut transaction, conversation, rows).await?;
        Ok(transaction.commit().await?)
    }

    async fn latest(&self, conversation: &str) -> Result<Vec<Message>, FileError> {
        let mut snapshot = self.pool.begin().await?;
        let latest = rows::latest(&mut snapshot, conversation, self.most).await?;
        snapshot.commit().await?;
        Ok(latest)
    }

    async fn forget(&self, conversation: &str) -> Result<(), FileError> {
        let _turn = self.writing.lock().await;
        sqlx::query("DELETE FROM conversations WHERE name = ?").bind(conversation).execute(&self.pool).await?;
        Ok(())
    }
}

impl ChatMemory for SqliteMemory {
    fn add<'a>(&'a self, conversation: &'a str, messages: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move {
            if messages.is_empty() {
                return Ok(());
            }
            self.append(conversation, messages).await.map_err(|error| error.at(&self.path))
        })
    }

    fn get<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async move { self.latest(conversation).await.map_err(|error| error.at(&self.path)) })
    }

    fn clear<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async move { self.forget(conversation).await.map_err(|error| error.at(&self.path)) })
    }
}

impl fmt::Debug for SqliteMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteMemory").field("path", &self.path).field("window", &self.most).finish_non_exhaustive()
    }
}
