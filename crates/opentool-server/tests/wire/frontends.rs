//! Frontends that are mounted beside the routes of OpenTool: the checks come before them, and the limits hold around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{HeaderName, HeaderValue};
use http::{Method, StatusCode};
use opentool_core::{
    BoxFuture, Invocation, Tool, ToolCall, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput,
};
use opentool_server::{Frontend, FrontendRequest, FrontendResponse, ServeError, Server};
use serde_json::json;

use crate::client::{Reply, Request, get, post, request, start};
use crate::secrets::Captured;
use crate::tools::every_way;

/// Calls the tool that the query names with the body as its arguments; a GET streams until the server stops.
struct Plain(&'static str);

impl Frontend for Plain {
    fn mount_path(&self) -> &str {
        self.0
    }

    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        Box::pin(async move {
            match *request.method() {
                Method::POST => call(request).await,
                Method::GET => stream(&request).await,
                _ => FrontendResponse::empty(StatusCode::METHOD_NOT_ALLOWED),
            }
        })
    }
}

async fn call(mut request: FrontendRequest<'_>) -> FrontendResponse {
    let tool: Arc<str> = request.query().unwrap().into();
    let Ok(mut counted) = request.count_call(tool.clone()) else {
        return FrontendResponse::empty(StatusCode::SERVICE_UNAVAILABLE);
    };
    let body = request.take_body();
    let arguments = std::str::from_utf8(&body).unwrap();
    let outcome = request.host().run(ToolCall::new("1", tool, arguments), &ToolContext::new()).await;
    counted.finish(outcome.error().map(|error| error.kind()));
    let text = match &outcome.result {
        Ok(output) => output.to_text(),
        Err(error) => error.to_string(),
    };
    let key = request.key_name().map_or("no key", |name| &**name);
    let trace = request.trace().map_or("none", |trace| trace.trace_id());
    FrontendResponse::json(StatusCode::OK, text)
        .with_header(HeaderName::from_static("x-trace"), HeaderValue::from_str(trace).unwrap())
        .with_header(HeaderName::from_static("x-key"), HeaderValue::from_str(key).unwrap())
        .with_call(&counted)
}

async fn stream(request: &FrontendRequest<'_>) -> FrontendResponse {
    let (response, sender) = FrontendResponse::stream(HeaderValue::from_static("text/event-stream"));
    let stopping = request.stopping();
    tokio::spawn(async move {
        sender.send("data: open\n\n").await.unwrap();
        stopping.cancelled().await;
        sender.send("data: closed\n\n").await.unwrap();
    });
    response
}

/// Asserts that a request was refused before the frontend saw it: a JSON-RPC error without an id.
#[track_caller]
fn refused(reply: &Reply, status: u16) {
    assert_eq!(reply.status, status, "{reply:?}");
    let json = reply.json();
    let members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["jsonrpc", "error"], "{json}");
    assert_eq!(json["error"]["code"], status);
}

