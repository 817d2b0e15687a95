//! Rule 1: exactly one outcome per call, whatever happens.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use opentool_core::testing::FakeTool;
use opentool_core::{
    Cancellation, ErrorKind, Executor, Outcome, Tool, ToolCall, ToolContext, ToolDefinition, ToolError, ToolOutput,
    Toolbox, Turn,
};
use serde_json::json;

use super::{calls, pair, run, toolbox};

#[tokio::test(start_paused = true)]
async fn every_way_to_fail_is_one_outcome_in_call_order() {
    let tools = toolbox([
        FakeTool::new("good").answers("yes"),
        FakeTool::new("pair").with_schema(pair()),
        FakeTool::new("fails").fails(ToolError::failed("no")),
        FakeTool::new("panics").panics("ouch"),
        FakeTool::new("hangs").hangs(),
        FakeTool::new("huge").answers("x".repeat(2 * 1024 * 1024)),
    ]);
    let calls = ["good", "pair", "nowhere", "fails", "panics", "hangs", "huge", "good"]
        .iter()
        .enumerate()
        .map(|(n, name)| ToolCall::new(n.to_string(), *name, ""))
        .collect();
    let outcomes = run(&Executor::new(), &tools, calls).await;

    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.error().map(ToolError::kind)).collect();
    assert_eq!(
        kinds,
        [
            None,
            Some(ErrorKind::InvalidArguments),
            Some(ErrorKind::UnknownTool),
            Some(ErrorKind::Failed),
            Some(ErrorKind::Panic),
            Some(ErrorKind::Timeout),
            Some(ErrorKind::InvalidResult),
            None,
        ]
    );
    let ids: Vec<_> = outcomes.iter().map(|outcome| outcome.call_id.parse::<usize>().unwrap()).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn repeated_and_empty_call_ids_still_get_one_outcome_each_in_call_order() {
    let tools = toolbox([FakeTool::new("a").answers("a"), FakeTool::new("b").answers("b")]);
    let calls = vec![ToolCall::new("x", "a", ""), ToolCall::new("x", "b", ""), ToolCall::new("", "a", "")];
    let outcomes = run(&Executor::new(), &tools, calls).await;
    let seen: Vec<_> =
        outcomes.iter().map(|outcome| (&*outcome.call_id, outcome.output().unwrap().to_text())).collect();
    assert_eq!(seen, [("x", "a".to_owned()), ("x", "b".to_owned()), ("", "a".to_owned())]);
}

#[tokio::test]
async fn the_message_of_a_panic_is_for_the_operator_only() {
    let tools = toolbox([FakeTool::new("panics").panics("secret path /etc"), FakeTool::new("good").answers("yes")]);
    let calls = vec![ToolCall::new("1", "panics", ""), ToolCall::new("2", "good", "")];
    let outcomes = run(&Executor::new(), &tools, calls).await;
    let error = outcomes[0].error().unwrap();
    assert_eq!(error.message(), "the tool failed with an internal error");
    assert_eq!(error.detail(), Some("secret path /etc"));
    assert!(!outcomes[1].is_error(), "the sibling is unharmed");
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_caught_too() {
    struct Rude(FakeTool);
    impl opentool_core::Tool for Rude {
        fn definition(&self) -> &opentool_core::ToolDefinition {
            self.0.definition()
        }
        fn metadata(&self) -> &opentool_core::ToolMetadata {
            self.0.metadata()
        }
        fn call<'a>(
            &'a self,
            _: opentool_core::Invocation<'a>,
        ) -> opentool_core::BoxFuture<'a, Result<ToolOutput, ToolError>> {
            panic!("no future for you")
        }
    }
    let host = Executor::new().host(Rude(FakeTool::new("rude")));
    let error = host.call("rude", "").await.unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Panic, Some("no future for you")));
}

#[tokio::test]
async fn a_panicking_policy_is_an_outcome_too() {
    let executor = Executor::builder().errors(|_: &str, _: ToolError| -> ToolError { panic!("policy") }).build();
    let error = executor.host(FakeTool::new("a")).call("b", "").await.unwrap_err();
    assert_eq!((error.kind(), error.is_fatal()), (ErrorKind::Panic, true));
}

#[tokio::test]
async fn a_result_that_cannot_be_serialised_is_an_error() {
    let odd = FakeTool::new("odd").acts(|_, _| async {
        let map = std::collections::HashMap::from([((1, 2), 3)]);
        ToolOutput::json(&map)
    });
    let error = Executor::new().host(odd).call("odd", "").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResult);
    assert_eq!(error.message(), "the result cannot be written as JSON: key must be a string");
}

