//! Servers that are almost compatible with OpenAI.

use opentool_chat::{Cause, ChatResponse, FinishReason, Usage};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{Wire, ask, ask_streaming, calls, message};

const WIRE: Wire = Wire::OpenAi;

async fn whole(body: Value) -> ChatResponse {
    let server = Server::start([Reply::json(200, &body.to_string())]).await;
    ask(&*WIRE.provider(&server.url())).await.unwrap()
}

/// An answer streamed in these chunks, without anything else.
async fn streamed(chunks: &[Value]) -> ChatResponse {
    let body: String = chunks.iter().map(|chunk| WIRE.event(chunk)).collect();
    let server = Server::start([WIRE.stream(&body)]).await;
    ask_streaming(&*WIRE.provider(&server.url())).await.unwrap()
}

fn chunk(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn answer(message: Value, finish_reason: Value) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": finish_reason }] })
}

#[tokio::test]
async fn an_answer_has_text_reasoning_calls_usage_and_metadata() {
    let response = whole(json!({
        "id": "chatcmpl-1", "model": "tiny-2026", "system_fingerprint": "b1", "unknown": [1],
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "logprobs": null, "message": { "role": "assistant",
            "content": "Let me see.", "reasoning_content": "A sum.", "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\": 1}" } }] } }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "prompt_tokens_details": { "cached_tokens": 4 } },
    }))
    .await;
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("chatcmpl-1"), Some("tiny-2026")));
    assert_eq!((&*message(&response).text, &*message(&response).reasoning), ("Let me see.", "A sum."));
    assert_eq!(calls(&response), [("call_1", "add", "{\"a\": 1}")]);
    assert_eq!(response.usage, Usage::new(10, 5).with_cached_input_tokens(4));
    assert_eq!(response.metadata["system_fingerprint"], "b1");
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
}

#[tokio::test]
async fn streamed_answer_takes_id_and_model_from_first_chunk() {
    let first = json!({ "id": "chatcmpl-1", "model": "tiny-2026", "system_fingerprint": "b1", "choices": [
        { "index": 0, "delta": { "content": "Hi" } }] });
    let response = streamed(&[first, finish("stop")]).await;
    assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("chatcmpl-1"), Some("tiny-2026")));
    assert_eq!(Value::from(response.metadata.clone()), json!({ "system_fingerprint": "b1" }));
    assert_eq!(&*message(&response).text, "Hi");
}

#[tokio::test]
async fn finish_reasons_are_mapped_and_may_be_missing() {
    let call = json!([{ "id": "1", "function": { "name": "now", "arguments": "{}" } }]);
    for (reason, calls, expected) in [
        (json!("stop"), json!([]), FinishReason::Stop),
        (json!("stop"), call.clone(), FinishReason::ToolCalls),
        (json!("length"), call.clone(), FinishReason::Length),
        (json!("content_filter"), json!([]), FinishReason::ContentFilter),
        (
            json!("insufficient_system_resource"),
            json!([]),
            FinishReason::Other("insufficient_system_resource".to_owned()),
        ),
        (Value::Null, json!([]), FinishReason::Stop),
        (Value::Null, call.clone(), FinishReason::ToolCalls),
        (json!(7), call.clone(), FinishReason::ToolCalls),
    ] {
        let response = whole(answer(json!({ "content": "x", "tool_calls": calls }), reason.clone())).await;
        assert_eq!(response.finish_reason(), Some(&expected), "{reason}");
    }
    // Without a reason the end must be announced.
    for calls in [json!([]), call] {
        let expected = if calls == json!([]) { FinishReason::Stop } else { FinishReason::ToolCalls };
        let body = format!("{}data: [DONE]\n\n", WIRE.event(&chunk(json!({ "content": "x", "tool_calls": calls }))));
        let server = Server::start([WIRE.stream(&body)]).await;
        let response = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap();
        assert_eq!((response.finish_reason(), response.text().as_str()), (Some(&expected), "x"));
    }
}

