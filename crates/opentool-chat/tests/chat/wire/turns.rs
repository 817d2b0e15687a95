//! Typed answers, limits and broken answers over each wire, whole and streamed.

use std::sync::Arc;

use opentool_chat::{ChatClient, ChatMemory, ChatModel, InProcessMemory, Message, TurnEnd};
use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Limits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::server::{Reply, Server};
use super::support::{ALL, Call, Wire};
use crate::support::Mode;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    inhabitants: u32,
}

const MODES: [Mode; 2] = [Mode::Blocking, Mode::Streaming];

/// An answer in the way in which it was asked for; without streaming, a call is read from a stream all the same.
fn reply(wire: Wire, mode: Mode, text: &str, calls: &[Call<'_>]) -> Reply {
    match mode {
        Mode::Streaming => wire.stream(&wire.streamed("", text, calls)),
        Mode::Blocking if calls.is_empty() => wire.whole(text),
        Mode::Blocking => Reply::json(200, &whole_call(wire, text, calls)),
    }
}

fn whole_call(wire: Wire, text: &str, calls: &[Call<'_>]) -> String {
    let functions = |as_text: bool| -> Vec<_> {
        let arguments = |arguments: &serde_json::Value| match as_text {
            true => json!(arguments.to_string()),
            false => arguments.clone(),
        };
        calls
            .iter()
            .map(|(id, name, given)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments(given) } }))
            .collect()
    };
    match wire {
        Wire::OpenAi | Wire::Azure => json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": text,
            "tool_calls": functions(true) }, "finish_reason": "tool_calls" }] }),
        Wire::Anthropic => {
            let uses = calls.iter().map(|(id, name, input)| json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
            json!({ "type": "message", "role": "assistant", "content": uses.collect::<Vec<_>>(), "stop_reason": "tool_use" })
        }
        Wire::Responses => {
            let calls = calls.iter().map(|(id, name, given)| {
                json!({ "type": "function_call", "id": format!("f{id}"), "call_id": id, "name": name,
                    "arguments": given.to_string(), "status": "completed" })
            });
            json!({ "id": "1", "object": "response", "status": "completed", "output": calls.collect::<Vec<_>>() })
        }
        Wire::Gemini => {
            let calls =
                calls.iter().map(|(id, name, args)| json!({ "functionCall": { "id": id, "name": name, "args": args } }));
            json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": calls.collect::<Vec<_>>() },
                "finishReason": "STOP" }] })
        }
        Wire::Ollama => json!({ "model": "tiny", "message": { "role": "assistant", "content": text,
            "tool_calls": functions(false) }, "done": true, "done_reason": "stop" }),
    }
    .to_string()
}

#[tokio::test]
async fn a_typed_answer_with_a_tool_is_corrected_over_every_wire() {
    for wire in ALL {
        for mode in MODES {
            let server = Server::start([
                reply(wire, mode, "", &[("1", "look", json!({ "n": 1 }))]),
                reply(wire, mode, r#"{"name":"Ulm"}"#, &[]),
                reply(wire, mode, r#"{"name":"Ulm","inhabitants":128000}"#, &[]),
            ])
            .await;
            let look = FakeTool::new("look").answers("Einstein was born in Ulm");
            let log = look.log();
            let request = ChatClient::new(wire.provider(&server.url())).prompt("Where was Einstein born?").tools(look);
            let city: City = match mode {
                Mode::Blocking => request.call_as().await.unwrap(),
                Mode::Streaming => request.stream_as().finish().await.unwrap(),
            };
            assert_eq!(city, City { name: "Ulm".to_owned(), inhabitants: 128_000 }, "{wire:?} {mode:?}");
            assert_eq!(log.count(), 1);
            let third = server.seen()[2].body.clone();
            assert!(third.contains("missing required property"), "{wire:?} {mode:?}: {third}");
        }
    }
}

#[tokio::test]
async fn a_limit_ends_with_an_answer_over_every_wire() {
    for wire in ALL {
        for mode in MODES {
            let call = |id: &'static str, n: u8| reply(wire, mode, "", &[(id, "look", json!({ "n": n }))]);
            let server = Server::start([call("1", 1), call("2", 2), reply(wire, mode, "What I know.", &[])]).await;
            let executor = Executor::builder().limits(Limits::none().with_rounds(1)).build();
            let model = ChatModel::builder(wire.provider(&server.url())).executor(executor).build();
            let request = ChatClient::new(model).prompt("Look around.").tools(FakeTool::new("look"));
            let answer = mode.answer(request).await;
            assert_eq!((answer.text().as_str(), answer.end()), ("What I know.", TurnEnd::AnsweredAtLimit));
            let last = server.seen()[2].json();
            match wire {
                Wire::OpenAi | Wire::Azure | Wire::Responses => assert_eq!(last["tool_choice"], "none"),
                Wire::Gemini => assert_eq!(last["toolConfig"]["functionCallingConfig"]["mode"], "NONE"),
                Wire::Anthropic => assert_eq!(last["tool_choice"]["type"], "none"),
                Wire::Ollama => {}
            }
            if wire != Wire::Ollama {
                assert!(last["tools"].is_array(), "{wire:?}: the tools are still listed");
            }
        }
    }
}

#[tokio::test]
async fn text_before_a_break_is_kept_over_every_wire() {
    for wire in ALL {
        let whole = wire.streamed("", "Once upon a time there was a queen", &[]);
        let middle = whole.find("there").or(whole.find("the")).unwrap_or(whole.len() / 2);
        let server = Server::start([Reply::unfinished(wire.media_type(), [&whole.as_bytes()[..middle]])]).await;
        let memory = Arc::new(InProcessMemory::new());
        let client = ChatClient::builder(wire.provider(&server.url())).memory(memory.clone()).conversation("a").build();
        let error = Mode::Streaming.error(client.prompt("Tell a story.")).await;
        let partial = error.exchange().partial.as_ref().unwrap_or_else(|| panic!("{wire:?}: {error}"));
        assert!(partial.text.starts_with("Once"), "{wire:?}: {partial:?}");
        let kept = memory.get("a").await.unwrap();
        assert_eq!(kept[0], Message::user("Tell a story."));
        assert!(kept[1].is_incomplete() && kept[1].text() == &*partial.text, "{wire:?}: {kept:?}");
    }
}

#[tokio::test]
async fn an_effect_before_a_failure_is_remembered_over_every_wire() {
    for wire in ALL {
        for mode in MODES {
            let refused = || Reply::json(400, r#"{"error":{"message":"the prompt is too long"}}"#);
            let server = Server::start([
                reply(wire, mode, "", &[("1", "send", json!({}))]),
                refused(),
                reply(wire, mode, "It was sent.", &[]),
            ])
            .await;
            let client = ChatClient::builder(wire.provider(&server.url()))
                .memory(InProcessMemory::new())
                .conversation("a")
                .default_tools(FakeTool::new("send").answers("the mail was sent"))
                .build();
            mode.error(client.prompt("Send it.")).await;
            assert_eq!(mode.answer(client.prompt("Was it sent?")).await.text(), "It was sent.");
            let last = server.seen()[2].body.clone();
            assert!(last.contains("the mail was sent"), "{wire:?} {mode:?}: {last}");
            assert!(
                last.contains("[The turn ended here without a whole answer: refused]"),
                "{wire:?} {mode:?}: {last}"
            );
        }
    }
}
