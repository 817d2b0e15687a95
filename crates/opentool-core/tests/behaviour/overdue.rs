//! Rule 1 where a thread cannot be stopped: every other call has its outcome, even if the code of one never returns.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use opentool_core::{
    Concurrency, ErrorKind, Executor, FnTool, Outcomes, ToolCall, ToolContext, ToolError, Toolbox, Turn,
};

/// Longer than anything here may take.
const FOR_EVER: Duration = Duration::from_secs(20);

/// A tool whose code returns when the sender is dropped, long after its deadline.
fn stuck() -> (mpsc::Sender<()>, FnTool) {
    let (release, gate) = mpsc::channel();
    let gate = Mutex::new(gate);
    let tool = FnTool::new("stuck", move || {
        let _ = gate.lock().map(|gate| gate.recv());
    });
    (release, tool.timeout(Duration::from_millis(50)))
}

fn quick() -> FnTool {
    FnTool::new("quick", || 1).timeout(Duration::from_millis(50))
}

async fn run(tools: [FnTool; 2], names: &[&str]) -> Outcomes {
    let (executor, tools) = (Executor::new(), Toolbox::from_tools(tools).unwrap());
    let calls = names.iter().enumerate().map(|(n, name)| ToolCall::new(n.to_string(), *name, format!("{{\"n\":{n}}}")));
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let batch = executor.run(&tools, calls.collect(), &mut turn, &context).finish();
    tokio::time::timeout(FOR_EVER, batch).await.expect("every call has its outcome")
}

fn kinds(outcomes: &Outcomes) -> Vec<Option<ErrorKind>> {
    outcomes.iter().map(|outcome| outcome.error().map(ToolError::kind)).collect()
}

#[tokio::test]
async fn stuck_calls_release_their_place_in_the_batch() {
    let (_release, stuck) = stuck();
    let stuck = stuck.input_schema(serde_json::json!({ "type": "object" }));
    let outcomes = run([stuck, quick()], &[["stuck"; 8].as_slice(), &["quick"]].concat()).await;
    assert_eq!(kinds(&outcomes), [[Some(ErrorKind::Timeout); 8].as_slice(), &[None]].concat());
}

#[tokio::test]
async fn a_call_behind_a_stuck_serial_call_waits_a_bounded_time() {
    let (release, stuck) = stuck();
    let executor = Executor::builder().blocking_threads(4).build();
    let host = executor.host(stuck.concurrency(Concurrency::Serial));
    assert_eq!(host.call("stuck", "").await.unwrap_err().kind(), ErrorKind::Timeout);
    let error = tokio::time::timeout(FOR_EVER, host.call("stuck", "")).await.expect("it has its outcome").unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    let expected =
        "an earlier call of the tool timed out or was cancelled, but is still running; this call waited 50ms for it";
    assert_eq!(error.message(), expected);
    assert_eq!(executor.busy_threads(), 1, "it never ran beside the one that is stuck");

    drop(release);
    while executor.busy_threads() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(host.call("stuck", "").await.is_ok(), "a thread that returned blocks no other call");
}

#[tokio::test]
async fn queued_calls_of_a_serial_tool_have_outcomes() {
    let (_release, stuck) = stuck();
    let outcomes = run([stuck.concurrency(Concurrency::Serial), quick()], &["stuck", "stuck", "stuck", "quick"]).await;
    let unavailable = Some(ErrorKind::Unavailable);
    assert_eq!(kinds(&outcomes), [Some(ErrorKind::Timeout), unavailable, unavailable, None]);
}

#[tokio::test]
async fn no_call_runs_beside_a_stuck_exclusive_call() {
    let (_release, stuck) = stuck();
    let outcomes = run([stuck.concurrency(Concurrency::Exclusive), quick()], &["stuck", "quick", "quick"]).await;
    let unavailable = Some(ErrorKind::Unavailable);
    assert_eq!(kinds(&outcomes), [Some(ErrorKind::Timeout), unavailable, unavailable]);
    let expected =
        "a call that runs alone timed out or was cancelled, but is still running; this call waited 50ms for it";
    assert_eq!(outcomes[1].error().unwrap().message(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_queued_call_has_no_clock() {
    let slow = FnTool::new("slow", || tokio::time::sleep(Duration::from_secs(20)));
    let slow = slow.concurrency(Concurrency::Serial).build().unwrap();
    let host = Executor::new().host(slow);
    let calls = futures_util::future::join_all((0..5).map(|_| host.call("slow", ""))).await;
    assert!(calls.iter().all(Result::is_ok), "{calls:?}");
}

#[tokio::test]
async fn a_context_that_outlives_its_call_blocks_no_other() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    let holder = FnTool::new("holder", move |context: ToolContext| keep.lock().unwrap().push(context));
    let outcomes = run([holder.concurrency(Concurrency::Serial), quick()], &["holder", "holder", "quick"]).await;
    assert_eq!(kinds(&outcomes), [None, None, None]);
    assert_eq!(kept.lock().unwrap().len(), 2);
}
