//! What the journal promises, one test for each promise, on real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
#[cfg(target_os = "linux")]
mod crash;
mod export;
mod faults;
mod inline;
mod leases;
mod redaction;
mod runs;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Host, IdempotencyKey, Outcome, ToolCall, ToolContext, Toolbox};
use opentool_journal::{JournalOptions, SqliteJournal};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;

/// A lease that ends soon, for tests that wait for its end.
const SHORT: Duration = Duration::from_millis(600);

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.sqlite");
    (folder, path)
}

/// Another process, as far as the journal can tell: each opening has an owner and connections of its own.
async fn open(path: &Path) -> SqliteJournal {
    JournalOptions::new().lease(SHORT).open(path).await.unwrap()
}

fn host(tools: impl IntoIterator<Item = FakeTool>) -> Host {
    Executor::new().host(Toolbox::from_tools(tools).unwrap())
}

fn keyed(journal: &SqliteJournal, key: &str) -> ToolContext {
    ToolContext::new().with_idempotency_key(Arc::new(journal.clone()), IdempotencyKey::parse(key).unwrap())
}

async fn pay(host: &Host, context: &ToolContext) -> Outcome {
    host.run(ToolCall::new("1", "pay", r#"{"cents":100}"#), context).await
}

async fn execute(path: &Path, statement: &'static str) {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}
