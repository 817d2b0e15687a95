//! Calls: answered from the record, run again or uncertain, by kind.

use std::sync::Arc;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{
    ErrorKind, Executor, ToolCall, ToolContext, ToolError, ToolMetadata, ToolOutput, Toolbox, Turn, UncertainDecision,
};
use opentool_journal::{CallStatus, JournalError, RunStatus, SqliteJournal};
use tokio::time::{sleep, timeout};

use super::{SHORT, folder, host, keyed, open, pay};

fn kinds() -> [(&'static str, ToolMetadata); 3] {
    [
        ("read_only", ToolMetadata::new().with_read_only(true)),
        ("idempotent", ToolMetadata::new().with_idempotent(true)),
        ("other", ToolMetadata::new()),
    ]
}

#[tokio::test]
async fn an_outcome_survives_the_process() {
    for (kind, metadata) in kinds() {
        let (_folder, path) = folder();
        let large = format!(r#"{{"n":123456789012345678901234567890,"text":"{}"}}"#, "x".repeat(1000));
        let tool = || {
            let output = ToolOutput::from_json_text(large.clone()).unwrap();
            FakeTool::new("pay").with_metadata(metadata.clone()).answers(output)
        };
        let journal = open(&path).await;
        let first = pay(&host([tool()]), &keyed(&journal, "k")).await;
        journal.close().await;

        let journal = open(&path).await;
        let again = tool();
        let log = again.log();
        let second = pay(&host([again]), &keyed(&journal, "k")).await;
        assert_eq!((first.output(), log.count()), (second.output(), 0), "{kind}");
        assert_eq!(second.output().unwrap().to_text(), large);
    }
}

#[tokio::test]
async fn errors_are_recorded_too() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let tool = FakeTool::new("pay").fails(ToolError::failed("no money").with_code(7));
    let log = tool.log();
    let host = host([tool]);
    for _ in 0..2 {
        let outcome = pay(&host, &keyed(&journal, "k")).await;
        assert_eq!((outcome.error().unwrap().message(), outcome.error().unwrap().code()), ("no money", Some(7)));
    }
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn a_key_with_other_arguments_is_refused() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let host = host([FakeTool::new("pay").answers("paid")]);
    pay(&host, &keyed(&journal, "k")).await;
    let other = host.run(ToolCall::new("1", "pay", r#"{"cents":1}"#), &keyed(&journal, "k")).await;
    assert_eq!(other.error().unwrap().code(), Some(422));
}

#[tokio::test]
async fn what_a_process_left_without_an_outcome_is_settled_by_kind() {
    for (kind, metadata) in kinds() {
        let (_folder, path) = folder();
        // With a long lease, which is not renewed while the test ends it.
        let journal = SqliteJournal::open(&path).await.unwrap();
        let hangs = FakeTool::new("pay").with_metadata(metadata.clone()).hangs();
        let begun = hangs.log();
        {
            let (hanging, context) = (host([hangs]), keyed(&journal, "k"));
            let running = tokio::spawn(async move { pay(&hanging, &context).await });
            while begun.count() == 0 {
                sleep(Duration::from_millis(2)).await;
            }
            // As if the process were gone: nothing is abandoned, and the lease is not renewed.
            std::mem::forget(running);
        }
        super::execute(&path, "UPDATE owners SET lease_until = 0; DELETE FROM owners").await;

        let second = open(&path).await;
        let tool = FakeTool::new("pay")
            .with_metadata(metadata)
            .acts(|_, context| async move { ToolOutput::json(&context.attempt()) });
        let log = tool.log();
        let outcome = pay(&host([tool]), &keyed(&second, "k")).await;
        let run = second.runs(10).await.unwrap().remove(0);
        if kind == "other" {
            let error = outcome.error().unwrap();
            assert_eq!((error.kind(), log.count(), error.is_retryable()), (ErrorKind::Uncertain, 0, false));
            assert_eq!((run.uncertain, run.shown_state()), (1, "uncertain"));
        } else {
            assert_eq!((outcome.output().unwrap().to_text().as_str(), log.count()), ("2", 1), "{kind}");
            assert_eq!((run.uncertain, run.shown_state()), (0, "done"));
        }
    }
}

#[tokio::test]
async fn a_duplicate_in_another_process_waits_for_the_first() {
    let (_folder, path) = folder();
    let (first, second) = (open(&path).await, open(&path).await);
    let slow = FakeTool::new("pay").answers_after(Duration::from_millis(120), "paid");
    let (quick, began) = (FakeTool::new("pay").answers("paid twice"), slow.log());
    let log = quick.log();
    let (slow, quick) = (host([slow]), host([quick]));
    let context = keyed(&first, "k");
    let running = tokio::spawn(async move { pay(&slow, &context).await });
    while began.count() == 0 {
        sleep(Duration::from_millis(2)).await;
    }
    let duplicate = pay(&quick, &keyed(&second, "k")).await;
    assert_eq!((duplicate.output().unwrap().to_text().as_str(), log.count()), ("paid", 0));
    assert_eq!(running.await.unwrap().output(), duplicate.output());
}

#[tokio::test]
async fn a_late_outcome_settles_an_undecided_uncertain_call() {
    let (_folder, path) = folder();
    // With a long lease, which is not renewed while the test ends it.
    let (stopped, other) = (SqliteJournal::open(&path).await.unwrap(), open(&path).await);
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let gone = std::sync::Mutex::new(Some(gone));
    let slow = FakeTool::new("pay").acts(move |_, _| {
        let gone = gone.lock().unwrap().take().unwrap();
        async move {
            let _ = gone.await;
            Ok(ToolOutput::text("paid late"))
        }
    });
    let began = slow.log();
    let (slow, context) = (host([slow]), keyed(&stopped, "k"));
    let running = tokio::spawn(async move { pay(&slow, &context).await });
    while began.count() == 0 {
        sleep(Duration::from_millis(2)).await;
    }
    // As if the process had been stopped: its lease ends.
    super::execute(&path, "UPDATE owners SET lease_until = 0").await;
    let quick = FakeTool::new("pay").answers("paid twice");
    let log = quick.log();
    let quick = host([quick]);
    assert_eq!(pay(&quick, &keyed(&other, "k")).await.error().unwrap().kind(), ErrorKind::Uncertain);
    go.send(()).unwrap();
    assert_eq!(running.await.unwrap().output().unwrap().to_text(), "paid late");
    assert_eq!(pay(&quick, &keyed(&other, "k")).await.output().unwrap().to_text(), "paid late");
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_dropped_call_can_be_settled_by_another_process_at_once() {
    let (_folder, path) = folder();
    let (first, second) = (open(&path).await, open(&path).await);
    let hangs = host([FakeTool::new("pay").hangs()]);
    assert!(timeout(Duration::from_millis(100), pay(&hangs, &keyed(&first, "k"))).await.is_err());
    let quick = host([FakeTool::new("pay").answers("paid")]);
    let outcome = timeout(SHORT * 20, pay(&quick, &keyed(&second, "k"))).await.unwrap();
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain);
}

#[tokio::test]
async fn a_person_decides_about_an_uncertain_call() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let hangs = host([FakeTool::new("pay").hangs()]);
    let tool = FakeTool::new("pay").answers("paid again");
    let log = tool.log();
    let quick = host([tool]);
    for (key, decision, answer, runs) in [
        ("a", UncertainDecision::Happened(ToolOutput::text("paid then")), Ok("paid then".to_owned()), 0),
        ("b", UncertainDecision::GiveUp("the bank says no".to_owned()), Err(ErrorKind::Uncertain), 0),
        ("c", UncertainDecision::RunAgain, Ok("paid again".to_owned()), 1),
    ] {
        let context = keyed(&journal, key);
        assert!(timeout(Duration::from_millis(50), pay(&hangs, &context)).await.is_err());
        assert_eq!(pay(&quick, &context).await.error().unwrap().kind(), ErrorKind::Uncertain);
        let run = journal.runs(1).await.unwrap().remove(0).id;
        let wrong = journal.decide_call(&run, "7", UncertainDecision::RunAgain).await.unwrap_err();
        assert!(matches!(wrong, JournalError::UnknownCall { .. }), "{wrong}");
        journal.decide_call(&run, "0", decision).await.unwrap();
        for _ in 0..2 {
            let outcome = pay(&quick, &context).await;
            assert_eq!(outcome.result.as_ref().map(ToolOutput::to_text).map_err(ToolError::kind), answer);
        }
        assert_eq!(log.count(), runs, "{key}");
        let again = journal.decide_call(&run, "0", UncertainDecision::RunAgain).await.unwrap_err().to_string();
        assert!(again.contains("is done: only an uncertain call can be decided"), "{again}");
    }
}

#[tokio::test]
async fn a_round_is_run_again_from_its_record() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("batch", "two payments").await.unwrap();
    let calls = || vec![ToolCall::new("a", "pay", r#"{"to":"ann"}"#), ToolCall::new("b", "look", "{}")];
    let tools = |answer: &str| {
        let pay = FakeTool::new("pay").answers(answer);
        let look = FakeTool::new("look").with_metadata(ToolMetadata::new().with_read_only(true)).answers(answer);
        let logs = (pay.log(), look.log());
        (Toolbox::from_tools([pay, look]).unwrap(), logs)
    };
    let (executor, context) = (Executor::new(), ToolContext::new());
    let (first, _) = tools("first");
    executor.run(&first, calls(), &mut Turn::new(), &run.context(&context)).finish().await;
    journal.close().await;

    let journal = open(&path).await;
    let run = journal.claim(run.id()).await.unwrap();
    let (second, logs) = tools("second");
    let outcomes = executor.run(&second, calls(), &mut Turn::new(), &run.context(&context)).finish().await;
    let texts: Vec<_> = outcomes.iter().map(|outcome| outcome.output().unwrap().to_text()).collect();
    assert_eq!((texts, logs.0.count(), logs.1.count()), (vec!["first".to_owned(); 2], 0, 0));
    run.finish(RunStatus::Done).await.unwrap();
    let record = journal.run(run.id()).await.unwrap();
    assert_eq!(
        record.calls.iter().map(|call| (call.place.as_str(), call.state)).collect::<Vec<_>>(),
        [("1.0", CallStatus::Done), ("1.1", CallStatus::Done)]
    );
    let after = executor.run(&second, calls(), &mut Turn::new(), &run.context(&context)).finish().await;
    assert!(after.iter().all(|outcome| outcome.is_error()), "a finished run takes no more calls");
}

#[tokio::test]
async fn large_values_are_stored_once_and_deleted_with_their_runs() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let text = "x".repeat(600_000);
    let host = host([FakeTool::new("pay").answers(text.as_str())]);
    let arguments = format!(r#"{{"text":"{}"}}"#, "y".repeat(400_000));
    for key in ["a", "b"] {
        let call = ToolCall::new("1", "pay", arguments.as_str());
        assert_eq!(host.run(call, &keyed(&journal, key)).await.output().unwrap().to_text(), text);
    }
    let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
    journal.close().await;
    assert!(size(&path) < 1_400_000, "{}", size(&path));
    let journal = open(&path).await;
    for run in journal.runs(10).await.unwrap() {
        let record = journal.run(&run.id).await.unwrap();
        assert_eq!(record.calls[0].arguments.get(), arguments);
        assert_eq!(record.calls[0].outcome.as_ref().unwrap().result.as_ref().unwrap().to_text(), text);
        journal.delete(&run.id).await.unwrap();
    }
    let context = keyed(&journal, "a");
    assert!(context.call_key().is_none());
    assert!(journal.runs(10).await.unwrap().is_empty());
    let left = Arc::new(journal);
    left.close().await;
    super::execute(&path, "VACUUM").await;
    assert!(size(&path) < 100_000, "{}", size(&path));
}
