//! The file: its owner mark, how it is opened, and its tables.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool};

use super::error::FileError;
use crate::memory::error::MemoryError;

/// How long to wait for the file's lock before the caller gets an error.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(30);

/// How many readers there are at once; SQLite has one writer.
const CONNECTIONS: u32 = 4;

/// The application id in the header of our files: `otcm`.
const APPLICATION_ID: i64 = 0x6f74_636d;

/// What brings a file from each version to the next. A file's version is how many of these it has seen.
///
/// The role stands beside the body so that the window and the turn of an unreadable row can be found without reading bodies.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE messages (
        conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        role TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (conversation, position)
    ) STRICT;
    CREATE INDEX messages_by_role ON messages (conversation, role, position);
"];

/// Opens a file, which is made where there is none, and brings it up to date.
pub(super) async fn open(path: &Path, max_wait: Duration) -> Result<SqlitePool, MemoryError> {
    opened(path, max_wait).await.map_err(|error| error.at(path))
}

async fn opened(path: &Path, max_wait: Duration) -> Result<SqlitePool, FileError> {
    create(path).map_err(|source| FileError::Open { source })?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(max_wait)
        // What was acknowledged survives a power cut, not only the end of the process.
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging();
    let mut connection = options.connect().await?;
    prepare(&mut connection, max_wait).await?;
    connection.close().await?;
    let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(max_wait);
    Ok(pool.connect_with(options).await?)
}

/// Makes the file, readable for its owner only: conversations are private. SQLite gives its other files the same rights.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

async fn prepare(connection: &mut SqliteConnection, max_wait: Duration) -> Result<(), FileError> {
    if pending(connection).await?.is_some() {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        // Another process may have done it meanwhile.
        if let Some(version) = pending(&mut transaction).await? {
            for migration in &MIGRATIONS[version..] {
                sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
            }
            let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", MIGRATIONS.len());
            sqlx::raw_sql(sqlx::AssertSqlSafe(mark)).execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
    }
    write_ahead(connection, max_wait).await
}

/// Returns the version from which a file has to be brought up to date; none where it is.
async fn pending(connection: &mut SqliteConnection) -> Result<Option<usize>, FileError> {
    let (application, version, tables): (i64, i64, i64) = sqlx::query_as(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
    )
    .fetch_one(connection)
    .await?;
    match (application, usize::try_from(version)) {
        (APPLICATION_ID, Ok(version)) if version == MIGRATIONS.len() => Ok(None),
        (APPLICATION_ID, Ok(version)) if version < MIGRATIONS.len() => Ok(Some(version)),
        (APPLICATION_ID, _) => Err(FileError::Newer { version, known: MIGRATIONS.len() }),
        (0, Ok(0)) if tables == 0 => Ok(Some(0)),
        _ => Err(FileError::Foreign),
    }
}

/// Turns write-ahead logging on, so that readers and a writer do not block each other. That needs an exclusive lock, for
/// which SQLite's busy timeout does not hold.
async fn write_ahead(connection: &mut SqliteConnection, max_wait: Duration) -> Result<(), FileError> {
    let begun = Instant::now();
    loop {
        match sqlx::query("PRAGMA journal_mode = WAL").execute(&mut *connection).await.map_err(FileError::from) {
            Err(FileError::Busy { .. }) if begun.elapsed() < max_wait => {
                tokio::time::sleep(Duration::from_millis(20)).await
            }
            changed => return changed.map(drop),
        }
    }
}
