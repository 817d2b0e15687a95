//! The file of a journal while it is used: one writer at a time, readers beside it.

use std::fmt;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

use hmac_sha256::Hash;
use opentool_core::BoxFuture;
use sqlx::{Connection as _, SqliteConnection, SqlitePool};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::error::JournalError;
use crate::file::Connections;
use crate::inline::InlineWriter;
use crate::lease::Owner;

/// Larger values are stored once, by their hash.
pub(crate) const LARGE: usize = 256 * 1024;

/// After so many writes the log is copied into the file: some 1000 pages, where values are small.
const WRITES_BETWEEN_CHECKPOINTS: u32 = 400;

/// When a commit is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// When it is on the disk.
    Full,
    /// When it survives the process.
    Normal,
}

pub(crate) struct Store {
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    /// Only used by a writer in its turn, so that the writers of this process do not get in each other's way. Dropped before their
    /// connections: the last one to close waits for the disk.
    pub(crate) inline: InlineWriter,
    /// None once the journal is closed. Writers of this process queue here, in order; at the file they would poll its lock.
    writers: Mutex<Option<Writers>>,
    readers: SqlitePool,
}

struct Writers {
    full: SqliteConnection,
    normal: SqliteConnection,
    /// How many writes there were since the last checkpoint.
    writes: u32,
}

impl Writers {
    /// Copies the log into the file, where enough was written, and begins the log again. Both wait for the disk, so they are done by a
    /// thread of sqlx, and not by the next write, which may be on a thread of tasks.
    async fn checkpoint(&mut self, owner: &Owner) -> sqlx::Result<()> {
        self.writes += 1;
        if self.writes < WRITES_BETWEEN_CHECKPOINTS {
            return Ok(());
        }
        self.writes = 0;
        sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut self.normal).await?;
        // Any write begins the log again.
        owner.renew(&mut self.normal).await
    }
}

/// Why a write was not done.
pub(crate) enum WriteError {
    Sqlite(sqlx::Error),
    Journal(JournalError),
}

impl From<sqlx::Error> for WriteError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<JournalError> for WriteError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<serde_json::Error> for WriteError {
    fn from(error: serde_json::Error) -> Self {
        Self::Journal(error.into())
    }
}

impl Store {
    pub(crate) fn new(path: &Path, owner: Owner, connections: Connections) -> Self {
        let Connections { full, normal, inline, readers } = connections;
        let inline = InlineWriter::new(inline);
        Self {
            path: path.to_owned(),
            owner,
            inline,
            writers: Mutex::new(Some(Writers { full, normal, writes: 0 })),
            readers,
        }
    }

    /// Writes. What is not done at once goes on in a task of its own: a caller that does not wait any longer must leave neither half a
    /// transaction nor a held lock behind.
    pub(crate) async fn write<T, W>(self: &Arc<Self>, durability: Durability, write: W) -> Result<T, JournalError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection, &'c Self) -> BoxFuture<'c, Result<T, WriteError>> + Send + 'static,
    {
        let store = self.clone();
        let runtime = Handle::try_current().map_err(|_| JournalError::ShuttingDown)?;
        let mut writing = Box::pin(async move {
            let mut writers = store.writers.lock().await;
            let writers = writers.as_mut().ok_or(JournalError::ShuttingDown)?;
            let connection = match durability {
                Durability::Full => &mut writers.full,
                Durability::Normal => &mut writers.normal,
            };
            match write(connection, &store).await {
                Ok(written) => {
                    if let Err(error) = writers.checkpoint(&store.owner).await {
                        tracing::debug!(target: "opentool::journal", %error, "the log cannot be copied into the file");
                    }
                    Ok(written)
                }
                Err(error) => {
                    // A statement that failed may have left a transaction open; without one this fails, which is fine.
                    let _ = sqlx::raw_sql("ROLLBACK").execute(connection).await;
                    Err(store.error(error))
                }
            }
        });
        // A task from the beginning would cost two changes of threads more than a short write (`scripts/bench journal`).
        match poll_fn(|cx| Poll::Ready(writing.as_mut().poll(cx))).await {
            Poll::Ready(written) => written,
            Poll::Pending => runtime.spawn(writing).await.unwrap_or(Err(JournalError::ShuttingDown)),
        }
    }

    fn error(&self, error: WriteError) -> JournalError {
        match error {
            WriteError::Sqlite(error) => self.sqlite(&error),
            WriteError::Journal(error) => error,
        }
    }

    pub(crate) fn sqlite(&self, error: &sqlx::Error) -> JournalError {
        JournalError::from_sqlite(&self.path, error)
    }

    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Ends the lease and closes the file.
    pub(crate) async fn close(&self) {
        if let Some(Writers { full, mut normal, .. }) = self.writers.lock().await.take() {
            let _ = self.owner.resign(&mut normal).await;
            self.inline.close();
            self.readers.close().await;
            let _ = normal.close().await;
            let _ = full.close().await;
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).field("owner", &self.owner.id).finish_non_exhaustive()
    }
}

/// A text as a row holds it: itself, or the hash under which it is stored.
pub(crate) struct StoredText {
    pub(crate) text: Option<String>,
    pub(crate) hash: Option<Vec<u8>>,
}

/// Makes a text fit into a row; a large one is stored by its hash, in the transaction of the row.
pub(crate) async fn store_text(connection: &mut SqliteConnection, text: String) -> sqlx::Result<StoredText> {
    if text.len() <= LARGE {
        return Ok(StoredText { text: Some(text), hash: None });
    }
    let hash = Hash::hash(text.as_bytes()).to_vec();
    sqlx::query("INSERT INTO blobs (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING")
        .bind(&hash)
        .bind(text)
        .execute(connection)
        .await?;
    Ok(StoredText { text: None, hash: Some(hash) })
}
