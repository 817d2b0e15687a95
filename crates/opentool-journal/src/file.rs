//! The file: its mark, how it is opened, and its tables.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::OpenFlags;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use crate::error::JournalError;

/// How many readers there are at once; SQLite has one writer.
const READERS: u32 = 4;

/// How many pages the log may have before a connection copies them into the file by itself. The store does that earlier, unless large
/// values are written.
const LOG_PAGES: u32 = 4000;

/// The application id in the header of our files: `otjr`.
const APPLICATION_ID: i64 = 0x6f74_6a72;

/// What brings a file from each version to the next. A file's version is how many of these it has seen.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE owners (
        id TEXT PRIMARY KEY,
        boot TEXT NOT NULL,
        lease_until INTEGER NOT NULL,
        pid INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        title TEXT NOT NULL,
        caller TEXT,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        owner TEXT,
        generation INTEGER NOT NULL,
        parent TEXT,
        forked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX runs_by_time ON runs (created);
    CREATE TABLE steps (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        body TEXT,
        body_blob BLOB,
        PRIMARY KEY (run, number)
    ) STRICT;
    CREATE TABLE calls (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        place TEXT NOT NULL,
        call_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        effect TEXT NOT NULL,
        arguments_hash TEXT NOT NULL,
        arguments TEXT,
        arguments_blob BLOB,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        owner TEXT,
        begun INTEGER NOT NULL,
        ended INTEGER,
        outcome TEXT,
        outcome_blob BLOB,
        decision TEXT,
        PRIMARY KEY (run, place)
    ) STRICT;
    CREATE INDEX calls_open ON calls (run, state) WHERE state <> 'done';
    CREATE TABLE blobs (
        hash BLOB PRIMARY KEY,
        body TEXT NOT NULL
    ) STRICT;
"];

/// The connections to a file.
pub(crate) struct Connections {
    /// Commits of this one are on the disk when they are done.
    pub(crate) full: SqliteConnection,
    /// Commits of this one survive the process; the system writes them when it likes.
    pub(crate) normal: SqliteConnection,
    /// As `normal`, for writes on the thread of their caller.
    pub(crate) inline: rusqlite::Connection,
    pub(crate) readers: SqlitePool,
}

/// What keeps a file from being written, which only tests set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileLimits {
    pub(crate) max_pages: Option<u32>,
    pub(crate) read_only: bool,
}

/// Opens a file, which is made where there is none, and brings it up to date.
pub(crate) async fn open(path: &Path, max_wait: Duration, limits: FileLimits) -> Result<Connections, JournalError> {
    create(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem if path.exists() => {
            JournalError::ReadOnly { path: path.to_owned() }
        }
        std::io::ErrorKind::StorageFull => JournalError::Full { path: path.to_owned() },
        _ => JournalError::Open { path: path.to_owned(), source },
    })?;
    let failed = |error: sqlx::Error| JournalError::from_sqlite(path, &error);
    let mut options = SqliteConnectOptions::new().filename(path).busy_timeout(max_wait).disable_statement_logging();
    options = options.pragma("wal_autocheckpoint", LOG_PAGES.to_string());
    if let Some(pages) = limits.max_pages {
        options = options.pragma("max_page_count", pages.to_string());
    }
    if limits.read_only {
        options = options.read_only(true);
    }
    let full = options.clone().synchronous(SqliteSynchronous::Full);
    let normal = options.synchronous(SqliteSynchronous::Normal);
    let mut first = full.connect().await.map_err(failed)?;
    prepare(&mut first, path, max_wait).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .min_connections(0)
        .acquire_timeout(max_wait)
        .connect_lazy_with(normal.clone());
    let normal = normal.connect().await.map_err(failed)?;
    let file = path.to_owned();
    let inline = tokio::task::spawn_blocking(move || open_inline(&file, max_wait, limits));
    let inline = inline.await.map_err(|_| JournalError::ShuttingDown)?;
    let inline = inline.map_err(|error| JournalError::from_rusqlite(path, &error))?;
    Ok(Connections { full: first, normal, inline, readers })
}

/// Opens a file that is up to date, as sqlx does, but so that a write never waits for a lock, nor for a checkpoint of the log.
fn open_inline(path: &Path, max_wait: Duration, limits: FileLimits) -> rusqlite::Result<rusqlite::Connection> {
    let access = if limits.read_only { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let connection = rusqlite::Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(max_wait)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    if let Some(pages) = limits.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

/// Makes the file, readable for its owner only: arguments and results are private. SQLite gives its other files the same rights.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

async fn prepare(connection: &mut SqliteConnection, path: &Path, max_wait: Duration) -> Result<(), JournalError> {
    let failed = |error: sqlx::Error| JournalError::from_sqlite(path, &error);
    if pending(connection, path).await?.is_some() {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        // Another process may have done it meanwhile.
        if let Some(version) = pending(&mut transaction, path).await? {
            for migration in &MIGRATIONS[version..] {
                sqlx::raw_sql(*migration).execute(&mut *transaction).await.map_err(failed)?;
            }
            let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", MIGRATIONS.len());
            sqlx::raw_sql(sqlx::AssertSqlSafe(mark)).execute(&mut *transaction).await.map_err(failed)?;
        }
        transaction.commit().await.map_err(failed)?;
    }
    write_ahead(connection, path, max_wait).await
}

/// Returns the version from which a file has to be brought up to date; none where it is.
async fn pending(connection: &mut SqliteConnection, path: &Path) -> Result<Option<usize>, JournalError> {
    let (application, version, tables): (i64, i64, i64) = sqlx::query_as(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| JournalError::from_sqlite(path, &error))?;
    match (application, usize::try_from(version)) {
        (APPLICATION_ID, Ok(version)) if version == MIGRATIONS.len() => Ok(None),
        (APPLICATION_ID, Ok(version)) if version < MIGRATIONS.len() => Ok(Some(version)),
        (APPLICATION_ID, _) => Err(JournalError::Newer { path: path.to_owned(), version, known: MIGRATIONS.len() }),
        (0, Ok(0)) if tables == 0 => Ok(Some(0)),
        _ => Err(JournalError::Foreign { path: path.to_owned() }),
    }
}

/// Turns write-ahead logging on, so that readers and a writer do not block each other. That needs an exclusive lock, for
/// which SQLite's busy timeout does not hold.
async fn write_ahead(connection: &mut SqliteConnection, path: &Path, max_wait: Duration) -> Result<(), JournalError> {
    let begun = Instant::now();
    loop {
        let changed = sqlx::query("PRAGMA journal_mode = WAL").execute(&mut *connection).await;
        match changed.map_err(|error| JournalError::from_sqlite(path, &error)) {
            Err(JournalError::Busy { .. }) if begun.elapsed() < max_wait => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            changed => return changed.map(drop),
        }
    }
}
