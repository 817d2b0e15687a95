//! What runs the calls: the model by default, the caller on request, a custom manager.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{
    BoxFuture, ChatClient, ChatError, ChatMemory, ChatModel, ChatOptions, ChatResponse, DefaultToolCallingManager,
    Execution, InProcessMemory, Message, Prompt, ToolCallingManager, ToolChoice, ToolDefinitions,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Decision, Executor, FnTool, ToolMetadata, ToolSource, Toolbox, Turn};

use crate::support::{Mode, assert_sound, tool_texts, watch};

async fn ask(mode: Mode, model: &ChatModel, prompt: Prompt) -> ChatResponse {
    match mode {
        Mode::Blocking => model.call(prompt).await.unwrap(),
        Mode::Streaming => watch(model.stream(prompt)).await.1.unwrap(),
    }
}

async fn the_model_runs_the_loop_by_default(mode: Mode) {
    for (internal, rounds) in [(None, 2), (Some(true), 2), (Some(false), 1)] {
        let script = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("noon")]);
        let mut options = ChatOptions::new().with_tools(FakeTool::new("now"));
        options.internal_execution = internal;
        let response = ask(mode, &ChatModel::new(script.clone()), Prompt::new("hi").with_options(options)).await;
        assert_eq!(script.requests().len(), rounds);
        assert_eq!(response.has_tool_calls(), internal == Some(false));
        assert_sound(&response.exchange().history);
    }
}

async fn the_predicate_decides_about_every_answer(mode: Mode) {
    let script = ScriptedModel::new([Reply::call("now", "{}"), Reply::call("ask_user", "{}").with_text("One moment.")]);
    let model = ChatModel::builder(script)
        .eligibility(|_: &ChatOptions, response: &ChatResponse| {
            response.tool_calls().iter().all(|call| &*call.name != "ask_user")
        })
        .build();
    let options = ChatOptions::new().with_tools([FakeTool::new("now"), FakeTool::new("ask_user")]);
    let response = ask(mode, &model, Prompt::new("hi").with_options(options)).await;
    assert_eq!(&*response.tool_calls()[0].name, "ask_user");
    assert_eq!(response.text(), "One moment.");
    assert_eq!(response.messages().len(), 3, "the calls that the caller runs are not in the history yet");
}

