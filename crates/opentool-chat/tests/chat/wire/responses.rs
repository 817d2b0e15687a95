//! What only the Responses API does.

use opentool_chat::provider::OpenAiResponses;
use opentool_chat::{Cause, ChatOptions, FinishReason, Message, ModelRequest, Provider, ToolDefinitions};
use opentool_core::{FnTool, Toolbox};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{Wire, ask, ask_streaming, calls};

const WIRE: Wire = Wire::Responses;

fn response(status: &str, details: Value) -> Value {
    let message =
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Once" }] });
    json!({ "id": "1", "status": status, "incomplete_details": details, "output": [message] })
}

#[tokio::test]
async fn an_incomplete_answer_says_why() {
    for (reason, expected) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("steered", FinishReason::Other("steered".to_owned())),
    ] {
        let whole = response("incomplete", json!({ "reason": reason }));
        let done = json!({ "type": "response.output_item.done", "output_index": 0, "item": whole["output"][0] });
        let end = json!({ "type": "response.incomplete", "response": whole });
        let stream = WIRE.stream(&format!("{}{}", WIRE.event(&done), WIRE.event(&end)));
        let server = Server::start([Reply::json(200, &whole.to_string()), stream]).await;
        let provider = WIRE.provider(&server.url());
        for response in [ask(&*provider).await.unwrap(), ask_streaming(&*provider).await.unwrap()] {
            assert_eq!((response.text().as_str(), response.finish_reason()), ("Once", Some(&expected)));
        }
    }
}

#[tokio::test]
async fn a_failed_answer_is_an_error_with_its_reason() {
    let mut whole = response("failed", Value::Null);
    for (error, expected) in [
        (json!({ "code": "server_error", "message": "out of memory" }), "out of memory"),
        (Value::Null, "the answer failed, and no reason was given"),
    ] {
        whole["error"] = error;
        let event = WIRE.event(&json!({ "type": "response.failed", "response": whole }));
        let server = Server::start([Reply::json(200, &whole.to_string()), WIRE.stream(&event)]).await;
        let provider = WIRE.provider(&server.url());
        for error in [ask(&*provider).await.unwrap_err(), ask_streaming(&*provider).await.unwrap_err()] {
            assert!(matches!(error.cause(), Cause::Refused { status: None, .. }), "{error:?}");
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }
}

#[tokio::test]
async fn items_that_come_without_pieces_are_read() {
    let items = [
        json!({ "type": "reasoning", "id": "rs", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }] }),
        json!({ "type": "web_search_call", "id": "ws", "status": "completed" }),
        json!({ "type": "message", "content": [{ "type": "output_text", "text": "Let me see." }] }),
        json!({ "type": "function_call", "call_id": "a", "name": "now", "arguments": "{}" }),
    ];
    let mut body = WIRE.event(&json!({ "type": "response.created", "response": { "id": "1", "model": "tiny" } }));
    for (index, item) in items.iter().enumerate() {
        body += &WIRE.event(&json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    body +=
        &WIRE.event(&json!({ "type": "response.completed", "response": { "status": "completed", "output": items } }));
    let server = Server::start([WIRE.stream(&body)]).await;
    let response = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap();
    assert_eq!((response.text().as_str(), calls(&response)), ("Let me see.", vec![("a", "now", "{}")]));
    let message = response.message().unwrap();
    assert_eq!(&*message.reasoning, "Hm.");
    assert!(message.provider_data.is_empty(), "what is not encrypted cannot be sent back: nothing is stored");
}

/// As llama.cpp sends them: pieces name their item by the id of the call, and all calls end after the last has begun.
#[tokio::test]
async fn items_without_a_number_are_kept_apart_by_their_ids() {
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": "now", "arguments": arguments });
    let piece = |id: &str, delta: &str| json!({ "type": "response.function_call_arguments.delta", "delta": delta, "item_id": id });
    let added = |item: Value| json!({ "type": "response.output_item.added", "item": item });
    let done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    let message =
        json!({ "type": "message", "id": "m", "content": [{ "type": "output_text", "text": "Let me see." }] });
    let events = [
        json!({ "type": "response.created", "response": { "id": "1" } }),
        added(json!({ "type": "message", "id": "m", "content": [] })),
        json!({ "type": "response.output_text.delta", "delta": "Let me see.", "item_id": "m" }),
        added(call("a", "")),
        piece("a", "{\"n\":"),
        piece("a", "1}"),
        added(call("b", "")),
        piece("b", "{\"n\":"),
        piece("b", "2}"),
        done(message),
        done(call("a", "{\"n\":1}")),
        done(call("b", "{\"n\":2}")),
        // No event was about it before.
        done(call("c", "{\"n\":3}")),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
    ];
    let body: String = events.iter().map(|event| WIRE.event(event)).collect();
    let server = Server::start([WIRE.stream(&body)]).await;
    let response = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap();
    let expected = vec![("a", "now", "{\"n\":1}"), ("b", "now", "{\"n\":2}"), ("c", "now", "{\"n\":3}")];
    assert_eq!((response.text().as_str(), calls(&response)), ("Let me see.", expected));
}

#[tokio::test]
async fn tools_are_flat_and_say_whether_they_are_strict() {
    let tools = ToolDefinitions::from_toolbox(Toolbox::from_tools([FnTool::new("now", || "noon")]).unwrap());
    for strict in [false, true] {
        let server = Server::start([WIRE.whole("Hi")]).await;
        let provider = OpenAiResponses::new("tiny").base_url(server.url()).strict(strict);
        let options = ChatOptions::new();
        provider.call(ModelRequest::new(&[Message::user("Hello?")], &options, &tools)).await.unwrap();
        let tool = &server.only_request().json()["tools"][0];
        assert_eq!(
            (&tool["type"], &tool["name"], &tool["strict"]),
            (&json!("function"), &json!("now"), &json!(strict))
        );
        assert_eq!(tool["parameters"]["type"], "object");
    }
}