#[tokio::test]
async fn a_stream_without_done_is_complete_after_a_finish_reason() {
    let response = streamed(&[chunk(json!({ "content": "Hi" })), finish("stop")]).await;
    assert_eq!((response.text().as_str(), response.finish_reason()), ("Hi", Some(&FinishReason::Stop)));
    let server = Server::start([WIRE.stream(&WIRE.event(&chunk(json!({ "content": "Hi" }))))]).await;
    let error = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Interrupted { .. }), "{error:?}");
}

#[tokio::test]
async fn arguments_may_be_an_object_and_keep_large_numbers() {
    let text = r#"{"choices":[{"message":{"tool_calls":[{"id":"1","function":{"name":"add","arguments":{"a":123456789012345678901234567890, "b":1.0}}}]}}]}"#;
    let server = Server::start([
        Reply::json(200, text),
        WIRE.stream(&format!("data: {}\n\ndata: [DONE]\n\n", text.replace("message", "delta"))),
    ])
    .await;
    let provider = WIRE.provider(&server.url());
    for response in [ask(&*provider).await.unwrap(), ask_streaming(&*provider).await.unwrap()] {
        assert_eq!(calls(&response), [("1", "add", r#"{"a":123456789012345678901234567890, "b":1.0}"#)]);
    }
}

#[tokio::test]
async fn missing_and_null_arguments_are_none() {
    for function in [
        json!({ "name": "now" }),
        json!({ "name": "now", "arguments": null }),
        json!({ "name": "now", "arguments": "" }),
    ] {
        let response = whole(answer(
            json!({ "content": null, "tool_calls": [{ "id": "1", "function": function }] }),
            json!("tool_calls"),
        ))
        .await;
        assert_eq!(calls(&response), [("1", "now", "{}")]);
    }
}

#[tokio::test]
async fn several_calls_interleaved_by_index_are_put_together() {
    let piece = |index: usize, arguments: &str| json!({ "index": index, "function": { "arguments": arguments } });
    let begin = |index: usize, id: &str, name: &str| json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
    let response = streamed(&[
        chunk(json!({ "content": "Both.", "tool_calls": [begin(0, "a", "add")] })),
        chunk(json!({ "tool_calls": [begin(1, "b", "sub"), piece(0, "{\"x\"")] })),
        chunk(json!({ "tool_calls": [piece(1, "{\"y\":"), piece(0, ":1}")] })),
        chunk(json!({ "tool_calls": [piece(1, "2}")] })),
        finish("tool_calls"),
    ])
    .await;
    assert_eq!(calls(&response), [("a", "add", "{\"x\":1}"), ("b", "sub", "{\"y\":2}")]);
    assert_eq!(response.text(), "Both.", "text beside calls is not lost");
}

#[tokio::test]
async fn calls_without_a_distinct_index_stay_separate() {
    let call = |index: Value, id: Value, name: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": "{\"x\":1}" } });
    for (first, second) in [
        (call(Value::Null, json!("a"), "add"), call(Value::Null, json!("b"), "add")),
        (call(json!(0), json!("a"), "add"), call(json!(0), json!("b"), "add")),
        (call(json!(0), json!(""), "add"), call(json!(0), json!(""), "sub")),
        (call(json!(0), Value::Null, "add"), call(json!(1), Value::Null, "add")),
        (call(json!(0), json!("same"), "add"), call(json!(1), json!("same"), "add")),
        (call(json!(0), json!(17), "add"), call(json!(1), json!(18), "add")),
    ] {
        let response = streamed(&[
            chunk(json!({ "tool_calls": [first.clone()] })),
            chunk(json!({ "tool_calls": [second.clone()] })),
            finish("tool_calls"),
        ])
        .await;
        let calls = calls(&response);
        assert!(calls.len() == 2 && calls.iter().all(|call| call.2 == "{\"x\":1}"), "{first} {second}: {calls:?}");
    }
}

#[tokio::test]
async fn empty_and_repeated_ids_are_kept_as_they_come() {
    let call = |id: Value| json!({ "id": id, "function": { "name": "now", "arguments": "{}" } });
    let response = whole(answer(
        json!({ "tool_calls": [call(json!("")), call(Value::Null), call(json!("x")), call(json!("x"))] }),
        json!("tool_calls"),
    ))
    .await;
    assert_eq!(response.tool_calls().iter().map(|call| &*call.id).collect::<Vec<_>>(), ["", "", "x", "x"]);
}

#[tokio::test]
async fn arguments_cut_off_by_the_token_limit_are_kept() {
    let begin = json!({ "index": 0, "id": "a", "function": { "name": "write", "arguments": "{\"text\":\"Once up" } });
    let response = streamed(&[chunk(json!({ "tool_calls": [begin.clone()] })), finish("length")]).await;
    assert_eq!(calls(&response), [("a", "write", "{\"text\":\"Once up")]);
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
    let response = whole(answer(json!({ "tool_calls": [begin] }), json!("length"))).await;
    assert_eq!((calls(&response)[0].2, response.finish_reason()), ("{\"text\":\"Once up", Some(&FinishReason::Length)));
}

#[tokio::test]
async fn content_may_come_in_parts_and_a_refusal_is_text() {
    let parts =
        json!([{ "type": "text", "text": "Hello " }, { "type": "thinking" }, { "type": "text", "text": "there" }]);
    assert_eq!(whole(answer(json!({ "content": parts }), json!("stop"))).await.text(), "Hello there");
    assert_eq!(
        whole(answer(json!({ "content": null, "refusal": "I won't." }), json!("stop"))).await.text(),
        "I won't."
    );
}

#[tokio::test]
async fn empty_chunks_are_skipped() {
    let response = streamed(&[
        json!({ "choices": [], "prompt_filter_results": [] }),
        json!({ "type": "ping" }),
        chunk(json!({ "role": "assistant", "content": null, "tool_calls": null })),
        json!({ "choices": [{ "index": 1, "delta": { "content": "another answer" } }] }),
        chunk(json!({ "content": "Hi" })),
        json!({ "choices": [{ "delta": null, "finish_reason": "stop" }], "usage": null }),
    ])
    .await;
    assert_eq!((response.text().as_str(), response.usage), ("Hi", Usage::default()));
}

#[tokio::test]
async fn a_stream_without_an_answer_is_an_error() {
    for chunks in [vec![], vec![json!({ "id": "1", "choices": [] })], vec![json!({ "usage": { "prompt_tokens": 3 } })]]
    {
        let body: String = chunks.iter().map(|chunk| WIRE.event(chunk)).collect();
        let server = Server::start([WIRE.stream(&format!("{body}data: [DONE]\n\n"))]).await;
        let error = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().contains("no `choices`"), "{error}");
    }
}