async fn a_user_controlled_loop_steps_model_and_manager(mode: Mode) {
    let script = ScriptedModel::new([
        Reply::call("add", r#"{"a":1,"b":2}"#),
        Reply::call("add", r#"{"a":3,"b":3}"#),
        Reply::text("6"),
    ]);
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Add {
        a: i64,
        b: i64,
    }
    let options = ChatOptions::new()
        .with_tools(FnTool::new("add", |i: Add| i.a + i.b))
        .with_tool_choice(ToolChoice::Required)
        .with_internal_execution(false);
    let (model, manager) = (ChatModel::new(script.clone()), DefaultToolCallingManager::new());
    let mut prompt = Prompt::new("What is 1 + 2 + 3?").with_options(options);
    let mut turn = Turn::new();
    let mut response = ask(mode, &model, prompt.clone()).await;
    while response.has_tool_calls() {
        let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await.unwrap();
        assert_sound(&result.conversation_history);
        prompt.messages = result.conversation_history;
        response = ask(mode, &model, prompt.clone()).await;
    }
    assert_eq!(response.text(), "6");
    assert_eq!((turn.rounds(), turn.calls()), (2, 2));
    let choices: Vec<_> = script.requests().into_iter().filter_map(|request| request.options.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto, ToolChoice::Auto], "in one's own loop too");
}

async fn a_user_controlled_loop_with_memory_sees_every_message(mode: Mode) {
    let script = ScriptedModel::new([Reply::call("multiply", "{}"), Reply::text("48"), Reply::text("6 * 8")]);
    let options = ChatOptions::new().with_tools(FakeTool::new("multiply").answers("48")).with_internal_execution(false);
    let (model, manager, memory) = (ChatModel::new(script), DefaultToolCallingManager::new(), InProcessMemory::new());
    memory.add("id", &[Message::system("You are helpful."), Message::user("What is 6 * 8?")]).await.unwrap();
    let prompt = |messages: Vec<Message>| Prompt::new(messages).with_options(options.clone());
    let mut turn = Turn::new();
    let mut with_memory = prompt(memory.get("id").await.unwrap());
    let mut response = ask(mode, &model, with_memory.clone()).await;
    memory.add("id", &[response.message().unwrap().clone().into()]).await.unwrap();
    assert_eq!(memory.get("id").await.unwrap().len(), 2, "a trailing call without its answer is hidden");
    while response.has_tool_calls() {
        let result = manager.execute_tool_calls(&with_memory, &response, &mut turn).await.unwrap();
        memory.add("id", &[result.conversation_history.last().unwrap().clone()]).await.unwrap();
        with_memory = prompt(memory.get("id").await.unwrap());
        response = ask(mode, &model, with_memory.clone()).await;
        memory.add("id", &[response.message().unwrap().clone().into()]).await.unwrap();
    }
    memory.add("id", &[Message::user("What did I ask you earlier?")]).await.unwrap();
    let history = memory.get("id").await.unwrap();
    assert_sound(&history);
    assert_eq!(history.len(), 6);
    assert_eq!(ask(mode, &model, Prompt::new(history)).await.text(), "6 * 8");
}

async fn a_user_controlled_turn_waits_and_is_decided(mode: Mode) {
    let script = ScriptedModel::new([Reply::call("send", "{}").and_call("look", "{}"), Reply::text("sent")]);
    let send = FakeTool::new("send").answers("sent").with_metadata(ToolMetadata::new().with_approval(true));
    let options =
        ChatOptions::new().with_tools([send, FakeTool::new("look").answers("looked")]).with_internal_execution(false);
    let executor = Executor::builder().approval(Ask::later()).build();
    let manager = DefaultToolCallingManager::new().with_executor(executor);
    let model = ChatModel::new(script.clone());
    let mut prompt = Prompt::new("hi").with_options(options);
    let mut turn = Turn::new();
    let response = ask(mode, &model, prompt.clone()).await;
    let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await.unwrap();
    assert_eq!(result.conversation_history, prompt.messages);
    assert_eq!(&*result.pending[0].name, "send");

    let mut turn: Turn = serde_json::from_str(&serde_json::to_string(&turn).unwrap()).unwrap();
    turn.decide(&result.pending[0].id, Decision::Approve).unwrap();
    let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await.unwrap();
    assert!(result.pending.is_empty());
    prompt.messages = result.conversation_history;
    ask(mode, &model, prompt).await;
    assert_eq!(tool_texts(&script), ["sent", "looked"]);
}

async fn a_turn_that_waits_for_another_answer_is_refused(mode: Mode) {
    let send = || FakeTool::new("send").with_metadata(ToolMetadata::new().with_approval(true));
    let manager = DefaultToolCallingManager::new().with_executor(Executor::builder().approval(Ask::later()).build());
    let script = ScriptedModel::new([Reply::call("send", "{}"), Reply::call("send", "{}")]);
    let model = ChatModel::new(script);
    let prompt = Prompt::new("hi").with_options(ChatOptions::new().with_tools(send()).with_internal_execution(false));
    let (first, second) = (ask(mode, &model, prompt.clone()).await, ask(mode, &model, prompt.clone()).await);
    let mut turn = Turn::new();
    manager.execute_tool_calls(&prompt, &first, &mut turn).await.unwrap();
    let error = manager.execute_tool_calls(&prompt, &second, &mut turn).await.unwrap_err();
    assert!(error.to_string().contains("this answer does not make"), "{error}");
}

/// A manager that counts what it is asked, and otherwise does what the default one does.
#[derive(Clone, Default)]
struct Counting {
    inner: DefaultToolCallingManager,
    resolved: Arc<AtomicUsize>,
    executed: Arc<AtomicUsize>,
}

impl ToolCallingManager for Counting {
    fn resolve_tool_definitions<'a>(
        &'a self,
        options: &'a ChatOptions,
    ) -> BoxFuture<'a, Result<ToolDefinitions, ChatError>> {
        self.resolved.fetch_add(1, SeqCst);
        self.inner.resolve_tool_definitions(options)
    }

    fn execute_tool_calls<'a>(
        &'a self,
        prompt: &'a Prompt,
        response: &'a ChatResponse,
        turn: &'a mut Turn,
    ) -> Execution<'a> {
        self.executed.fetch_add(1, SeqCst);
        self.inner.execute_tool_calls(prompt, response, turn)
    }
}

/// A source that counts how often it is asked.
#[derive(Clone)]
struct Asked(Arc<AtomicUsize>, Toolbox);

impl ToolSource for Asked {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, opentool_core::ToolError>> {
        self.0.fetch_add(1, SeqCst);
        Box::pin(async { Ok(self.1.clone()) })
    }

    fn changes(&self) -> Option<opentool_core::ToolChanges> {
        None
    }
}

async fn a_custom_manager_resolves_tools_once_per_request(mode: Mode) {
    let manager = Counting::default();
    let source = Asked(Arc::default(), Toolbox::from_tools([FakeTool::new("now").answers("noon")]).unwrap());
    let script = ScriptedModel::new([
        Reply::call("now", r#"{"n":1}"#),
        Reply::call("now", r#"{"n":2}"#),
        Reply::call("now", r#"{"n":3}"#),
        Reply::text("done"),
        Reply::text("done"),
    ]);
    let client = ChatClient::new(ChatModel::builder(script.clone()).manager(manager.clone()).build());
    mode.answer(client.prompt("hi").tools(source.clone())).await;
    assert_eq!((manager.resolved.load(SeqCst), manager.executed.load(SeqCst)), (1, 3));
    assert_eq!(source.0.load(SeqCst), 1, "a source is asked per request, not per round");
    assert_eq!(tool_texts(&script), ["noon"]);
    mode.answer(client.prompt("hi").tools(source.clone())).await;
    assert_eq!(source.0.load(SeqCst), 2);
}

in_both_modes!(
    the_model_runs_the_loop_by_default,
    the_predicate_decides_about_every_answer,
    a_user_controlled_loop_steps_model_and_manager,
    a_user_controlled_loop_with_memory_sees_every_message,
    a_user_controlled_turn_waits_and_is_decided,
    a_turn_that_waits_for_another_answer_is_refused,
    a_custom_manager_resolves_tools_once_per_request,
);
