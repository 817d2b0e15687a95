//! What Ollama says.

use futures_util::StreamExt;
use opentool_chat::{ChatOptions, ChatResponse, Delta, FinishReason, Message, ModelRequest, ToolDefinitions, Usage};
use serde_json::{Value, json};

use super::server::{Reply, Server, Then};
use super::support::{Wire, ask, ask_both, ask_streaming, calls, message};

const WIRE: Wire = Wire::Ollama;

async fn whole(body: Value) -> ChatResponse {
    let server = Server::start([Reply::json(200, &body.to_string())]).await;
    ask(&*WIRE.provider(&server.url())).await.unwrap()
}

async fn streamed(lines: &[Value]) -> ChatResponse {
    let body: String = lines.iter().map(|line| WIRE.event(line)).collect();
    let server = Server::start([WIRE.stream(&body)]).await;
    ask_streaming(&*WIRE.provider(&server.url())).await.unwrap()
}

#[tokio::test]
async fn an_answer_has_text_reasoning_calls_and_usage() {
    let response = whole(json!({
        "model": "qwen3", "created_at": "2026-01-01T00:00:00Z", "done": true, "done_reason": "stop", "total_duration": 5,
        "prompt_eval_count": 11, "eval_count": 7, "message": { "role": "assistant", "content": "Let me see.", "thinking": "A sum.",
            "tool_calls": [{ "function": { "index": 0, "name": "add", "arguments": { "a": 1 } } }] },
    }))
    .await;
    assert_eq!((&*message(&response).text, &*message(&response).reasoning), ("Let me see.", "A sum."));
    assert_eq!(calls(&response), [("", "add", r#"{"a":1}"#)]);
    assert_eq!((response.usage, response.model.as_deref()), (Usage::new(11, 7), Some("qwen3")));
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
}

#[tokio::test]
async fn an_error_beside_a_message_counts_only_if_it_says_something() {
    let body =
        |error: Value| json!({ "message": { "role": "assistant", "content": "Hi" }, "error": error, "done": true });
    for blank in [Value::Null, json!(""), json!(false), json!({})] {
        for response in [whole(body(blank.clone())).await, streamed(&[body(blank.clone())]).await] {
            assert_eq!(&*message(&response).text, "Hi", "{blank}");
        }
    }
    let failed = body(json!("model runner has stopped")).to_string();
    let server = Server::start([Reply::json(200, &failed), WIRE.stream(&failed)]).await;
    for asked in ask_both(&*WIRE.provider(&server.url())).await {
        let error = asked.unwrap_err().to_string();
        assert!(error.contains("model runner has stopped"), "{error}");
    }
}

#[tokio::test]
async fn calls_without_ids_stay_separate() {
    let call = |arguments: Value| json!({ "message": { "tool_calls": [{ "function": { "name": "add", "arguments": arguments } }] } });
    let response = streamed(&[
        call(json!({ "a": 1 })),
        call(json!("{\"a\":2}")),
        call(Value::Null),
        json!({ "done": true, "done_reason": "stop" }),
    ])
    .await;
    assert_eq!(calls(&response), [("", "add", "{\"a\":1}"), ("", "add", "{\"a\":2}"), ("", "add", "{}")]);
}

#[tokio::test]
async fn finish_reasons_are_mapped_and_may_be_missing() {
    for (reason, expected) in [
        (json!("stop"), FinishReason::Stop),
        (json!("length"), FinishReason::Length),
        (json!("load"), FinishReason::Other("load".to_owned())),
        (Value::Null, FinishReason::Stop),
    ] {
        let last = json!({ "message": { "content": "x" }, "done": true, "done_reason": reason });
        assert_eq!(whole(last.clone()).await.finish_reason(), Some(&expected));
        assert_eq!(streamed(&[last]).await.finish_reason(), Some(&expected));
    }
}

#[tokio::test]
async fn json_of_many_lines_and_lines_of_json_are_read() {
    let whole: Value = serde_json::from_str(&WIRE.whole_text("Hi")).unwrap();
    let pretty = serde_json::to_string_pretty(&whole).unwrap();
    let lines = WIRE.streamed("", "Hi", &[]);
    for body in [pretty.as_str(), lines.as_str(), &whole.to_string()] {
        let server = Server::start([Reply::json(200, body)]).await;
        let response = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap();
        assert_eq!((response.text().as_str(), response.usage.total_tokens()), ("Hi", 5), "{body}");
    }
    // As they come, and not when all are there.
    let begun =
        Reply::unfinished("application/json", [lines.lines().next().unwrap().as_bytes(), b"\n"]).then(Then::Hang);
    let server = Server::start([begun]).await;
    let provider = WIRE.provider(&server.url());
    let (options, tools, messages) = (ChatOptions::new(), ToolDefinitions::default(), [Message::user("Hello?")]);
    let mut stream = provider.stream(ModelRequest::new(&messages, &options, &tools));
    assert!(matches!(stream.next().await, Some(Ok(Delta::Begin { .. }))));
    assert!(matches!(stream.next().await, Some(Ok(Delta::Text(text))) if text == "Hi"));
}
