//! Nothing that a tool, a policy or a source does keeps a call from its one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures_util::StreamExt;
use opentool_core::testing::FakeTool;
use opentool_core::{
    Ask, BoxFuture, Concurrency, Decision, ErrorKind, Executor, FnTool, Invocation, LimitPolicy, Tool, ToolCall,
    ToolContext, ToolDefinition, ToolError, ToolEvent, ToolHandler, ToolMetadata, ToolOutput, ToolSource, Toolbox,
    Turn, spec,
};

fn waiting(name: &str) -> FnTool {
    FnTool::new(name, || async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        1
    })
}

#[tokio::test]
async fn a_timeout_beyond_every_clock_is_no_deadline() {
    let host = Executor::new().host(waiting("w").timeout(Duration::MAX));
    assert_eq!(host.call("w", "{}").await.unwrap().to_text(), "1");
}

#[test]
fn a_runtime_without_a_timer_is_an_error_not_a_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let tool = FnTool::new("w", || async {
        tokio::task::yield_now().await;
        1
    });
    let result = runtime.block_on(Executor::new().host(tool).call("w", "{}"));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Unavailable);
}

/// Panics when it is dropped, as a tool's own types may.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "drop bomb");
    }
}

#[tokio::test]
async fn a_panic_on_drop_leaves_other_calls_alone() {
    let bomb = FnTool::new("b", || async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    });
    let tools = Toolbox::from_tools([bomb.timeout(Duration::from_millis(10)), waiting("w")]).unwrap();
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("1", "w", ""), ToolCall::new("2", "b", "")];
    let outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await;
    assert_eq!(outcomes[0].output().unwrap().to_text(), "1");
    assert_eq!(outcomes[1].error().unwrap().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_panic_payload_may_panic_on_drop() {
    let tool = FnTool::new("b", || -> u8 { std::panic::panic_any(Bomb) });
    assert_eq!(Executor::new().host(tool).call("b", "").await.unwrap_err().kind(), ErrorKind::Panic);
}

struct Panicking;

impl LimitPolicy for Panicking {
    fn admit(&self, _: &Turn, _: &ToolCall, _: Option<&dyn Tool>) -> Result<(), ToolError> {
        panic!("limits")
    }
}

impl ToolSource for Panicking {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async { panic!("source") })
    }

    fn changes(&self) -> Option<opentool_core::ToolChanges> {
        None
    }
}

#[tokio::test]
async fn a_panicking_resolver_limit_or_source_is_an_outcome() {
    let resolver = |_: &str| -> Option<Arc<dyn Tool>> { panic!("resolver") };
    let executors = [Executor::builder().resolver(resolver).build(), Executor::builder().limits(Panicking).build()];
    let (tools, context) = (Toolbox::new(), ToolContext::new());
    for executor in executors {
        let mut turn = Turn::new();
        let outcomes = executor.run(&tools, vec![ToolCall::new("1", "w", "")], &mut turn, &context).finish().await;
        assert_eq!(outcomes[0].error().unwrap().kind(), ErrorKind::Panic);
    }
}

#[tokio::test]
async fn a_panicking_source_is_an_error_on_every_path() {
    let (host, context) = (Executor::new().host(Panicking), ToolContext::new());
    let call = || ToolCall::new("1", "w", "");
    let errors = [
        host.call("w", "").await.unwrap_err(),
        host.run(call(), &context).await.result.unwrap_err(),
        host.watch(call(), &context).await.finish().await.into_vec().remove(0).result.unwrap_err(),
        host.toolbox().await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert_eq!(error.detail(), Some("source"));
    }
}

#[tokio::test]
async fn panicking_metadata_is_an_outcome() {
    struct Broken(ToolDefinition);
    impl Tool for Broken {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn metadata(&self) -> &ToolMetadata {
            panic!("metadata")
        }
        fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::Empty) })
        }
    }
    let tools = Toolbox::new().with(Broken(ToolDefinition::builder("x").build().unwrap())).unwrap();
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let outcomes = executor.run(&tools, vec![ToolCall::new("1", "x", "")], &mut turn, &context).finish().await;
    assert_eq!(outcomes[0].error().unwrap().kind(), ErrorKind::Panic);
    assert_eq!(executor.host(tools).call("x", "").await.unwrap_err().kind(), ErrorKind::Panic);
}

