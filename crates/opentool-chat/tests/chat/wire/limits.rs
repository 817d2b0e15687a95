//! Times and sizes.

use std::time::Duration;

use opentool_chat::Cause;
use opentool_http::testing::Step;

use super::server::{Reply, Server, Then};
use super::support::{ALL, Wire, ask, ask_both, ask_streaming};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_response_timeout_is_not_retried() {
    for wire in ALL {
        let server = Server::start([Reply::silence()]).await;
        for asked in ask_both(&*wire.tuned(&server.url(), SHORT, LONG, 1000)).await {
            let error = asked.unwrap_err();
            assert!(matches!(error.cause(), Cause::Unreachable { timed_out: true, .. }), "{error:?}");
            assert!(error.to_string().ends_with("no answer within 50ms"), "{error}");
        }
        assert_eq!(server.seen().len(), 2);
        server.wait_for_closed(2).await;
    }
}

#[tokio::test]
async fn a_silent_answer_times_out() {
    for wire in ALL {
        let body = wire.streamed("", "Hello there", &[]);
        let begun = Reply::unfinished(wire.media_type(), [&body.as_bytes()[..body.len() / 2]]).then(Then::Hang);
        let server = Server::start([begun]).await;
        let provider = wire.tuned(&server.url(), LONG, SHORT, 10_000);
        for asked in ask_both(&*provider).await {
            let error = asked.unwrap_err();
            assert!(matches!(error.cause(), Cause::Interrupted { .. }), "{wire:?}: {error:?}");
            assert!(error.to_string().ends_with("broke off: nothing came for 50ms in the middle of it"), "{error}");
        }
        server.wait_for_closed(2).await;
    }
}

#[tokio::test]
async fn what_keeps_a_connection_alive_is_no_content() {
    for wire in ALL {
        let ping = match wire {
            Wire::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            Wire::Responses => "event: keepalive\ndata: {\"type\": \"keepalive\"}\n\n",
            Wire::Ollama => "\n",
            _ => ": keep-alive\n\n",
        };
        let body = wire.streamed("", "Hello there", &[]);
        let begun = &body[..body.find("lo ").unwrap()];
        let begun = &begun[..begun.rfind('\n').unwrap() + 1];
        let alive = [Step::Write(ping.as_bytes().to_vec()), Step::Wait(SHORT / 5)];
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n\r\n{begun}", wire.media_type());
        let steps = std::iter::once(Step::Write(head.into_bytes())).chain(alive.into_iter().cycle().take(1000));
        let server = Server::start([steps.collect::<Vec<_>>()]).await;
        let started = std::time::Instant::now();
        let error = ask_streaming(&*wire.tuned(&server.url(), SHORT, SHORT, 100_000)).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Interrupted { .. }), "{wire:?}: {error:?}");
        assert!(error.to_string().contains("nothing came for 50ms"), "{wire:?}: {error}");
        assert!(started.elapsed() < LONG / 4, "{wire:?}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn the_first_word_may_take_as_long_as_a_response() {
    for wire in ALL {
        let body = wire.streamed("", "Hello there", &[]);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n\r\n", wire.media_type());
        let steps =
            vec![Step::Write(head.into_bytes()), Step::Wait(SHORT * 6), Step::Write(body.into_bytes()), Step::Close];
        let server = Server::start([steps]).await;
        let response = ask_streaming(&*wire.tuned(&server.url(), LONG, SHORT, 100_000)).await.unwrap();
        assert_eq!(response.text(), "Hello there", "{wire:?}");
    }
}

#[tokio::test]
async fn an_answer_past_the_limit_is_refused() {
    for wire in ALL {
        let long = "x".repeat(5000);
        let server = Server::start([wire.whole(&long), wire.stream(&wire.streamed("", &long, &[]))]).await;
        let provider = wire.tuned(&server.url(), LONG, LONG, 4000);
        for asked in [ask(&*provider).await, ask_streaming(&*provider).await] {
            let error = asked.unwrap_err();
            assert!(error.to_string().ends_with("cannot be read: it is larger than 4000 bytes"), "{error}");
        }
    }
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_the_limit() {
    for wire in ALL {
        // Neither a line that never ends nor one event after the other gets further.
        for piece in ["x".repeat(1000), ": keep-alive\n\n".repeat(100), "\n".repeat(1000)] {
            let server =
                Server::start([Reply::unfinished(wire.media_type(), [piece.as_bytes()]).then(Then::Repeat)]).await;
            for asked in ask_both(&*wire.tuned(&server.url(), LONG, LONG, 100_000)).await {
                let error = asked.unwrap_err();
                assert!(matches!(error.cause(), Cause::Unreadable { .. }), "{error:?}");
            }
            server.wait_for_closed(2).await;
        }
    }
}
