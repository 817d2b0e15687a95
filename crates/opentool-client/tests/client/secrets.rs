//! The key, which is never shown.

use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex};

use opentool_client::{Client, ClientError};
use opentool_core::{Executor, ToolError};
use tracing_subscriber::fmt::MakeWriter;

use crate::add;
use crate::script::{self, Server, Step, html, json, result};

const KEY: &str = "s3cret-key";
const ARGUMENT: &str = "s3cret-argument";
const RESULT: &str = "s3cret-result";

/// Everything that is logged in this process, through `tracing` or `log`.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        writeln!(self.0.lock().unwrap(), "{} {}", record.target(), record.args()).unwrap();
    }

    fn flush(&self) {}
}

/// Collects everything that can be printed of clients that got every kind of answer.
async fn everything(printed: &mut String) {
    let echo = format!("the key {KEY} is wrong");
    let echoed_data = format!(r#"{{"error":{{"code":403,"message":"no","data":{{"key":"{KEY}"}}}}}}"#);
    let replies = [
        result(&format!(r#"{{"x":"{RESULT}"}}"#)),
        script::error(403, &echo),
        json(403, &echoed_data),
        json(401, "{}"),
        html(502),
        vec![Step::Close],
        json(200, ""),
    ];
    for reply in replies {
        let server = Server::start([reply]).await;
        let client = Client::new(server.url()).api_key(KEY).retries(1).backoff(std::time::Duration::from_millis(1));
        let call = opentool_client::FunctionCall::new("1", "add", crate::object(&format!(r#"{{"a":"{ARGUMENT}"}}"#)));
        writeln!(printed, "{client:?} {client:#?}").unwrap();
        for error in [client.call(call).await.err(), client.load().await.err(), client.version().await.err()] {
            let Some(error) = error else { continue };
            writeln!(printed, "{error} {error:?} {}", crate::json_of(&error)).unwrap();
            let error = ToolError::from(error);
            writeln!(printed, "{error} {error:?} {}", serde_json::to_string(&error).unwrap()).unwrap();
        }
        let host = Executor::new().host(client);
        writeln!(printed, "{host:?} {:?}", host.call("add", "{}").await.err()).unwrap();
        assert!(server.seen().iter().all(|seen| seen.header("authorization") == Some(&format!("Bearer {KEY}"))));
    }
    let error = Client::new("http://127.0.0.1:9627").api_key(format!("{KEY}\n")).call(add()).await.unwrap_err();
    assert!(matches!(error, ClientError::Setup { .. }), "{error:?}");
    writeln!(printed, "{error} {error:?}").unwrap();
}

#[test]
fn the_key_is_never_shown_and_arguments_are_not_logged() {
    let log = Log::default();
    log::set_boxed_logger(Box::new(log.clone())).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    let mut printed = String::new();
    // For the whole process: with one for this thread, what other tests log first decides what is logged at all.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(everything(&mut printed));

    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("hyper") && logged.contains("the server answered"), "nothing was logged: {logged}");
    assert!(printed.contains("the key … is wrong"), "{printed}");
    for text in [&logged, &printed] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert!(!logged.contains(ARGUMENT) && !logged.contains(RESULT), "{logged}");
}
