//! Recorded turns: the same bytes again, and the first difference where it is another turn.

use std::path::PathBuf;

use opentool_chat::testing::{Difference, Recorder, Redaction, Replay, ReplayError, Reply, RunExport, ScriptedModel};
use opentool_chat::{
    AssistantMessage, Cause, ChatClient, ChatError, ChatEvent, ChatOptions, ChatResponse, Delta, FinishReason,
    InProcessMemory, ToolCallDelta, TypedAnswers, Usage,
};
use opentool_core::testing::FakeTool;
use opentool_core::{ToolCall, ToolError, ToolMetadata, ToolOutput, Toolbox};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Mode, watch};

fn file() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("some/folder/turn.jsonl");
    (folder, path)
}

/// Everything that a caller can see of a turn, as bytes.
fn bytes(response: &ChatResponse) -> String {
    serde_json::to_string(response).unwrap()
}

/// A turn with everything: thoughts, several calls, of which one fails, one is unknown and two have no id, and a large number.
fn busy_model() -> ScriptedModel {
    let calls = vec![
        ToolCall::new("", "stock", r#"{"article":12345678901234567890123}"#),
        ToolCall::new("", "fail", "{}"),
        ToolCall::new("c", "missing", r#"{"a":1}"#),
        ToolCall::new("d", "stock", r#"{"article":2}"#),
    ];
    let first = AssistantMessage::new("Let me see.").with_reasoning("Hm.").with_tool_calls(calls);
    ScriptedModel::new([
        Reply::message(first.with_provider_data("scripted", json!({"signature": "xyz"}))).with_usage(Usage::new(7, 9)),
        Reply::call("stock", r#"{"article":3}"#).with_usage(Usage::new(20, 3)),
        Reply::text("There are some.").with_usage(Usage::new(30, 4)),
    ])
}

fn busy_tools() -> (Toolbox, opentool_core::testing::CallLog) {
    let stock = FakeTool::new("stock").acts(|arguments, _| async move {
        Ok(ToolOutput::from_json_text(format!(r#"{{"of":{arguments},"count":98765432109876543210}}"#)).unwrap())
    });
    let log = stock.log();
    let fail = FakeTool::new("fail").fails(ToolError::failed("the shelf is empty").with_code(7));
    (Toolbox::from_tools([stock, fail]).unwrap(), log)
}

async fn a_recorded_turn_replays_to_the_same_bytes(mode: Mode) {
    let (_folder, path) = file();
    let recorder = Recorder::new(busy_model());
    let (tools, log) = busy_tools();
    let client = ChatClient::new(recorder.clone());
    let recorded = mode.answer(client.prompt("What is there?").tools(recorder.tools(tools))).await;
    assert_eq!(log.count(), 3);
    recorder.save(&path).unwrap();

    let (tools, log) = busy_tools();
    let replay = Replay::load(&path).unwrap();
    let again = Recorder::new(replay.clone());
    let client = ChatClient::new(again.clone());
    let tools = again.tools(replay.tools(tools));
    let replayed = mode.answer(client.prompt("What is there?").tools(tools)).await;
    assert_eq!(bytes(&replayed), bytes(&recorded));
    assert_eq!(log.count(), 0, "the tools did not run");
    replay.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(again.export().unwrap().to_string(), text, "a recording of the replay is the recording");
    assert!(text.contains("12345678901234567890123") && text.contains("98765432109876543210"), "every digit is there");
}

async fn a_turn_recorded_in_one_way_replays_in_the_other(mode: Mode) {
    let other = if mode == Mode::Blocking { Mode::Streaming } else { Mode::Blocking };
    let recorder = Recorder::new(busy_model());
    let client = ChatClient::new(recorder.clone());
    let recorded = mode.answer(client.prompt("What is there?").tools(recorder.tools(busy_tools().0))).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let client = ChatClient::new(replay.clone());
    let replayed = other.answer(client.prompt("What is there?").tools(replay.tools(busy_tools().0))).await;
    assert_eq!(bytes(&replayed), bytes(&recorded));
    replay.finish().unwrap();
}

async fn the_record_has_the_tools_where_the_test_does_not(mode: Mode) {
    let recorder = Recorder::new(busy_model());
    let client = ChatClient::new(recorder.clone());
    let recorded = mode.answer(client.prompt("What is there?").tools(recorder.tools(busy_tools().0))).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let client = ChatClient::new(replay.clone());
    let replayed = mode.answer(client.prompt("What is there?").tools(replay.recorded_tools().unwrap())).await;
    assert_eq!(bytes(&replayed), bytes(&recorded));
}

/// What a test changes about the recorded turn, and what the replay says of it.
async fn a_miss_says_where_the_first_difference_is(mode: Mode) {
    let recorder = Recorder::new(ScriptedModel::new([Reply::call("stock", r#"{"article":3}"#), Reply::text("Two.")]));
    let stock = |answer: &str| FakeTool::new("stock").answers(ToolOutput::from_json_text(answer).unwrap());
    let request = |client: ChatClient, prompt: &str| client.prompt(prompt).system("Be brief.");
    let recorded =
        request(ChatClient::new(recorder.clone()), "How many?").tools(recorder.tools(stock(r#"{"count":2}"#)));
    mode.answer(recorded).await;
    let export = recorder.export().unwrap();

    let said = async |prompt: &str, options: ChatOptions, tool: FakeTool| {
        let replay = Replay::new(&export).unwrap();
        let client = ChatClient::new(replay.clone());
        let error = mode.error(request(client, prompt).options(options).tools(tool)).await;
        assert!(matches!(error.cause(), Cause::Setup { .. }), "{error}");
        assert_eq!(replay.finish().unwrap_err().to_string(), error.to_string());
        error.to_string()
    };
    let shown = |number: u32, at: &str, expected: &str, got: &str| {
        format!(
            "request {number} to the model is not the recorded one\n  at       {at}\n  expected {expected}\n  got      {got}\n  \
             record it again if this change is meant"
        )
    };
    let same = || stock(r#"{"count":2}"#);
    let prompt = said("How much?", ChatOptions::new(), same()).await;
    assert_eq!(prompt, shown(1, "/messages/1/text", r#""How many?""#, r#""How much?""#));
    let options = said("How many?", ChatOptions::new().with_temperature(0.5), same()).await;
    assert_eq!(options, shown(1, "/options/temperature", "nothing", "0.5"));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": true});
    let tool = said("How many?", ChatOptions::new(), same().with_schema(schema)).await;
    assert_eq!(tool, shown(1, "/tools/0/input_schema/properties", "nothing", "{}"));
    let drifted = said("How many?", ChatOptions::new(), stock(r#"{"count":3}"#)).await;
    let place = "/messages/3/answers/0/text#/count (what the tool `stock` answered)";
    assert_eq!(drifted, shown(2, place, "2", "3"));
}

async fn a_call_that_is_not_recorded_ends_the_turn(mode: Mode) {
    let recorder = Recorder::new(ScriptedModel::new([Reply::call("stock", r#"{"article":3}"#), Reply::text("Two.")]));
    let tools = || FakeTool::new("stock").answers("2");
    mode.answer(ChatClient::new(recorder.clone()).prompt("How many?").tools(recorder.tools(tools()))).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    // Another model, and the recorded tools.
    let model = ScriptedModel::new([
        Reply::call("stock", r#"{"article":4}"#),
        Reply::call("stock", r#"{"article":3}"#).and_call("stock", r#"{"article":3}"#),
    ]);
    let client = ChatClient::new(model);
    let error = mode.error(client.prompt("How many?").tools(replay.tools(tools()))).await;
    let said = "the tool `stock` ended the turn: the arguments of `stock` are not the recorded ones\n  at       /article\n  expected 3\n  got      4";
    assert!(error.to_string().starts_with(said), "{error}");
    let error = mode.error(client.prompt("How many?").tools(replay.tools(tools()))).await;
    assert!(error.to_string().contains("the record has no further call of `stock`"), "{error}");
}

async fn what_was_not_asked_for_is_found(mode: Mode) {
    let recorder = Recorder::new(ScriptedModel::new([Reply::text("One."), Reply::text("Two.")]));
    let client = ChatClient::new(recorder.clone());
    for prompt in ["First?", "Second?"] {
        mode.answer(client.prompt(prompt)).await;
    }
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let client = ChatClient::new(replay.clone());
    // In any order: each request has its own answer.
    assert_eq!(mode.answer(client.prompt("Second?")).await.text(), "Two.");
    let left = replay.finish().unwrap_err().to_string();
    assert!(left.starts_with("1 of 2 recorded requests to the model were not made"), "{left}");
    assert_eq!(mode.answer(client.prompt("First?")).await.text(), "One.");
    replay.finish().unwrap();
    let error = mode.error(client.prompt("First?")).await.to_string();
    assert!(error.starts_with("request 3 to the model was not made when the 2 requests were recorded"), "{error}");
}

async fn a_conversation_of_several_turns_replays(mode: Mode) {
    let talk = async |client: ChatClient, tools: &dyn Fn() -> opentool_core::Source| {
        let mut said = Vec::new();
        for prompt in ["How many?", "And now?"] {
            said.push(bytes(&mode.answer(client.prompt(prompt).conversation("a").tools(tools())).await));
        }
        said
    };
    let client =
        |model| ChatClient::builder(opentool_chat::ChatModel::new(model)).memory(InProcessMemory::new()).build();
    let tool = || FakeTool::new("stock").answers("2");
    let recorder = Recorder::new(ScriptedModel::new([
        Reply::call("stock", "{}"),
        Reply::text("Two."),
        Reply::call("stock", "{}"),
        Reply::text("Still two."),
    ]));
    let recorded = talk(client(boxed(recorder.clone())), &|| recorder.tools(tool())).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let replayed = talk(client(boxed(replay.clone())), &|| replay.tools(tool())).await;
    assert_eq!(replayed, recorded);
    replay.finish().unwrap();
}

fn boxed(model: impl opentool_chat::Provider) -> Box<dyn opentool_chat::Provider> {
    Box::new(model)
}

async fn a_typed_answer_replays_as_its_provider_gave_it(mode: Mode) {
    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    struct City {
        name: String,
    }
    for means in [TypedAnswers::Native, TypedAnswers::ForcedTool, TypedAnswers::Prompt] {
        let replies = match means {
            TypedAnswers::ForcedTool => {
                [Reply::call("final_answer", r#"{"nam":"Ulm"}"#), Reply::call("final_answer", r#"{"name":"Ulm"}"#)]
            }
            _ => [Reply::text(r#"{"nam":"Ulm"}"#), Reply::text(r#"{"name":"Ulm"}"#)],
        };
        let recorder = Recorder::new(ScriptedModel::new(replies).typed_answers_by(means));
        let form = || opentool_chat::AnswerForm::for_type::<City>().unwrap();
        let recorded = mode.answer(ChatClient::new(recorder.clone()).prompt("Where?").answer_form(form())).await;
        let replay = Replay::new(&recorder.export().unwrap()).unwrap();
        let replayed = mode.answer(ChatClient::new(replay.clone()).prompt("Where?").answer_form(form())).await;
        assert_eq!(bytes(&replayed), bytes(&recorded), "{means:?}");
        assert_eq!(replayed.answer_as::<City>().unwrap(), City { name: "Ulm".to_owned() });
        replay.finish().unwrap();
    }
}

async fn a_model_that_failed_fails_again(mode: Mode) {
    let refused = || ChatError::refused("openai", 429, "too many requests").with_code("rate_limit");
    let recorder = Recorder::new(ScriptedModel::new([Reply::text("The begin").then_fails(refused())]));
    let recorded = mode.error(ChatClient::new(recorder.clone()).prompt("Hello?")).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let replayed = mode.error(ChatClient::new(replay.clone()).prompt("Hello?")).await;
    assert_eq!(replayed.to_string(), recorded.to_string());
    assert_eq!((replayed.status(), replayed.is_retryable()), (Some(429), true));
    assert_eq!(replayed.exchange(), recorded.exchange());
    replay.finish().unwrap();
}

/// A run of a journal, as `opentool runs export` prints it.
async fn a_run_of_a_journal_replays(mode: Mode) {
    let (folder, _) = file();
    let journal = opentool_journal::SqliteJournal::open(folder.path().join("runs.sqlite")).await.unwrap();
    let client = ChatClient::builder(busy_model()).journal(journal.clone()).build();
    let recorded = mode.answer(client.prompt("What is there?").system("Be brief.").tools(busy_tools().0)).await;
    let export = journal.export(recorded.run_id().unwrap()).await.unwrap();
    journal.close().await;
    let text = export.redacted(&Redaction::new()).unwrap().to_string();

    let replay = Replay::new(&RunExport::parse(&text).unwrap()).unwrap();
    let (tools, log) = busy_tools();
    let client = ChatClient::new(replay.clone());
    let request = client.prompt("What is there?").system("Be brief.").tools(replay.tools(tools));
    let replayed = mode.answer(request).await;
    assert_eq!((replayed.messages(), replayed.usage), (recorded.messages(), recorded.usage));
    assert_eq!(log.count(), 0, "the tools did not run");
    replay.finish().unwrap();
}

in_both_modes!(
    a_recorded_turn_replays_to_the_same_bytes,
    a_run_of_a_journal_replays,
    a_turn_recorded_in_one_way_replays_in_the_other,
    the_record_has_the_tools_where_the_test_does_not,
    a_miss_says_where_the_first_difference_is,
    a_call_that_is_not_recorded_ends_the_turn,
    what_was_not_asked_for_is_found,
    a_conversation_of_several_turns_replays,
    a_typed_answer_replays_as_its_provider_gave_it,
    a_model_that_failed_fails_again,
    no_secret_is_in_the_file_and_the_turn_replays,
    a_live_tool_gets_the_secret_that_the_record_does_not_have,
);

#[tokio::test]
async fn a_stream_replays_in_the_very_same_pieces() {
    let model = ScriptedModel::new([
        Reply::deltas([
            Delta::reasoning("Hm."),
            Delta::text("Let "),
            ToolCallDelta::new().with_index(0).with_id("a").with_name("work").with_arguments(r#"{"n""#).into(),
            Delta::text("me see."),
            ToolCallDelta::new().with_index(0).with_arguments(":1}").into(),
            Delta::Finish(FinishReason::ToolCalls),
            Delta::Usage(Usage::new(1, 2)),
        ]),
        Reply::deltas([Delta::text("Do"), Delta::text("ne."), Delta::Usage(Usage::new(3, 4))]),
    ]);
    // Only the pieces: the time that a call takes is none of the record's business.
    let pieces = |events: &[ChatEvent]| -> Vec<String> {
        events.iter().filter(|event| !matches!(event, ChatEvent::Tool(_))).map(|event| format!("{event:?}")).collect()
    };
    let recorder = Recorder::new(model);
    let tool = || FakeTool::new("work").answers("whole");
    let client = ChatClient::new(recorder.clone());
    let (recorded, whole) = watch(client.prompt("hi").tools(recorder.tools(tool())).stream()).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let client = ChatClient::new(replay.clone());
    let (replayed, again) = watch(client.prompt("hi").tools(replay.tools(tool())).stream()).await;
    assert_eq!(pieces(&replayed), pieces(&recorded));
    assert!(pieces(&replayed).len() > 7, "{:?}", pieces(&replayed));
    assert_eq!(bytes(&again.unwrap()), bytes(&whole.unwrap()));
}

const PASSWORD: &str = "hunter2 \"is\" long";
const TOKEN: &str = "tok-8f2b1c";
const PIN: &str = "271828";
const KEY: &str = "sk-live-4242";

/// A tool with secrets of every kind.
fn login() -> FakeTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "user": {"type": "string"},
            "password": {"type": "string", "format": "password", "minLength": 12},
            "device": {"$ref": "#/$defs/device"},
            "token": {"type": "string"},
        },
        "required": ["user", "password"],
        "$defs": {"device": {"type": "object", "properties": {"pin": {"type": "integer", "minimum": 1, "writeOnly": true}}}},
    });
    FakeTool::new("login").with_schema(schema).acts(|arguments, _| async move {
        // A tool that repeats what it got, and a key of the machine.
        let given: Value = arguments.parse()?;
        ToolOutput::json(
            &json!({"hello": given["user"], "echo": given["password"], "token": given["token"], "key": KEY}),
        )
    })
}

fn arguments() -> String {
    json!({"user": "ann", "password": PASSWORD, "device": {"pin": 271_828}, "token": TOKEN}).to_string()
}

fn redaction() -> Redaction {
    Redaction::new().name("Token").value(KEY)
}

fn secret_model() -> ScriptedModel {
    let quoted = format!("I use {PASSWORD} and {PIN}.");
    ScriptedModel::new([
        Reply::call("login", arguments()).with_text(quoted),
        // Too short for its schema, so that the refusal quotes it.
        Reply::call("login", r#"{"user":"ann","password":"hunter2!"}"#),
        Reply::text(format!("You are in, with {TOKEN}.")),
    ])
}

async fn no_secret_is_in_the_file_and_the_turn_replays(mode: Mode) {
    let (_folder, path) = file();
    let prompt = format!("Log me in, my password is {PASSWORD}");
    let recorder = Recorder::new(secret_model()).redact(redaction());
    let client = ChatClient::new(recorder.clone());
    let answer = mode.answer(client.prompt(&*prompt).tools(recorder.tools(login()))).await;
    assert!(bytes(&answer).contains(TOKEN), "the turn itself is not changed");
    recorder.save(&path).unwrap();

    let file = std::fs::read(&path).unwrap();
    let text = String::from_utf8(file.clone()).unwrap();
    for secret in [PASSWORD, r#"hunter2 \"is\" long"#, "hunter2", TOKEN, PIN, KEY] {
        let found = file.windows(secret.len()).position(|window| window == secret.as_bytes());
        assert_eq!(found, None, "`{secret}` is in {text}");
    }
    // Nor in pieces of a stream.
    assert!(!text.contains("hunte") && !text.contains("tok-8"), "{text}");
    assert!(text.contains("[redacted]") && text.contains("ann"));

    let replay = Replay::load(&path).unwrap().redact(redaction());
    let client = ChatClient::new(replay.clone());
    let replayed = mode.answer(client.prompt(&*prompt).tools(replay.tools(login()))).await;
    assert_eq!(replayed.text(), "You are in, with [redacted].");
    replay.finish().unwrap();

    // The hash is that of the arguments without secrets, so another password is the same call.
    let export = RunExport::parse(&text).unwrap();
    let call = &export.record.calls[0];
    let other = arguments().replace("hunter2 ", "hunter3 ");
    let again = redaction().definition(&definition()).arguments("login", &other);
    assert_eq!(again, call.arguments.get());
    let key = opentool_core::CallKey::new("r", "1.0", "login", &again.into());
    assert_eq!(*key.arguments_hash, *call.arguments_hash);
}

fn definition() -> opentool_core::ToolDefinition {
    opentool_core::Tool::definition(&login()).clone()
}

async fn a_live_tool_gets_the_secret_that_the_record_does_not_have(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("login", arguments()), Reply::text("You are in.")]);
    let recorder = Recorder::new(model).redact(redaction());
    mode.answer(ChatClient::new(recorder.clone()).prompt("Log me in").tools(recorder.tools(login()))).await;
    let replay = Replay::new(&recorder.export().unwrap()).unwrap().redact(redaction());
    let replay = replay.secret("password", "another password").secret("token", "another token");
    let tool = login();
    let log = tool.log();
    mode.answer(ChatClient::new(replay.clone()).prompt("Log me in").tools(tool)).await;
    assert_eq!(log.count(), 1);
    let given: Value = serde_json::from_str(&log.arguments()[0]).unwrap();
    assert_eq!((&given["password"], &given["token"]), (&json!("another password"), &json!("another token")));
    assert_eq!(given["device"]["pin"], 1, "the least that the schema allows");
}

#[test]
fn what_is_no_record_of_a_chat_is_a_clear_error() {
    let (folder, _) = file();
    let missing = Replay::load(folder.path().join("nothing.jsonl")).unwrap_err();
    assert!(matches!(missing, ReplayError::File { .. }), "{missing}");
    let letter = folder.path().join("letter.txt");
    std::fs::write(&letter, "Dear Ann,").unwrap();
    assert!(Replay::load(&letter).unwrap_err().to_string().starts_with("no record of a run: line 1: "));
    let call = RunExport::new("r", "call", "pay");
    let said = Replay::new(&call).unwrap_err().to_string();
    assert_eq!(said, "the record has no answer of a model: its run is of kind `call`, and only chats can be replayed");
    let mut broken = RunExport::new("r", "chat", "hi");
    broken.add_step("request", &json!({"messages": 1})).unwrap();
    assert!(matches!(Replay::new(&broken), Err(ReplayError::Step { step: 1, .. })));
    let empty = Recorder::new(ScriptedModel::new([])).save(folder.path().join("empty.jsonl")).unwrap_err();
    assert!(empty.to_string().starts_with("nothing was recorded"), "{empty}");
    assert!(!folder.path().join("empty.jsonl").exists());
}

#[tokio::test]
async fn a_call_that_had_no_outcome_is_said_to_have_none() {
    let recorder = Recorder::new(ScriptedModel::new([Reply::call("slow", "{}"), Reply::text("Too slow.")]));
    let metadata = ToolMetadata::new().with_timeout(std::time::Duration::from_millis(20));
    let tool = || FakeTool::new("slow").with_metadata(metadata.clone());
    ChatClient::new(recorder.clone()).prompt("Go").tools(recorder.tools(tool().hangs())).call().await.unwrap();
    let replay = Replay::new(&recorder.export().unwrap()).unwrap();
    let error = ChatClient::new(replay.clone()).prompt("Go").tools(replay.tools(tool())).call().await.unwrap_err();
    assert!(error.to_string().contains("has no outcome: it was cancelled or took too long"), "{error}");
}

/// The steps of a chat run, as a journal has them: with members that a recorder does not write.
#[tokio::test]
async fn an_export_of_a_chat_run_replays() {
    let mut export = RunExport::new("r1", "chat", "How many?");
    let request = json!({
        "within": "", "messages": [{"role": "user", "text": "How many?"}], "start": 0, "saved": 0,
        "options": {"tool_choice": "required", "turn_timeout": {"secs": 5, "nanos": 0}}, "provider": "openai", "model": "gpt",
        "tools": [{"name": "stock", "description": "stock", "input_schema": {"type": "object", "additionalProperties": true}}],
    });
    export.add_step("request", &request).unwrap();
    let call = json!({"text": "", "tool_calls": [{"id": "a", "name": "stock", "arguments": "{}"}]});
    let answer = |message: &Value, reason: &str| json!({"within": "", "round": 1, "sent": 1, "response": {"generations": [{"message": message, "finish_reason": reason}], "usage": {}}});
    export.add_step("answer", &answer(&call, "tool_calls")).unwrap();
    let arguments = opentool_core::Arguments::none();
    let begun = export.begin_call("1.0", "a", "stock", opentool_core::CallEffect::Other, &arguments).unwrap();
    let outcome = opentool_core::RecordedResult::new(Ok(ToolOutput::text("TWO")), false);
    export.end_call(begun, outcome);
    let mut assistant = call.clone();
    assistant["role"] = "assistant".into();
    let tool = json!({"role": "tool", "answers": [{"call_id": "a", "tool": "stock", "text": "TWO"}]});
    export.add_step("round", &json!({"within": "", "round": 1, "messages": [assistant, tool], "turn": {}})).unwrap();
    export.add_step("answer", &answer(&json!({"text": "Two."}), "stop")).unwrap();
    export.add_step("end", &json!({"within": "", "end": "answered"})).unwrap();

    let export = RunExport::parse(&export.to_string()).unwrap();
    let replay = Replay::new(&export).unwrap();
    assert_eq!(opentool_chat::Provider::name(&replay), "openai");
    // Its outcome was converted when it was recorded, and is not converted again.
    let metadata =
        ToolMetadata::new().with_converter(|output: ToolOutput| Ok(ToolOutput::text(output.to_text() + "!")));
    let tool = FakeTool::new("stock").with_metadata(metadata);
    let options = ChatOptions::new().with_tool_choice(opentool_chat::ToolChoice::Required);
    let answer =
        ChatClient::new(replay.clone()).prompt("How many?").options(options).tools(replay.tools(tool)).call().await;
    assert_eq!(answer.unwrap().text(), "Two.");
    replay.finish().unwrap();
}

#[test]
fn nothing_shows_a_secret_in_a_log() {
    let redaction = Redaction::new().value(KEY);
    let recorder = Recorder::new(ScriptedModel::new([])).redact(redaction.clone());
    assert!(!format!("{redaction:?} {recorder:?}").contains(KEY));
    assert_eq!(Difference::between("1", "1"), None);
}
