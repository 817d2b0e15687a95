//! Short writes on the thread of their caller: used where they can be, and left to sqlx where they cannot.

use std::path::Path;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, Host, Outcome, ToolCall, ToolContext, ToolMetadata};
use opentool_journal::{CallStatus, Run, SqliteJournal};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tempfile::TempDir;

use super::{folder, host, keyed, open, pay};

fn repeatable(name: &str) -> FakeTool {
    FakeTool::new(name).with_metadata(ToolMetadata::new().with_idempotent(true))
}

async fn pay_at(host: &Host, run: &Run, place: usize) -> Outcome {
    pay(host, &run.context(&ToolContext::new()).with_place(place.to_string())).await
}

async fn are_done(journal: &SqliteJournal, run: &Run, count: usize) {
    let calls = journal.run(run.id()).await.unwrap().calls;
    assert_eq!(calls.iter().filter(|call| call.state == CallStatus::Done).count(), count, "{calls:?}");
}

#[tokio::test]
async fn short_writes_are_done_on_the_thread_of_the_caller() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();

    assert!(pay_at(&host([repeatable("pay").answers("paid")]), &run, 0).await.output().is_some());
    assert_eq!(journal.inline_writes(), 2, "start and outcome");

    let once = host([FakeTool::new("pay").answers("paid")]);
    assert!(pay_at(&once, &run, 1).await.output().is_some());
    assert_eq!(journal.inline_writes(), 3, "its start is synced, which waits for the disk");
    assert!(pay(&once, &keyed(&journal, "k")).await.output().is_some());
    assert_eq!(journal.inline_writes(), 4, "its start is two statements");

    for length in [100_000, 1_000_000] {
        let long = host([repeatable("pay").answers("x".repeat(length))]);
        assert!(pay_at(&long, &run, length).await.output().is_some());
    }
    assert_eq!(journal.inline_writes(), 6, "long outcomes take long");
    are_done(&journal, &run, 4).await;
}

/// Takes the lock of all writers, as another program.
async fn hold(path: &Path) -> SqliteConnection {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
    connection
}

async fn release(mut connection: SqliteConnection) {
    sqlx::raw_sql("COMMIT").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_start_waits_for_a_program_that_holds_the_file() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();
    let tool = repeatable("pay").answers("paid");
    let (log, host, context) = (tool.log(), host([tool]), run.context(&ToolContext::new()));
    let held = hold(&path).await;
    let call = tokio::spawn(async move { pay(&host, &context).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!((call.is_finished(), log.count(), journal.inline_writes()), (false, 0, 0));
    release(held).await;
    assert!(call.await.unwrap().output().is_some());
    are_done(&journal, &run, 1).await;
}

#[tokio::test]
async fn an_outcome_waits_for_a_program_that_holds_the_file() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();
    let tool = repeatable("pay").answers_after(Duration::from_millis(300), "paid");
    let (log, host, context) = (tool.log(), host([tool]), run.context(&ToolContext::new()));
    let call = tokio::spawn(async move { pay(&host, &context).await });
    while log.count() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let held = hold(&path).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((call.is_finished(), journal.inline_writes()), (false, 1));
    release(held).await;
    assert!(call.await.unwrap().output().is_some());
    are_done(&journal, &run, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_many_threads_are_all_recorded() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();
    let calls = (0..8).map(|task| {
        let (run, host) = (run.clone(), host([repeatable("pay").answers("paid")]));
        tokio::spawn(async move {
            for call in 0..50 {
                assert!(pay_at(&host, &run, task * 50 + call).await.output().is_some());
            }
        })
    });
    for calls in calls.collect::<Vec<_>>() {
        calls.await.unwrap();
    }
    are_done(&journal, &run, 400).await;
    assert!(journal.inline_writes() > 700, "{}", journal.inline_writes());
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_closed_journal_is_one_file_and_writes_nothing() {
    let (folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();
    let host = host([repeatable("pay").answers("paid")]);
    assert!(pay_at(&host, &run, 0).await.output().is_some());
    assert_eq!(files(&folder).len(), 3, "the log is there while it is open");
    journal.close().await;
    assert_eq!(files(&folder), ["journal.sqlite"]);

    let outcome = host.run(ToolCall::new("2", "pay", "{}"), &run.context(&ToolContext::new()).with_place("1")).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Unavailable);
    assert_eq!(files(&folder), ["journal.sqlite"]);
}

/// On one thread, where no other task runs while calls do not wait for anything.
#[tokio::test]
async fn the_log_does_not_grow_with_the_number_of_calls() {
    let (folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "payments").await.unwrap();
    let host = host([repeatable("pay").answers("paid")]);
    let mut longest = 0;
    for call in 0..5_000 {
        assert!(pay_at(&host, &run, call).await.output().is_some());
        if call % 100 == 0 {
            longest = longest.max(folder.path().join("journal.sqlite-wal").metadata().unwrap().len());
        }
    }
    assert!(longest < 16 * 1024 * 1024, "{longest} bytes");
    are_done(&journal, &run, 5_000).await;
}
