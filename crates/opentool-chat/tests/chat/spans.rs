//! Row "spans": one for the turn, below it one for each request and one for each call, and content only where it is asked for.

mod recorder;

use std::time::Duration;

use opentool_chat::provider::{Anthropic, Ollama, OpenAi};
use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    AssistantMessage, BoxFuture, BoxStream, ChatClient, ChatError, ChatEvent, ChatMemory, ChatModel, ChatOptions,
    ChatResponse, Delta, FinishReason, InProcessMemory, MemoryError, Message, ModelRequest, Provider, TypedAnswers,
    Usage,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Cancellation, Decision, Executor, ToolError, ToolMetadata, ToolOutput, Toolbox};
use serde_json::{Value, json};

use self::recorder::Recording;
use crate::support::Mode;

const TURN: &str = "invoke_agent";

fn tools() -> Toolbox {
    let tools = [
        FakeTool::new("good").answers("the result"),
        FakeTool::new("bad").fails(ToolError::failed("no luck")),
        FakeTool::new("stuck").acts(|_, _| async {
            std::future::pending::<()>().await;
            Ok(ToolOutput::Empty)
        }),
    ];
    Toolbox::from_tools(tools).unwrap()
}

/// One turn that succeeds, one that fails.
async fn two_turns(record_content: bool, mode: Mode) {
    let calls = Reply::call("good", r#"{"secret":1}"#).and_call("bad", "{}").and_call("nowhere", "{}");
    let script = ScriptedModel::new([
        calls.with_usage(Usage::new(10, 1).with_cached_input_tokens(4)),
        Reply::text("the answer").with_usage(Usage::new(20, 2)),
        Reply::error(ChatError::refused("scripted", 500, "oops, you said: the question")),
    ]);
    let options = ChatOptions::new().with_model("large").with_temperature(0.5).with_max_tokens(9).with_stop(["END"]);
    let model = ChatModel::builder(script).default_options(options).record_content(record_content).build();
    let client = ChatClient::builder(model).memory(InProcessMemory::new()).default_tools(tools()).build();
    mode.answer(client.prompt("the question").conversation("ann")).await;
    mode.error(client.prompt("the question").conversation("ann")).await;
}

async fn the_span_of_a_turn_has_its_requests_and_calls_as_children(mode: Mode) {
    let recording = Recording::new(|| two_turns(false, mode)).await;
    assert_eq!(
        recording.tree(),
        [
            "invoke_agent",
            "invoke_agent",
            "invoke_agent > chat large",
            "invoke_agent > chat large",
            "invoke_agent > chat large",
            "invoke_agent > execute_tool bad",
            "invoke_agent > execute_tool good",
            "invoke_agent > execute_tool nowhere",
        ]
    );
    let turns = recording.named(TURN);
    turns[0].assert_fields(&[
        ("otel.kind", "internal"),
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.provider.name", "scripted"),
        ("gen_ai.request.model", "large"),
        ("gen_ai.conversation.id", "ann"),
        ("gen_ai.usage.input_tokens", "30"),
        ("gen_ai.usage.output_tokens", "3"),
        ("gen_ai.usage.cache_read.input_tokens", "4"),
        ("gen_ai.response.finish_reasons", "stop"),
    ]);
    let requests = recording.named("chat large");
    let asked = [
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "scripted"),
        ("gen_ai.request.model", "large"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.request.max_tokens", "9"),
        ("gen_ai.request.stop_sequences", r#"["END"]"#),
        ("gen_ai.conversation.id", "ann"),
    ];
    requests.iter().for_each(|request| request.assert_fields(&asked));
    let answered = [("tool_calls", "10", "1"), ("stop", "20", "2")];
    for (request, (reason, input, output)) in requests.iter().zip(answered) {
        request.assert_fields(&[
            ("gen_ai.response.finish_reasons", reason),
            ("gen_ai.usage.input_tokens", input),
            ("gen_ai.usage.output_tokens", output),
        ]);
    }
    for (step, parent) in [
        ("resolved the tools of the request", TURN),
        ("asking the model", "chat large"),
        ("the model answered", TURN),
        ("the turn ended without an answer", TURN),
    ] {
        let seen = recording.events.iter().find(|event| event.field("message") == Some(step));
        assert_eq!(
            seen.unwrap_or_else(|| panic!("{step}")).parent().map(|parent| parent.name()),
            Some(parent),
            "{step}"
        );
    }
}

async fn an_error_is_one_of_the_request_and_of_the_turn(mode: Mode) {
    let recording = Recording::new(|| two_turns(false, mode)).await;
    let (turns, requests) = (recording.named(TURN), recording.named("chat large"));
    for green in [turns[0], requests[0], requests[1]] {
        assert_eq!((green.field("error.type"), green.field("otel.status_code")), (None, None), "{green:?}");
    }
    for red in [turns[1], requests[2]] {
        red.assert_fields(&[("error.type", "refused"), ("otel.status_code", "ERROR")]);
        assert_eq!(red.field("gen_ai.usage.input_tokens"), None, "its usage is not known");
    }
    requests[2].assert_fields(&[("http.response.status_code", "500")]);
    // An error that goes to the model belongs to its call, and the turn continues.
    recording.only("execute_tool bad").assert_fields(&[("error.type", "failed")]);
    recording.only("execute_tool nowhere").assert_fields(&[("error.type", "unknown_tool")]);
    assert_eq!(recording.only("execute_tool good").field("error.type"), None);
}

async fn content_is_in_spans_only_where_it_is_asked_for(mode: Mode) {
    for record_content in [false, true] {
        let recording = Recording::new(|| two_turns(record_content, mode)).await;
        let everything = format!("{recording:?}");
        // The second turn is sent what the first one said, its calls and their answers included.
        for content in ["the question", "the answer", "secret", "the result", "no luck"] {
            assert_eq!(everything.contains(content), record_content, "{content}");
        }
    }
}

async fn recorded_content_has_the_shape_of_the_convention(mode: Mode) {
    let recording = Recording::new(|| two_turns(true, mode)).await;
    let request = recording.named("chat large")[1];
    let content = |name: &str| serde_json::from_str::<Value>(request.field(name).unwrap()).unwrap();
    let sent = content("gen_ai.input.messages");
    assert_eq!(sent[0], json!({ "role": "user", "parts": [{ "type": "text", "content": "the question" }] }));
    let call = json!({ "type": "tool_call", "id": "call_1_1", "name": "good", "arguments": { "secret": 1 } });
    assert_eq!(sent[1]["parts"][0], call);
    let answer = json!({ "type": "tool_call_response", "id": "call_1_1", "response": "the result" });
    assert_eq!((&sent[2]["role"], &sent[2]["parts"][0]), (&json!("tool"), &answer));
    let said = json!([{ "role": "assistant", "parts": [{ "type": "text", "content": "the answer" }], "finish_reason": "stop" }]);
    assert_eq!(content("gen_ai.output.messages"), said);
}

#[tokio::test]
async fn a_dropped_stream_closes_its_spans_as_cancelled() {
    let recording = Recording::new(|| async {
        let script = ScriptedModel::new([Reply::text("Once upon a time").with_usage(Usage::new(1, 1))]);
        let mut stream = ChatClient::new(script).prompt("Tell me a story.").stream();
        assert!(matches!(stream.next().await, Some(Ok(ChatEvent::Text(_)))));
    })
    .await;
    assert_eq!(recording.tree(), ["invoke_agent", "invoke_agent > chat script"]);
    for span in &recording.spans {
        span.assert_fields(&[("error.type", "cancelled"), ("otel.status_code", "ERROR")]);
    }
}

#[tokio::test]
async fn a_turn_that_is_dropped_among_its_calls_closes_its_spans() {
    let recording = Recording::new(|| async {
        let client = ChatClient::new(ScriptedModel::new([Reply::call("stuck", "{}")]));
        let turn = client.prompt("hi").tools(tools()).call();
        assert!(tokio::time::timeout(Duration::from_millis(20), turn).await.is_err());
    })
    .await;
    assert_eq!(recording.tree(), ["invoke_agent", "invoke_agent > chat script", "invoke_agent > execute_tool stuck"]);
    recording.only(TURN).assert_fields(&[("error.type", "cancelled")]);
    assert_eq!(recording.only("chat script").field("error.type"), None, "the request was over");
}

async fn a_turn_that_is_cancelled_says_so_and_what_it_cost(mode: Mode) {
    let recording = Recording::new(|| async {
        let script = ScriptedModel::new([Reply::call("good", "{}").with_usage(Usage::new(7, 3)), Reply::never()]);
        let cancellation = Cancellation::new();
        let request = ChatClient::new(script).prompt("hi").tools(tools()).cancellation(cancellation.clone());
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            cancellation.cancel();
        };
        tokio::join!(mode.error(request), cancel);
    })
    .await;
    recording.only(TURN).assert_fields(&[
        ("error.type", "cancelled"),
        ("gen_ai.usage.input_tokens", "7"),
        ("gen_ai.usage.output_tokens", "3"),
    ]);
    let requests = recording.named("chat script");
    assert_eq!((requests.len(), requests[0].field("error.type")), (2, None));
    requests[1].assert_fields(&[("error.type", "cancelled"), ("otel.status_code", "ERROR")]);
}

#[tokio::test]
async fn what_a_stream_used_before_it_broke_off_is_in_its_spans() {
    let recording = Recording::new(|| async {
        let begun = Reply::deltas([Delta::Usage(Usage::new(40, 2)), Delta::text("It is no")]);
        let script = ScriptedModel::new([begun.then_fails(ChatError::interrupted("scripted", "reset"))]);
        let error = Mode::Streaming.error(ChatClient::new(script).prompt("hi")).await;
        assert_eq!(error.exchange().usage, Usage::new(40, 2));
    })
    .await;
    for span in &recording.spans {
        span.assert_fields(&[("error.type", "interrupted"), ("gen_ai.usage.input_tokens", "40")]);
    }
}

#[tokio::test]
async fn a_model_that_panics_is_an_error_of_its_spans() {
    let recording = Recording::new(|| async {
        let model = FunctionModel::new(|_| std::panic::resume_unwind(Box::new("quietly")));
        let turn = ChatClient::new(model).prompt("hi").call();
        assert!(futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(turn)).await.is_err());
    })
    .await;
    for span in [recording.only(TURN), recording.only("chat function")] {
        span.assert_fields(&[("error.type", "panic"), ("otel.status_code", "ERROR")]);
    }
}

