//! Row "limits".

use opentool_chat::testing::{FunctionModel, Reply};
use opentool_chat::{Cause, ChatClient, ChatModel, Message, ModelRequest};
use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, Executor, Limits, ToolMetadata};

use crate::support::Mode;

fn rounds(request: ModelRequest<'_>) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Tool(_))).count()
}

/// A model that calls `work` for ever, always with other arguments.
fn tireless() -> FunctionModel {
    FunctionModel::new(|request: ModelRequest<'_>| Reply::call("work", format!(r#"{{"n":{}}}"#, rounds(request))))
}

async fn too_many_rounds_is_an_error_with_the_history(mode: Mode) {
    let work = FakeTool::new("work").answers("worked");
    let log = work.log();
    let error = mode.error(ChatClient::new(tireless()).prompt("hi").tools(work)).await;
    assert!(matches!(error.cause(), Cause::Limit(_)), "{error:?}");
    assert_eq!(error.to_string(), "the turn has had its 25 rounds of tool calls");
    assert_eq!(log.count(), 25);
    let answers: Vec<_> = error.exchange().messages().iter().flat_map(Message::answers).collect();
    assert_eq!(answers.iter().filter(|answer| &*answer.text == "worked").count(), 25);
    assert_eq!(answers.last().unwrap().error, Some(ErrorKind::Limit));
}

async fn too_many_calls_in_all_is_an_error_with_the_history(mode: Mode) {
    let greedy = FunctionModel::new(|request: ModelRequest<'_>| {
        let round = rounds(request);
        (0..10).fold(Reply::text(""), |reply, n| reply.and_call(format!("work_{n}"), format!(r#"{{"round":{round}}}"#)))
    });
    let tools: Vec<_> = (0..10).map(|n| FakeTool::new(&format!("work_{n}")).answers("worked")).collect();
    let error = mode.error(ChatClient::new(greedy).prompt("hi").tools(tools)).await;
    assert_eq!(error.to_string(), "the turn has had its 150 tool calls");
    let answers: Vec<_> = error.exchange().messages().iter().flat_map(Message::answers).collect();
    assert_eq!(answers.iter().filter(|answer| &*answer.text == "worked").count(), 150);
    assert_eq!(answers.len(), 160);
}

async fn too_many_calls_of_one_tool_is_an_error_to_the_model(mode: Mode) {
    let model = FunctionModel::new(|request: ModelRequest<'_>| match rounds(request) {
        0 => (0..42).fold(Reply::text(""), |reply, n| reply.and_call("work", format!(r#"{{"n":{n}}}"#))),
        _ => Reply::text("done"),
    });
    let answer = mode.answer(ChatClient::new(model).prompt("hi").tools(FakeTool::new("work"))).await;
    let answers = answer.messages()[2].answers();
    assert_eq!(answers.iter().filter(|answer| answer.error.is_none()).count(), 40);
    assert_eq!(answers[41].error, Some(ErrorKind::Limit));
    assert_eq!(&*answers[41].text, "the tool `work` may be called 40 times in one turn; go on without it");
    assert_eq!(answer.text(), "done");
}

async fn a_tool_may_have_a_limit_of_its_own(mode: Mode) {
    let model = FunctionModel::new(|request: ModelRequest<'_>| match rounds(request) {
        0 => Reply::call("work", r#"{"n":1}"#).and_call("work", r#"{"n":2}"#),
        _ => Reply::text("done"),
    });
    let once = FakeTool::new("work").with_metadata(ToolMetadata::new().with_call_limit(1));
    let answer = mode.answer(ChatClient::new(model).prompt("hi").tools(once)).await;
    let kinds: Vec<_> = answer.messages()[2].answers().iter().map(|answer| answer.error).collect();
    assert_eq!(kinds, [None, Some(ErrorKind::Limit)]);
}

async fn the_same_call_too_often_is_an_error_to_the_model(mode: Mode) {
    let stubborn = FunctionModel::new(|request: ModelRequest<'_>| match rounds(request) {
        0..5 => Reply::call("work", if rounds(request) == 2 { r#"{ "n" : 1 }"# } else { r#"{"n":1}"# }),
        _ => Reply::text("done"),
    });
    let work = FakeTool::new("work").answers("worked");
    let log = work.log();
    let answer = mode.answer(ChatClient::new(stubborn).prompt("hi").tools(work)).await;
    assert_eq!(log.count(), 3);
    let last = &answer.messages()[10].answers()[0];
    assert_eq!(&*last.text, "the tool `work` was already called 3 times with these arguments; use the earlier result");
}

async fn every_question_is_a_turn_of_its_own(mode: Mode) {
    let executor = Executor::builder().limits(Limits::default().with_rounds(1)).build();
    let model = FunctionModel::new(|request: ModelRequest<'_>| match request.messages.last() {
        Some(Message::User(_)) => Reply::call("work", "{}"),
        _ => Reply::text("done"),
    });
    let client = ChatClient::builder(ChatModel::builder(model).executor(executor).build())
        .default_tools(FakeTool::new("work"))
        .build();
    let first = mode.answer(client.prompt("once")).await;
    let mut history = first.exchange().history.clone();
    history.push(Message::user("again"));
    assert_eq!(mode.answer(client.prompt(history)).await.text(), "done");
}

in_both_modes!(
    too_many_rounds_is_an_error_with_the_history,
    too_many_calls_in_all_is_an_error_with_the_history,
    too_many_calls_of_one_tool_is_an_error_to_the_model,
    a_tool_may_have_a_limit_of_its_own,
    the_same_call_too_often_is_an_error_to_the_model,
    every_question_is_a_turn_of_its_own,
);
