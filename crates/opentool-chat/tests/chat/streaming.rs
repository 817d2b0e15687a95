//! Row "streaming": events as they happen, and nothing lost.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatEvent, Delta, Execution, FinishReason, ToolCallDelta, ToolExecutionResult, Usage};
use opentool_core::testing::FakeTool;
use opentool_core::{Executor, ToolCall, ToolContext, ToolError, ToolEvent, ToolOutput, Toolbox, Turn};

use crate::support::watch;

/// An event in a word or two.
fn word(event: &ChatEvent) -> String {
    match event {
        ChatEvent::Text(text) => format!("text {text:?}"),
        ChatEvent::Reasoning(text) => format!("reasoning {text:?}"),
        ChatEvent::Usage(usage) => format!("usage {}", usage.total_tokens()),
        ChatEvent::Tool(event) => {
            let what = match event {
                ToolEvent::Requested(_, arguments) => format!("requested {arguments}"),
                ToolEvent::Started(_) => "started".to_owned(),
                ToolEvent::Progress(_, progress) => format!("progress {}", progress.done),
                ToolEvent::Output(_, output) => format!("output {}", output.to_text()),
                ToolEvent::Finished(_, outcome) => format!("finished {}", outcome.output().unwrap().to_text()),
                ToolEvent::Failed(_, outcome) => format!("failed {}", outcome.error().unwrap()),
                other => format!("{other:?}"),
            };
            format!("{} {what}", event.call().tool)
        }
        ChatEvent::ToolCall(piece) => format!("{} writes {}", piece.name.as_deref().unwrap_or("?"), piece.arguments),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn a_stream_has_text_reasoning_calls_usage_and_the_end() {
    let model = ScriptedModel::new([
        Reply::deltas([
            Delta::reasoning("Hm."),
            // Text before, between and after the pieces of a call.
            Delta::text("Let "),
            ToolCallDelta::new().with_index(0).with_id("a").with_name("work").with_arguments(r#"{"n""#).into(),
            Delta::text("me "),
            ToolCallDelta::new().with_index(0).with_arguments(":1}").into(),
            Delta::text("see."),
            Delta::Finish(FinishReason::ToolCalls),
            Delta::Usage(Usage::new(1, 2)),
        ]),
        Reply::deltas([Delta::text("Done."), Delta::Usage(Usage::new(3, 4))]),
    ]);
    let work = FakeTool::new("work").acts(|_, context| async move {
        context.progress(1.0, Some(2.0), None);
        context.emit("half").await;
        Ok(ToolOutput::text("whole"))
    });
    let (events, result) = watch(ChatClient::new(model).prompt("hi").tools(work).stream()).await;
    let seen: Vec<_> = events.iter().map(word).collect();
    assert_eq!(
        seen,
        [
            "reasoning \"Hm.\"",
            "text \"Let \"",
            "work writes {\"n\"",
            "text \"me \"",
            "work writes :1}",
            "text \"see.\"",
            "usage 3",
            "work requested {\"n\":1}",
            "work started",
            "work progress 1",
            "work output half",
            "work finished whole",
            "text \"Done.\"",
            "usage 7",
        ]
    );
    let response = result.unwrap();
    assert_eq!(response.messages()[1].text(), "Let me see.");
    assert_eq!(response.usage, Usage::new(4, 6));
    assert_eq!(response.text(), "Done.");
}

#[tokio::test]
async fn a_call_that_fails_is_a_failed_event() {
    let model = ScriptedModel::new([Reply::call("bad", "{}").and_call("nowhere", "{}"), Reply::text("done")]);
    let bad = FakeTool::new("bad").fails(ToolError::failed("no luck"));
    let (events, _) = watch(ChatClient::new(model).prompt("hi").tools(bad).stream()).await;
    let seen: Vec<_> = events.iter().map(word).collect();
    assert!(seen.contains(&"bad failed no luck".to_owned()), "{seen:?}");
    assert!(seen.contains(&"nowhere failed there is no tool named `nowhere`".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn results_of_concurrent_calls_come_as_they_are_ready() {
    let model = ScriptedModel::new([Reply::call("slow", "{}").and_call("quick", "{}"), Reply::text("done")]);
    let slow = FakeTool::new("slow").answers_after(Duration::from_millis(30), "slow");
    let (events, _) =
        watch(ChatClient::new(model).prompt("hi").tools((slow, FakeTool::new("quick").answers("quick"))).stream())
            .await;
    let finished: Vec<_> = events.iter().map(word).filter(|word| word.contains("finished")).collect();
    assert_eq!(finished, ["quick finished quick", "slow finished slow"]);
}

#[tokio::test]
async fn direct_results_are_text_events() {
    let model = ScriptedModel::new([Reply::call("show", "{}")]);
    let show = opentool_core::FnTool::new("show", || "a picture").return_direct();
    let texts: Vec<_> = ChatClient::new(model).prompt("hi").tools(show).stream().texts().collect().await;
    let texts: Vec<_> = texts.into_iter().map(Result::unwrap).collect();
    assert_eq!(texts, ["a picture"]);
}

#[tokio::test]
async fn texts_before_and_after_calls_stand_on_lines_of_their_own() {
    for (first, expected) in [("One.", "One.\nTwo."), ("One.\n", "One.\nTwo."), ("", "Two.")] {
        let rounds = [Reply::call("now", "{}").with_text(first), Reply::call("now", r#"{"n":2}"#), Reply::text("Two.")];
        let request = ChatClient::new(ScriptedModel::new(rounds)).prompt("hi").tools(FakeTool::new("now"));
        let texts: Vec<_> = request.stream().texts().collect().await;
        let texts: String = texts.into_iter().map(Result::unwrap).collect();
        assert_eq!(texts, expected);
    }
}

#[tokio::test]
async fn the_turn_runs_only_as_fast_as_its_events_are_read() {
    let model = ScriptedModel::new([Reply::call("work", "{}").with_text("Let me see."), Reply::text("done")]);
    let work = FakeTool::new("work");
    let log = work.log();
    let mut stream = ChatClient::new(model.clone()).prompt("hi").tools(work).stream();
    assert!(model.requests().is_empty(), "nothing happens before the stream is read");
    let first = stream.next().await.unwrap().unwrap();
    assert!(matches!(&first, ChatEvent::Text(text) if text == "Let m"), "{first:?}");
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(log.count(), 0);
    drop(stream);
    assert_eq!((model.requests().len(), log.count()), (1, 0), "dropping the stream ends the turn");
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_calls() {
    let model = ScriptedModel::new([Reply::call("stuck", "{}")]);
    let (sender, cancelled) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let stuck = FakeTool::new("stuck").acts(move |_, context| {
        let sender = sender.lock().unwrap().take();
        async move {
            let cancellation = context.cancellation().clone();
            tokio::spawn(async move {
                cancellation.cancelled().await;
                sender.unwrap().send(()).unwrap();
            });
            std::future::pending().await
        }
    });
    let mut stream = ChatClient::new(model).prompt("hi").tools(stuck).stream();
    while let Some(event) = stream.next().await {
        if matches!(event.unwrap(), ChatEvent::Tool(ToolEvent::Started(_))) {
            break;
        }
    }
    drop(stream);
    cancelled.await.unwrap();
}

#[tokio::test]
async fn a_stream_can_be_left_unread() {
    let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("noon")]);
    let mut stream = ChatClient::new(model.clone()).prompt("hi").tools(FakeTool::new("now")).stream();
    stream.next().await.unwrap().unwrap();
    assert_eq!(stream.finish().await.unwrap().text(), "noon");
    assert!(model.requests().iter().all(|request| request.streamed));
}

#[tokio::test]
async fn concurrent_events_all_reach_the_stream() {
    let tools = Toolbox::from_tools([FakeTool::new("work")]).unwrap();
    let calls = (0..20).map(|n| ToolCall::new(format!("call_{n}"), "work", format!(r#"{{"n":{n}}}"#))).collect();
    let (executor, mut turn, context) = (Executor::default(), Turn::new(), ToolContext::new());
    let happened: Vec<_> = executor.run(&tools, calls, &mut turn, &context).collect().await;
    // As a custom manager may run them: concurrently, in a set that polls only those that were woken.
    let execution = || {
        let happened = happened.clone();
        Execution::new(|events| async move {
            let emit = |event| events.emit(event);
            happened.into_iter().map(emit).collect::<FuturesUnordered<_>>().collect::<Vec<_>>().await;
            Ok(ToolExecutionResult::default())
        })
    };
    let seen = async {
        let mut read_in_part = execution();
        read_in_part.next().await.unwrap();
        read_in_part.finish().await.unwrap();
        execution().collect::<Vec<_>>().await
    };
    let seen = tokio::time::timeout(Duration::from_secs(30), seen).await.expect("an emitter waits for ever");
    let ids = |events: &[ToolEvent]| {
        let mut ids: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
        ids.sort();
        ids
    };
    assert_eq!((seen.len(), ids(&seen)), (60, ids(&happened)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_another_task_arrive_and_never_block_an_unread_one() {
    let tools = Toolbox::from_tools([FakeTool::new("work")]).unwrap();
    let (executor, mut turn, context) = (Executor::default(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("a", "work", "{}")];
    let happened: Vec<_> = executor.run(&tools, calls, &mut turn, &context).collect().await;
    let execution = || {
        let happened = happened.clone();
        Execution::new(|events| async move {
            let task = tokio::spawn(async move {
                for event in happened {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    events.emit(event).await;
                }
            });
            task.await.unwrap();
            Ok(ToolExecutionResult::default())
        })
    };
    let seen = async {
        let mut read_in_part = execution();
        read_in_part.next().await.unwrap();
        // By now the next event waits to be read, and will not be.
        tokio::time::sleep(Duration::from_millis(20)).await;
        read_in_part.finish().await.unwrap();
        execution().count().await
    };
    let seen = tokio::time::timeout(Duration::from_secs(30), seen).await.expect("an emitter waits for ever");
    assert_eq!(seen, 3);
}
