//! Row "no per-tool timeout, no cancellation, no approval".

use std::time::Duration;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{
    Cause, ChatClient, ChatMemory, ChatModel, ChatOptions, FinishReason, InProcessMemory, Message, RunState, Usage,
};
use opentool_core::testing::FakeTool;
use opentool_core::{
    Ask, Cancellation, Decision, ErrorKind, Executor, FnTool, ToolContext, ToolMetadata, ToolOutput, Toolbox,
};

use crate::support::{Mode, check, tool_texts, watch};

fn careful(name: &str) -> FakeTool {
    FakeTool::new(name)
        .acts(|arguments, context| async move {
            let tenant = context.get("tenant").and_then(|tenant| tenant.as_str()).unwrap_or("none").to_owned();
            Ok(ToolOutput::text(format!("{tenant} sent {}", arguments.as_str())))
        })
        .with_metadata(ToolMetadata::new().with_approval(true))
}

fn client(model: &ScriptedModel, executor: Executor) -> ChatClient {
    ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build())
}

async fn a_tool_that_needs_approval_is_denied_without_a_policy(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("send", "{}"), Reply::text("done")]);
    let send = careful("send");
    let log = send.log();
    let answer = mode.answer(ChatClient::new(model.clone()).prompt("hi").tools(send)).await;
    assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::Denied));
    assert_eq!(log.count(), 0);
}

