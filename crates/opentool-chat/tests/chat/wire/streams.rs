//! Streams, which all providers read alike.

use opentool_chat::{Cause, FinishReason, Usage};
use serde_json::json;

use super::server::{Reply, Server, Then};
use super::support::{ALL, Wire, ask_streaming, calls, deltas, message};

fn answer(wire: Wire) -> String {
    let calls = [
        ("a1", "add", json!({ "a": 1, "city": "Zürich 東京" })),
        ("b2", "now", json!({})),
        ("c3", "add", json!({"a": 2})),
    ];
    wire.streamed("Hmm, ö…", "Grüße, 世界", &calls)
}

fn assert_is_the_answer(wire: Wire, response: &opentool_chat::ChatResponse, how: &str) {
    let message = message(response);
    assert_eq!((&*message.reasoning, &*message.text), ("Hmm, ö…", "Grüße, 世界"), "{wire:?}, {how}");
    let expected = [("a1", "add", r#"{"a":1,"city":"Zürich 東京"}"#), ("b2", "now", "{}"), ("c3", "add", r#"{"a":2}"#)];
    assert_eq!(calls(response), expected, "{wire:?}, {how}");
    assert_eq!(response.finish_reason(), Some(&FinishReason::ToolCalls), "{wire:?}, {how}");
    assert_eq!((response.usage, response.model.as_deref()), (Usage::new(3, 2), Some("tiny")), "{wire:?}, {how}");
}

#[tokio::test]
async fn a_stream_split_at_every_byte_is_the_same_answer() {
    for wire in ALL {
        let body = wire.streamed("ö", "世", &[("a", "add", json!({ "é": 1 })), ("b", "now", json!({}))]);
        let body = body.as_bytes();
        // The wires that share a framing need not all be split everywhere.
        let step = if matches!(wire, Wire::OpenAi | Wire::Anthropic | Wire::Ollama) { 1 } else { 11 };
        let places = || (0..body.len()).step_by(step);
        let splits = places().map(|at| Reply::chunks(wire.media_type(), [&body[..at], &body[at..]]));
        let server = Server::start(splits).await;
        let provider = wire.provider(&server.url());
        for at in places() {
            let response = ask_streaming(&*provider).await.unwrap();
            let said = (&*message(&response).reasoning, &*message(&response).text);
            assert_eq!(said, ("ö", "世"), "{wire:?}, split at {at}");
            assert_eq!(calls(&response), [("a", "add", r#"{"é":1}"#), ("b", "now", "{}")], "{wire:?}, split at {at}");
        }
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_stream_of_single_bytes_is_the_same_answer() {
    for wire in ALL {
        let server = Server::start([Reply::chunks(wire.media_type(), answer(wire).as_bytes().chunks(1))]).await;
        assert_is_the_answer(wire, &ask_streaming(&*wire.provider(&server.url())).await.unwrap(), "byte by byte");
    }
}

#[tokio::test]
async fn line_ends_comments_and_missing_spaces_make_no_difference() {
    for wire in ALL {
        let body = answer(wire);
        let variants = [
            body.replace('\n', "\r\n"),
            format!("\u{feff}{body}"),
            match wire {
                Wire::Ollama => body.replace('\n', "\n\n"),
                _ => format!(
                    ": keep-alive\n\n{}",
                    body.replace("\n\n", "\n\n: keep-alive\n\n").replace("data: ", "data:")
                ),
            },
        ];
        for variant in variants {
            let server = Server::start([wire.stream(&variant)]).await;
            assert_is_the_answer(wire, &ask_streaming(&*wire.provider(&server.url())).await.unwrap(), &variant);
        }
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_the_last_item_with_its_message() {
    for wire in ALL {
        let error = match wire {
            Wire::OpenAi | Wire::Azure => json!({ "error": { "message": "out of memory", "code": 500 } }),
            Wire::Gemini => json!({ "error": { "message": "out of memory", "code": 500, "status": "INTERNAL" } }),
            Wire::Responses => json!({ "type": "error", "code": "server_error", "message": "out of memory" }),
            Wire::Anthropic => {
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "out of memory" } })
            }
            Wire::Ollama => json!({ "error": "out of memory" }),
        };
        let body = answer(wire);
        let half = body[..body.find("Grü").unwrap()].rfind('\n').unwrap() + 1;
        // Back to the beginning of a message, whatever that is on this wire.
        let half = if wire == Wire::Ollama { half } else { body[..half].rfind("\n\n").unwrap() + 2 };
        let server = Server::start([wire.stream(&format!("{}{}", &body[..half], wire.event(&error)))]).await;
        let deltas = deltas(&*wire.provider(&server.url())).await;
        let (last, before) = deltas.split_last().unwrap();
        assert!(before.len() > 1 && before.iter().all(Result::is_ok), "{wire:?}: {deltas:?}");
        let last = last.as_ref().unwrap_err();
        assert!(
            matches!(last.cause(), Cause::Refused { status: None, message, .. } if message == "out of memory"),
            "{last:?}"
        );
        assert_eq!(server.seen().len(), 1, "an answer that has begun is not asked for again");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error() {
    for wire in ALL {
        let body = answer(wire);
        let half = &body.as_bytes()[..body.len() / 2];
        let cut_by_http = Reply::unfinished(wire.media_type(), [half]);
        let cut_by_the_server = Reply::chunks(wire.media_type(), [&body.as_bytes()[..body.find("Grü").unwrap()]]);
        for reply in
            [cut_by_http, Reply::chunks(wire.media_type(), [b"" as &[u8]]), cut_by_the_server.then(Then::Close)]
        {
            let server = Server::start([reply]).await;
            let error = ask_streaming(&*wire.provider(&server.url())).await.unwrap_err();
            assert!(
                matches!(error.cause(), Cause::Interrupted { .. } | Cause::Unreadable { .. }),
                "{wire:?}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_read() {
    for wire in ALL {
        let server = Server::start([wire.whole("Hi")]).await;
        let response = ask_streaming(&*wire.provider(&server.url())).await.unwrap();
        assert_eq!((response.text().as_str(), response.usage), ("Hi", Usage::new(3, 2)), "{wire:?}");
        assert_eq!(response.finish_reason(), Some(&FinishReason::Stop));
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream_and_after_a_call() {
    for wire in ALL {
        let stream = wire.stream(&answer(wire));
        let server = Server::start([stream.clone(), wire.whole("Hi"), stream]).await;
        let provider = wire.provider(&server.url());
        ask_streaming(&*provider).await.unwrap();
        super::support::ask(&*provider).await.unwrap();
        ask_streaming(&*provider).await.unwrap();
        assert_eq!(server.connections(), 1, "{wire:?}");
    }
}
