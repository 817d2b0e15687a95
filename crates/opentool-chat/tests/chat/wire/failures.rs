//! Failures, which all providers handle alike.

use std::time::Duration;

use opentool_chat::Cause;
use opentool_chat::provider::OpenAi;

use super::server::{Reply, Server, Then};
use super::support::{ALL, Wire, ask, ask_both, ask_streaming};

fn busy(status: u16) -> Reply {
    Reply::json(status, r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#)
}

#[tokio::test]
async fn an_overloaded_provider_gets_the_same_body_again() {
    for wire in ALL {
        for status in [429, 500, 503, 529] {
            let server = Server::start([busy(status), busy(status), wire.whole("Hi")]).await;
            assert_eq!(ask(&*wire.provider(&server.url())).await.unwrap().text(), "Hi", "{wire:?}, {status}");
            let seen = server.seen();
            assert!(seen.len() == 3 && seen.iter().all(|request| request.body == seen[0].body), "{seen:?}");

            let server = Server::start([busy(status), wire.stream(&wire.streamed("", "Hi", &[]))]).await;
            assert_eq!(ask_streaming(&*wire.provider(&server.url())).await.unwrap().text(), "Hi", "{wire:?}, {status}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_an_answer_is_retried() {
    for wire in ALL {
        let hang_up = Reply::default().then(Then::Close);
        let server = Server::start([hang_up, wire.whole("Hi")]).await;
        assert_eq!(ask(&*wire.provider(&server.url())).await.unwrap().text(), "Hi", "{wire:?}");
    }
}

#[tokio::test]
async fn an_overloaded_provider_s_message_and_time_are_reported() {
    for wire in ALL {
        let server = Server::start([busy(429).with_header("retry-after", "0")]).await;
        for asked in ask_both(&*wire.provider(&server.url())).await {
            let error = asked.unwrap_err();
            assert_eq!((error.status(), error.is_retryable()), (Some(429), true));
            assert_eq!(error.retry_after(), Some(Duration::ZERO));
            assert!(error.to_string().ends_with("answered 429: slow down"), "{error}");
            assert!(matches!(error.cause(), Cause::Refused { code: Some(code), .. } if code == "rate_limit_error"));
        }
        assert_eq!(server.seen().len(), 12, "{wire:?}: once and five more times, in both ways");
    }
}

#[tokio::test]
async fn a_long_retry_after_is_not_waited_for() {
    for (name, value) in
        [("retry-after", "3600"), ("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT"), ("x-should-retry", "false")]
    {
        let server = Server::start([busy(429).with_header(name, value)]).await;
        let error = ask(&*Wire::OpenAi.provider(&server.url())).await.unwrap_err();
        assert_eq!(server.seen().len(), 1, "{name}: {value}");
        assert_eq!(error.retry_after().is_some_and(|after| after >= Duration::from_secs(3600)), name == "retry-after");
        assert_eq!(error.to_string().contains("slow down (it asks to wait "), name == "retry-after", "{error}");
    }
    let server = Server::start([busy(429).with_header("retry-after", "90")]).await;
    let error = ask(&*Wire::OpenAi.provider(&server.url())).await.unwrap_err();
    assert_eq!(error.to_string(), "openai answered 429: slow down (it asks to wait 90 s before the next try)");
}

#[tokio::test]
async fn the_wait_that_gemini_asks_for_is_in_the_body() {
    let body = r#"{"error":{"code":429,"message":"quota","details":[{"retryDelay":"3600s"}]}}"#;
    let server = Server::start([Reply::json(429, body)]).await;
    let error = ask(&*Wire::Gemini.provider(&server.url())).await.unwrap_err();
    assert_eq!((error.retry_after(), server.seen().len()), (Some(Duration::from_secs(3600)), 1));
    assert!(
        error.to_string().ends_with("answered 429: quota (it asks to wait 60 minutes before the next try)"),
        "{error}"
    );
}

#[tokio::test]
async fn a_rate_limit_without_a_time_is_waited_for_longer_than_a_second() {
    let started = std::time::Instant::now();
    let server = Server::start([busy(429), busy(429), Wire::OpenAi.whole("Hi")]).await;
    // The waits as they are by default: up to 1 s and 2 s, of which at least a half.
    let provider = OpenAi::new("tiny").base_url(server.url());
    assert_eq!(ask(&provider).await.unwrap().text(), "Hi");
    assert!(started.elapsed() >= Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_answer_that_is_compressed_unasked_is_reported_as_that() {
    for wire in ALL {
        for status in [200, 400] {
            let gzip =
                Reply::new(status, "application/json", "\u{1f}\u{8b}\u{8}\0\0").with_header("content-encoding", "gzip");
            let server = Server::start([gzip]).await;
            for asked in ask_both(&*wire.provider(&server.url())).await {
                let error = asked.unwrap_err().to_string();
                assert!(
                    error.contains("it is compressed (gzip), which was not asked for"),
                    "{wire:?}, {status}: {error}"
                );
                assert!(!error.chars().any(char::is_control), "{error:?}");
            }
            assert_eq!(server.seen()[0].header("accept-encoding"), Some("identity"));
        }
        // Nor is it printed if the server does not even say so.
        let server = Server::start([Reply::new(200, "application/json", "\u{1f}\u{8b}\u{8}\0\0\0\u{3}\u{ff}")]).await;
        let error = ask(&*wire.provider(&server.url())).await.unwrap_err().to_string();
        assert!(error.ends_with("it should be JSON and is no text"), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_request_is_not_repeated() {
    for wire in ALL {
        for status in [400, 401, 403, 404, 422] {
            let server = Server::start([Reply::json(status, r#"{"error":{"message":"no such model: tiny"}}"#)]).await;
            for asked in ask_both(&*wire.provider(&server.url())).await {
                let error = asked.unwrap_err();
                assert!(error.to_string().ends_with(&format!("answered {status}: no such model: tiny")), "{error}");
            }
            assert_eq!(server.seen().len(), 2);
        }
    }
}

#[tokio::test]
async fn an_html_page_is_reported_by_its_title() {
    for wire in ALL {
        let server = Server::start([Reply::html(200)]).await;
        for asked in ask_both(&*wire.provider(&server.url())).await {
            let error = asked.unwrap_err();
            assert!(matches!(error.cause(), Cause::Unreadable { .. }), "{error:?}");
            let message = error.to_string();
            assert!(message.contains("should be JSON and is an HTML page with the title \"Bad Gateway\""), "{message}");
        }
        let server = Server::start([Reply::html(403)]).await;
        for asked in ask_both(&*wire.provider(&server.url())).await {
            let message = asked.unwrap_err().to_string();
            assert!(message.ends_with("answered 403: an HTML page with the title \"Bad Gateway\""), "{message}");
        }
    }
}

#[tokio::test]
async fn json_that_is_no_answer_is_reported_with_its_beginning() {
    for wire in ALL {
        for body in ["[]", "{}", "42", "", "{\"choi", r#"{"choices":[],"content":7,"message":7}"#] {
            let server = Server::start([Reply::json(200, body)]).await;
            let error = ask(&*wire.provider(&server.url())).await.unwrap_err();
            assert!(matches!(error.cause(), Cause::Unreadable { .. }), "{wire:?}, {body}: {error:?}");
        }
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    for wire in ALL {
        let server = Server::start([Reply::json(200, r#"{"error":{"message":"no credits","code":402}}"#)]).await;
        for asked in ask_both(&*wire.provider(&server.url())).await {
            let error = asked.unwrap_err();
            let refused =
                matches!(error.cause(), Cause::Refused { status: None, code: Some(code), .. } if code == "402");
            assert!(refused && error.to_string().ends_with("no credits"), "{wire:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([Wire::OpenAi.whole("Hi")]).await;
    for wire in ALL {
        let server = Server::start([Reply::json(307, "").with_header("location", &other.url())]).await;
        for asked in ask_both(&*wire.provider(&server.url())).await {
            let message = asked.unwrap_err().to_string();
            assert!(message.contains("redirects are not followed"), "{message}");
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn an_unreachable_address_is_named_in_the_error() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for wire in ALL {
        let error = ask(&*wire.provider(&format!("http://{address}"))).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Unreachable { timed_out: false, .. }), "{error:?}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_setup_error_is_reported_before_anything_is_sent() {
    for (provider, expected) in [
        (OpenAi::new("tiny").base_url("localhost:1"), "`localhost:1` cannot be the address of a provider"),
        (OpenAi::new("tiny").api_key("a\nb"), "the API key has characters in it that no header can carry"),
        (OpenAi::new("tiny").header("not a name", "x"), "`not a name` cannot be the name of a header"),
        (OpenAi::new("tiny").ca_certificates("nonsense"), "the CA certificates cannot be used: there is none"),
    ] {
        for asked in ask_both(&provider).await {
            let error = asked.unwrap_err();
            assert!(matches!(error.cause(), Cause::Setup { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
