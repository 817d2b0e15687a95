//! What goes wrong with the file of a memory.

use std::io;
use std::path::Path;

use sqlx::error::DatabaseError;

use crate::memory::error::MemoryError;

/// What went wrong with the file.
#[derive(Debug)]
pub(super) enum FileError {
    Open { source: io::Error },
    NotADatabase,
    Foreign,
    Newer { version: i64, known: usize },
    Busy { source: sqlx::Error },
    Message { source: serde_json::Error },
    Database { source: sqlx::Error },
}

impl FileError {
    /// Makes the error that names the file and says what to do.
    pub(super) fn at(self, path: &Path) -> MemoryError {
        let path = path.display();
        match self {
            Self::Open { source } => {
                let message = format!("the memory {path} cannot be opened: {source}");
                MemoryError::new(message).with_source(source)
            }
            Self::NotADatabase => {
                MemoryError::new(format!("{path} is no SQLite database: give another file, or move it away"))
            }
            Self::Foreign => MemoryError::new(format!(
                "{path} is a database of another program: give another file, or one that does not exist yet"
            )),
            Self::Newer { version, known } => MemoryError::new(format!(
                "the memory {path} has version {version} and this program knows versions up to {known}: use a newer program"
            )),
            Self::Busy { source } => {
                let message = format!("the memory {path} is held by another program: try again when it is done");
                MemoryError::new(message).with_source(source)
            }
            Self::Message { source } => {
                let message = format!("a message cannot be written to the memory {path}: {source}");
                MemoryError::new(message).with_source(source)
            }
            Self::Database { source } => {
                // The message of sqlx would repeat that it comes from the database.
                let said =
                    source.as_database_error().map_or_else(|| source.to_string(), |error| error.message().to_owned());
                MemoryError::new(format!("the memory {path} cannot be used: {said}")).with_source(source)
            }
        }
    }
}

/// The low byte of SQLite's result codes; the rest says more than matters here.
const BUSY: i32 = 5;
const NOT_A_DATABASE: i32 = 26;

impl From<sqlx::Error> for FileError {
    fn from(source: sqlx::Error) -> Self {
        let code = source.as_database_error().and_then(DatabaseError::code).and_then(|code| code.parse::<i32>().ok());
        match code.map(|code| code & 0xff) {
            Some(BUSY) => Self::Busy { source },
            Some(NOT_A_DATABASE) => Self::NotADatabase,
            _ if matches!(source, sqlx::Error::PoolTimedOut) => Self::Busy { source },
            _ => Self::Database { source },
        }
    }
}

impl From<serde_json::Error> for FileError {
    fn from(source: serde_json::Error) -> Self {
        Self::Message { source }
    }
}