#[tokio::test]
async fn a_batch_is_lazy_and_asks_a_resolver_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let resolver = move |name: &str| {
        counter.fetch_add(1, SeqCst);
        Some(Arc::new(FakeTool::new(name)) as Arc<dyn Tool>)
    };
    let executor = Executor::builder().resolver(resolver).build();
    let (tools, mut turn, context) = (Toolbox::new(), Turn::new(), ToolContext::new());
    drop(executor.run(&tools, vec![ToolCall::new("1", "w", "")], &mut turn, &context));
    assert_eq!(asked.load(SeqCst), 0);
    let outcomes = executor.run(&tools, vec![ToolCall::new("1", "w", "")], &mut turn, &context).finish().await;
    assert!(!outcomes[0].is_error());
    assert_eq!(asked.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_source_is_a_timeout_on_every_path() {
    struct Hanging;
    impl ToolSource for Hanging {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(std::future::pending())
        }

        fn changes(&self) -> Option<opentool_core::ToolChanges> {
            None
        }
    }
    let (host, context) = (Executor::new().host(Hanging), ToolContext::new());
    let call = || ToolCall::new("1", "w", "");
    let start = tokio::time::Instant::now();
    let errors = [
        host.call("w", "").await.unwrap_err(),
        host.run(call(), &context).await.result.unwrap_err(),
        host.watch(call(), &context).await.finish().await.into_vec().remove(0).result.unwrap_err(),
        host.toolbox().await.unwrap_err(),
    ];
    assert_eq!(start.elapsed().as_secs(), 4 * 30, "each waits as long as a call may run");
    for error in errors {
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true));
        assert_eq!(error.message(), "the source of the tools did not answer within 30s");
    }
    let cancellation = opentool_core::Cancellation::new();
    cancellation.cancel();
    let context = ToolContext::new().with_cancellation(cancellation);
    let outcome = host.run(ToolCall::new("1", "w", ""), &context).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn error_policies_hold_for_suspended_calls_and_failing_sources() {
    struct Down;
    impl ToolSource for Down {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(async { Err(ToolError::unavailable("down")) })
        }

        fn changes(&self) -> Option<opentool_core::ToolChanges> {
            None
        }
    }
    let errors = |_: &str, error: ToolError| error.with_code(7);
    let executor = Executor::builder().approval(Ask::later()).all_errors_fatal(true).errors(errors).build();
    let suspended = executor.host(FnTool::new("d", || 1).approval()).call("d", "").await.unwrap_err();
    let down = executor.host(Down).call("d", "").await.unwrap_err();
    for error in [suspended, down] {
        assert!(error.is_fatal());
        assert_eq!(error.code(), Some(7));
    }
}

#[tokio::test]
async fn limits_of_ones_own_hold_for_hosts() {
    struct Quota;
    impl LimitPolicy for Quota {
        fn admit(&self, _: &Turn, _: &ToolCall, _: Option<&dyn Tool>) -> Result<(), ToolError> {
            Err(ToolError::limit("quota"))
        }
    }
    let host = Executor::builder().limits(Quota).build().host(FnTool::new("x", || 1));
    assert_eq!(host.call("x", "").await.unwrap_err().kind(), ErrorKind::Limit);
}

