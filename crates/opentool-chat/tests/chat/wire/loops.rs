//! Whole turns over the wire: call, tool, answer.

use opentool_chat::{ChatClient, ChatResponse};
use opentool_core::FnTool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::{Reply, SeenRequest, Server};
use super::support::{ALL, Wire};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

/// Runs a turn with a tool that adds, streamed; returns the answer and the requests.
async fn turn(wire: Wire, replies: impl IntoIterator<Item = Reply>) -> (ChatResponse, Vec<SeenRequest>) {
    let server = Server::start(replies).await;
    let add = FnTool::fallible("add", |Add { a, b }: Add| async move {
        if a < 0 { Err(opentool_core::Failure::new("too small")) } else { Ok(a + b) }
    });
    let request = ChatClient::new(wire.provider(&server.url())).prompt("How much is it?").tools(add);
    let response = request.stream().finish().await.unwrap();
    (response, server.seen())
}

#[tokio::test]
async fn a_call_is_answered_and_the_model_asked_again() {
    for wire in ALL {
        let calls = [("1", "add", json!({ "a": 1, "b": 2 })), ("2", "add", json!({ "a": -1, "b": 2 }))];
        let (response, seen) = turn(
            wire,
            [wire.stream(&wire.streamed("I add.", "", &calls)), wire.stream(&wire.streamed("", "It is 3.", &[]))],
        )
        .await;
        assert_eq!(response.text(), "It is 3.");
        assert_eq!(response.usage.total_tokens(), 10, "summed over rounds");
        let second = seen[1].json();
        let sent = second[wire.conversation()].as_array().unwrap();
        match wire {
            Wire::Responses => {
                let reasoning = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
                    "summary": [{ "type": "summary_text", "text": "I add." }] });
                assert_eq!(sent[1], reasoning);
                assert_eq!((&sent[2]["call_id"], &sent[2]["arguments"]), (&json!("1"), &json!(r#"{"a":1,"b":2}"#)));
                assert_eq!(sent[4], json!({ "type": "function_call_output", "call_id": "1", "output": "3" }));
                assert_eq!(sent[5]["output"], "too small");
            }
            Wire::Gemini => {
                let first = json!({ "functionCall": { "id": "1", "name": "add", "args": { "a": 1, "b": 2 } },
                    "thoughtSignature": "c2lnbmVk" });
                assert_eq!((&sent[1]["role"], &sent[1]["parts"][0]), (&json!("model"), &first));
                let responses = json!([
                    { "functionResponse": { "id": "1", "name": "add", "response": { "result": "3" } } },
                    { "functionResponse": { "id": "2", "name": "add", "response": { "error": "too small" } } },
                ]);
                assert_eq!((sent.len(), &sent[2]["role"], &sent[2]["parts"]), (3, &json!("user"), &responses));
            }
            Wire::OpenAi | Wire::Azure => {
                assert_eq!(sent[1]["reasoning_content"], "I add.");
                assert_eq!((&sent[2]["role"], &sent[2]["content"]), (&json!("tool"), &json!("3")));
                assert_eq!((&sent[3]["tool_call_id"], &sent[3]["content"]), (&json!("2"), &json!("too small")));
            }
            Wire::Anthropic => {
                assert_eq!(
                    sent[1]["content"][0],
                    json!({ "type": "thinking", "thinking": "I add.", "signature": "c2lnbmVk" })
                );
                let results = json!([
                    { "type": "tool_result", "tool_use_id": "1", "content": "3" },
                    { "type": "tool_result", "tool_use_id": "2", "content": "too small", "is_error": true },
                ]);
                assert_eq!((sent.len(), &sent[2]["role"], &sent[2]["content"]), (3, &json!("user"), &results));
            }
            Wire::Ollama => {
                assert_eq!(sent[1]["thinking"], "I add.");
                assert_eq!((&sent[2]["tool_name"], &sent[2]["content"]), (&json!("add"), &json!("3")));
            }
        }
        assert_eq!(seen[0].json()["tools"], second["tools"]);
    }
}

/// A stream of an answer with these blocks, each of which begins, comes in one piece and ends.
fn streamed_blocks(blocks: &[Value]) -> String {
    let mut events = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block["type"].as_str().unwrap() {
            "thinking" => (
                json!({ "type": "thinking", "thinking": "" }),
                // What comes in one piece here comes in two there, and both add to the block.
                json!({ "thinking": block["thinking"], "signature": block["signature"] }),
            ),
            "text" => (json!({ "type": "text", "text": "" }), json!({ "text": block["text"] })),
            _ => (block.clone(), json!({ "partial_json": block["input"].to_string() })),
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| Wire::Anthropic.event(event)).collect()
}

#[tokio::test]
async fn thinking_goes_back_in_its_order() {
    let thought = |signature: &str| json!({ "type": "thinking", "thinking": "Hm.", "signature": signature });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "add", "input": { "a": 1, "b": 2 } });
    let redacted = json!({ "type": "redacted_thinking", "data": "eHl6" });
    for blocks in [
        vec![thought("one"), text("Grüße, "), thought("two"), text("then."), call("a")],
        vec![thought("one"), call("a"), thought("two"), call("b")],
        vec![text("First "), call("a"), redacted.clone(), text("then "), thought("one"), text("last."), call("b")],
        vec![thought("one"), thought("two"), text("Well."), call("a")],
    ] {
        let whole = json!({ "content": blocks, "stop_reason": "tool_use" });
        let wire = Wire::Anthropic;
        for is_streamed in [false, true] {
            let reply = match is_streamed {
                true => wire.stream(&streamed_blocks(&blocks)),
                false => Reply::json(200, &whole.to_string()),
            };
            let server = Server::start([reply, wire.whole("3")]).await;
            let add = FnTool::new("add", |Add { a, b }: Add| a + b);
            let request = ChatClient::new(wire.provider(&server.url())).prompt("How much is it?").tools(add);
            match is_streamed {
                true => request.stream().finish().await.unwrap(),
                false => request.call().await.unwrap(),
            };
            let sent = server.seen()[1].json();
            assert_eq!(sent["messages"][1]["content"], json!(blocks), "streamed: {is_streamed}");
        }
    }
}

