//! Answers as the providers themselves write them, which their own SDKs read too (`scripts/sdks`).

use opentool_chat::provider::{Anthropic, AzureOpenAi, Gemini, Ollama, OpenAi, OpenAiResponses};
use opentool_chat::{AnswerEvent, ChatClient, FinishReason, Usage};
use opentool_core::FnTool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{KEY, Wire, ask, ask_streaming, calls, message};

/// The wires that have fixtures, with their folders.
const WIRES: [(Wire, &str); 5] = [
    (Wire::OpenAi, "openai-chat"),
    (Wire::Azure, "openai-chat"),
    (Wire::Responses, "openai-responses"),
    (Wire::Anthropic, "anthropic"),
    (Wire::Gemini, "gemini"),
];

fn fixture(folder: &str, file: &str) -> String {
    let path = format!("{}/tests/fixtures/wire/{folder}/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fixture as a whole answer and as a stream.
fn replies(folder: &str, name: &str) -> [Reply; 2] {
    let whole = Reply::json(200, &fixture(folder, &format!("{name}.json")));
    let stream = fixture(folder, &format!("{name}.sse"));
    [whole, Reply::chunks("text/event-stream", stream.as_bytes().chunks(100))]
}

/// What comes of a fixture in both ways.
async fn read(wire: Wire, folder: &str, name: &str) -> [opentool_chat::ChatResponse; 2] {
    let server = Server::start(replies(folder, name)).await;
    let provider = wire.provider(&server.url());
    [ask(&*provider).await.unwrap(), ask_streaming(&*provider).await.unwrap()]
}

/// Gemini counts no tokens that were written to a cache.
fn usage(wire: Wire) -> Usage {
    let written = if wire == Wire::Gemini { 0 } else { 5 };
    Usage::new(30, 12).with_cached_input_tokens(10).with_cache_write_tokens(written).with_reasoning_tokens(4)
}

#[tokio::test]
async fn a_text_is_read_with_its_usage() {
    for (wire, folder) in WIRES {
        for response in read(wire, folder, "text").await {
            assert_eq!(response.text(), "The answer is 42.", "{wire:?}");
            assert_eq!(
                (response.usage, response.finish_reason()),
                (usage(wire), Some(&FinishReason::Stop)),
                "{wire:?}"
            );
            assert!(response.id.is_some() && response.model.is_some(), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn calls_are_read_beside_text() {
    for (wire, folder) in WIRES {
        for response in read(wire, folder, "tools").await {
            let expected = [("call_1", "weather", r#"{"city":"Zürich"}"#), ("call_2", "weather", r#"{"city":"Rome"}"#)];
            let read: Vec<_> = calls(&response)
                .into_iter()
                .map(|(id, name, text)| (id, name, text.replace([' ', '\n'], "")))
                .collect();
            assert_eq!(read, expected.map(|(id, name, text)| (id, name, text.to_owned())), "{wire:?}");
            assert_eq!((response.text().as_str(), response.usage), ("Let me look.", usage(wire)), "{wire:?}");
            assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls), "{wire:?}");
            let thought = &*message(&response).reasoning;
            assert_eq!(thought, if folder == "openai-chat" { "" } else { "Two cities." }, "{wire:?}");
        }
    }
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Weather {
    city: String,
    degrees: i32,
}

#[tokio::test]
async fn a_typed_answer_is_read_as_its_type_and_grows() {
    for (wire, folder) in WIRES {
        let server = Server::start(replies(folder, "typed")).await;
        let client = ChatClient::new(wire.provider(&server.url()));
        let expected = Weather { city: "Ulm".to_owned(), degrees: 12 };
        assert_eq!(client.prompt("Weather?").call_as::<Weather>().await.unwrap(), expected, "{wire:?}");
        let (mut grown, mut done) = (Vec::new(), None);
        let mut answer = client.prompt("Weather?").stream_as::<Weather>();
        while let Some(event) = answer.next().await {
            match event.unwrap() {
                AnswerEvent::Partial(value) => grown.push(value),
                AnswerEvent::Done(weather, _) => done = Some(weather),
                _ => {}
            }
        }
        assert_eq!(done, Some(expected), "{wire:?}");
        assert!(grown.len() > 1, "{wire:?}: {grown:?}");
        assert_eq!(grown.last(), Some(&json!({ "city": "Ulm", "degrees": 12 })), "{wire:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_no_answer() {
    for (wire, folder) in WIRES.into_iter().filter(|(wire, _)| *wire != Wire::Gemini) {
        for response in read(wire, folder, "refusal").await {
            assert_eq!(response.text(), "I cannot help with that.", "{wire:?}");
            assert_eq!(response.finish_reason(), Some(&FinishReason::Refused), "{wire:?}");
        }
    }
    for response in read(Wire::Gemini, "gemini", "blocked").await {
        assert_eq!((response.text().as_str(), response.finish_reason()), ("", Some(&FinishReason::ContentFilter)));
        assert_eq!(response.metadata["block_reason"], "PROHIBITED_CONTENT");
    }
}

#[tokio::test]
async fn a_paused_answer_goes_back_as_it_came() {
    for (reply, is_streamed) in replies("anthropic", "paused").into_iter().zip([false, true]) {
        let server = Server::start([reply, Wire::Anthropic.whole("Done.")]).await;
        let provider = Wire::Anthropic.provider(&server.url());
        let response = if is_streamed { ask_streaming(&*provider).await } else { ask(&*provider).await }.unwrap();
        assert_eq!(response.finish_reason(), Some(&FinishReason::Paused));
        let history = [opentool_chat::Message::user("Search."), message(&response).clone().into()];
        let (options, tools) = Default::default();
        provider.call(opentool_chat::ModelRequest::new(&history, &options, &tools)).await.unwrap();
        let sent = &server.seen()[1].json()["messages"][1]["content"];
        let whole: Value = serde_json::from_str(&fixture("anthropic", "paused.json")).unwrap();
        assert_eq!(*sent, whole["content"], "streamed: {is_streamed}");
    }
}

#[tokio::test]
async fn signatures_and_reasoning_go_back_with_the_calls() {
    for (wire, folder) in WIRES {
        for (reply, is_streamed) in replies(folder, "tools").into_iter().zip([false, true]) {
            let server = Server::start([reply, wire.whole("Sunny.")]).await;
            let weather = FnTool::new("weather", || "sunny");
            let request = ChatClient::new(wire.provider(&server.url())).prompt("Weather?").tools(weather);
            match is_streamed {
                true => request.stream().finish().await.unwrap(),
                false => request.call().await.unwrap(),
            };
            let sent = server.seen()[1].json();
            match wire {
                Wire::OpenAi | Wire::Azure => assert_eq!(sent["messages"][1]["content"], "Let me look."),
                Wire::Responses => {
                    let kept = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
                        "summary": [{ "type": "summary_text", "text": "Two cities." }] });
                    assert_eq!((&sent["input"][1], &sent["store"]), (&kept, &json!(false)));
                    assert_eq!(sent["input"][2], json!({ "role": "assistant", "content": "Let me look." }));
                }
                Wire::Anthropic => {
                    assert_eq!(sent["messages"][1]["content"][0]["signature"], "c2lnbmVk");
                }
                _ => {
                    let parts = &sent["contents"][1]["parts"];
                    assert_eq!(parts[0], json!({ "text": "Let me look." }));
                    assert_eq!(parts[1]["thoughtSignature"], "c2lnbmVk");
                    assert_eq!(parts[2].get("thoughtSignature"), None);
                }
            }
        }
    }
}

#[tokio::test]
async fn the_models_of_a_provider_are_listed() {
    async fn list(
        folder: &str,
        line: &str,
        ask: impl AsyncFn(String) -> Vec<opentool_chat::provider::ModelInfo>,
    ) -> Vec<Value> {
        let server = Server::start([Reply::json(200, &fixture(folder, "models.json"))]).await;
        let models = ask(server.url()).await;
        assert_eq!(server.only_request().line(), line);
        models.iter().map(|model| json!(model)).collect()
    }
    macro_rules! asked {
        ($provider:ident) => {
            async |url| $provider::new("x").base_url(url).api_key(KEY).models().await.unwrap()
        };
    }
    let openai = [json!({ "id": "gpt-5" }), json!({ "id": "gpt-5-mini" })];
    assert_eq!(list("openai-chat", "GET /v1/models", asked!(OpenAi)).await, openai);
    assert_eq!(list("openai-chat", "GET /v1/models", asked!(OpenAiResponses)).await, openai);
    assert_eq!(list("openai-chat", "GET /openai/v1/models", asked!(AzureOpenAi)).await, openai);
    let claude = json!({ "id": "claude-sonnet-4-5-20250929", "name": "Claude Sonnet 4.5", "input_tokens": 200_000, "output_tokens": 64_000 });
    assert_eq!(list("anthropic", "GET /v1/models?limit=1000", asked!(Anthropic)).await, [claude]);
    let flash = json!({ "id": "gemini-2.5-flash", "name": "Gemini 2.5 Flash", "input_tokens": 1_048_576, "output_tokens": 65_536 });
    assert_eq!(list("gemini", "GET /v1beta/models?pageSize=1000", asked!(Gemini)).await, [flash]);
    assert_eq!(list("ollama", "GET /api/tags", asked!(Ollama)).await, [json!({ "id": "qwen3:8b" })]);
}