#[tokio::test]
async fn an_empty_error_beside_an_answer_is_none() {
    for error in [Value::Null, json!(""), json!({}), json!([]), json!(false)] {
        let mut body = answer(json!({ "content": "Hi" }), json!("stop"));
        body["error"] = error.clone();
        assert_eq!(whole(body.clone()).await.text(), "Hi", "{error}");
        let mut begun = chunk(json!({ "content": "Hi" }));
        begun["error"] = error.clone();
        assert_eq!(streamed(&[begun, finish("stop")]).await.text(), "Hi", "{error}");
    }
    // Without an answer it is the error, and it has a message.
    for error in [json!(""), json!({}), json!({ "message": "" })] {
        let server = Server::start([Reply::json(200, &json!({ "error": error }).to_string())]).await;
        let reported = ask(&*WIRE.provider(&server.url())).await.unwrap_err();
        assert!(
            matches!(reported.cause(), Cause::Refused { message, .. } if !message.is_empty()),
            "{error}: {reported:?}"
        );
    }
    // One that says something counts, whatever stands beside it.
    let mut body = answer(json!({ "content": "Hi" }), json!("stop"));
    body["error"] = json!({ "message": "out of memory" });
    let server = Server::start([Reply::json(200, &body.to_string())]).await;
    assert!(ask(&*WIRE.provider(&server.url())).await.unwrap_err().to_string().ends_with("out of memory"));
}
