//! Rows about results: no value, strings, what cannot be serialised, panics, `return_direct`, the error flag.

use std::collections::BTreeMap;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, FinishReason, Message};
use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, FnTool, Link, Part, Resource, ToolError, ToolMetadata, ToolOutput};

use crate::support::{Mode, calling, tool_texts};

async fn no_value_is_done(mode: Mode) {
    let (client, model) = calling(Reply::call("unit", "{}").and_call("none", "{}"));
    let tools = (FnTool::new("unit", || ()), FnTool::new("none", || None::<i32>));
    mode.answer(client.prompt("hi").tools(tools)).await;
    assert_eq!(tool_texts(&model), ["Done", "Done"]);
}

async fn a_string_result_is_text_and_a_value_is_json(mode: Mode) {
    let (client, model) = calling(Reply::call("text", "{}").and_call("json_like", "{}").and_call("value", "{}"));
    let tools = (
        FnTool::new("text", || "plain"),
        FnTool::new("json_like", || r#"{"looks":"like json"}"#),
        FnTool::new("value", || vec!["a", "b"]),
    );
    mode.answer(client.prompt("hi").tools(tools)).await;
    assert_eq!(tool_texts(&model), ["plain", r#"{"looks":"like json"}"#, r#"["a","b"]"#]);
}

async fn every_part_of_a_result_becomes_text_for_the_model(mode: Mode) {
    let (client, model) = calling(Reply::call("show", "{}"));
    let output = ToolOutput::Parts(vec![
        Part::text("See here."),
        Link::new("https://example.org/a.pdf").with_title("The report").into(),
        Resource::text("file:///a.txt", "the text of a resource").into(),
        Part::media("image/png", "aGVsbG8="),
    ]);
    let show = FakeTool::new("show").acts(move |_, _| std::future::ready(Ok(output.clone())));
    mode.answer(client.prompt("hi").tools(show)).await;
    let text = "See here.\nThe report: https://example.org/a.pdf\nthe text of a resource\n[image/png, 5 bytes]";
    assert_eq!(tool_texts(&model), [text]);
}

async fn an_unserialisable_result_and_a_panic_harm_no_other_call(mode: Mode) {
    let (client, model) = calling(Reply::call("odd", "{}").and_call("bomb", "{}").and_call("good", "{}"));
    let tools = (
        FnTool::new("odd", || BTreeMap::from([(vec![1], 2)])),
        FnTool::new("bomb", || -> i32 { panic!("the secret of the operator") }),
        FnTool::new("good", || "fine"),
    );
    let answer = mode.answer(client.prompt("hi").tools(tools)).await;
    let answers = answer.messages()[2].answers();
    let kinds: Vec<_> = answers.iter().map(|answer| answer.error).collect();
    assert_eq!(kinds, [Some(ErrorKind::InvalidResult), Some(ErrorKind::Panic), None]);
    assert_eq!(tool_texts(&model)[1..], ["the tool failed with an internal error", "fine"]);
}

fn direct(name: &str, answer: &str) -> FakeTool {
    FakeTool::new(name).answers(answer).with_metadata(ToolMetadata::new().with_return_direct(true))
}

async fn return_direct_gives_all_results_to_the_caller(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("one", "{}").and_call("two", "{}")]);
    let client = ChatClient::new(model.clone());
    let answer = mode.answer(client.prompt("hi").tools((direct("one", "first"), direct("two", "second")))).await;
    assert_eq!(answer.text(), "first\nsecond");
    assert_eq!(answer.generations.len(), 2, "one per answer");
    assert!(answer.generations.iter().all(|answer| answer.finish_reason == FinishReason::ReturnDirect));
    assert!(!answer.has_tool_calls());
    assert_eq!(model.requests().len(), 1, "the model was not asked again");
    assert_eq!(answer.messages().last(), Some(&Message::assistant("first\nsecond")));
}

async fn return_direct_needs_every_call_of_the_answer(mode: Mode) {
    let (client, model) = calling(Reply::call("one", "{}").and_call("two", "{}"));
    let answer =
        mode.answer(client.prompt("hi").tools((direct("one", "first"), FakeTool::new("two").answers("second")))).await;
    assert_eq!(answer.text(), "done");
    assert_eq!(tool_texts(&model), ["first", "second"]);
}

async fn an_error_of_a_return_direct_tool_goes_back_to_the_model(mode: Mode) {
    let (client, model) = calling(Reply::call("one", "{}").and_call("two", "{}"));
    let failing = FakeTool::new("two").fails(ToolError::failed("out of order"));
    let failing = failing.with_metadata(ToolMetadata::new().with_return_direct(true));
    let answer = mode.answer(client.prompt("hi").tools((direct("one", "first"), failing))).await;
    assert_eq!(answer.text(), "done");
    assert_eq!(tool_texts(&model), ["first", "out of order"]);
}

async fn a_tool_answer_carries_an_error_flag_and_the_kind(mode: Mode) {
    let (client, _) = calling(Reply::call("good", "{}").and_call("bad", "{}"));
    let tools = (FakeTool::new("good").answers("fine"), FakeTool::new("bad").fails(ToolError::failed("no luck")));
    let answer = mode.answer(client.prompt("hi").tools(tools)).await;
    let [good, bad] = answer.messages()[2].answers() else { panic!("two answers") };
    assert_eq!((good.is_error(), good.error), (false, None));
    assert_eq!((bad.is_error(), bad.error), (true, Some(ErrorKind::Failed)));
    let stored = serde_json::to_string(&answer.messages()[2]).unwrap();
    assert!(stored.contains(r#""error":"failed""#), "{stored}");
    assert_eq!(serde_json::from_str::<Message>(&stored).unwrap(), answer.messages()[2]);
}

in_both_modes!(
    every_part_of_a_result_becomes_text_for_the_model,
    no_value_is_done,
    a_string_result_is_text_and_a_value_is_json,
    an_unserialisable_result_and_a_panic_harm_no_other_call,
    return_direct_gives_all_results_to_the_caller,
    return_direct_needs_every_call_of_the_answer,
    an_error_of_a_return_direct_tool_goes_back_to_the_model,
    a_tool_answer_carries_an_error_flag_and_the_kind,
);
