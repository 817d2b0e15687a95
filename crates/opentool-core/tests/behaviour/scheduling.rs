//! Rule 5: calls of one batch run concurrently, bounded; answers are in call order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join;
use opentool_core::testing::FakeTool;
use opentool_core::{
    Concurrency, ErrorKind, Executor, ToolCall, ToolContext, ToolError, ToolMetadata, ToolOutput, Toolbox, Turn,
};
use tokio::time::Instant;

use super::{calls, run, toolbox};

fn slow(name: &str) -> FakeTool {
    FakeTool::new(name).answers_after(Duration::from_secs(1), name)
}

fn with(concurrency: Concurrency) -> ToolMetadata {
    ToolMetadata::new().with_concurrency(concurrency)
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_batch_run_concurrently_at_most_eight() {
    let tool = slow("slow");
    let log = tool.log();
    let start = Instant::now();
    let outcomes = run(&Executor::new(), &toolbox([tool]), calls("slow", 20)).await;
    assert_eq!((outcomes.len(), log.most_at_once(), log.finished()), (20, 8, 20));
    assert_eq!(start.elapsed().as_secs(), 3, "8 + 8 + 4");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_concurrent_calls_is_a_policy() {
    let tool = slow("slow");
    let log = tool.log();
    let executor = Executor::builder().concurrency(2).build();
    run(&executor, &toolbox([tool]), calls("slow", 6)).await;
    assert_eq!(log.most_at_once(), 2);
}

#[tokio::test(start_paused = true)]
async fn answers_are_in_call_order_whatever_finishes_first() {
    let tool = FakeTool::new("sleep").acts(|arguments, _| async move {
        let n: u64 = arguments.get("n")?.unwrap_or_default();
        tokio::time::sleep(Duration::from_millis(100 - 10 * n)).await;
        ToolOutput::json(&n)
    });
    let outcomes = run(&Executor::new(), &toolbox([tool]), calls("sleep", 8)).await;
    let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.output().unwrap().to_text()).collect();
    assert_eq!(answers, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

#[tokio::test(start_paused = true)]
async fn a_serial_tool_never_runs_twice_at_once_while_others_go_on() {
    let serial = slow("serial").with_metadata(with(Concurrency::Serial));
    let other = slow("other");
    let (serial_log, other_log) = (serial.log(), other.log());
    let start = Instant::now();
    let mut batch = calls("serial", 3);
    batch.extend(calls("other", 3));
    run(&Executor::new(), &toolbox([serial, other]), batch).await;
    assert_eq!((serial_log.most_at_once(), other_log.most_at_once()), (1, 3));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_serial_tool_never_runs_twice_at_once_even_in_two_batches_and_a_host() {
    let serial = slow("serial").with_metadata(with(Concurrency::Serial));
    let log = serial.log();
    let tools = toolbox([serial]);
    let executor = Executor::new();
    let host = Executor::new().host(tools.clone().rename("serial", "other_name").unwrap());
    join(
        join(run(&executor, &tools, calls("serial", 2)), run(&executor, &tools, calls("serial", 2))),
        host.call("other_name", ""),
    )
    .await
    .1
    .unwrap();
    assert_eq!((log.most_at_once(), log.finished()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_tool_is_alone_in_its_batch() {
    let running = Arc::new(Mutex::new((0_u32, Vec::new())));
    let tool = |name: &'static str, concurrency| {
        let running = running.clone();
        FakeTool::new(name).with_metadata(with(concurrency)).acts(move |_, _| {
            let running = running.clone();
            async move {
                running.lock().unwrap().0 += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
                let mut running = running.lock().unwrap();
                let others = running.0 - 1;
                running.1.push((name, others));
                running.0 -= 1;
                Ok(ToolOutput::Empty)
            }
        })
    };
    let tools = toolbox([tool("shared", Concurrency::Shared), tool("alone", Concurrency::Exclusive)]);
    let names = ["shared", "shared", "alone", "shared", "alone", "shared", "shared"];
    let batch = names.iter().enumerate().map(|(n, name)| ToolCall::new(n.to_string(), *name, "")).collect();
    // The same call three times is allowed, five times is not what this test is about.
    let executor = Executor::builder().limits(opentool_core::Limits::none()).build();
    assert_eq!(run(&executor, &tools, batch).await.len(), 7);
    let seen = running.lock().unwrap().1.clone();
    assert_eq!(seen.iter().filter(|(name, others)| *name == "alone" && *others == 0).count(), 2, "{seen:?}");
    assert_eq!(seen.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names, "in the order of the calls");
}

#[tokio::test(start_paused = true)]
async fn a_queued_exclusive_call_that_is_cancelled_never_runs() {
    let alone = slow("alone").with_metadata(with(Concurrency::Exclusive));
    let log = alone.log();
    let tools = toolbox([FakeTool::new("hangs").hangs(), alone, slow("late")]);
    let executor = Executor::new();
    let batch = |names: &[&str]| names.iter().map(|name| ToolCall::new(*name, *name, "")).collect::<Vec<_>>();
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let running = executor.run(&tools, batch(&["hangs", "alone", "late"]), &mut turn, &context);
    let cancellation = running.cancellation();
    let (outcomes, ()) = join(running.finish(), async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cancellation.cancel();
    })
    .await;
    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.error().map(ToolError::kind)).collect();
    assert_eq!(kinds, [Some(ErrorKind::Cancelled); 3]);
    assert_eq!(log.count(), 0, "its body never ran");
    let next = executor.run(&tools, batch(&["alone", "late"]), &mut turn, &context).finish().await;
    assert!(next.iter().all(|outcome| !outcome.is_error()), "{next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_queued_call_that_is_cancelled_leaves_the_queue() {
    let serial = slow("serial").with_metadata(with(Concurrency::Serial));
    let log = serial.log();
    let tools = toolbox([serial]);
    let executor = Executor::new();
    let one = |id: &str| vec![ToolCall::new(id, "serial", "")];
    let (mut first, mut second, mut third) = (Turn::new(), Turn::new(), Turn::new());
    let context = ToolContext::new();
    let queued = executor.run(&tools, one("2"), &mut second, &context);
    let cancellation = queued.cancellation();
    let first = executor.run(&tools, one("1"), &mut first, &context).finish();
    let third = executor.run(&tools, one("3"), &mut third, &context).finish();
    let start = Instant::now();
    let (first, (second, third)) = join(first, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let cancelling = async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancellation.cancel();
        };
        let (second, (third, ())) = join(queued.finish(), join(third, cancelling)).await;
        (second, third)
    })
    .await;
    assert!(!first[0].is_error() && !third[0].is_error());
    assert_eq!(second[0].error().map(ToolError::kind), Some(ErrorKind::Cancelled));
    assert_eq!(
        (log.count(), start.elapsed()),
        (2, Duration::from_secs(2)),
        "one after the other, with no other between"
    );
}

#[tokio::test(start_paused = true)]
async fn the_clock_of_a_call_does_not_run_while_it_queues() {
    let tools = toolbox([
        FakeTool::new("hangs").hangs(),
        slow("alone").with_metadata(with(Concurrency::Exclusive)),
        slow("late"),
    ]);
    let executor = Executor::builder().timeout(Duration::from_secs(5)).build();
    let batch = ["hangs", "alone", "late"].map(|name| ToolCall::new(name, name, "")).to_vec();
    let outcomes = run(&executor, &tools, batch).await;
    let errors: Vec<_> = outcomes.iter().map(|outcome| outcome.is_error()).collect();
    assert_eq!(errors, [true, false, false], "it starts when the call runs");
}

#[test]
fn a_call_that_does_not_wait_needs_no_runtime() {
    let host = Executor::new().host(FakeTool::new("a").answers("x"));
    let mut call = std::pin::pin!(host.call("a", ""));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match call.as_mut().poll(&mut context) {
        std::task::Poll::Ready(result) => assert_eq!(result.unwrap().to_text(), "x"),
        std::task::Poll::Pending => panic!("the call waits"),
    };
}

#[test]
fn a_call_that_waits_without_a_runtime_is_an_error_not_a_panic() {
    let host = Executor::new().host(FakeTool::new("a").hangs());
    let mut call = std::pin::pin!(host.call("a", ""));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut context) else { panic!("the call waits") };
    assert!(result.unwrap_err().detail().unwrap().contains("tokio runtime"));
}

#[tokio::test]
async fn ten_thousand_calls_of_one_batch_are_all_answered() {
    let tool = FakeTool::new("yield").acts(|_, _| async {
        tokio::task::yield_now().await;
        Ok(ToolOutput::Empty)
    });
    let (tools, mut turn, context): (Toolbox, _, _) = (toolbox([tool]), Turn::new(), ToolContext::new());
    let executor = Executor::builder().limits(opentool_core::Limits::none()).concurrency(10_000).build();
    let outcomes = executor.run(&tools, calls("yield", 10_000), &mut turn, &context).finish().await;
    assert_eq!(outcomes.iter().filter(|outcome| !outcome.is_error()).count(), 10_000);
}
