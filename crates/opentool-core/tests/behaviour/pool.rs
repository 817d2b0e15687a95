//! Rule 6: a sync tool runs on a thread of the pool, so that its deadline holds and nothing else waits for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::sleep;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use opentool_core::{
    BoxFuture, ErrorKind, Executor, FnTool, Invocation, Middleware, Next, ToolCall, ToolContext, ToolError, ToolOutput,
    Toolbox, Turn, tool,
};

fn sleeping(name: &str, time: Duration) -> FnTool {
    FnTool::new(name, move || sleep(time))
}

/// A tool that returns when the sender is dropped.
fn stuck(name: &str) -> (mpsc::Sender<()>, FnTool) {
    let (release, gate) = mpsc::channel();
    let gate = Arc::new(Mutex::new(gate));
    let tool = FnTool::new(name, move || {
        let _ = gate.lock().map(|gate| gate.recv());
    });
    (release, tool)
}

#[tokio::test]
async fn the_deadline_of_a_sync_tool_holds() {
    #[tool(timeout = "100ms")]
    fn slow() {
        sleep(Duration::from_millis(1500));
    }
    let start = Instant::now();
    let error = Executor::new().host(slow::tool()).call("slow", "").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let elapsed = start.elapsed();
    assert!((Duration::from_millis(100)..Duration::from_millis(1200)).contains(&elapsed), "{elapsed:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn sync_tools_of_a_batch_run_at_once_and_stall_no_task() {
    let time = Duration::from_millis(700);
    let tools = Toolbox::from_tools(["a", "b", "c"].map(|name| sleeping(name, time))).unwrap();
    let calls = ["a", "b", "c"].map(|name| ToolCall::new(name, name, "")).to_vec();
    let ticks = tokio::spawn(async {
        let mut ticks = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ticks += 1;
            if ticks == 20 {
                return Instant::now();
            }
        }
    });
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let start = Instant::now();
    let outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await;
    let end = Instant::now();
    assert!(outcomes.iter().all(|outcome| !outcome.is_error()), "{outcomes:?}");
    assert!(end - start < 2 * time, "one after another they take {:?}: {:?}", 3 * time, end - start);
    assert!(ticks.await.unwrap() < end, "another task went on meanwhile");
}

#[tokio::test]
async fn a_wait_for_a_thread_is_bounded_and_names_the_busy_tools() {
    let (release, stuck) = stuck("stuck");
    let executor = Executor::builder().blocking_threads(2).build();
    let quick = FnTool::new("quick", || 1).timeout(Duration::from_millis(100));
    let host = executor.host((stuck.timeout(Duration::from_millis(50)), quick));
    for error in join_all([host.call("stuck", ""), host.call("stuck", "")]).await {
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert_eq!(executor.busy_threads(), 2, "the threads outlive their calls");

    let error = host.call("quick", "").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
    let expected = "no thread for a sync tool became free within 100ms; still running: `stuck` (2)";
    assert_eq!(error.message(), expected);

    drop(release);
    while executor.busy_threads() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(host.call("quick", "").await.unwrap().to_text(), "1");
}

#[tokio::test]
async fn a_tool_that_got_no_thread_in_time_never_runs() {
    const LIMIT: Duration = Duration::from_millis(10);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let quick = FnTool::new("quick", move || counted.fetch_add(1, Ordering::SeqCst)).timeout(LIMIT);
    // The thread becomes free just when the other call gives up its wait, or a little before or after.
    let busy_micros = Arc::new(AtomicU64::new(0));
    let micros = busy_micros.clone();
    let busy = FnTool::new("busy", move || sleep(Duration::from_micros(micros.load(Ordering::SeqCst))));
    let executor = Executor::builder().blocking_threads(1).build();
    let host = executor.host((busy, quick));
    let mut answered = 0;
    for round in 0..150 {
        busy_micros.store(9_000 + 20 * round, Ordering::SeqCst);
        let (busy, quick) = join(host.call("busy", ""), host.call("quick", "")).await;
        busy.unwrap();
        match quick {
            Ok(_) => answered += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
        }
    }
    while executor.busy_threads() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), answered);
}

#[tokio::test]
async fn the_clock_of_a_sync_tool_starts_on_its_thread() {
    let time = Duration::from_millis(300);
    let left = FnTool::new("left", move |context: ToolContext| {
        let left = context.remaining().map(|left| left.as_millis() as u64);
        sleep(time);
        left
    });
    let host = Executor::builder().blocking_threads(1).build().host(left.timeout(Duration::from_millis(500)));
    // The second call waits 300 ms for the thread and then runs 300 ms, more than its timeout in all.
    for result in join_all([host.call("left", ""), host.call("left", "")]).await {
        let left: u64 = result.unwrap().to_text().parse().unwrap();
        assert!((400..=500).contains(&left), "{left} ms");
    }
}

#[tokio::test]
async fn a_retry_on_the_pool_shares_the_deadline_of_its_call() {
    struct Retry;
    impl Middleware for Retry {
        fn call<'a>(
            &'a self,
            invocation: Invocation<'a>,
            next: Next<'a>,
        ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async move {
                loop {
                    let result = next.run(invocation).await;
                    if result.is_ok() {
                        return result;
                    }
                }
            })
        }
    }
    let failing = FnTool::fallible("failing", || -> Result<(), opentool_core::Failure> {
        sleep(Duration::from_millis(40));
        Err(opentool_core::Failure::new("again"))
    });
    let host = Executor::builder().middleware(Retry).build().host(failing.timeout(Duration::from_millis(100)));
    let start = Instant::now();
    assert_eq!(host.call("failing", "").await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_sync_tool_without_a_timeout_has_no_deadline() {
    let tool = FnTool::new("deadline", |context: ToolContext| context.deadline().is_none());
    let host = Executor::builder().timeout(None).build().host(tool);
    assert_eq!(host.call("deadline", "").await.unwrap().to_text(), "true");
}

#[tokio::test]
async fn a_panic_of_a_sync_tool_is_an_outcome() {
    let host = Executor::new().host(FnTool::new("panics", || -> u8 { panic!("on the thread") }));
    let error = host.call("panics", "").await.unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Panic, Some("on the thread")));
}

#[test]
fn without_a_runtime_only_inline_tools_run() {
    let host = Executor::new().host((FnTool::new("inline", || 1).inline(), FnTool::new("pool", || 1)));
    let answer = futures_executor::block_on(host.call("inline", ""));
    assert_eq!(answer.unwrap().to_text(), "1");
    let error = futures_executor::block_on(host.call("pool", "")).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, false));
    assert!(error.detail().unwrap().contains("tokio runtime"), "{error:?}");
}
