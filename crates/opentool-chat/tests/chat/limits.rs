//! Row "limits".

use std::sync::Arc;
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    AtLimit, Cause, ChatClient, ChatModel, ChatOptions, InProcessMemory, Message, ModelRequest, ToolChoice,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Cancellation, ErrorKind, Executor, Limits, ToolMetadata, ToolOutput};

use crate::support::Mode;

fn rounds(request: ModelRequest<'_>) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Tool(_))).count()
}

/// A model that calls `work` for ever, always with other arguments.
fn tireless() -> FunctionModel {
    FunctionModel::new(|request: ModelRequest<'_>| Reply::call("work", format!(r#"{{"n":{}}}"#, rounds(request))))
}

/// A model that calls `work` until it may not, and then says what it knows.
fn obedient(calls: usize) -> FunctionModel {
    FunctionModel::new(move |request: ModelRequest<'_>| {
        let round = rounds(request);
        if request.options.tool_choice == Some(ToolChoice::None) {
            assert_eq!(request.tools.len(), 1, "the tools are still listed");
            return Reply::text("as far as I came");
        }
        (0..calls).fold(Reply::text(""), |reply, n| reply.and_call("work", format!(r#"{{"n":"{round}.{n}"}}"#)))
    })
}

fn limited(model: FunctionModel, limits: Limits) -> ChatModel {
    ChatModel::builder(model).executor(Executor::builder().limits(limits).build()).build()
}

async fn at_a_limit_the_model_is_asked_for_an_answer(mode: Mode) {
    let limits = Limits::none();
    for (limits, calls, ran) in [(limits.with_rounds(3), 1, 3), (limits.with_total(5), 2, 5)] {
        let work = FakeTool::new("work").answers("worked");
        let log = work.log();
        let memory = Arc::new(InProcessMemory::new());
        let client = ChatClient::builder(limited(obedient(calls), limits)).memory(memory).conversation("a").build();
        let answer = mode.answer(client.prompt("hi").tools(work)).await;
        assert_eq!(answer.text(), "as far as I came");
        assert_eq!(log.count(), ran, "what the limit allows has run");
        let refused: Vec<_> = answer.messages().iter().flat_map(Message::answers).filter(|a| a.is_error()).collect();
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].error, Some(ErrorKind::Limit));
    }
}

async fn a_limit_can_be_an_error_at_once(mode: Mode) {
    let client = ChatClient::new(limited(obedient(1), Limits::none().with_rounds(3)));
    let options = ChatOptions::new().with_at_limit(AtLimit::Fail);
    let error = mode.error(client.prompt("hi").tools(FakeTool::new("work")).options(options)).await;
    assert!(matches!(error.cause(), Cause::Limit(_)), "{error:?}");
    assert_eq!(error.exchange().messages().len(), 9, "the question, three rounds and the refused one");
}

async fn a_call_after_the_limit_leaves_what_was_said_in_the_error(mode: Mode) {
    let model = FunctionModel::new(|request: ModelRequest<'_>| {
        let reply = Reply::call("work", format!(r#"{{"n":{}}}"#, rounds(request)));
        match &request.options.tool_choice {
            Some(ToolChoice::None) => reply.with_text("Just one more."),
            _ => reply,
        }
    });
    let client = ChatClient::new(limited(model, Limits::none().with_rounds(1)));
    let error = mode.error(client.prompt("hi").tools(FakeTool::new("work"))).await;
    assert!(matches!(error.cause(), Cause::Limit(_)), "{error:?}");
    let partial = error.exchange().partial.as_ref().unwrap();
    assert_eq!((&*partial.text, partial.tool_calls.len()), ("Just one more.", 0));
}

async fn a_turn_has_a_deadline_that_loses_no_outcome(mode: Mode) {
    let quick = FakeTool::new("quick").answers("sent");
    let slow = FakeTool::new("slow").acts(|_, _| async {
        std::future::pending::<()>().await;
        Ok(ToolOutput::Empty)
    });
    let model = ScriptedModel::new([Reply::call("quick", "{}").and_call("slow", "{}"), Reply::text("never said")]);
    let memory = Arc::new(InProcessMemory::new());
    let client = ChatClient::builder(model).memory(memory.clone()).conversation("a").build();
    let options = ChatOptions::new().with_turn_timeout(Duration::from_millis(50));
    let error = mode.error(client.prompt("hi").tools((quick, slow)).options(options)).await;
    assert!(matches!(error.cause(), Cause::Deadline { .. }), "{error:?}");
    assert_eq!(error.to_string(), "the turn did not end within 50ms: give it more time, or ask for less");
    let answers = error.exchange().messages()[2].answers();
    assert_eq!((&*answers[0].text, answers[1].error), ("sent", Some(ErrorKind::Cancelled)));
    use opentool_chat::ChatMemory as _;
    assert_eq!(memory.get("a").await.unwrap().len(), 4, "the effect is not forgotten");
}

async fn a_deadline_ends_a_silent_model(mode: Mode) {
    let client = ChatClient::new(ScriptedModel::new([Reply::never()]));
    let options = ChatOptions::new().with_turn_timeout(Duration::from_millis(20));
    let error = mode.error(client.prompt("hi").options(options.clone())).await;
    assert!(matches!(error.cause(), Cause::Deadline { .. }), "{error:?}");
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let client = ChatClient::new(ScriptedModel::new([Reply::never()]));
    let error = mode.error(client.prompt("hi").options(options).cancellation(cancellation)).await;
    assert!(matches!(error.cause(), Cause::Cancelled), "the signal of the application still counts: {error:?}");
}

async fn a_model_that_never_stops_is_an_error_with_the_history(mode: Mode) {
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
    at_a_limit_the_model_is_asked_for_an_answer,
    a_limit_can_be_an_error_at_once,
    a_call_after_the_limit_leaves_what_was_said_in_the_error,
    a_turn_has_a_deadline_that_loses_no_outcome,
    a_deadline_ends_a_silent_model,
    a_model_that_never_stops_is_an_error_with_the_history,
    too_many_calls_in_all_is_an_error_with_the_history,
    too_many_calls_of_one_tool_is_an_error_to_the_model,
    a_tool_may_have_a_limit_of_its_own,
    the_same_call_too_often_is_an_error_to_the_model,
    every_question_is_a_turn_of_its_own,
);
