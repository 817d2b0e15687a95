//! A workflow that is recorded is entered again after a crash, and the records of its steps decide about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    ErrorKind, Executor, Host, Journal, MemoryBudget, MemoryJournal, Outcome, ToolCall, ToolContext, ToolMetadata,
    ToolOutput, Toolbox, UncertainDecision, Workflow,
};
use opentool_spec::OpenWorkflow;
use serde_json::{Value, json};
use tokio::time::timeout;

fn memory() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::new(MemoryBudget::new(1 << 20)))
}

fn any() -> Value {
    json!({ "type": "object" })
}

fn step(function: &str, arguments: Value, next: &str) -> Value {
    json!({ "function": function, "arguments": arguments, "results": {}, "next": next })
}

/// A workflow over two tools: `pay`, which must not run twice, and `look`, whose `hangs`-th call never ends.
fn host(steps: Value, hangs: u32, pay_hangs: bool) -> (Host, CallLog, CallLog) {
    let document = json!({ "openworkflow": "1.0.0", "info": { "title": "Flow", "version": "1" }, "workflow": steps });
    let document: OpenWorkflow = document.to_string().parse().unwrap();
    let pay = FakeTool::new("pay").with_schema(any());
    let pay = match pay_hangs {
        true => pay.hangs(),
        false => pay.acts(|arguments, _| async move { ToolOutput::json(arguments.value()?) }),
    };
    let count = AtomicU32::new(0);
    let look = FakeTool::new("look").with_schema(any()).with_metadata(ToolMetadata::new().with_read_only(true));
    let look = look.acts(move |_, _| {
        let hangs = count.fetch_add(1, SeqCst) + 1 == hangs;
        async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("seen"))
        }
    });
    let (paid, looked) = (pay.log(), look.log());
    let workflow = Workflow::new(&document, Toolbox::from_tools([pay, look]).unwrap()).unwrap();
    (Executor::new().host(workflow), paid, looked)
}

async fn run(host: &Host, journal: &Arc<MemoryJournal>) -> Outcome {
    let context = ToolContext::new().with_run(journal.clone(), "r1").with_place("1");
    host.run(ToolCall::new("call", "flow", "{}"), &context).await
}

/// Runs and is dropped in the middle, as in a crash.
async fn crash(host: &Host, journal: &Arc<MemoryJournal>) {
    assert!(timeout(Duration::from_millis(50), run(host, journal)).await.is_err());
}

#[tokio::test]
async fn a_workflow_is_entered_again_and_its_finished_steps_do_not_run_again() {
    let steps = json!({ "start": step("pay", json!({ "to": "ann" }), "check"),
                        "check": step("look", json!({}), "again"),
                        "again": step("pay", json!({ "to": "ann" }), "null") });
    let (host, paid, looked) = host(steps, 1, false);
    let journal = memory();
    crash(&host, &journal).await;
    assert_eq!((paid.count(), looked.count()), (1, 1));
    let outcome = run(&host, &journal).await;
    assert_eq!(outcome.output().unwrap().to_text(), r#"{"to":"ann"}"#);
    assert_eq!((paid.count(), looked.count()), (2, 2), "the equal call of another step is a call of its own");
    let outcome = run(&host, &journal).await;
    assert_eq!(outcome.output().unwrap().to_text(), r#"{"to":"ann"}"#);
    assert_eq!((paid.count(), looked.count()), (2, 2), "the whole run has its outcome");
}

#[tokio::test]
async fn each_iteration_of_a_step_has_a_record_of_its_own() {
    let steps = json!({ "start": step("pay", json!({}), "check"), "check": step("look", json!({}), "start") });
    let (host, paid, _) = host(steps, 3, false);
    let journal = memory();
    crash(&host, &journal).await;
    assert_eq!(paid.count(), 3);
    let outcome = run(&host, &journal).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Limit);
    assert_eq!(paid.count(), 3, "all three were recorded, and the limits end the loop as before");
}

#[tokio::test]
async fn a_step_of_which_nothing_is_known_is_uncertain_until_it_is_decided() {
    let steps = json!({ "start": step("look", json!({}), "pay"), "pay": step("pay", json!({ "to": "ann" }), "null") });
    let (host, paid, _) = host(steps, 0, true);
    let journal = memory();
    crash(&host, &journal).await;
    for _ in 0..2 {
        let outcome = run(&host, &journal).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.kind(), ErrorKind::Uncertain, "{error}");
        assert!(
            error.message().starts_with("the step `pay` (`pay`) failed: the call began and was interrupted"),
            "{error}"
        );
        assert_eq!((paid.count(), error.is_retryable()), (1, false));
    }
    let key = opentool_core::CallKey::new("r1", "1>pay.1", "pay", &r#"{"to":"ann"}"#.into());
    let happened = UncertainDecision::Happened(ToolOutput::text("paid"));
    journal.decide(&key, happened).await.unwrap();
    let outcome = run(&host, &journal).await;
    assert_eq!(outcome.output().unwrap().to_text(), r#"{"result":"paid"}"#, "the run goes on from what was decided");
    assert_eq!(paid.count(), 1);
}