#[tokio::test(start_paused = true)]
async fn one_of_several_fails_and_its_siblings_keep_their_results() {
    let tools = toolbox([
        FakeTool::new("slow").answers_after(Duration::from_secs(1), "done"),
        FakeTool::new("fails").fails(ToolError::fatal("disk gone")),
    ]);
    let calls = vec![ToolCall::new("1", "fails", ""), ToolCall::new("2", "slow", "")];
    let outcomes = run(&Executor::new(), &tools, calls).await;
    assert_eq!(outcomes.fatal().unwrap().message(), "disk gone");
    assert_eq!(outcomes[1].output().unwrap().to_text(), "done");
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_token_yields_cancelled_for_calls_that_have_not_finished() {
    let slow = FakeTool::new("slow").hangs();
    let log = slow.log();
    let tools = toolbox([FakeTool::new("quick").answers("yes"), slow]);
    let cancellation = Cancellation::new();
    let context = ToolContext::new().with_cancellation(cancellation.clone());
    let (executor, mut turn) = (Executor::new(), Turn::new());
    let calls = vec![ToolCall::new("1", "quick", ""), ToolCall::new("2", "slow", "")];
    let batch = executor.run(&tools, calls, &mut turn, &context);
    let (outcomes, ()) = futures_util::future::join(batch.finish(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancellation.cancel();
    })
    .await;
    assert!(!outcomes[0].is_error());
    assert_eq!(outcomes[1].error().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!((log.count(), log.running(), log.finished()), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_batch_does_not_cancel_the_context() {
    let tools = toolbox([FakeTool::new("slow").hangs()]);
    let outer = Cancellation::new();
    let context = ToolContext::new().with_cancellation(outer.clone());
    let (executor, mut turn) = (Executor::new(), Turn::new());
    let batch = executor.run(&tools, calls("slow", 10), &mut turn, &context);
    batch.cancellation().cancel();
    let outcomes = batch.finish().await;
    assert!(outcomes.iter().all(|outcome| outcome.error().unwrap().kind() == ErrorKind::Cancelled));
    assert_eq!(outcomes.len(), 10);
    assert!(!outer.is_cancelled());
}

#[tokio::test]
async fn a_call_made_after_the_cancellation_never_runs() {
    let tool = FakeTool::new("a");
    let log = tool.log();
    let context = ToolContext::new().with_cancellation(Cancellation::new());
    context.cancellation().cancel();
    let outcome = Executor::new().host(tool).run(ToolCall::new("1", "a", ""), &context).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(log.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_batch_stops_its_calls_tells_them_and_records_nothing() {
    let cancelled = Cancellation::new();
    let hook = cancelled.clone();
    let slow = FakeTool::new("slow").acts(move |_, context| {
        let (hook, signal) = (hook.clone(), context.cancellation().clone());
        tokio::spawn(async move {
            signal.cancelled().await;
            hook.cancel();
        });
        std::future::pending()
    });
    let log = slow.log();
    let tools = toolbox([slow, FakeTool::new("quick").answers("yes")]);
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
    let calls = vec![ToolCall::new("1", "slow", ""), ToolCall::new("2", "quick", "")];
    let mut batch = executor.run(&tools, calls, &mut turn, &context);
    while let Some(event) = batch.next().await {
        if matches!(event, opentool_core::ToolEvent::Finished(..)) {
            break;
        }
    }
    assert_eq!(log.running(), 1);
    drop(batch);
    assert_eq!(log.running(), 0, "the call went with its batch");
    cancelled.cancelled().await;
    assert_eq!((turn.calls(), turn.rounds(), turn.pending().count()), (0, 0, 0));
}

#[tokio::test]
async fn an_empty_batch_has_no_outcomes_and_is_no_round() {
    let (executor, tools, mut turn, context) = (Executor::new(), toolbox([]), Turn::new(), ToolContext::new());
    let outcomes = executor.run(&tools, vec![], &mut turn, &context).finish().await;
    assert!(outcomes.is_empty() && !outcomes.return_direct());
    assert_eq!(turn.rounds(), 0);
}

#[tokio::test]
async fn an_outcome_carries_the_definition_of_its_tool() {
    let listed = FakeTool::new("listed").with_definition(
        ToolDefinition::builder("listed").output_name("sum").input_schema(json!({ "type": "object" })).build().unwrap(),
    );
    let resolver = |name: &str| (name == "found").then(|| Arc::new(FakeTool::new(name)) as Arc<dyn Tool>);
    let executor = Executor::builder().resolver(resolver).build();
    let tools = Toolbox::new().with(listed.fails(ToolError::failed("no"))).unwrap();
    let names = |outcomes: &[Outcome]| -> Vec<Option<String>> {
        outcomes.iter().map(|outcome| outcome.definition.as_ref().map(|known| known.name().to_owned())).collect()
    };
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let calls = ["listed", "found", "unknown"].map(|name| ToolCall::new(name, name, "")).to_vec();
    let outcomes = executor.run(&tools, calls.clone(), &mut turn, &context).finish().await;
    let expected = [Some("listed".to_owned()), Some("found".to_owned()), None];
    assert_eq!(names(&outcomes), expected);
    assert_eq!(outcomes[0].definition.as_ref().unwrap().output_name(), Some("sum"));

    let host = executor.host(tools);
    for (call, expected) in calls.into_iter().zip(expected) {
        let mut batch = host.watch(call.clone(), &context).await;
        while let Some(event) = batch.next().await {
            assert_eq!(event.call().definition.as_ref().map(|known| known.name().to_owned()), expected, "{event:?}");
        }
        assert_eq!(names(&[host.run(call, &context).await]), [expected]);
    }
}

#[tokio::test]
async fn a_stored_outcome_can_be_read_again() {
    let host = Executor::new().host(FakeTool::new("a").answers("x"));
    let outcome = host.run(ToolCall::new("1", "a", r#"{"b":1}"#), &ToolContext::new()).await;
    let stored = serde_json::to_string(&outcome).unwrap();
    let read: Outcome = serde_json::from_str(&stored).unwrap();
    assert_eq!((&*read.call_id, &*read.tool, read.arguments.as_str()), ("1", "a", r#"{"b":1}"#));
    assert_eq!(read.output().unwrap().to_text(), "x");
    assert!(read.definition.is_none(), "definitions are not stored");
}
