//! Short writes on the thread of their caller: [`InlineWriter`]. `scripts/bench journal` shows what that saves.

use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, Params};

/// Longer texts are written through sqlx: they take longer than the changes of threads, which they would cost a thread of tasks.
pub(crate) const SHORT: usize = 16 * 1024;

/// A connection for writes of one short statement, which costs less than to send it to a thread of sqlx and to wait for that.
///
/// It never waits for a lock: what it does not do, sqlx does, which also says what is wrong.
#[derive(Debug)]
pub(crate) struct InlineWriter {
    /// None once the journal is closed.
    connection: Mutex<Option<InlineConnection>>,
}

#[derive(Debug)]
struct InlineConnection {
    sqlite: Connection,
    #[cfg(feature = "testing")]
    writes: u64,
}

impl InlineWriter {
    pub(crate) fn new(sqlite: Connection) -> Self {
        let connection = InlineConnection {
            sqlite,
            #[cfg(feature = "testing")]
            writes: 0,
        };
        Self { connection: Mutex::new(Some(connection)) }
    }

    /// Commits one statement and says whether it changed a row. Where it says no, the statement may also not have been done.
    pub(crate) fn changes_row(&self, statement: &'static str, values: impl Params) -> bool {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = connection.as_mut() else { return false };
        match connection.execute(statement, values) {
            Ok(has_changed) => has_changed,
            Err(error) => {
                tracing::debug!(target: "opentool::journal", %error, "a write is left to sqlx");
                false
            }
        }
    }

    /// Closes the file. Done before the connections of sqlx are closed: the last one waits for the disk.
    pub(crate) fn close(&self) {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns how many rows this has written.
    #[cfg(feature = "testing")]
    pub(crate) fn count(&self) -> u64 {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.as_ref().map_or(0, |connection| connection.writes)
    }
}

impl InlineConnection {
    fn execute(&mut self, statement: &'static str, values: impl Params) -> rusqlite::Result<bool> {
        let mut statement = self.sqlite.prepare_cached(statement)?;
        let mut rows = statement.query(values)?;
        // To the end, also where a row is returned: the commit comes after it, and may fail.
        while rows.next()?.is_some() {}
        let has_changed = self.sqlite.changes() > 0;
        #[cfg(feature = "testing")]
        {
            self.writes += u64::from(has_changed);
        }
        Ok(has_changed)
    }
}
