//! `/streamCall`, byte by byte.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ToolError, ToolMetadata, ToolOutput, Toolbox};
use opentool_server::Server;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client::{MAX_WAIT, Request, Running, post, start};
use crate::tools::raw;

fn stream(method: &str) -> Request {
    post("/opentool/streamCall").body(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{}},"id":"s1"}}"#))
}

/// Sends a request and returns each chunk of the answer.
async fn frames(server: &Running, request: Request) -> Vec<String> {
    frames_of_type(server, request, "text/event-stream").await
}

async fn frames_of_type(server: &Running, request: Request, content_type: &str) -> Vec<String> {
    let mut wire = server.connect().await;
    wire.send(request.bytes()).await;
    let head = wire.head().await.unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some(content_type)));
    let mut frames = Vec::new();
    while let Some(chunk) = wire.chunk().await {
        frames.push(String::from_utf8(chunk).unwrap());
    }
    frames
}

fn tools() -> Toolbox {
    Toolbox::from_tools([
        FakeTool::new("counts").acts(|_, context| async move {
            context.emit(raw(r#"{"n":1}"#)).await;
            context.emit("two").await;
            context.progress(0.5, None, None);
            Ok(ToolOutput::Empty)
        }),
        FakeTool::new("plain").answers(raw("{\n  \"a\": [\r\n1]\n}")),
        FakeTool::new("fails").acts(|_, context| async move {
            context.emit("one").await;
            Err(ToolError::failed("no \"more\"").with_code(7))
        }),
        FakeTool::new("late").hangs().with_metadata(ToolMetadata::new().with_timeout(Duration::from_millis(50))),
    ])
    .unwrap()
}

// 12
#[tokio::test]
async fn frames_have_exact_bytes_and_are_flushed_one_by_one() {
    let server = start(Server::new(tools())).await;
    assert_eq!(
        frames(&server, stream("counts")).await,
        [
            "event:start\ndata:{\"start\":\"counts\"}\n\n",
            "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"n\":1},\"error\":null,\"id\":\"s1\"}\n\n",
            "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"result\":\"two\"},\"error\":null,\"id\":\"s1\"}\n\n",
            "event:done\ndata:{\"done\":\"counts\"}\n\n",
        ]
    );
}

// 12
#[tokio::test]
async fn a_result_of_several_lines_is_sent_as_one_line() {
    let server = start(Server::new(tools())).await;
    assert_eq!(
        frames(&server, stream("plain")).await,
        [
            "event:start\ndata:{\"start\":\"plain\"}\n\n",
            "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{   \"a\": [  1] },\"error\":null,\"id\":\"s1\"}\n\n",
            "event:done\ndata:{\"done\":\"plain\"}\n\n",
        ]
    );
}

#[tokio::test]
async fn with_named_results_the_result_is_an_event_of_its_own() {
    const NAMED: &str = "text/event-stream;result=named";
    let tools = tools().with(FakeTool::new("sums").acts(|_, context| async move {
        context.emit("one").await;
        Ok(ToolOutput::text("all"))
    }));
    let server = start(Server::new(tools.unwrap())).await;
    let events = |frames: Vec<String>| -> Vec<String> {
        frames.iter().filter_map(|frame| Some(frame.strip_prefix("event:")?.split_once('\n')?.0.to_owned())).collect()
    };
    let named = |method| frames_of_type(&server, stream(method).header("accept", NAMED), NAMED);
    let sums = named("sums").await;
    assert!(sums[2].contains(r#""result":{},"output":{"text":"all"}"#), "{sums:?}");
    assert_eq!(events(sums), ["start", "data", "result", "done"]);
    assert_eq!(events(named("counts").await), ["start", "data", "data", "done"], "it returns nothing");
    assert_eq!(events(named("fails").await), ["start", "data", "error"]);
    assert_eq!(
        events(frames(&server, stream("sums").header("accept", "*/*")).await),
        ["start", "data", "data", "done"]
    );
}

// 12
#[tokio::test]
async fn a_failure_ends_the_stream_with_a_json_rpc_error() {
    let server = start(Server::new(tools())).await;
    let fails = frames(&server, stream("fails")).await;
    assert_eq!(fails.len(), 3, "{fails:?}");
    assert_eq!(
        fails[2],
        "event:error\ndata:{\"jsonrpc\":\"2.0\",\"result\":{},\"error\":{\"code\":7,\"message\":\"no \\\"more\\\"\"},\"id\":\"s1\"}\n\n"
    );
    for (method, code) in [("no_such", 405), ("late", 504)] {
        let frames = frames(&server, stream(method)).await;
        assert_eq!(frames[0], format!("event:start\ndata:{{\"start\":\"{method}\"}}\n\n"));
        assert!(
            frames[1].starts_with("event:error\ndata:") && frames[1].contains(&format!("\"code\":{code},")),
            "{frames:?}"
        );
        assert_eq!(frames.len(), 2);
    }
}

// 12
#[tokio::test]
async fn requests_that_start_no_stream_are_answered_as_json() {
    let server = start(Server::new(tools()).api_keys(["k"])).await;
    server.ask(stream("counts")).await.rpc_error(401, 401);
    server.ask(post("/opentool/streamCall").key("k").body("{")).await.rpc_error(400, -32700);
    server.ask(post("/opentool/streamCall").key("k").body("[]")).await.rpc_error(200, -32600);
}

#[tokio::test]
async fn events_arrive_early_and_closing_cancels_the_call() {
    let (sender, mut cancelled) = mpsc::channel(1);
    let tool = FakeTool::new("f").acts(move |_, context| {
        let sender = sender.clone();
        async move {
            context.emit("first").await;
            let cancellation = context.cancellation().clone();
            tokio::spawn(async move {
                cancellation.cancelled().await;
                sender.send(()).await.unwrap();
            });
            std::future::pending().await
        }
    });
    let log = tool.log();
    let server = start(Server::new(tool)).await;
    let mut wire = server.connect().await;
    wire.send(stream("f").bytes()).await;
    wire.head().await.unwrap();
    wire.chunk().await.unwrap();
    let first = wire.chunk().await.unwrap();
    assert!(String::from_utf8(first).unwrap().contains("first"));
    assert_eq!(log.running(), 1);
    drop(wire);
    timeout(MAX_WAIT, cancelled.recv()).await.expect("the call goes on").unwrap();
}

/// Calls a service without a connection, so that time can be paused.
#[cfg(feature = "axum")]
async fn ask(app: &axum::Router, request: http::request::Builder, body: String) -> http::Response<axum::body::Body> {
    use hyper::service::Service;
    let request = request.header("Host", "localhost").body(axum::body::Body::from(body)).unwrap();
    hyper_util::service::TowerToHyperService::new(app.clone()).call(request).await.unwrap()
}

#[cfg(feature = "axum")]
#[tokio::test(start_paused = true)]
async fn a_stalled_stream_of_a_keyed_call_ends_without_done() {
    use opentool_core::Executor;
    let tool = FakeTool::new("f").acts(|_, context| async move {
        for number in 0..100 {
            context.emit(raw(&number.to_string())).await;
        }
        Ok(ToolOutput::text("all"))
    });
    let log = tool.log();
    let host = Executor::builder().timeout(None).build().host(Toolbox::from_tools([tool]).unwrap());
    let config = opentool_server::Config::builder().allow_anonymous(true).build().unwrap();
    let app = opentool_server::router(host, config);
    let body = r#"{"jsonrpc":"2.0","method":"f","params":{},"id":"s1"}"#.to_owned();
    let keyed = |path| http::Request::post(path).header("Idempotency-Key", "k");

    let stalled = ask(&app, keyed("/opentool/streamCall"), body.clone()).await;
    // The client reads nothing for longer than one event may wait.
    tokio::time::sleep(Duration::from_secs(45)).await;
    assert_eq!(log.finished(), 1, "one stall holds the call, and no second one");
    let text = axum::body::to_bytes(stalled.into_body(), usize::MAX).await.unwrap();
    let text = std::str::from_utf8(&text).unwrap();
    let frames: Vec<_> = text.split_terminator("\n\n").collect();
    assert!(frames[0].starts_with("event:start\n"), "{text}");
    assert!(frames.len() > 1 && frames.len() < 100, "{}", frames.len());
    for (number, frame) in frames[1..].iter().enumerate() {
        assert!(frame.contains(&format!(r#""result":{{"result":{number}}}"#)), "no gap and no `done`: {frame}");
    }
    // The call has its outcome all the same.
    let answer = ask(&app, keyed("/opentool/call"), body).await;
    let answer = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert!(std::str::from_utf8(&answer).unwrap().contains(r#""result":{"result":"all"}"#), "{answer:?}");
    let page = ask(&app, http::Request::get("/metrics"), String::new()).await;
    let page = axum::body::to_bytes(page.into_body(), usize::MAX).await.unwrap();
    let page = std::str::from_utf8(&page).unwrap();
    assert!(page.contains(r#"opentool_calls_total{tool="f",outcome="ok"} 2"#), "{page}");
    assert_eq!(log.count(), 1);
}
