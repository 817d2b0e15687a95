//! Keys are sent and never shown.

use std::io::Write;
use std::sync::{Arc, Mutex};

use opentool_chat::provider::{Anthropic, AzureOpenAi, Gemini, Ollama, OpenAi, OpenAiResponses};
use serde_json::json;
use tracing_subscriber::filter::LevelFilter;

use super::server::{Reply, Server};
use super::support::{ALL, KEY, Wire, ask_both};

#[tokio::test]
async fn the_key_goes_where_each_provider_wants_it() {
    for wire in ALL {
        let server = Server::start([wire.whole("Hi")]).await;
        super::support::ask(&*wire.provider(&server.url())).await.unwrap();
        let seen = &server.seen()[0];
        match wire {
            Wire::Anthropic => {
                assert_eq!(seen.header("x-api-key"), Some(KEY));
                assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
            }
            Wire::Azure => assert_eq!((seen.header("api-key"), seen.header("authorization")), (Some(KEY), None)),
            Wire::Gemini => {
                assert_eq!((seen.header("x-goog-api-key"), seen.header("authorization")), (Some(KEY), None));
                assert!(!seen.line().contains(KEY));
            }
            _ => assert_eq!(seen.header("authorization"), Some("Bearer sk-s3cret")),
        }
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_key_is_in_no_error_no_debug_and_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let echo = format!(r#"{{"error":{{"message":"wrong key: {KEY}","code":"key {KEY}"}}}}"#);
    for wire in ALL {
        let in_the_middle = wire.stream(&wire.event(&serde_json::from_str(&echo).unwrap()));
        for reply in [Reply::json(401, &echo), Reply::json(429, &echo), Reply::json(200, &echo), in_the_middle] {
            let server = Server::start([reply]).await;
            for asked in ask_both(&*wire.provider(&server.url())).await {
                let error = asked.unwrap_err();
                assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
            }
        }
    }
    // A header may be a key too.
    let server = Server::start([Reply::json(401, &echo)]).await;
    for asked in ask_both(&OpenAi::new("tiny").base_url(server.url()).header("api-key", KEY)).await {
        let error = asked.unwrap_err();
        assert!(error.to_string().ends_with("wrong key: …") && !format!("{error:?}").contains(KEY), "{error:?}");
    }
    let providers = (
        OpenAi::new("tiny").api_key(KEY).header("x-secret", KEY),
        Anthropic::new("tiny").api_key(KEY).header("x-secret", KEY),
        Ollama::new("tiny").api_key(KEY).header("x-secret", KEY),
        AzureOpenAi::new("tiny").api_key(KEY).header("x-secret", KEY),
        Gemini::new("tiny").api_key(KEY).header("x-secret", KEY),
        OpenAiResponses::new("tiny").api_key(KEY).header("x-secret", KEY),
    );
    assert!(!format!("{providers:?}").contains(KEY), "{providers:?}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the request failed and is sent again") && !log.contains(KEY), "{log}");
}

#[tokio::test]
async fn no_half_of_a_key_remains_in_a_shortened_message() {
    let half = &KEY[..5];
    for wire in ALL {
        for shown in [200, 2000] {
            // The key stands where the message ends, or just before or behind.
            for before in (shown - KEY.len()..shown + 2).map(|length| "a".repeat(length)) {
                let text = format!("{before}{KEY}");
                let reported = json!({ "error": { "message": text, "code": text } }).to_string();
                let other = json!({ "other": text }).to_string();
                let in_the_middle = wire.stream(&wire.event(&json!({ "error": { "message": text } })));
                let replies =
                    [Reply::json(401, &text), Reply::json(401, &reported), Reply::json(200, &other), in_the_middle];
                for reply in replies {
                    let server = Server::start([reply]).await;
                    for asked in ask_both(&*wire.provider(&server.url())).await {
                        let error = asked.unwrap_err();
                        assert!(!format!("{error} {error:?}").contains(half), "{error:?}");
                    }
                }
            }
        }
    }
}