/// A memory that cannot keep anything.
struct Broken;

impl ChatMemory for Broken {
    fn add<'a>(&'a self, _: &'a str, _: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async { Err(MemoryError::new("full")) })
    }
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn clear<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async { Ok(()) })
    }
}

async fn a_memory_that_fails_is_an_error_of_the_turn(mode: Mode) {
    let recording = Recording::new(|| async {
        let script = ScriptedModel::new([Reply::text("fine")]);
        let client = ChatClient::builder(script).memory(Broken).conversation("ann").build();
        let error = mode.error(client.prompt("hi")).await;
        assert_eq!(error.exchange().messages().len(), 2, "the answer is not lost");
    })
    .await;
    recording.only(TURN).assert_fields(&[("error.type", "memory")]);
    assert_eq!(recording.only("chat script").field("error.type"), None);
}

async fn a_run_that_is_resumed_is_a_turn_with_a_span_of_its_own(mode: Mode) {
    let recording = Recording::new(|| async {
        let script = ScriptedModel::new([Reply::call("good", "{}").with_usage(Usage::new(5, 1)), Reply::text("done")]);
        let careful = FakeTool::new("good").with_metadata(ToolMetadata::new().with_approval(true));
        let executor = Executor::builder().approval(Ask::later()).build();
        let client = ChatClient::builder(ChatModel::builder(script).executor(executor).build())
            .default_tools(careful)
            .memory(InProcessMemory::new())
            .build();
        let waiting = mode.answer(client.prompt("hi").conversation("ann")).await;
        let state = waiting.into_run_state().unwrap();
        let call = state.pending().next().unwrap().id.clone();
        mode.answer(client.resume(state).decide(&call, Decision::Approve)).await;
    })
    .await;
    let turns = recording.named(TURN);
    turns[0].assert_fields(&[("gen_ai.response.finish_reasons", "suspended"), ("gen_ai.usage.input_tokens", "5")]);
    turns[1].assert_fields(&[("gen_ai.response.finish_reasons", "stop"), ("gen_ai.conversation.id", "ann")]);
    assert_eq!(recording.named("chat script").len(), 2, "what was answered is not asked again");
}

