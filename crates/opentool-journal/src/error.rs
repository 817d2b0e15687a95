//! What can go wrong with a journal: [`JournalError`].

use std::io;
use std::path::{Path, PathBuf};

use opentool_core::ToolError;
use sqlx::error::DatabaseError;

/// Why a journal cannot be used, or does not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file cannot be opened.
    #[error("the journal {} cannot be opened: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no SQLite database.
    #[error("{} is no SQLite database: give another file, or move it away", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} is a database of another program: give another file, or one that does not exist yet", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer version of this program has written the file.
    #[error("the journal {} has version {version} and this program knows versions up to {known}: use a newer program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
        /// The last version that this program knows.
        known: usize,
    },
    /// Another program holds the file for too long.
    #[error("the journal {} is held by another program: try again when it is done", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("the disk of the journal {} is full: free some space; until then nothing that must be recorded runs", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder may only be read.
    #[error("the journal {} can only be read: allow writing to the file and its folder", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("the journal {} is damaged ({said}): restore it from a backup, or move it away and decide about its calls by hand", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        said: String,
    },
    /// SQLite says something else.
    #[error("the journal {} cannot be used: {said}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        said: String,
    },
    /// There is no such run.
    #[error("the journal has no run `{run}`")]
    UnknownRun {
        /// The id that was asked for.
        run: String,
    },
    /// There is no such call.
    #[error("run {run} has no call at `{place}`")]
    UnknownCall {
        /// The run.
        run: String,
        /// The place that was asked for.
        place: String,
    },
    /// There is no such step.
    #[error("run {run} has no step {step}")]
    UnknownStep {
        /// The run.
        run: String,
        /// The step that was asked for.
        step: i64,
    },
    /// A call is not uncertain, so there is nothing to decide.
    #[error("call {place} of run {run} is {state}: only an uncertain call can be decided")]
    NotUncertain {
        /// The run.
        run: String,
        /// The place of the call.
        place: String,
        /// What it is.
        state: &'static str,
    },
    /// A call does not wait for approval, so there is nothing to decide.
    #[error("no call at `{place}` of run {run} waits for approval")]
    NotWaiting {
        /// The run.
        run: String,
        /// The place that was asked for.
        place: String,
    },
    /// Another process has the run.
    #[error("run {run} belongs to process {pid}, which is alive: wait until it is done, or end that process")]
    Owned {
        /// The run.
        run: String,
        /// The process.
        pid: i64,
    },
    /// This process had the run, and another one has taken it over.
    #[error("run {run} does not belong to this process any more: another one has taken it over")]
    Lost {
        /// The run.
        run: String,
    },
    /// The key of a call was used for another one.
    #[error("the key was used for a call of another tool or with other arguments")]
    KeyReused,
    /// A value cannot be written as JSON.
    #[error("a value cannot be recorded: {source}")]
    Json {
        /// Why.
        #[from]
        source: serde_json::Error,
    },
    /// The journal was closed, or the runtime ended while it was used.
    #[error("the journal is closed")]
    ShuttingDown,
}

/// The low byte of SQLite's result codes; the rest says more than matters here.
const BUSY: i32 = 5;
const READ_ONLY: i32 = 8;
const IO: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;

impl JournalError {
    pub(crate) fn from_sqlite(path: &Path, error: &sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(DatabaseError::code).and_then(|code| code.parse::<i32>().ok());
        // The message of sqlx would repeat that it comes from the database.
        let said = error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        match code {
            None if matches!(error, sqlx::Error::PoolTimedOut) => Self::Busy { path: path.to_owned() },
            code => Self::from_code(path, code, said),
        }
    }

    pub(crate) fn from_rusqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|error| error.extended_code);
        Self::from_code(path, code, error.to_string())
    }

    fn from_code(path: &Path, code: Option<i32>, said: String) -> Self {
        let path = path.to_owned();
        match code.map(|code| code & 0xff) {
            Some(BUSY) => Self::Busy { path },
            Some(READ_ONLY) => Self::ReadOnly { path },
            Some(FULL) => Self::Full { path },
            Some(CORRUPT) => Self::Corrupt { path, said },
            Some(NOT_A_DATABASE) => Self::NotADatabase { path },
            // A full disk shows as an error of input and output where the log cannot grow.
            Some(IO | CANNOT_OPEN) if is_full(&path) => Self::Full { path },
            _ => Self::Database { path, said },
        }
    }
}

/// Says whether not even a small file can be written beside a journal.
fn is_full(path: &Path) -> bool {
    let probe = path.with_extension(format!("probe-{}", std::process::id()));
    let written = std::fs::write(&probe, [0_u8; 4096]);
    let _ = std::fs::remove_file(&probe);
    written.is_err_and(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// The caller sees that the call was not recorded, the operator why.
impl From<JournalError> for ToolError {
    fn from(error: JournalError) -> Self {
        let shown = match &error {
            JournalError::Lost { .. } | JournalError::Owned { .. } => {
                ToolError::unavailable("another process has taken the call over").with_retryable(false)
            }
            _ => ToolError::unavailable("the call cannot be recorded, so it does not run").with_retryable(false),
        };
        shown.with_detail(error.to_string()).with_source(error)
    }
}
