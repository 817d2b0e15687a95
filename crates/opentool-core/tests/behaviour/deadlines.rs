//! Rule 6: every call has a deadline and a cancellation that reach the tool.

use std::sync::mpsc;
use std::time::Duration;

use futures_util::future::join;
use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    BoxFuture, Cancellation, ErrorKind, Executor, Invocation, Middleware, Next, ToolCall, ToolContext, ToolError,
    ToolMetadata, ToolOutput, Turn,
};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_call_is_cut_off_after_thirty_seconds() {
    let start = Instant::now();
    let answer = Probe::new(FakeTool::new("hangs").hangs()).call("hangs", "").await;
    answer.assert_error(ErrorKind::Timeout).assert_message("the tool did not answer within 30s");
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_retryable_only_where_a_call_may_be_repeated() {
    for (metadata, retryable) in [
        (ToolMetadata::new(), false),
        (ToolMetadata::new().with_destructive(false), false),
        (ToolMetadata::new().with_read_only(true), true),
        (ToolMetadata::new().with_idempotent(true), true),
    ] {
        let hangs = FakeTool::new("hangs").hangs().with_metadata(metadata.clone());
        let answers = FakeTool::new("answers")
            .fails(ToolError::timeout(Duration::from_secs(1)).with_retryable(true))
            .with_metadata(metadata);
        let probe = Probe::new([hangs, answers]);
        for name in ["hangs", "answers"] {
            let answer = probe.call(name, "").await;
            answer.assert_error(ErrorKind::Timeout);
            assert_eq!(answer.outcome().error().unwrap().is_retryable(), retryable, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_have_its_own_deadline() {
    let tool = FakeTool::new("hangs").hangs().with_metadata(ToolMetadata::new().with_timeout(Duration::from_secs(90)));
    let start = Instant::now();
    Probe::new(tool).call("hangs", "").await.assert_error(ErrorKind::Timeout);
    assert_eq!(start.elapsed().as_secs(), 90);
}

#[tokio::test(start_paused = true)]
async fn an_executor_may_have_no_deadline() {
    let tool = FakeTool::new("slow").answers_after(Duration::from_secs(3600), "done");
    let executor = Executor::builder().timeout(None).build();
    Probe::with(&executor, tool).call("slow", "").await.assert_text("done");
}

#[tokio::test(start_paused = true)]
async fn the_tool_sees_its_deadline_and_its_attempt() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(ToolOutput::text(format!("{:?} {}", context.remaining().unwrap(), context.attempt())))
    });
    Probe::new(tool).call("a", "").await.assert_text("20s 1");
}

#[tokio::test(start_paused = true)]
async fn a_call_past_its_deadline_is_cancelled() {
    let cancelled = Cancellation::new();
    let hook = cancelled.clone();
    let tool = FakeTool::new("a").acts(move |_, context| {
        let hook = hook.clone();
        tokio::spawn(async move {
            context.cancellation().cancelled().await;
            hook.cancel();
        });
        std::future::pending()
    });
    Probe::new(tool).call("a", "").await.assert_error(ErrorKind::Timeout);
    cancelled.cancelled().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_of_a_call_cancels_it() {
    let cancelled = Cancellation::new();
    let hook = cancelled.clone();
    let tool = FakeTool::new("a").acts(move |_, context| {
        let hook = hook.clone();
        tokio::spawn(async move {
            context.cancellation().cancelled().await;
            hook.cancel();
        });
        std::future::pending()
    });
    let log = tool.log();
    let host = Executor::new().host(tool);
    assert!(tokio::time::timeout(Duration::from_secs(1), host.call("a", "")).await.is_err());
    assert_eq!(log.running(), 0);
    cancelled.cancelled().await;
}

#[tokio::test]
async fn a_call_that_finished_is_not_cancelled() {
    let (sender, receiver) = mpsc::channel();
    let tool = FakeTool::new("a").acts(move |_, context| {
        sender.send(context.cancellation().clone()).unwrap();
        async { Ok(ToolOutput::Empty) }
    });
    Probe::new(tool).call("a", "").await.assert_empty();
    assert!(!receiver.recv().unwrap().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_call_made_by_a_tool_cannot_outlive_the_tools_own_call() {
    let inner = Executor::new().host(FakeTool::new("inner").hangs());
    let outer = FakeTool::new("outer").with_metadata(ToolMetadata::new().with_timeout(Duration::from_secs(5))).acts(
        move |_, context| {
            let inner = inner.clone();
            async move {
                let call = opentool_core::ToolCall::new("1", "inner", "");
                let left = inner.run(call, &context).await;
                Ok(ToolOutput::text(left.error().unwrap().kind().as_str()))
            }
        },
    );
    let start = Instant::now();
    let _ = Probe::new(outer).call("outer", "").await;
    assert_eq!(start.elapsed().as_secs(), 5);
}

/// Gives the signal of a context some time after the calls made with it began.
async fn cancel_later(context: &ToolContext) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    context.cancellation().cancel();
}

#[tokio::test(start_paused = true)]
async fn a_contexts_signal_stops_calls_whenever_it_was_created() {
    let executor = Executor::new();
    let tools = opentool_core::Toolbox::from_tools([FakeTool::new("a").hangs()]).unwrap();
    let host = executor.host(tools.clone());
    let call = || ToolCall::new("1", "a", "");

    let context = ToolContext::new();
    let (outcome, ()) = join(host.run(call(), &context), cancel_later(&context)).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Cancelled);

    let (context, mut turn) = (ToolContext::new(), Turn::new());
    let batch = executor.run(&tools, vec![call()], &mut turn, &context).finish();
    let (outcomes, ()) = join(batch, cancel_later(&context)).await;
    assert_eq!(outcomes[0].error().unwrap().kind(), ErrorKind::Cancelled);

    let context = ToolContext::new();
    let watched = async { host.watch(call(), &context).await.finish().await };
    let (outcomes, ()) = join(watched, cancel_later(&context)).await;
    assert_eq!(outcomes[0].error().unwrap().kind(), ErrorKind::Cancelled);
}

/// Merges the context of a call, of which there is no clone, into another and never answers.
struct Merging(mpsc::Sender<ToolContext>);

impl Middleware for Merging {
    fn call<'a>(&'a self, invocation: Invocation<'a>, _: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.0.send(ToolContext::new().with("tenant", "acme").merge(invocation.context)).unwrap();
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_merged_with_that_of_a_call_is_cancelled_with_it() {
    let (sender, receiver) = mpsc::channel();
    let executor = Executor::builder().middleware(Merging(sender)).build();
    Probe::with(&executor, FakeTool::new("a")).call("a", "").await.assert_error(ErrorKind::Timeout);
    assert!(receiver.recv().unwrap().is_cancelled());
}

/// A tool that blocks its thread until the test lets it go.
fn blocking(gate: mpsc::Receiver<()>) -> FakeTool {
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    FakeTool::new("blocks").with_metadata(ToolMetadata::new().with_timeout(Duration::from_millis(50))).acts(
        move |_, context| {
            let gate = gate.clone();
            async move {
                Ok(ToolOutput::text(
                    context.run_blocking(move || gate.lock().unwrap().recv().is_ok()).await?.to_string(),
                ))
            }
        },
    )
}

#[tokio::test]
async fn the_thread_of_a_call_past_its_deadline_stays_counted() {
    let (open, gate) = mpsc::channel();
    let executor = Executor::builder().blocking_threads(1).build();
    let probe = Probe::with(&executor, blocking(gate));
    probe.call("blocks", "").await.assert_error(ErrorKind::Timeout);
    assert_eq!(executor.busy_threads(), 1, "the thread is still at work");

    // The pool is full, so another call waits for a thread until its own deadline.
    probe.call("blocks", "").await.assert_error(ErrorKind::Timeout);
    assert_eq!(executor.busy_threads(), 1);

    open.send(()).unwrap();
    while executor.busy_threads() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    open.send(()).unwrap();
    probe.call("blocks", "").await.assert_text("true");
}

#[tokio::test]
async fn a_panic_on_a_blocking_thread_is_caught() {
    let tool =
        FakeTool::new("a").acts(|_, context| async move { context.run_blocking(|| panic!("on the thread")).await });
    // A pool of its own: the shared one has the threads of other tests too.
    let executor = Executor::builder().blocking_threads(1).build();
    let answer = Probe::with(&executor, tool).call("a", "").await;
    answer.assert_error(ErrorKind::Panic);
    assert_eq!(answer.outcome().error().unwrap().detail(), Some("on the thread"));
    assert_eq!(executor.busy_threads(), 0, "the thread is no longer counted");
}

#[tokio::test]
async fn blocking_code_runs_outside_a_call_too() {
    assert_eq!(ToolContext::new().run_blocking(|| 7).await.unwrap(), 7);
}
