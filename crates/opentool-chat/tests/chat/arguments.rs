//! Rows about arguments, as a model meets them.

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatModel, Delta, FinishReason, ToolCallDelta};
use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, Executor, FnTool, Strictness};
use serde_json::json;

use crate::support::{Mode, calling, tool_texts};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Trip {
    city: String,
    days: Option<u32>,
}

fn plan() -> FnTool {
    FnTool::new("plan", |trip: Trip| format!("{} for {}", trip.city, trip.days.unwrap_or(1)))
}

async fn empty_null_or_blank_arguments_are_an_empty_object(mode: Mode) {
    for blank in ["", " \n", "null", "{}", "\"\""] {
        let (client, model) = calling(Reply::call("now", blank));
        let tool = FakeTool::new("now").answers("noon");
        let log = tool.log();
        mode.answer(client.prompt("hi").tools(tool)).await;
        assert_eq!(tool_texts(&model), ["noon"]);
        assert_eq!(log.arguments(), ["{}"], "for {blank:?}");
    }
}

async fn invalid_arguments_reach_the_model_with_their_pointer(mode: Mode) {
    for (arguments, expected) in [
        (
            r#"{"city":"Ulm""#,
            "invalid arguments: malformed JSON at line 1, column 14: expected `,` or `}`, found the end",
        ),
        (r#"{"city":7}"#, "invalid arguments: /city: expected string, got integer 7"),
        (r#"{"days":1}"#, r#"invalid arguments: missing required argument "city" (string)"#),
        (r#"{"city":"Ulm","city":"Bonn"}"#, r#"invalid arguments: /city: the name "city" is there more than once"#),
    ] {
        let (client, model) = calling(Reply::call("plan", arguments));
        let answer = mode.answer(client.prompt("hi").tools(plan())).await;
        assert_eq!(tool_texts(&model), [expected], "for {arguments}");
        assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::InvalidArguments));
        assert_eq!(answer.text(), "done", "the model may correct itself");
    }
}

async fn null_for_an_optional_argument_is_as_if_absent(mode: Mode) {
    let (client, model) = calling(Reply::call("plan", r#"{"city":"Ulm","days":null}"#));
    mode.answer(client.prompt("hi").tools(plan())).await;
    assert_eq!(tool_texts(&model), ["Ulm for 1"]);
}

async fn extra_arguments_are_ignored_and_refused_in_strict_mode(mode: Mode) {
    let reply = || Reply::call("plan", r#"{"city":"Ulm","mood":"good"}"#);
    let (client, model) = calling(reply());
    mode.answer(client.prompt("hi").tools(plan())).await;
    assert_eq!(tool_texts(&model), ["Ulm for 1"]);

    let model = ScriptedModel::new([reply(), Reply::text("done")]);
    let executor = Executor::builder().strictness(Strictness::Strict).build();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
    mode.answer(client.prompt("hi").tools(plan())).await;
    assert!(tool_texts(&model)[0].contains("mood"), "{:?}", tool_texts(&model));
}

/// A tool that may be called without arguments, and would then delete everything.
fn delete() -> FakeTool {
    FakeTool::new("delete").with_schema(json!({
        "type": "object", "properties": { "filter": { "type": "string" } }, "required": []
    }))
}

/// A call of that tool in an answer that ended so.
fn deleting(arguments: &str, end: Option<FinishReason>) -> Reply {
    let call = ToolCallDelta::new().with_index(0).with_id("a").with_name("delete").with_arguments(arguments);
    let deltas = [Delta::text("I will delete"), call.into()];
    Reply::deltas(deltas.into_iter().chain(end.map(Delta::Finish)))
}

async fn a_call_that_was_cut_off_does_not_run(mode: Mode) {
    let error = FinishReason::Other("error".to_owned());
    for end in [FinishReason::Length, FinishReason::ContentFilter, error] {
        for arguments in ["", r#"{"filter":"#, r#"{"filter":"old"#] {
            let tool = delete();
            let log = tool.log();
            let (client, model) = calling(deleting(arguments, Some(end.clone())));
            mode.answer(client.prompt("hi").tools(tool)).await;
            assert_eq!(log.count(), 0, "for {arguments:?} and {end:?}");
            assert!(tool_texts(&model)[0].starts_with("invalid arguments"), "{:?}", tool_texts(&model));
        }
    }
}

async fn a_call_without_arguments_runs_unless_the_answer_was_cut_off(mode: Mode) {
    for end in [Some(FinishReason::ToolCalls), Some(FinishReason::Stop), None] {
        let tool = delete();
        let log = tool.log();
        mode.answer(calling(deleting("", end.clone())).0.prompt("hi").tools(tool)).await;
        assert_eq!(log.count(), 1, "for {end:?}");
    }
}

in_both_modes!(
    empty_null_or_blank_arguments_are_an_empty_object,
    invalid_arguments_reach_the_model_with_their_pointer,
    null_for_an_optional_argument_is_as_if_absent,
    extra_arguments_are_ignored_and_refused_in_strict_mode,
    a_call_that_was_cut_off_does_not_run,
    a_call_without_arguments_runs_unless_the_answer_was_cut_off,
);
