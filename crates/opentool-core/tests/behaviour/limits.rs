//! Rule 9: limits belong to a turn.

use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, Executor, Limits, Outcomes, ToolCall, ToolContext, ToolMetadata, Toolbox, Turn};
use serde_json::json;

use super::{calls, toolbox};

async fn round(executor: &Executor, tools: &Toolbox, turn: &mut Turn, calls: Vec<ToolCall>) -> Outcomes {
    executor.run(tools, calls, turn, &ToolContext::new()).finish().await
}

fn refused(outcomes: &Outcomes) -> Vec<(usize, bool)> {
    let refused = outcomes.iter().enumerate().filter_map(|(n, outcome)| Some((n, outcome.error()?)));
    refused
        .map(|(n, error)| {
            assert_eq!(error.kind(), ErrorKind::Limit);
            (n, error.is_fatal())
        })
        .collect()
}

#[tokio::test]
async fn the_forty_first_call_of_a_tool_is_refused() {
    let tool = FakeTool::new("a");
    let log = tool.log();
    let (tools, mut turn) = (toolbox([tool]), Turn::new());
    let outcomes = round(&Executor::new(), &tools, &mut turn, calls("a", 42)).await;
    assert_eq!(refused(&outcomes), [(40, false), (41, false)]);
    assert_eq!((log.count(), turn.calls_of("a")), (40, 40));
}

#[tokio::test]
async fn a_tool_may_have_its_own_limit() {
    let tool = FakeTool::new("a").with_metadata(ToolMetadata::new().with_call_limit(1));
    let outcomes = round(&Executor::new(), &toolbox([tool]), &mut Turn::new(), calls("a", 2)).await;
    assert_eq!(refused(&outcomes), [(1, false)]);
}

#[tokio::test]
async fn the_same_call_is_refused_the_fourth_time_however_its_json_is_written() {
    let tool = FakeTool::new("a");
    let log = tool.log();
    let (executor, tools, mut turn) = (Executor::new(), toolbox([tool]), Turn::new());
    let texts = [r#"{"x":1,"y":{"p":1,"q":2}}"#, r#"{"y":{"q":2,"p":1},"x":1}"#, r#"{ "x": 1, "y": {"p":1,"q":2} }"#];
    for text in texts {
        let outcomes = round(&executor, &tools, &mut turn, vec![ToolCall::new("1", "a", text)]).await;
        assert_eq!(refused(&outcomes), []);
    }
    let again = vec![ToolCall::new("1", "a", texts[0]), ToolCall::new("2", "a", r#"{"x":2}"#)];
    assert_eq!(refused(&round(&executor, &tools, &mut turn, again).await), [(0, false)]);
    assert_eq!(log.count(), 4);
}

#[tokio::test]
async fn the_hundred_and_fifty_first_call_of_a_turn_reaches_the_caller() {
    let tools = toolbox(["a", "b", "c", "d"].map(FakeTool::new));
    let (executor, mut turn) = (Executor::new(), Turn::new());
    for name in ["a", "b", "c"] {
        assert_eq!(refused(&round(&executor, &tools, &mut turn, calls(name, 40)).await), []);
    }
    let outcomes = round(&executor, &tools, &mut turn, calls("d", 31)).await;
    assert_eq!(refused(&outcomes), [(30, true)]);
    assert_eq!(outcomes.fatal().unwrap().kind(), ErrorKind::Limit);
    assert_eq!(turn.calls(), 150);
}

#[tokio::test]
async fn the_twenty_sixth_round_reaches_the_caller() {
    let tool = FakeTool::new("a");
    let log = tool.log();
    let (executor, tools, mut turn) = (Executor::new(), toolbox([tool]), Turn::new());
    for n in 0..25 {
        let call = vec![ToolCall::new("1", "a", json!({ "n": n }))];
        assert_eq!(refused(&round(&executor, &tools, &mut turn, call).await), []);
    }
    let call = vec![ToolCall::new("1", "a", json!({ "n": 25 }))];
    assert_eq!(refused(&round(&executor, &tools, &mut turn, call).await), [(0, true)]);
    assert_eq!(log.count(), 25);
}

#[tokio::test]
async fn wrong_names_and_wrong_arguments_count_too() {
    let tools = toolbox([FakeTool::new("a").with_schema(super::pair())]);
    let executor = Executor::builder().limits(Limits::default().with_total(4)).build();
    let mut turn = Turn::new();
    let mut batch = calls("nowhere", 2);
    batch.extend(calls("a", 2));
    batch.extend(calls("nowhere", 1));
    let outcomes = round(&executor, &tools, &mut turn, batch).await;
    let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.error().unwrap().kind()).collect();
    use ErrorKind::{InvalidArguments, Limit, UnknownTool};
    assert_eq!(kinds, [UnknownTool, UnknownTool, InvalidArguments, InvalidArguments, Limit]);
}

#[tokio::test]
async fn each_call_of_a_host_is_a_turn_of_its_own() {
    let host = Executor::new().host(FakeTool::new("a").answers("x"));
    for _ in 0..200 {
        assert_eq!(host.call("a", "").await.unwrap().to_text(), "x");
    }
}

#[tokio::test]
async fn counters_survive_a_round_trip() {
    let (executor, tools, mut turn) = (Executor::new(), toolbox([FakeTool::new("a")]), Turn::new());
    let call = || vec![ToolCall::new("1", "a", r#"{"x":1}"#)];
    for _ in 0..3 {
        round(&executor, &tools, &mut turn, call()).await;
        turn = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
    }
    assert_eq!((turn.calls(), turn.rounds(), turn.calls_of("a"), turn.repeats_of(&call()[0])), (3, 3, 3, 3));
    assert_eq!(refused(&round(&executor, &tools, &mut turn, call()).await), [(0, false)]);
}