/// A model that is somewhere.
struct Placed(ScriptedModel);

impl Provider for Placed {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn model(&self) -> Option<&str> {
        None
    }
    fn server(&self) -> Option<(&str, u16)> {
        Some(("models.example", 8443))
    }
    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        self.0.typed_answers(with_tools)
    }
    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        self.0.call(request)
    }
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        self.0.stream(request)
    }
}

async fn a_request_says_where_it_goes_and_who_answered(mode: Mode) {
    let recording = Recording::new(|| async {
        let mut answer = ChatResponse::new(AssistantMessage::new("fine"), FinishReason::Stop);
        (answer.id, answer.model) = (Some("r-1".to_owned()), Some("tiny-2026".to_owned()));
        let script = ScriptedModel::new([Reply::response(answer)]);
        mode.answer(ChatClient::new(Placed(script)).prompt("hi")).await;
    })
    .await;
    recording.only("chat").assert_fields(&[
        ("server.address", "models.example"),
        ("server.port", "8443"),
        ("gen_ai.response.id", "r-1"),
        ("gen_ai.response.model", "tiny-2026"),
    ]);
    assert_eq!(recording.only("chat").field("gen_ai.request.model"), None, "none was named");
}

#[test]
fn providers_say_where_they_are() {
    let at = |url: &str| OpenAi::new("tiny").base_url(url).server().map(|(host, port)| (host.to_owned(), port));
    assert_eq!(OpenAi::new("tiny").server(), Some(("api.openai.com", 443)));
    assert_eq!(Anthropic::new("tiny").server(), Some(("api.anthropic.com", 443)));
    assert_eq!(Ollama::new("tiny").server(), Some(("127.0.0.1", 11434)));
    assert_eq!(at("http://[::1]:8080/v1"), Some(("::1".to_owned(), 8080)));
    assert_eq!(at("nowhere"), None);
}

in_both_modes!(
    a_request_says_where_it_goes_and_who_answered,
    the_span_of_a_turn_has_its_requests_and_calls_as_children,
    an_error_is_one_of_the_request_and_of_the_turn,
    content_is_in_spans_only_where_it_is_asked_for,
    recorded_content_has_the_shape_of_the_convention,
    a_turn_that_is_cancelled_says_so_and_what_it_cost,
    a_memory_that_fails_is_an_error_of_the_turn,
    a_run_that_is_resumed_is_a_turn_with_a_span_of_its_own,
);
