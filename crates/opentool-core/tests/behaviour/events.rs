//! Events come as they happen.

use std::time::Duration;

use futures_util::StreamExt;
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Executor, ToolCall, ToolContext, ToolError, ToolEvent, ToolMetadata, ToolOutput, Turn};
use tokio::time::Instant;

use super::toolbox;

/// One word an event, with the place of its call.
fn word(event: &ToolEvent) -> String {
    let what = match event {
        ToolEvent::Requested(_, arguments) => format!("requested {arguments}"),
        ToolEvent::Started(_) => "started".to_owned(),
        ToolEvent::Progress(_, progress) => format!("progress {} {:?}", progress.done, progress.total),
        ToolEvent::Output(_, output) => format!("output {}", output.to_text()),
        ToolEvent::Finished(_, outcome) => format!("finished {}", outcome.output().unwrap().to_text()),
        ToolEvent::Failed(_, outcome) => format!("failed {}", outcome.error().unwrap().kind()),
        ToolEvent::Suspended(_) => "suspended".to_owned(),
        _ => panic!("{event:?}"),
    };
    format!("{} {what}", event.call().index)
}

#[tokio::test(start_paused = true)]
async fn events_report_request_start_progress_and_end() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        context.progress(1.0, Some(2.0), Some("half".to_owned()));
        context.emit("piece").await;
        Ok(ToolOutput::text("whole"))
    });
    let tools = toolbox([tool, FakeTool::new("b").fails(ToolError::failed("no"))]);
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("x", "a", ""), ToolCall::new("y", "b", "")];
    let mut batch = executor.run(&tools, calls, &mut turn, &context);
    let mut words = Vec::new();
    while let Some(event) = batch.next().await {
        words.push(word(&event));
    }
    let of =
        |index: &str| words.iter().filter(|word| word.starts_with(index)).map(|word| &word[2..]).collect::<Vec<_>>();
    assert_eq!(of("0"), ["requested {}", "started", "progress 1 Some(2.0)", "output piece", "finished whole"]);
    assert_eq!(of("1"), ["requested {}", "started", "failed failed"]);
    let outcomes = batch.finish().await;
    assert_eq!(outcomes.len(), 2, "the outcomes are still there after the stream was read");
}

#[tokio::test(start_paused = true)]
async fn results_come_when_they_are_ready_not_in_one_burst() {
    let tools = toolbox([
        FakeTool::new("slow").answers_after(Duration::from_secs(9), "slow"),
        FakeTool::new("quick").answers_after(Duration::from_secs(1), "quick"),
    ]);
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("1", "slow", ""), ToolCall::new("2", "quick", "")];
    let start = Instant::now();
    let mut batch = executor.run(&tools, calls, &mut turn, &context);
    let mut finished = Vec::new();
    while let Some(event) = batch.next().await {
        if let ToolEvent::Finished(call, _) = event {
            finished.push((call.index, start.elapsed().as_secs()));
        }
    }
    assert_eq!(finished, [(1, 1), (0, 9)]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_emits_faster_than_it_is_read_waits_and_loses_nothing() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        for n in 0..1000 {
            context.emit(n.to_string()).await;
        }
        Ok(ToolOutput::Empty)
    });
    let (executor, tools, mut turn, context) = (Executor::new(), toolbox([tool]), Turn::new(), ToolContext::new());
    let mut batch = executor.run(&tools, vec![ToolCall::new("1", "a", "")], &mut turn, &context);
    let mut next = 0;
    while let Some(event) = batch.next().await {
        if let ToolEvent::Output(_, output) = event {
            assert_eq!(output.to_text(), next.to_string());
            next += 1;
        }
    }
    assert_eq!(next, 1000);
}

#[tokio::test]
async fn a_tool_that_emits_does_not_wait_without_a_watcher() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        for _ in 0..1000 {
            context.emit("x").await;
        }
        Ok(ToolOutput::text("done"))
    });
    let (executor, tools, mut turn, context) = (Executor::new(), toolbox([tool]), Turn::new(), ToolContext::new());
    let outcomes = executor.run(&tools, vec![ToolCall::new("1", "a", "")], &mut turn, &context).finish().await;
    assert_eq!(outcomes[0].output().unwrap().to_text(), "done");
}

#[tokio::test]
async fn a_suspended_call_tells_so_and_never_starts() {
    let tool = FakeTool::new("a").with_metadata(ToolMetadata::new().with_approval(true));
    let executor = Executor::builder().approval(Ask::later()).build();
    let (tools, mut turn, context) = (toolbox([tool]), Turn::new(), ToolContext::new());
    let batch = executor.run(&tools, vec![ToolCall::new("1", "a", "")], &mut turn, &context);
    let words: Vec<_> = batch.map(|event| word(&event)).collect().await;
    assert_eq!(words, ["0 requested {}", "0 suspended"]);
}

#[tokio::test]
async fn a_call_of_a_host_can_be_watched() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        context.emit("piece").await;
        Ok(ToolOutput::text("whole"))
    });
    let (host, context) = (Executor::new().host(tool), ToolContext::new());
    let batch = host.watch(ToolCall::new("1", "a", ""), &context).await;
    let words: Vec<_> = batch.map(|event| word(&event)).collect().await;
    assert_eq!(words, ["0 requested {}", "0 started", "0 output piece", "0 finished whole"]);
}

#[tokio::test]
async fn no_start_is_lost_however_many_calls_start_at_once() {
    let tools = toolbox([FakeTool::new("a").answers("x")]);
    let executor = Executor::builder().concurrency(500).limits(opentool_core::Limits::none()).build();
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let batch = executor.run(&tools, super::calls("a", 500), &mut turn, &context);
    let events: Vec<_> = batch.collect().await;
    let count = |wanted: fn(&ToolEvent) -> bool| events.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, ToolEvent::Requested(..))), 500);
    assert_eq!(count(|event| matches!(event, ToolEvent::Started(..))), 500);
    assert_eq!(count(|event| matches!(event, ToolEvent::Finished(..))), 500);
}