#[tokio::test]
async fn cancelling_the_context_of_one_call_leaves_every_other_alone() {
    let deny = Ask::with(|request| {
        request.context.cancellation().cancel();
        async { Decision::Deny("no".into()) }
    });
    let _ = Executor::builder().approval(deny).build().host(FnTool::new("d", || 1).approval()).call("d", "").await;
    assert!(Executor::new().host(FnTool::new("x", || 1)).call("x", "").await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_tool_never_overlaps_even_past_its_deadline() {
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let tool = FnTool::new("s", || {
        MOST.fetch_max(RUNNING.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(Duration::from_millis(200));
        RUNNING.fetch_sub(1, SeqCst);
    });
    let host = Executor::new().host(tool.concurrency(Concurrency::Serial).timeout(Duration::from_millis(50)));
    assert!(host.call("s", "").await.is_err());
    let _ = host.call("s", "").await;
    assert_eq!(MOST.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_queued_serial_call_does_not_block_other_callers() {
    let serial = FnTool::new("s", || async { tokio::time::sleep(Duration::from_millis(1)).await });
    let serial = serial.concurrency(Concurrency::Serial).build().unwrap();
    let inner = Executor::new().host(serial.clone());
    let outer = FnTool::fallible("p", move || {
        let inner = inner.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            inner.call("s", "").await?;
            Ok(1)
        }
    });
    let tools = Toolbox::new().with(outer).unwrap().with(serial.clone()).unwrap();
    let executor = Executor::builder().concurrency(1).build();
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("1", "p", ""), ToolCall::new("2", "s", "")];
    let batch = executor.run(&tools, calls, &mut turn, &context).finish();
    let other = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let start = tokio::time::Instant::now();
        Executor::new().host(serial).call("s", "").await.unwrap();
        start.elapsed()
    };
    let (outcomes, waited) = tokio::join!(batch, other);
    assert!(!outcomes[0].is_error() && !outcomes[1].is_error(), "{outcomes:?}");
    assert!(waited < Duration::from_secs(1), "an idle tool kept a caller waiting for {waited:?}");
}

#[test]
fn a_call_that_ends_before_its_thread_starts_never_runs() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let hog = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(300)));
        let tool = FnTool::new("b", || {
            RAN.fetch_add(1, SeqCst);
        });
        let host = Executor::new().host(tool.timeout(Duration::from_millis(50)));
        assert_eq!(host.call("b", "").await.unwrap_err().kind(), ErrorKind::Unavailable);
        hog.await.unwrap();
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    });
    assert_eq!(RAN.load(SeqCst), 0);
}

#[tokio::test]
async fn filtering_a_handler_without_a_document_holds_for_every_name() {
    struct Anything;
    impl ToolHandler for Anything {
        async fn call(&self, _: &str, _: Option<spec::Map>) -> Result<spec::Map, ToolError> {
            Ok(spec::Map::new())
        }
        fn load(&self) -> Option<spec::OpenTool> {
            None
        }
    }
    let tools = Toolbox::from_handler(Anything).unwrap().filter(|tool| tool.definition().name() != "delete_all");
    let host = Executor::new().host(tools);
    assert!(host.call("list", "").await.is_ok());
    assert_eq!(host.call("delete_all", "").await.unwrap_err().kind(), ErrorKind::UnknownTool);
}

#[tokio::test]
async fn a_name_that_no_tool_can_have_is_cut_in_the_error() {
    let host = Executor::new()
        .host(Toolbox::from_tools((0..1000).map(|index| FakeTool::new(&format!("tool_{index}")))).unwrap());
    let error = host.call(&"some_tool_".repeat(100_000), "").await.unwrap_err();
    assert!(error.message().len() < 200, "{} bytes", error.message().len());
}

#[tokio::test]
async fn answers_for_unknown_tools_have_the_size_limit_too() {
    let long = |_: &str, _: &Toolbox| Ok(ToolOutput::text("x".repeat(100)));
    let host = Executor::builder().max_result_size(10).unknown_tool(long).build().host(Toolbox::new());
    assert_eq!(host.call("b", "").await.unwrap_err().kind(), ErrorKind::InvalidResult);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_sends_no_events_after_its_end() {
    let late = FnTool::new("b", |context: ToolContext| {
        std::thread::sleep(Duration::from_millis(100));
        context.emit_blocking("late");
    });
    let slow = FnTool::new("w", || async { tokio::time::sleep(Duration::from_millis(300)).await });
    let tools = Toolbox::from_tools([late.timeout(Duration::from_millis(20)), slow]).unwrap();
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("1", "b", ""), ToolCall::new("2", "w", "")];
    let mut batch = executor.run(&tools, calls, &mut turn, &context);
    while let Some(event) = batch.next().await {
        assert!(!matches!(event, ToolEvent::Output(..)), "{event:?}");
    }
}