async fn approval_may_approve_deny_or_edit_the_arguments(mode: Mode) {
    let decider = Ask::with(|request| {
        let decision = match request.tool.definition().name() {
            "send" => Decision::Approve,
            "burn" => Decision::Deny("not on my watch".to_owned()),
            _ => Decision::Edit(r#"{"to":"bob"}"#.into()),
        };
        async move { decision }
    });
    let model = ScriptedModel::new([
        Reply::call("send", r#"{"to":"ann"}"#).and_call("burn", "{}").and_call("mail", r#"{"to":"ann"}"#),
        Reply::text("done"),
    ]);
    let client = client(&model, Executor::builder().approval(decider).build());
    let answer = mode.answer(client.prompt("hi").tools([careful("send"), careful("burn"), careful("mail")])).await;
    let called: Vec<_> = answer.messages()[1].tool_calls().iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(called, [r#"{"to":"ann"}"#, "{}", r#"{"to":"bob"}"#], "the history has what ran");
    assert_eq!(tool_texts(&model), [r#"none sent {"to":"ann"}"#, "not on my watch", r#"none sent {"to":"bob"}"#]);
}

fn tools() -> Toolbox {
    Toolbox::new().with(careful("send")).unwrap().with(FakeTool::new("look").answers("looked")).unwrap()
}

fn waiting_model() -> ScriptedModel {
    ScriptedModel::new([
        Reply::call("send", r#"{"n":1}"#)
            .and_call("look", "{}")
            .and_call("send", r#"{"n":2}"#)
            .with_text("I will send.")
            .with_usage(Usage::new(10, 1)),
        Reply::text("sent").with_usage(Usage::new(20, 2)),
    ])
}

async fn a_run_that_waits_is_stored_and_resumed_with_the_decisions(mode: Mode) {
    let model = waiting_model();
    let client = client(&model, Executor::builder().approval(Ask::later()).build());
    let waiting = mode.answer(client.prompt("hi").tools(tools()).context("tenant", "acme")).await;
    assert_eq!(waiting.finish_reason(), Some(&FinishReason::Suspended));
    assert_eq!(waiting.messages(), [Message::user("hi")], "calls that wait are in the run state, not in the history");
    assert_eq!(waiting.text(), "I will send.");

    let stored = serde_json::to_string(waiting.run_state().unwrap()).unwrap();
    assert!(!stored.contains("acme"), "secrets are not stored");
    let mut state: RunState = serde_json::from_str(&stored).unwrap();
    let pending: Vec<_> = state.pending().map(|call| (call.id.to_string(), call.arguments.to_string())).collect();
    assert_eq!(pending.len(), 2, "the sibling that needed no approval has run");
    assert_eq!(pending[0].1, r#"{"n":1}"#);
    state.decide(&pending[0].0, Decision::Approve).unwrap();
    assert!(state.decide("nowhere", Decision::Approve).is_err());

    // One decision is missing, so it waits again, and the other is not lost.
    let again = mode.answer(client.resume(state).tools(tools()).context("tenant", "acme")).await;
    let state = again.into_run_state().unwrap();
    assert_eq!(state.pending().count(), 1);
    let denied = client.resume(state).decide(&pending[1].0, Decision::Deny("one is enough".to_owned()));
    let answer = mode.answer(denied.tools(tools()).context("tenant", "acme")).await;

    assert_eq!(answer.text(), "sent");
    assert_eq!(tool_texts(&model), [r#"acme sent {"n":1}"#, "looked", "one is enough"]);
    assert_eq!(answer.usage, Usage::new(30, 3));
    assert_eq!(answer.messages().len(), 4);
    assert_eq!(model.requests().len(), 2, "the model was not asked again for what it had said");
}

async fn edited_arguments_are_in_the_history(mode: Mode) {
    let model = waiting_model();
    let client = client(&model, Executor::builder().approval(Ask::later()).build());
    let state = mode.answer(client.prompt("hi").tools(tools())).await.into_run_state().unwrap();
    let ids: Vec<_> = state.pending().map(|call| call.id.clone()).collect();
    let edited = client.resume(state).decide(&ids[0], Decision::Edit(r#"{"n":42}"#.into()));
    // Between the decisions the run waits once more.
    let state = mode.answer(edited.tools(tools())).await.into_run_state().unwrap();
    let stored = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
    let answer = mode.answer(client.resume(stored).decide(&ids[1], Decision::Approve).tools(tools())).await;
    let called: Vec<_> = answer.messages()[1].tool_calls().iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(called, [r#"{"n":42}"#, "{}", r#"{"n":2}"#]);
    assert_eq!(tool_texts(&model), [r#"none sent {"n":42}"#, "looked", r#"none sent {"n":2}"#]);
}

async fn a_decision_about_a_call_that_does_not_wait_is_an_error(mode: Mode) {
    let client = client(&waiting_model(), Executor::builder().approval(Ask::later()).build());
    let state = mode.answer(client.prompt("hi").tools(tools())).await.into_run_state().unwrap();
    let error = mode.error(client.resume(state).tools(tools()).decide("nowhere", Decision::Approve)).await;
    assert_eq!(error.to_string(), "no call `nowhere` waits for a decision");
}

async fn a_turn_that_waits_is_remembered_when_it_is_over(mode: Mode) {
    let model = waiting_model();
    let memory = std::sync::Arc::new(InProcessMemory::new());
    let chat = ChatModel::builder(model).executor(Executor::builder().approval(Ask::later()).build()).build();
    let client = ChatClient::builder(chat).memory(memory.clone()).default_tools(tools()).build();
    let waiting = mode.answer(client.prompt("hi").conversation("ann")).await;
    assert!(memory.get("ann").await.unwrap().is_empty(), "half a turn is not remembered");
    let state = waiting.into_run_state().unwrap();
    let ids: Vec<_> = state.pending().map(|call| call.id.clone()).collect();
    let resumed = ids.iter().fold(client.resume(state), |request, id| request.decide(id, Decision::Approve));
    let answer = mode.answer(resumed).await;
    assert_eq!(memory.get("ann").await.unwrap(), answer.messages());
    assert_eq!(answer.messages().len(), 4);
}

async fn the_model_itself_resumes_too(mode: Mode) {
    let model = waiting_model();
    let executor = Executor::builder().approval(Ask::later()).build();
    let chat = ChatModel::builder(model.clone()).executor(executor).build();
    let options = ChatOptions::new().with_tools(tools());
    let prompt = opentool_chat::Prompt::new("hi").with_options(options.clone());
    let mut state = chat.call(prompt).await.unwrap().into_run_state().unwrap();
    let ids: Vec<_> = state.pending().map(|call| call.id.clone()).collect();
    ids.iter().for_each(|id| state.decide(id, Decision::Approve).unwrap());
    let answer = match mode {
        Mode::Blocking => check(chat.resume(state, &options).await),
        Mode::Streaming => check(watch(chat.resume_stream(state, &options)).await.1),
    };
    assert_eq!(answer.unwrap().text(), "sent");
}

async fn a_call_past_its_deadline_is_an_error_to_the_model(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("slow", "{}"), Reply::text("done")]);
    let slow = FnTool::new("slow", || async { tokio::time::sleep(Duration::from_secs(3600)).await });
    let client = ChatClient::new(model.clone());
    let answer = mode.answer(client.prompt("hi").tools(slow.timeout(Duration::from_millis(20)))).await;
    assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::Timeout));
    assert_eq!(answer.text(), "done");
}

async fn cancelling_while_tools_run_leaves_every_call_answered(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("quick", "{}").and_call("stuck", "{}"), Reply::text("never said")]);
    let cancellation = Cancellation::new();
    let signal = cancellation.clone();
    let stuck = FakeTool::new("stuck").acts(move |_, context: ToolContext| {
        let signal = signal.clone();
        async move {
            signal.cancel();
            context.cancellation().cancelled().await;
            std::future::pending().await
        }
    });
    let request = ChatClient::new(model.clone()).prompt("hi").tools((FakeTool::new("quick").answers("quick"), stuck));
    let error = mode.error(request.cancellation(cancellation)).await;
    assert!(matches!(error.cause(), Cause::Cancelled));
    let answers = error.exchange().messages()[2].answers();
    assert_eq!((&*answers[0].text, answers[1].error), ("quick", Some(ErrorKind::Cancelled)));
    assert_eq!(model.replies_left(), 1, "the model was not asked again");
}

async fn cancelling_while_the_model_answers_ends_the_turn(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::never()]);
    let cancellation = Cancellation::new();
    let signal = cancellation.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        signal.cancel();
    });
    let request = ChatClient::new(model).prompt("hi").tools(FakeTool::new("now"));
    let error = mode.error(request.cancellation(cancellation)).await;
    assert_eq!(error.to_string(), "the turn was cancelled");
    assert_eq!(error.exchange().messages().len(), 3);
}

async fn a_turn_cancelled_before_it_began_sends_nothing(mode: Mode) {
    let model = ScriptedModel::new([Reply::text("never said")]);
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let error = mode.error(ChatClient::new(model.clone()).prompt("hi").cancellation(cancellation)).await;
    assert!(matches!(error.cause(), Cause::Cancelled));
    assert!(model.requests().is_empty());
}

in_both_modes!(
    a_tool_that_needs_approval_is_denied_without_a_policy,
    approval_may_approve_deny_or_edit_the_arguments,
    edited_arguments_are_in_the_history,
    a_run_that_waits_is_stored_and_resumed_with_the_decisions,
    a_decision_about_a_call_that_does_not_wait_is_an_error,
    a_turn_that_waits_is_remembered_when_it_is_over,
    the_model_itself_resumes_too,
    a_call_past_its_deadline_is_an_error_to_the_model,
    cancelling_while_tools_run_leaves_every_call_answered,
    cancelling_while_the_model_answers_ends_the_turn,
    a_turn_cancelled_before_it_began_sends_nothing,
);
