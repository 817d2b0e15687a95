//! A secret planted as key, argument and result is nowhere to be found.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolError, Toolbox};
use opentool_server::Server;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::client::{call, get, post, start};

thread_local! {
    static TRACED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Everything that is traced on this thread from now on, at every level, spans included.
///
/// A test and its server share one thread. The subscriber itself is one for all tests: several, each for a thread, would
/// make the tracing crate remember of one thread what is true of another.
pub(crate) struct Captured;

impl Captured {
    pub(crate) fn start() -> Self {
        static SUBSCRIBER: Once = Once::new();
        SUBSCRIBER.call_once(|| {
            tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_span_events(FmtSpan::FULL)
                .with_ansi(false)
                .with_writer(|| ToThread)
                .init();
        });
        TRACED.set(Some(Vec::new()));
        Self
    }

    pub(crate) fn text(&self) -> String {
        TRACED.with_borrow(|traced| String::from_utf8(traced.clone().unwrap()).unwrap())
    }
}

struct ToThread;

impl io::Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        TRACED.with_borrow_mut(|traced| {
            if let Some(traced) = traced {
                traced.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_planted_secret_is_in_no_log_span_error_or_metric() {
    const SECRET: &str = "planted-secret-42";
    let captured = Captured::start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys");
    std::fs::write(&file, format!("file:{SECRET}-file\n")).unwrap();
    let tools = Toolbox::from_tools([
        FakeTool::new("answers").answers(SECRET),
        FakeTool::new("emits").acts(|_, context| async move {
            context.emit(SECRET).await;
            Err(ToolError::failed("no").with_detail("operators may read this"))
        }),
        FakeTool::new("panics").panics("a panic"),
    ])
    .unwrap();
    let config = move |config: opentool_server::ConfigBuilder| config.api_keys_file(&file);
    let server = Server::new(tools).api_keys([SECRET]).configure(config);
    let shown = format!("{server:?}");
    let server = start(server).await;
    let argument = format!(r#"{{"password":"{SECRET}"}}"#);
    let mut refusals = Vec::new();
    for name in ["answers", "panics", "made_up"] {
        server.ask(call(name, &argument).key(SECRET)).await;
        refusals.push(server.ask(call(name, &argument).key(&format!("{SECRET}-wrong"))).await);
    }
    let stream = format!(r#"{{"method":"emits","params":{argument},"id":"{SECRET}"}}"#);
    let streamed = server.ask(post("/opentool/streamCall").key(&format!("{SECRET}-file")).body(stream)).await;
    assert!(streamed.text().contains(SECRET), "the caller gets what the tool emits");
    refusals.push(server.ask(post("/opentool/call").key(SECRET).body(format!("{{\"a\":{SECRET}"))).await);
    refusals.push(server.ask(get(&format!("/opentool/{SECRET}?key={SECRET}")).key(SECRET)).await);
    let metrics = server.ask(get("/metrics").key(SECRET)).await;

    let traced = captured.text();
    assert!(traced.contains("opentool::access") && traced.contains("execute_tool"), "nothing was captured");
    // The id of a call is the caller's own and stands in the span of the call; everything else may not hold a secret.
    let traced = traced.replace(&format!("gen_ai.tool.call.id=\"{SECRET}\""), "");
    for (what, text) in [("logs and spans", traced.as_str()), ("metrics", metrics.text()), ("debug", &shown)] {
        let found = text.lines().find(|line| line.contains(SECRET));
        assert_eq!(found, None, "a secret in {what}");
    }
    for refusal in refusals {
        assert!(!refusal.text().contains(SECRET), "{refusal:?}");
    }
}