#[tokio::test]
async fn empty_and_repeated_ids_are_replaced_in_calls_and_answers() {
    let calls = [
        ("", "add", json!({ "a": 1, "b": 2 })),
        ("x", "add", json!({ "a": 3, "b": 4 })),
        ("x", "add", json!({ "a": 5, "b": 6 })),
    ];
    let (_, seen) = turn(
        Wire::OpenAi,
        [
            Wire::OpenAi.stream(&Wire::OpenAi.streamed("", "", &calls)),
            Wire::OpenAi.stream(&Wire::OpenAi.streamed("", "Done", &[])),
        ],
    )
    .await;
    let sent = seen[1].json();
    let ids: Vec<&Value> = (0..3).map(|call| &sent["messages"][1]["tool_calls"][call]["id"]).collect();
    let answers: Vec<&Value> = (2..5).map(|message| &sent["messages"][message]["tool_call_id"]).collect();
    assert_eq!(ids, answers);
    let distinct: std::collections::HashSet<_> = ids.iter().map(|id| id.as_str().unwrap()).collect();
    assert!(distinct.len() == 3 && !distinct.contains(""), "{ids:?}");
    let results: Vec<&Value> = (2..5).map(|message| &sent["messages"][message]["content"]).collect();
    assert_eq!(results, ["3", "7", "11"]);
}

#[tokio::test]
async fn extra_content_of_a_call_goes_back_with_it() {
    let call = |id: &str, signature: &str| {
        json!({ "id": id, "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" },
            "extra_content": { "google": { "thought_signature": signature } } })
    };
    let (first, second) = (call("a", "c2lnbmVk"), call("b", "dHdpY2U="));
    let whole = json!({ "choices": [{ "message": { "tool_calls": [first, second] }, "finish_reason": "tool_calls" }] });
    let streamed: String = [first, second]
        .map(|call| {
            Wire::OpenAi.event(&json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "stop" }] }))
        })
        .concat();
    // The first is what a server says that does not stream.
    for reply in [Reply::json(200, &whole.to_string()), Wire::OpenAi.stream(&streamed)] {
        let (_, seen) = turn(Wire::OpenAi, [reply, Wire::OpenAi.whole("3")]).await;
        let sent = seen[1].json();
        let calls = &sent["messages"][1]["tool_calls"];
        assert_eq!(calls[0]["extra_content"]["google"]["thought_signature"], "c2lnbmVk", "{calls}");
        assert_eq!(calls[1]["extra_content"]["google"]["thought_signature"], "dHdpY2U=", "{calls}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_go_back_as_an_empty_object() {
    let begin = json!({ "index": 0, "id": "a", "function": { "name": "add", "arguments": "{\"a\": 1," } });
    let cut =
        Wire::OpenAi.event(&json!({ "choices": [{ "delta": { "tool_calls": [begin] }, "finish_reason": "length" }] }));
    let (response, seen) =
        turn(Wire::OpenAi, [Wire::OpenAi.stream(&cut), Wire::OpenAi.stream(&Wire::OpenAi.streamed("", "Sorry", &[]))])
            .await;
    assert_eq!(response.text(), "Sorry");
    let sent = seen[1].json();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], "{}");
    let reported = sent["messages"][2]["content"].as_str().unwrap();
    assert!(reported.contains("JSON"), "{reported}");
}

#[tokio::test]
async fn a_call_in_the_old_format_is_read() {
    let wire = Wire::OpenAi;
    let call = json!({ "name": "add", "arguments": "{\"a\":1,\"b\":2}" });
    let whole = json!({ "choices": [{ "message": { "content": null, "function_call": call }, "finish_reason": "function_call" }] });
    let chunk =
        |delta: Value, end: Value| wire.event(&json!({ "choices": [{ "delta": delta, "finish_reason": end }] }));
    let streamed = [
        chunk(json!({ "role": "assistant", "function_call": { "name": "add", "arguments": "" } }), Value::Null),
        chunk(json!({ "function_call": { "arguments": "{\"a\":1," } }), Value::Null),
        chunk(json!({ "function_call": { "arguments": "\"b\":2}" } }), Value::Null),
        chunk(json!({}), json!("function_call")),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    for reply in [Reply::json(200, &whole.to_string()), wire.stream(&streamed)] {
        let (response, seen) = turn(wire, [reply, wire.whole("It is 3.")]).await;
        assert_eq!((response.text().as_str(), seen.len()), ("It is 3.", 2));
        let sent = seen[1].json();
        let called = &sent["messages"][1]["tool_calls"][0];
        assert_eq!(called["function"], call);
        assert_eq!(
            (&sent["messages"][2]["tool_call_id"], &sent["messages"][2]["content"]),
            (&called["id"], &json!("3"))
        );
    }
}
