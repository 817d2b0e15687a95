//! Runs: listed, looked into, forked, deleted, forgotten.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolCall, ToolContext};
use opentool_journal::{JournalError, JournalOptions, RunStatus};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{SHORT, folder, host, keyed, open, pay};

#[tokio::test]
async fn a_list_says_how_far_each_run_is() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let done = journal.start_run("chat", "done").await.unwrap();
    done.finish(RunStatus::Done).await.unwrap();
    let _running = journal.start_run("chat", "running").await.unwrap();
    let host = host([FakeTool::new("pay").hangs()]);
    let uncertain = keyed(&journal, "k").with_caller("ann");
    assert!(timeout(Duration::from_millis(50), pay(&host, &uncertain)).await.is_err());
    pay(&host, &uncertain).await;
    let runs = journal.runs(10).await.unwrap();
    let mut shown: Vec<_> = runs.iter().map(|run| (run.title.as_str(), run.shown_state(), run.calls)).collect();
    shown.sort_unstable();
    assert_eq!(shown, [("done", "done", 0), ("pay", "uncertain", 1), ("running", "running", 0)]);
    assert_eq!(journal.runs(2).await.unwrap().len(), 2);
    journal.close().await;
    let later = open(&path).await;
    let left = later.runs(10).await.unwrap();
    let running = left.iter().find(|run| run.title == "running").unwrap();
    assert_eq!((running.shown_state(), running.process), ("interrupted", None));
    assert!(left.iter().any(|run| run.caller.as_deref() == Some("ann")));
}

#[tokio::test]
async fn a_fork_has_the_first_steps_and_none_of_the_calls() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("chat", "hello").await.unwrap();
    for n in 1..=3 {
        assert_eq!(run.add_step("model", &json!({ "n": n })).await.unwrap(), n);
    }
    let tool = FakeTool::new("pay").answers("paid");
    let log = tool.log();
    let host = host([tool]);
    let call = || ToolCall::new("1", "pay", "{}");
    host.run(call(), &run.context(&ToolContext::new())).await;
    let fork = journal.fork(run.id(), 2).await.unwrap();
    let record = journal.run(&fork).await.unwrap();
    assert_eq!((record.steps.len(), record.calls.len()), (2, 0));
    assert_eq!(record.summary.parent.as_deref(), Some(run.id()));
    assert_eq!(record.summary.forked_at, Some(2));
    let fork = journal.claim(&fork).await.unwrap();
    host.run(call(), &fork.context(&ToolContext::new())).await;
    assert_eq!(log.count(), 2, "its keys are new");
    assert!(matches!(journal.fork(run.id(), 4).await, Err(JournalError::UnknownStep { .. })));
    assert!(matches!(journal.fork("nothing", 1).await, Err(JournalError::UnknownRun { .. })));
    assert_eq!(journal.runs(10).await.unwrap().len(), 2, "what failed left nothing");
}

#[tokio::test]
async fn a_run_of_a_living_process_cannot_be_deleted() {
    let (_folder, path) = folder();
    let (journal, other) = (open(&path).await, open(&path).await);
    let run = journal.start_run("chat", "hello").await.unwrap();
    run.add_step("input", "hello").await.unwrap();
    assert!(matches!(other.delete(run.id()).await, Err(JournalError::Owned { .. })));
    run.finish(RunStatus::Done).await.unwrap();
    other.delete(run.id()).await.unwrap();
    assert!(matches!(other.run(run.id()).await, Err(JournalError::UnknownRun { .. })));
    assert!(matches!(other.delete(run.id()).await, Err(JournalError::UnknownRun { .. })));
}

#[tokio::test]
async fn what_is_old_is_forgotten_and_what_is_uncertain_is_not() {
    let (_folder, path) = folder();
    let options = JournalOptions::new().lease(SHORT).key_retention(Duration::from_millis(1));
    let journal = options.run_retention(Duration::from_millis(1)).open(&path).await.unwrap();
    sleep(SHORT).await;
    let hangs = host([FakeTool::new("pay").hangs()]);
    assert!(timeout(Duration::from_millis(50), pay(&hangs, &keyed(&journal, "uncertain"))).await.is_err());
    let answers = host([FakeTool::new("pay").answers("paid")]);
    pay(&answers, &keyed(&journal, "uncertain")).await;
    pay(&answers, &keyed(&journal, "old")).await;
    let open_run = journal.start_run("chat", "open").await.unwrap();
    journal.start_run("chat", "over").await.unwrap().finish(RunStatus::Done).await.unwrap();
    sleep(Duration::from_millis(20)).await;
    assert_eq!(journal.forget_old_runs().await.unwrap(), 2);
    let mut left: Vec<_> = journal.runs(10).await.unwrap().into_iter().map(|run| run.title).collect();
    left.sort_unstable();
    assert_eq!(left, ["open", "pay"]);
    open_run.finish(RunStatus::Failed).await.unwrap();
}