fn add() -> Request {
    post("/plain?add").body(r#"{"a":1,"b":2}"#)
}

#[tokio::test]
async fn a_mounted_frontend_answers_behind_all_checks() {
    let config = |config: opentool_server::ConfigBuilder| config.named_key("ann", "k").max_body(100);
    let server = start(Server::new(every_way()).configure(config).mount(Plain("/plain"))).await;
    let reply = server.ask(add().key("k")).await;
    assert_eq!((reply.status, reply.text(), reply.header("x-key")), (200, "3", Some("ann")));
    let slash = server.ask(post("/plain/?add").key("k").body(r#"{"a":1,"b":"#)).await;
    assert!(slash.text().starts_with("invalid arguments"), "{slash:?}");
    refused(&server.ask(add()).await, 401);
    refused(&server.ask(add().key("no")).await, 401);
    refused(&server.ask(add().key("k").host("evil.example")).await, 403);
    refused(&server.ask(add().key("k").header("Origin", "https://evil.example")).await, 403);
    refused(&server.ask(add().key("k").body(" ".repeat(101))).await, 413);
    assert_eq!(server.ask(request("DELETE", "/plain").key("k")).await.status, 405);
    server.ask(get("/plain/more").key("k")).await.rpc_error(404, 404);
    server.ask(get("/opentool/plain").key("k")).await.rpc_error(404, 404);
    assert_eq!(server.ask(get("/opentool/version").key("k")).await.status, 200, "OpenTool is still served");
}

#[tokio::test]
async fn a_mounted_frontend_sees_the_trace_of_a_request() {
    let server = start(Server::new(every_way()).mount(Plain("/plain"))).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let traced = server.ask(add().header("traceparent", parent)).await;
    assert_eq!(traced.header("x-trace"), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
    assert_eq!(server.ask(add()).await.header("x-trace"), Some("none"));
}

#[tokio::test]
async fn a_mounted_frontend_is_counted_logged_and_limited() {
    let captured = Captured::start();
    let config = |config: opentool_server::ConfigBuilder| config.max_calls_in_flight(1);
    let server = start(Server::new(every_way()).configure(config).mount(Plain("/plain"))).await;
    server.ask(add()).await;
    server.ask(post("/plain?fails").body("{}")).await;
    server.ask(post("/plain?no_such").body("{}")).await;
    let page = server.ask(get("/metrics")).await.text().to_owned();
    for line in [
        r#"opentool_calls_total{tool="add",outcome="ok"} 1"#,
        r#"opentool_calls_total{tool="fails",outcome="failed"} 1"#,
        r#"opentool_calls_total{tool="_unknown",outcome="unknown_tool"} 1"#,
        "opentool_calls_in_flight 0",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let log = captured.text();
    let line =
        log.lines().find(|line| line.contains("opentool::access") && line.contains("outcome=\"failed\"")).unwrap();
    assert!(line.contains("http.route=\"/plain\"") && line.contains("gen_ai.tool.name=\"fails\""), "{line}");
    assert!(log.contains("otel.name=POST /plain"), "{log}");
}

#[tokio::test]
async fn a_stream_of_a_mounted_frontend_ends_with_the_server() {
    let server = start(Server::new(every_way()).mount(Plain("/plain"))).await;
    let mut wire = server.connect().await;
    wire.send(get("/plain").bytes()).await;
    assert_eq!(wire.head().await.unwrap().status, 200);
    assert_eq!(wire.chunk().await.unwrap(), b"data: open\n\n");
    server.handle.shutdown();
    assert_eq!(wire.chunk().await.unwrap(), b"data: closed\n\n");
    assert_eq!(wire.chunk().await, None);
    server.ended().await;
}

#[tokio::test]
async fn a_frontend_is_mounted_only_where_its_path_is_free() {
    for (path, prefix, problem) in [
        ("plain", "/opentool", "begin with a slash"),
        ("/plain/", "/opentool", "begin with a slash"),
        ("/", "/opentool", "begin with a slash"),
        ("/pl ain", "/opentool", "letters, digits"),
        ("/plain?x", "/opentool", "letters, digits"),
        ("/opentool", "/opentool", "the OpenTool routes"),
        ("/opentool/plain", "/opentool", "the OpenTool routes"),
        ("/call", "", "the OpenTool routes"),
        ("/metrics", "/opentool", "the operator's routes"),
        ("/first", "/opentool", "another frontend"),
    ] {
        let server = Server::new(every_way()).configure(|config| config.prefix(prefix));
        let error = server.mount(Plain("/first")).mount(Plain(path)).bind("127.0.0.1:0").await.unwrap_err();
        assert!(matches!(&error, ServeError::Mount { path: named, .. } if named == path), "{path}: {error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    let server = start(Server::new(every_way()).configure(|config| config.prefix("")).mount(Plain("/a/plain"))).await;
    assert_eq!(server.ask(post("/a/plain?text").body("{}")).await.text(), "plain \"text\"");
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn a_frontend_in_an_axum_application_has_the_same_checks() {
    let config = opentool_server::Config::builder().api_keys(["k"]).build().unwrap();
    let host = opentool_core::Executor::new().host(every_way());
    let app = opentool_server::frontend_router(host, Plain("/plain"), config);
    let ask = crate::router::serve(axum::Router::new().nest("/api", app)).await;
    let nested = post("/api/plain?add").body(r#"{"a":1,"b":2}"#);
    refused(&ask(nested.clone()).await, 401);
    assert_eq!(ask(nested.key("k")).await.text(), "3");
    assert_eq!(ask(get("/api/healthz").key("k")).await.status, 404, "the operator's routes are the application's");
}

/// Answers with what it sees of a request, and finds out by itself who calls.
struct Own;

impl Frontend for Own {
    fn mount_path(&self) -> &str {
        "/own"
    }

    fn takes_sub_paths(&self) -> bool {
        true
    }

    fn authenticates_callers(&self) -> bool {
        true
    }

    fn answer_head(&self, request: &FrontendRequest<'_>) -> Option<FrontendResponse> {
        let is_refused = request.headers().contains_key("x-unknown");
        is_refused.then(|| FrontendResponse::empty(StatusCode::UNAUTHORIZED))
    }

    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        Box::pin(async move {
            let key = request.headers().get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
            let found = request.find_key(key);
            let is_known = found.as_ref().is_some_and(|name| request.has_key_named(name));
            let text = format!(
                "{} {:?} {} {is_known} {}",
                request.sub_path(),
                found.as_deref(),
                request.has_keys(),
                request.opentool_prefix()
            );
            let content_type = HeaderValue::from_static("text/plain");
            FrontendResponse::with_body(StatusCode::OK, content_type, text)
        })
    }
}

#[tokio::test]
async fn a_frontend_may_find_out_by_itself_who_calls() {
    let server = Server::new(every_way()).mount(Own).mount(Plain("/plain")).api_keys(["s3cret"]);
    let server = start(server).await;
    let reply = server.ask(get("/own")).await;
    assert_eq!((reply.status, reply.text()), (200, " None true false /opentool"));
    assert_eq!(reply.header("content-type"), Some("text/plain"));
    let reply = server.ask(get("/own/a/b%20c").header("x-key", "s3cret")).await;
    assert_eq!(reply.text(), "/a/b%20c Some(\"key-1\") true true /opentool");
    assert_eq!(server.ask(get("/own/").header("x-key", "s3cre")).await.text(), "/ None true false /opentool");
    // It refuses callers that it does not know before their body is read, which here never comes.
    let unknown = post("/own").header("x-unknown", "yes").header("Content-Length", "1000000");
    assert_eq!(server.ask(unknown).await.status, 401);
    // The others still ask for a key, and the other checks still hold.
    assert_eq!(server.ask(post("/plain?add").body("{}")).await.status, 401);
    assert_eq!(server.ask(get("/owner")).await.status, 404);
    assert_eq!(server.ask(get("/own").host("evil.example")).await.status, 403);
    assert_eq!(server.ask(get("/own").header("Origin", "https://evil.example")).await.status, 403);
}

#[tokio::test]
async fn sub_paths_are_for_frontends_that_take_them() {
    let server = start(Server::new(every_way()).mount(Plain("/plain"))).await;
    assert_eq!(server.ask(post("/plain/deeper?add").body("{}")).await.status, 404);
    let below = Server::new(every_way()).mount(Own).mount(Plain("/own/plain")).bind("127.0.0.1:0").await.unwrap_err();
    assert!(matches!(below, ServeError::Mount { problem: "another frontend is mounted there", .. }), "{below}");
    let above = Server::new(every_way()).configure(|config| config.prefix("/own/tools")).mount(Own);
    let above = above.bind("127.0.0.1:0").await.unwrap_err();
    assert!(matches!(above, ServeError::Mount { problem: "the OpenTool routes are below it", .. }), "{above}");
    let root = Server::new(every_way()).configure(|config| config.prefix("")).mount(Own);
    let root = start(root).await;
    assert_eq!(root.ask(get("/own/x")).await.text(), "/x None false false ");
    assert_eq!(root.ask(get("/version")).await.status, 200);
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn a_router_of_a_frontend_has_its_sub_paths() {
    let host = opentool_core::Executor::new().host(every_way());
    let config = opentool_server::Config::builder().api_keys(["s3cret"]).build().unwrap();
    let ask = crate::router::serve(opentool_server::frontend_router(host, Own, config)).await;
    assert_eq!(ask(get("/own/a")).await.text(), "/a None true false /opentool");
    assert_eq!(ask(get("/own")).await.text(), " None true false /opentool");
    assert_eq!(ask(get("/owner")).await.status, 404);
}

/// Panics where the path says.
struct Panics;

impl Frontend for Panics {
    fn mount_path(&self) -> &str {
        "/panics"
    }

    fn takes_sub_paths(&self) -> bool {
        true
    }

    fn answer_head(&self, request: &FrontendRequest<'_>) -> Option<FrontendResponse> {
        assert!(request.sub_path() != "/head", "at src/secret.rs:7");
        None
    }

    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        assert!(request.sub_path() != "/at-once", "at src/secret.rs:7");
        Box::pin(async { panic!("at src/secret.rs:7") })
    }
}

#[tokio::test]
async fn a_mounted_frontend_that_panics_is_an_error_answer() {
    let captured = Captured::start();
    let server = start(Server::new(every_way()).mount(Panics)).await;
    let mut connection = server.connect().await;
    for path in ["/panics/head", "/panics/at-once", "/panics/later"] {
        connection.send(post(path).body("{}").bytes()).await;
        let reply = connection.reply().await;
        refused(&reply, 500);
        assert!(!reply.text().contains("secret"), "{reply:?}");
    }
    connection.send(get("/opentool/version").bytes()).await;
    assert_eq!(connection.reply().await.status, 200, "the connection goes on");
    let log = captured.text();
    assert_eq!(log.matches("answering a request panicked").count(), 3, "{log}");
    assert!(log.contains("at src/secret.rs:7"), "the operator sees why: {log}");
}

/// A frontend that says nothing about itself any more, once `broken` is set.
struct Forgets(Arc<AtomicBool>);

impl Forgets {
    fn say<T>(&self, value: T) -> T {
        assert!(!self.0.load(Ordering::Relaxed), "at src/secret.rs:8");
        value
    }
}

impl Frontend for Forgets {
    fn mount_path(&self) -> &str {
        self.say("/forgets")
    }

    fn takes_sub_paths(&self) -> bool {
        self.say(true)
    }

    fn authenticates_callers(&self) -> bool {
        self.say(true)
    }

    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        let sub_path = request.sub_path().to_owned();
        Box::pin(async move { FrontendResponse::json(StatusCode::OK, sub_path) })
    }
}

#[tokio::test]
async fn a_frontend_says_once_where_it_is_and_who_checks_keys() {
    let broken = Arc::new(AtomicBool::new(false));
    let server = start(Server::new(every_way()).api_keys(["s3cret"]).mount(Forgets(broken.clone()))).await;
    broken.store(true, Ordering::Relaxed);
    let reply = server.ask(get("/forgets/below")).await;
    assert_eq!((reply.status, reply.text()), (200, "/below"));
}

/// A tool whose definition cannot be had any more, once `broken` is set.
struct Broken {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    broken: Arc<AtomicBool>,
}

impl Tool for Broken {
    fn definition(&self) -> &ToolDefinition {
        assert!(!self.broken.load(Ordering::Relaxed), "at src/secret.rs:9");
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::Empty) })
    }
}

#[tokio::test]
async fn a_definition_that_panics_is_an_error_answer() {
    let captured = Captured::start();
    let broken = Arc::new(AtomicBool::new(false));
    let definition = ToolDefinition::builder("broken").input_schema(json!({ "type": "object" })).build().unwrap();
    let tool = Broken { definition, metadata: ToolMetadata::new(), broken: broken.clone() };
    let server = start(Server::new(tool)).await;
    let mut connection = server.connect().await;
    broken.store(true, Ordering::Relaxed);
    connection.send(get("/opentool/load").bytes()).await;
    let reply = connection.reply().await;
    assert_eq!(reply.status, 500);
    assert!(!reply.text().contains("secret"), "{reply:?}");
    connection.send(get("/opentool/version").bytes()).await;
    assert_eq!(connection.reply().await.status, 200, "the connection goes on");
    assert!(captured.text().contains("at src/secret.rs:9"), "the operator sees why: {}", captured.text());
}
