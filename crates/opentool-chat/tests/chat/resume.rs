//! A suspended run is resumed, even if something changed meanwhile.

use std::sync::Arc;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{
    BoxFuture, ChatClient, ChatError, ChatMemory, ChatModel, ChatOptions, ChatResponse, DefaultToolCallingManager,
    Execution, InProcessMemory, Message, Prompt, RunState, ToolCallingManager, ToolDefinitions,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Decision, ErrorKind, Executor, FnTool, ToolMetadata, Toolbox, Turn};
use serde_json::json;

use crate::support::{Mode, assert_sound, tool_texts};

fn executor() -> Executor {
    Executor::builder().approval(Ask::later()).build()
}

fn careful(name: &str) -> FakeTool {
    FakeTool::new(name).answers("sent").with_metadata(ToolMetadata::new().with_approval(true))
}

fn script() -> ScriptedModel {
    ScriptedModel::new([Reply::call("send", r#"{"to":"ann"}"#), Reply::text("done")])
}

/// What another process would read.
fn stored(response: &ChatResponse) -> RunState {
    serde_json::from_str(&serde_json::to_string(response.run_state().unwrap()).unwrap()).unwrap()
}

fn first(state: &RunState) -> String {
    state.pending().next().unwrap().id.to_string()
}

async fn what_the_first_request_asked_for_still_holds(mode: Mode) {
    let model = script();
    let defaults = ChatOptions::new().with_temperature(0.2).with_max_tokens(100);
    let client = ChatClient::builder(ChatModel::builder(model.clone()).executor(executor()).build())
        .default_options(defaults)
        .default_tools(careful("send"))
        .build();
    let asked = ChatOptions::new().with_temperature(0.9).with_model("large");
    let state = stored(&mode.answer(client.prompt("hi").options(asked)).await);
    let call = first(&state);
    let resumed = client.resume(state).decide(&call, Decision::Approve);
    mode.answer(resumed.options(ChatOptions::new().with_max_tokens(7))).await;
    let last = &model.requests()[1].options;
    assert_eq!((last.temperature, last.model.as_deref()), (Some(0.9), Some("large")), "not the client's defaults");
    assert_eq!(last.max_tokens, Some(7), "what is said on resuming wins");
}

async fn a_tool_that_is_gone_on_resume_is_an_error_to_the_model(mode: Mode) {
    let model = script();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor()).build());
    let state = stored(&mode.answer(client.prompt("hi").tools(careful("send"))).await);
    let call = first(&state);
    let resumed = client.resume(state).tools(FakeTool::new("mail")).decide(&call, Decision::Approve);
    let answer = mode.answer(resumed).await;
    assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::UnknownTool));
    assert_eq!(answer.text(), "done");
}

async fn arguments_are_held_to_the_schema_of_the_day(mode: Mode) {
    let model = script();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor()).build());
    let state = stored(&mode.answer(client.prompt("hi").tools(careful("send"))).await);
    let call = first(&state);
    let stricter = FnTool::new("send", |_: serde_json::Map<String, serde_json::Value>| "sent").input_schema(json!({
        "type": "object", "properties": { "to": { "type": "integer" } }, "required": ["to"],
    }));
    let answer = mode.answer(client.resume(state).tools(stricter).decide(&call, Decision::Approve)).await;
    assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::InvalidArguments));
    assert!(tool_texts(&model)[0].contains("/to"), "{:?}", tool_texts(&model));
}

async fn a_call_is_decided_about_once(mode: Mode) {
    let client = ChatClient::new(ChatModel::builder(script()).executor(executor()).build());
    let tool = careful("send");
    let log = tool.log();
    let tools = Toolbox::from_tools([tool]).unwrap();
    let state = stored(&mode.answer(client.prompt("hi").tools(tools.clone())).await);
    let call = first(&state);
    let twice = client.resume(state).decide(&call, Decision::Deny("no".to_owned())).decide(&call, Decision::Approve);
    let error = mode.error(twice.tools(tools)).await;
    assert_eq!(error.to_string(), format!("no call `{call}` waits for a decision"));
    assert_eq!(log.count(), 0);
}

async fn a_resumed_turn_and_a_later_one_are_both_kept_whole(mode: Mode) {
    for in_loop in [false, true] {
        let model = ScriptedModel::new([
            Reply::call("send", r#"{"to":"ann"}"#),
            Reply::text("Meanwhile."),
            Reply::text("done"),
        ]);
        let memory = Arc::new(InProcessMemory::new());
        let client = ChatClient::builder(ChatModel::builder(model.clone()).executor(executor()).build())
            .memory(memory.clone())
            .memory_in_loop(in_loop)
            .conversation("ann")
            .default_tools(careful("send"))
            .build();
        let state = stored(&mode.answer(client.prompt("Send it.")).await);
        mode.answer(client.prompt("Are you there?")).await;
        let call = first(&state);
        let answer = mode.answer(client.resume(state).decide(&call, Decision::Approve)).await;
        let kept = memory.get("ann").await.unwrap();
        assert_sound(&kept);
        assert_eq!(kept.len(), 6, "{kept:#?}");
        let texts: Vec<_> = answer.messages().iter().map(Message::text).collect();
        assert_eq!(texts, ["Send it.", "", "", "done"], "the outcome is about its own turn");
    }
}

/// A manager whose definitions come without a toolbox.
struct DefinitionsOnly(DefaultToolCallingManager);

impl ToolCallingManager for DefinitionsOnly {
    fn resolve_tool_definitions<'a>(
        &'a self,
        options: &'a ChatOptions,
    ) -> BoxFuture<'a, Result<ToolDefinitions, ChatError>> {
        Box::pin(async move {
            let toolbox = self.0.toolbox(options).await?;
            Ok(ToolDefinitions::new(toolbox.iter().map(|tool| tool.definition().clone()).collect()))
        })
    }

    fn execute_tool_calls<'a>(
        &'a self,
        prompt: &'a Prompt,
        response: &'a ChatResponse,
        turn: &'a mut Turn,
    ) -> Execution<'a> {
        self.0.execute_tool_calls(prompt, response, turn)
    }
}

async fn tools_that_are_given_again_are_not_there_twice(mode: Mode) {
    let manager = DefinitionsOnly(DefaultToolCallingManager::new().with_executor(executor()));
    let client = ChatClient::new(ChatModel::builder(script()).manager(manager).build());
    let state = mode.answer(client.prompt("hi").add_tools(careful("send"))).await.into_run_state().unwrap();
    let call = first(&state);
    let resumed = client.resume(state).add_tools(careful("send")).decide(&call, Decision::Approve);
    assert_eq!(mode.answer(resumed).await.text(), "done");
}

in_both_modes!(
    what_the_first_request_asked_for_still_holds,
    a_tool_that_is_gone_on_resume_is_an_error_to_the_model,
    arguments_are_held_to_the_schema_of_the_day,
    a_call_is_decided_about_once,
    a_resumed_turn_and_a_later_one_are_both_kept_whole,
    tools_that_are_given_again_are_not_there_twice,
);
