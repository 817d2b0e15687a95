//! What Anthropic and servers like it say.

use opentool_chat::{ChatResponse, FinishReason, Usage};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::support::{Wire, ask, ask_streaming, calls, message};

const WIRE: Wire = Wire::Anthropic;

async fn whole(body: Value) -> ChatResponse {
    let server = Server::start([Reply::json(200, &body.to_string())]).await;
    ask(&*WIRE.provider(&server.url())).await.unwrap()
}

async fn streamed(events: &[Value]) -> ChatResponse {
    let body: String = events.iter().map(|event| WIRE.event(event)).collect();
    let server = Server::start([WIRE.stream(&body)]).await;
    ask_streaming(&*WIRE.provider(&server.url())).await.unwrap()
}

fn start(index: usize, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn json_piece(index: usize, piece: &str) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": { "type": "input_json_delta", "partial_json": piece } })
}

fn stopped(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 9 } })
}

#[tokio::test]
async fn an_answer_has_text_reasoning_calls_and_cached_usage() {
    let response = whole(json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [
            { "type": "thinking", "thinking": "A sum.", "signature": "c2ln" },
            { "type": "redacted_thinking", "data": "eHl6" },
            { "type": "text", "text": "Let me " }, { "type": "text", "text": "see.", "citations": null },
            { "type": "server_tool_use", "id": "srv", "name": "web_search", "input": {} },
            { "type": "tool_use", "id": "toolu_1", "name": "add", "input": { "a": 1 } },
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 5 },
    }))
    .await;
    assert_eq!((&*message(&response).text, &*message(&response).reasoning), ("Let me see.", "A sum."));
    assert_eq!(calls(&response), [("toolu_1", "add", r#"{"a":1}"#)]);
    assert_eq!(response.usage, Usage::new(321, 5).with_cached_input_tokens(300).with_cache_write_tokens(20));
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls));
    // What only Anthropic understands goes back to it in its place.
    let thoughts = json!([
        { "type": "thinking", "thinking": "A sum.", "signature": "c2ln" },
        { "type": "redacted_thinking", "data": "eHl6" },
        { "type": "server_tool_use", "id": "srv", "name": "web_search", "input": {} },
    ]);
    let kept = &message(&response).provider_data["anthropic"];
    assert_eq!((&kept["thinking"], &kept["order"]), (&thoughts, &json!(["thinking", "thinking", 11, "thinking"])));
}

#[tokio::test]
async fn streamed_thinking_is_kept_with_its_signature() {
    let server = Server::start([WIRE.stream(&WIRE.streamed("Hmm, well", "Hi", &[]))]).await;
    let response = ask_streaming(&*WIRE.provider(&server.url())).await.unwrap();
    let thought = json!({ "type": "thinking", "thinking": "Hmm, well", "signature": "c2lnbmVk" });
    assert_eq!(message(&response).provider_data["anthropic"], json!({ "thinking": [thought] }));
    assert_eq!(&*message(&response).reasoning, "Hmm, well");
}

#[tokio::test]
async fn finish_reasons_are_mapped_and_may_be_missing() {
    for (reason, expected) in [
        (json!("end_turn"), FinishReason::Stop),
        (json!("stop_sequence"), FinishReason::Stop),
        (json!("max_tokens"), FinishReason::Length),
        (json!("refusal"), FinishReason::Refused),
        (json!("pause_turn"), FinishReason::Paused),
        (Value::Null, FinishReason::Stop),
    ] {
        let response = whole(json!({ "content": [{ "type": "text", "text": "x" }], "stop_reason": reason })).await;
        assert_eq!(response.finish_reason(), Some(&expected), "{reason}");
    }
    let call = start(0, json!({ "type": "tool_use", "id": "1", "name": "now" }));
    let response = streamed(&[call, json!({ "type": "message_stop" })]).await;
    assert_eq!(
        (calls(&response), response.finish_reason()),
        (vec![("1", "now", "{}")], Some(&FinishReason::ToolCalls))
    );
}

#[tokio::test]
async fn the_stop_sequence_that_ended_an_answer_is_in_its_metadata() {
    let both = async |sequence: Value| {
        let delta = json!({ "stop_reason": "stop_sequence", "stop_sequence": sequence });
        let mut body = delta.clone();
        body["content"] = json!([{ "type": "text", "text": "x" }]);
        let text = start(0, json!({ "type": "text", "text": "x" }));
        let end = json!({ "type": "message_delta", "delta": delta });
        [whole(body).await, streamed(&[text, end, json!({ "type": "message_stop" })]).await]
    };
    for response in both(json!("END")).await {
        assert_eq!(Value::from(response.metadata), json!({ "stop_sequence": "END" }));
    }
    for response in both(Value::Null).await {
        assert_eq!(Value::from(response.metadata), json!({}));
    }
}

#[tokio::test]
async fn several_calls_interleaved_by_index_are_put_together() {
    let response = streamed(&[
        json!({ "type": "ping" }),
        start(0, json!({ "type": "tool_use", "id": "a", "name": "add", "input": {} })),
        start(1, json!({ "type": "tool_use", "id": "a", "name": "sub", "input": {} })),
        json_piece(1, "{\"y\""),
        json_piece(0, "{\"x\":1}"),
        json_piece(1, ":2}"),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_stop", "index": 1 }),
        stopped("tool_use"),
    ])
    .await;
    assert_eq!(calls(&response), [("a", "add", "{\"x\":1}"), ("a", "sub", "{\"y\":2}")]);
    assert_eq!(response.usage.output_tokens, 9);
}

#[tokio::test]
async fn initial_arguments_count_unless_pieces_follow() {
    let block = json!({ "type": "tool_use", "id": "a", "name": "add", "input": { "x": 1 } });
    let stop = json!({ "type": "content_block_stop", "index": 0 });
    let response = streamed(&[start(0, block.clone()), stop.clone(), stopped("tool_use")]).await;
    assert_eq!(calls(&response), [("a", "add", "{\"x\":1}")]);
    let response =
        streamed(&[start(0, block.clone()), json_piece(0, "{\"x\":2}"), stop.clone(), stopped("tool_use")]).await;
    assert_eq!(calls(&response), [("a", "add", "{\"x\":2}")]);
    let response = streamed(&[start(0, block), json_piece(0, ""), stop, stopped("tool_use")]).await;
    assert_eq!(calls(&response), [("a", "add", "{\"x\":1}")], "a piece with nothing in it is none");
}

#[tokio::test]
async fn arguments_may_be_a_string_and_keep_large_numbers() {
    let body = r#"{"content":[{"type":"tool_use","id":"1","name":"add","input":"{\"a\":1}"},{"type":"tool_use","id":"2","name":"add","input":{"a":123456789012345678901234567890}}]}"#;
    let server = Server::start([Reply::json(200, body)]).await;
    let response = ask(&*WIRE.provider(&server.url())).await.unwrap();
    assert_eq!(calls(&response), [("1", "add", r#"{"a":1}"#), ("2", "add", r#"{"a":123456789012345678901234567890}"#)]);
}

#[tokio::test]
async fn arguments_cut_off_by_the_token_limit_are_kept() {
    let response = streamed(&[
        start(0, json!({ "type": "tool_use", "id": "a", "name": "write", "input": {} })),
        json_piece(0, "{\"text\":\"Once up"),
        stopped("max_tokens"),
        json!({ "type": "message_stop" }),
    ])
    .await;
    assert_eq!(calls(&response), [("a", "write", "{\"text\":\"Once up")]);
    assert_eq!(response.finish_reason(), Some(&FinishReason::Length));
}
