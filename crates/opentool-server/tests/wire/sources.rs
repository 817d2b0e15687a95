//! Sources that fail, panic or hang, on every route that asks them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{BoxFuture, Executor, ToolChanges, ToolDefinition, ToolError, ToolOutput, ToolSource, Toolbox};
use opentool_server::Server;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::client::{MAX_WAIT, Running, call, get, post, start};
use crate::tools::raw;

struct FnSource<F>(F);

impl<F> ToolSource for FnSource<F>
where
    F: Fn() -> BoxFuture<'static, Result<Toolbox, ToolError>> + Send + Sync + 'static,
{
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        (self.0)()
    }

    fn changes(&self) -> Option<ToolChanges> {
        None
    }
}

/// Serves a source with a short deadline.
async fn serve<F>(source: F) -> Running
where
    F: Fn() -> BoxFuture<'static, Result<Toolbox, ToolError>> + Send + Sync + 'static,
{
    let executor = Executor::builder().timeout(Duration::from_millis(200)).build();
    start(Server::new(FnSource(source)).executor(executor)).await
}

/// Asks for `/load`, `/call` and `/streamCall` on one connection, which must survive all three, and returns the messages.
async fn messages(server: &Running, code: i64) -> [String; 3] {
    let mut connection = server.connect().await;
    connection.send(get("/opentool/load").bytes()).await;
    let load = connection.reply().await.rpc_error(503, 503);
    connection.send(call("any", "{}").bytes()).await;
    let called = connection.reply().await.rpc_error(200, code);
    connection.send(post("/opentool/streamCall").body(r#"{"method":"any","id":"s"}"#).bytes()).await;
    let stream = connection.reply().await;
    let text = stream.text();
    let frames: Vec<_> = text.split_terminator("\n\n").collect();
    assert_eq!(frames[0], "event:start\ndata:{\"start\":\"any\"}", "{text}");
    assert_eq!(frames.len(), 2, "{text}");
    let error: serde_json::Value = serde_json::from_str(frames[1].strip_prefix("event:error\ndata:").unwrap()).unwrap();
    assert_eq!((&error["error"]["code"], &error["id"]), (&json!(code), &json!("s")), "{text}");
    connection.send(get("/opentool/version").bytes()).await;
    assert_eq!(connection.reply().await.status, 200, "the connection goes on");
    [load, called, error["error"]["message"].as_str().unwrap().to_owned()]
}

#[tokio::test]
async fn a_source_that_fails_is_an_error_answer_on_every_route() {
    let server = serve(|| Box::pin(async { Err(ToolError::unavailable("the other side is away")) })).await;
    let [load, called, streamed] = messages(&server, 503).await;
    assert_eq!(load, "the tools cannot be described: the other side is away");
    assert_eq!((called.as_str(), streamed.as_str()), ("the other side is away", "the other side is away"));
}

#[tokio::test]
async fn a_source_that_panics_is_an_error_answer_on_every_route() {
    let server = serve(|| Box::pin(async { panic!("at src/secret.rs:7") })).await;
    let messages = messages(&server, 500).await;
    assert!(messages.iter().all(|message| !message.contains("secret")), "{messages:?}");
    assert!(messages[0].starts_with("the tools cannot be described: "), "{messages:?}");
}

#[tokio::test]
async fn a_source_that_panics_before_its_future_is_an_error_answer() {
    let server = serve(|| panic!("at src/secret.rs:7")).await;
    messages(&server, 500).await;
}

#[tokio::test]
async fn a_source_that_hangs_is_an_error_answer_on_every_route() {
    let server = serve(|| Box::pin(std::future::pending())).await;
    let messages = messages(&server, 504).await;
    assert!(messages.iter().all(|message| message.contains("200ms")), "{messages:?}");
}

#[tokio::test]
async fn a_load_that_hangs_is_answered_when_the_drain_is_over() {
    let asked: Arc<Notify> = Arc::default();
    let noted = asked.clone();
    let source = FnSource(move || -> BoxFuture<'static, Result<Toolbox, ToolError>> {
        noted.notify_one();
        Box::pin(std::future::pending())
    });
    let server = Server::new(source)
        .executor(Executor::builder().timeout(None).build())
        .configure(|config| config.drain_timeout(Duration::from_millis(300)));
    let server = start(server).await;
    let mut connection = server.connect().await;
    connection.send(get("/opentool/load").bytes()).await;
    timeout(MAX_WAIT, asked.notified()).await.expect("the source is not asked");
    server.handle.shutdown();
    let message = connection.reply().await.rpc_error(503, 503);
    assert!(message.ends_with("the server stopped before the source answered"), "{message}");
    server.ended().await;
}

#[tokio::test]
async fn results_of_a_dynamic_source_have_their_output_name() {
    let server = serve(|| {
        let definition = ToolDefinition::builder("named").output_name("degrees").build().unwrap();
        let tool = FakeTool::new("named").with_definition(definition).acts(|_, context| async move {
            context.emit(raw("1")).await;
            Ok::<ToolOutput, ToolError>(raw("3"))
        });
        Box::pin(async { Ok(Toolbox::new().with(tool).unwrap()) })
    })
    .await;
    assert_eq!(server.call("named", "{}").await["result"], json!({"degrees": 3}));
    let stream = server.ask(post("/opentool/streamCall").body(r#"{"method":"named","id":1}"#)).await;
    assert!(stream.text().contains(r#""result":{"degrees":1}"#), "{}", stream.text());
    assert!(stream.text().contains(r#""result":{"degrees":3}"#), "{}", stream.text());
    assert_eq!(server.ask(get("/opentool/load")).await.json()["functions"][0]["name"], "named");
}

#[tokio::test]
async fn the_document_keeps_the_spec_version_of_a_single_source_without_a_server() {
    let tools = || Toolbox::from_tools([FakeTool::new("f")]).unwrap().with_spec_version("1.0.0");
    let version =
        async |server: Server| start(server).await.ask(get("/opentool/load")).await.json()["opentool"].clone();
    assert_eq!(version(Server::new(tools())).await, "1.0.0");
    let with_url = Server::new(tools()).configure(|config| config.public_url("https://tools.example"));
    assert_eq!(version(with_url).await, "1.1.0", "1.0.0 has no server object");
    let joined = tools().merge(Toolbox::from_tools([FakeTool::new("g")]).unwrap()).unwrap();
    assert_eq!(version(Server::new(joined)).await, "1.1.0");
}

#[tokio::test]
async fn readiness_is_that_of_the_sources_and_names_them_to_callers_with_a_key() {
    let up = Arc::new(AtomicBool::new(true));
    let state = up.clone();
    let server = Server::new(FakeTool::new("f"))
        .api_keys(["s3cret-s3cret-s3cret"])
        .configure(|config| config.source_state("a \"b\"", || false).source_state("c", move || state.load(Relaxed)));
    let server = start(server).await;
    let ready = || server.ask(get("/readyz").key("s3cret-s3cret-s3cret"));
    assert_eq!(server.ask(get("/readyz")).await.json(), json!({"status": "ready"}));
    let sources = |c: bool| json!([{"name": "a \"b\"", "up": false}, {"name": "c", "up": c}]);
    assert_eq!(ready().await.json(), json!({"status": "ready", "sources": sources(true)}));
    up.store(false, Relaxed);
    let reply = server.ask(get("/readyz")).await;
    assert_eq!((reply.status, reply.json()), (503, json!({"status": "no source is up"})));
    assert_eq!(ready().await.json()["sources"], sources(false));
    let wrong = server.ask(get("/readyz").key("wrong")).await;
    assert_eq!((wrong.status, wrong.json()["sources"].is_null()), (503, true));
    let page = server.ask(get("/metrics").key("s3cret-s3cret-s3cret")).await;
    assert!(page.text().contains(r#"opentool_source_up{source="a \"b\""} 0"#), "{}", page.text());
}
