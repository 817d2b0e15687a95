//! Times and sizes.

use std::time::Duration;

use opentool_chat::Cause;

use super::server::{Reply, Server, Then};
use super::support::{ALL, ask, ask_both, ask_streaming};

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
            assert!(matches!(error.cause(), Cause::Unreachable { timed_out: true, .. }), "{wire:?}: {error:?}");
        }
        server.wait_for_closed(2).await;
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