/// More pieces than a batch keeps for its watcher.
const MANY: usize = 300;

fn streaming() -> FnTool {
    FnTool::new("b", |context: ToolContext| (0..MANY).for_each(|n| context.emit_blocking(n.to_string())))
}

/// Watches a call of the tool `b` to its end; returns what it streamed, after which it must have finished.
async fn watched(tool: FnTool) -> Vec<String> {
    let (host, context) = (Executor::new().host(tool), ToolContext::new());
    let mut batch = host.watch(ToolCall::new("1", "b", ""), &context).await;
    let (mut pieces, mut finished) = (Vec::new(), false);
    while let Some(event) = batch.next().await {
        match event {
            ToolEvent::Output(_, output) => pieces.push(output.to_text()),
            ToolEvent::Finished(..) => finished = true,
            _ => {}
        }
    }
    assert!(finished);
    pieces
}

/// Polls a future that is ready at once.
fn without_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

fn numbers() -> Vec<String> {
    (0..MANY).map(|n| n.to_string()).collect()
}

#[tokio::test]
async fn an_inline_tool_may_stream_without_awaiting() {
    assert_eq!(watched(streaming().inline()).await, numbers());
    let on_a_thread_that_may_block = tokio::task::spawn_blocking(|| without_runtime(watched(streaming().inline())));
    assert_eq!(on_a_thread_that_may_block.await.unwrap(), numbers());
}

#[test]
fn an_inline_tool_may_stream_where_there_is_no_runtime() {
    assert_eq!(without_runtime(watched(streaming().inline())), numbers());
}

#[tokio::test]
async fn a_sync_tool_that_streams_loses_nothing() {
    assert_eq!(watched(streaming()).await, numbers());
}

#[tokio::test]
async fn a_sync_tool_may_stream_from_an_executor_inside_its_thread() {
    let own_runtime = FnTool::new("b", |context: ToolContext| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { (0..MANY).for_each(|n| context.emit_blocking(n.to_string())) });
    });
    assert_eq!(watched(own_runtime).await, numbers());
    let other_executor = FnTool::new("b", |context: ToolContext| {
        futures_executor::block_on(async { (0..MANY).for_each(|n| context.emit_blocking(n.to_string())) });
    });
    assert_eq!(watched(other_executor).await, numbers());
    let tool = FnTool::new("b", |context: ToolContext| {
        tokio::runtime::Handle::current().block_on(async {
            (0..MANY).for_each(|n| context.emit_blocking(n.to_string()));
        });
    });
    assert_eq!(watched(tool).await, numbers());
}

#[tokio::test]
async fn a_sync_tool_may_watch_calls_of_its_own_on_its_thread() {
    let outer = FnTool::new("b", |context: ToolContext| {
        without_runtime(watched(streaming().inline())).into_iter().for_each(|piece| context.emit_blocking(piece));
    });
    assert_eq!(watched(outer).await, numbers());
}

#[tokio::test]
async fn a_sync_tool_waits_while_its_watcher_is_behind() {
    let emitted = Arc::new(AtomicUsize::new(0));
    let counter = emitted.clone();
    let tool = FnTool::new("b", move |context: ToolContext| {
        for _ in 0..1000 {
            context.emit_blocking("piece");
            counter.fetch_add(1, SeqCst);
        }
    });
    let (host, context) = (Executor::new().host(tool), ToolContext::new());
    let mut batch = host.watch(ToolCall::new("1", "b", ""), &context).await;
    let mut read = 0;
    while let Some(event) = batch.next().await {
        read += usize::from(matches!(event, ToolEvent::Output(..)));
        assert!(emitted.load(SeqCst) <= read + 64, "{} emitted, {read} read", emitted.load(SeqCst));
    }
    assert_eq!(read, 1000);
}

#[test]
fn debug_shows_no_arguments() {
    let call = ToolCall::new("1", "login", r#"{"password":"hunter2"}"#);
    assert!(!format!("{call:?} {:?}", call.arguments).contains("hunter2"));
}
