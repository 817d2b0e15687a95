//! A run belongs to at most one process, and an abandoned one is taken over.

use std::collections::HashSet;

use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, ToolCall, ToolContext};
use opentool_journal::{JournalError, RunStatus};
use tokio::time::sleep;

use super::{SHORT, execute, folder, host, open};

#[tokio::test]
async fn a_run_of_a_living_process_cannot_be_claimed() {
    let (_folder, path) = folder();
    let (first, second) = (open(&path).await, open(&path).await);
    let run = first.start_run("chat", "hello").await.unwrap();
    sleep(SHORT * 2).await;
    let refused = second.claim(run.id()).await.unwrap_err();
    assert!(matches!(refused, JournalError::Owned { .. }), "the lease is renewed: {refused}");
    assert!(refused.to_string().contains(&std::process::id().to_string()));
    assert!(first.claim(run.id()).await.is_ok(), "it is this process's own");
    run.finish(RunStatus::Waiting).await.unwrap();
    second.claim(run.id()).await.unwrap();
    assert!(matches!(first.claim(run.id()).await, Err(JournalError::Owned { .. })));
    assert!(matches!(first.claim("nothing").await, Err(JournalError::UnknownRun { .. })));
}

#[tokio::test]
async fn a_run_of_another_boot_can_be_claimed() {
    let (_folder, path) = folder();
    let (first, second) = (open(&path).await, open(&path).await);
    let run = first.start_run("chat", "hello").await.unwrap();
    execute(&path, "UPDATE owners SET boot = 'before'").await;
    second.claim(run.id()).await.unwrap();
}

#[tokio::test]
async fn an_owner_that_comes_back_late_starts_nothing() {
    let (_folder, path) = folder();
    let (stopped, other) = (open(&path).await, open(&path).await);
    let run = stopped.start_run("chat", "hello").await.unwrap();
    run.add_step("input", "hello").await.unwrap();
    execute(&path, "UPDATE owners SET lease_until = 0").await;
    let taken = other.claim(run.id()).await.unwrap();

    let tool = FakeTool::new("pay").answers("paid");
    let log = tool.log();
    let host = host([tool]);
    let call = || ToolCall::new("1", "pay", "{}");
    let late = host.run(call(), &run.context(&ToolContext::new())).await;
    assert_eq!((late.error().unwrap().kind(), log.count()), (ErrorKind::Unavailable, 0));
    assert!(!late.error().unwrap().is_retryable());
    assert!(matches!(run.add_step("model", "no").await, Err(JournalError::Lost { .. })));
    assert!(matches!(run.finish(RunStatus::Done).await, Err(JournalError::Lost { .. })));
    assert!(host.run(call(), &taken.context(&ToolContext::new())).await.output().is_some());
    taken.add_step("end", "paid").await.unwrap();
    assert_eq!(other.run(run.id()).await.unwrap().steps.len(), 2);
}

#[tokio::test]
async fn of_many_that_claim_one_run_one_gets_it() {
    let (_folder, path) = folder();
    let first = open(&path).await;
    let mut runs = Vec::new();
    for n in 0..20 {
        let run = first.start_run("chat", &n.to_string()).await.unwrap();
        run.finish(RunStatus::Waiting).await.unwrap();
        runs.push(run.id().to_owned());
    }
    let (one, two) = (open(&path).await, open(&path).await);
    let claims = [one, two].map(|journal| {
        let runs = runs.clone();
        tokio::spawn(async move {
            let mut claimed = HashSet::new();
            for run in runs {
                if journal.claim(&run).await.is_ok() {
                    claimed.insert(run);
                }
            }
            (journal, claimed)
        })
    });
    let [one, two] = claims;
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    assert_eq!(one.1.intersection(&two.1).count(), 0);
    assert_eq!(one.1.len() + two.1.len(), 20);
}
