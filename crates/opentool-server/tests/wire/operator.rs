//! What an operator sees: probes, metrics, the access log and traces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, FnTool, ToolOutput, Toolbox, TraceContext};
use opentool_server::Server;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{Connection, MAX_WAIT, Running, call, get, post, request, start};
use crate::secrets::Captured;
use crate::tools::{Echo, every_way, shows};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Reads the text format of Prometheus as strictly as its own parser: samples by name and labels, and the type of each family.
fn parse(page: &str) -> (BTreeMap<String, f64>, BTreeMap<String, String>) {
    let (mut samples, mut types, mut helped) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && !helped.contains(&name.to_owned()), "{line}");
            helped.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(types.contains_key(family) || types.contains_key(name), "a sample before its type: {line}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            if let Some(labels) = sample.strip_prefix(name).unwrap().strip_prefix('{') {
                for label in labels.strip_suffix('}').unwrap().split(',') {
                    let (label, value) = label.split_once('=').unwrap();
                    assert!(label.bytes().all(|byte| byte.is_ascii_lowercase()), "{line}");
                    assert!(value.starts_with('"') && value.ends_with('"') && value.len() > 2, "{line}");
                }
            }
            assert!(samples.insert(sample.to_owned(), value.parse().unwrap()).is_none(), "twice: {line}");
        }
    }
    (samples, types)
}

#[tokio::test]
async fn metrics_count_calls_by_tool_and_outcome() {
    let server = start(Server::new(every_way())).await;
    for _ in 0..3 {
        server.call("add", r#"{"a":1,"b":2}"#).await;
    }
    server.call("add", "{}").await;
    server.call("slow", "{}").await;
    for name in ["no_such", "other", "a\\\"}\\n evil"] {
        server.ask(call(name, "{}")).await;
    }
    server.ask(post("/opentool/call").body("{")).await;
    let reply = server.ask(get("/metrics")).await;
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let (samples, types) = parse(reply.text());
    assert_eq!(samples[r#"opentool_calls_total{tool="add",outcome="ok"}"#], 3.0);
    assert_eq!(samples[r#"opentool_calls_total{tool="add",outcome="invalid_arguments"}"#], 1.0);
    assert_eq!(samples[r#"opentool_calls_total{tool="slow",outcome="timeout"}"#], 1.0);
    assert_eq!(samples[r#"opentool_calls_total{tool="_unknown",outcome="unknown_tool"}"#], 3.0);
    assert!(!reply.text().contains("no_such") && !reply.text().contains("evil"), "{}", reply.text());
    assert_eq!(samples[r#"opentool_http_responses_total{status="400"}"#], 1.0);
    assert_eq!(samples["opentool_calls_in_flight"], 0.0);
    assert_eq!(types["opentool_call_duration_seconds"], "histogram");
    let bucket = |tool: &str, bound: &str| {
        samples[&format!("opentool_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}}")]
    };
    assert_eq!((bucket("add", "+Inf"), samples[r#"opentool_call_duration_seconds_count{tool="add"}"#]), (4.0, 4.0));
    assert_eq!((bucket("slow", "0.025"), bucket("slow", "30")), (0.0, 1.0), "it took 50 ms");
    assert!(samples[r#"opentool_call_duration_seconds_sum{tool="slow"}"#] >= 0.05);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn metrics_have_the_memory_of_the_process() {
    let server = start(Server::new(every_way())).await;
    let (samples, types) = parse(server.ask(get("/metrics")).await.text());
    let bytes = samples["process_resident_memory_bytes"];
    assert!((1_048_576.0..1_099_511_627_776.0).contains(&bytes), "{bytes} are neither kibibytes nor pages");
    assert_eq!(types["process_resident_memory_bytes"], "gauge");
}

#[tokio::test]
async fn tools_of_a_dynamic_source_get_a_label_once_they_ran() {
    let server = start(Server::new(Echo)).await;
    server.call("late", "{}").await;
    server.call("missing", "{}").await;
    let (samples, _) = parse(server.ask(get("/metrics")).await.text());
    assert_eq!(samples[r#"opentool_calls_total{tool="late",outcome="ok"}"#], 1.0);
    assert_eq!(samples[r#"opentool_calls_total{tool="_unknown",outcome="unknown_tool"}"#], 1.0);
}

#[tokio::test]
async fn an_admin_address_takes_over_probes_and_metrics() {
    let server =
        start(Server::new(every_way()).api_keys(["k"]).configure(|config| config.admin_addr("127.0.0.1:0"))).await;
    let admin = server.admin.unwrap();
    assert_ne!(admin, server.addr);
    let ask = async |request: crate::client::Request| {
        let mut wire = Connection::new(tokio::net::TcpStream::connect(admin).await.unwrap());
        wire.send(request.bytes()).await;
        wire.reply().await
    };
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(ask(get(path).key("k")).await.status, 200);
        server.ask(get(path).key("k")).await.rpc_error(404, 404);
    }
    ask(get("/metrics")).await.rpc_error(401, 401);
    ask(get("/metrics").key("k").host("evil.example")).await.rpc_error(403, 403);
    ask(get("/opentool/version").key("k")).await.rpc_error(404, 404);
    assert_eq!(server.ask(get("/opentool/version").key("k")).await.status, 200);
}

#[tokio::test]
async fn head_is_answered_like_get_without_a_body() {
    let server = start(Server::new(every_way())).await;
    let mut wire = server.connect().await;
    wire.send(request("HEAD", "/healthz").bytes()).await;
    let head = wire.head().await.unwrap();
    assert_eq!((head.status, head.header("content-length")), (200, Some("15")));
    wire.send(get("/healthz").bytes()).await;
    assert_eq!(wire.reply().await.text(), r#"{"status":"ok"}"#);
}

fn traced() -> Toolbox {
    let tool = shows("trace", |context| {
        let trace = context.typed::<TraceContext>();
        let (parent, state) = (trace.map(TraceContext::traceparent), trace.and_then(TraceContext::tracestate));
        ToolOutput::json(&json!({"parent": parent, "state": state, "id": context.call_id()})).unwrap()
    });
    Toolbox::new().with(tool).unwrap()
}

async fn trace(server: &Running, headers: &[(&str, &str)]) -> serde_json::Value {
    let request = headers.iter().fold(call("trace", "{}"), |request, (name, value)| request.header(name, value));
    server.ask(request).await.json()["result"].clone()
}

#[tokio::test]
async fn the_trace_context_of_a_request_reaches_its_tools() {
    let server = start(Server::new(traced())).await;
    let result = trace(&server, &[("traceparent", PARENT), ("tracestate", "a=1"), ("Tracestate", "b=2")]).await;
    assert_eq!(result, json!({"parent": PARENT, "state": "a=1,b=2", "id": "1"}));
    for headers in [&[][..], &[("traceparent", "00-zz-1-01")], &[("traceparent", PARENT), ("traceparent", PARENT)]] {
        assert_eq!(trace(&server, headers).await["parent"], json!(null), "{headers:?}");
    }
}

#[tokio::test]
async fn the_request_span_is_the_parent_of_the_call_span() {
    let captured = Captured::start();
    let ours = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01";
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let seen = seen.clone();
        move |incoming: Option<&TraceContext>| {
            seen.lock().unwrap().push(incoming.map(|trace| trace.trace_id().to_owned()));
            TraceContext::parse(ours)
        }
    };
    let server = start(Server::new(traced()).configure(|config| config.trace_hook(hook))).await;
    let result = trace(&server, &[("traceparent", PARENT)]).await;
    assert_eq!(result["parent"], ours, "tools pass on what the hook returns");
    assert_eq!(*seen.lock().unwrap(), [Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned())]);
    let text = captured.text();
    for field in [
        "otel.name=POST /opentool/call",
        "otel.kind=\"server\"",
        "trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"",
        "parent_id=\"00f067aa0ba902b7\"",
        "http.response.status_code=200",
    ] {
        assert!(text.contains(field), "no `{field}` in {text}");
    }
    let call = text.lines().find(|line| line.contains("execute_tool{")).unwrap();
    assert!(call.find("request{").unwrap() < call.find("execute_tool{").unwrap(), "{call}");
}

#[tokio::test]
async fn a_trace_hook_that_panics_leaves_the_trace_of_the_request() {
    let captured = Captured::start();
    let server = Server::new(traced()).configure(|config| config.trace_hook(|_| panic!("at src/secret.rs:7")));
    let server = start(server).await;
    let result = trace(&server, &[("traceparent", PARENT)]).await;
    assert_eq!(result["parent"], PARENT);
    let log = captured.text();
    assert!(log.contains("the trace hook panicked") && log.contains("at src/secret.rs:7"), "{log}");
}

#[tokio::test]
async fn the_access_log_has_one_line_per_request() {
    let captured = Captured::start();
    let server = Server::new(FakeTool::new("f").answers("x")).configure(|config| config.named_key("ci", "planted-key"));
    let server = start(server).await;
    server.ask(call("f", "{}").key("planted-key")).await;
    server.ask(call("made_up", "{}").key("planted-key")).await;
    server.ask(get("/secret/path?token=planted").key("planted-key")).await;
    let text = captured.text();
    let lines: Vec<_> = text.lines().filter(|line| line.contains("opentool::access")).collect();
    assert_eq!(lines.len(), 3, "{text}");
    for field in [
        "http.request.method=\"POST\"",
        "http.route=\"/call\"",
        "http.response.status_code=200",
        "key=\"ci\"",
        "gen_ai.tool.name=\"f\"",
        "outcome=\"ok\"",
        "network.peer.address=127.0.0.1:",
        "duration_ms=",
    ] {
        assert!(lines[0].contains(field), "no `{field}` in {}", lines[0]);
    }
    assert!(lines[1].contains("gen_ai.tool.name=\"_unknown\"") && lines[1].contains("outcome=\"unknown_tool\""));
    assert!(lines[2].contains("http.route=\"(unknown)\"") && lines[2].contains("status_code=404"), "{}", lines[2]);
    assert!(!lines.concat().contains("planted"), "{text}");
}

#[tokio::test]
async fn metrics_count_the_threads_of_tools_off_the_async_threads() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let executor = Executor::builder().blocking_threads(2).build();
    let tool = FnTool::new("waits", move || released.lock().unwrap().recv().is_ok());
    let server = start(Server::new(tool).executor(executor)).await;
    let busy = async || {
        let page = server.ask(get("/metrics")).await;
        parse(page.text()).0["opentool_blocking_threads_busy"]
    };
    assert_eq!(busy().await, 0.0);
    let mut connection = server.connect().await;
    connection.send(call("waits", "{}").bytes()).await;
    let until = Instant::now() + MAX_WAIT;
    while busy().await != 1.0 {
        assert!(Instant::now() < until, "the thread is not counted");
        sleep(Duration::from_millis(10)).await;
    }
    // The tool blocks its thread, and the server goes on.
    assert_eq!(server.ask(get("/healthz")).await.status, 200);
    release.send(()).unwrap();
    assert_eq!(connection.reply().await.json()["result"]["result"], true);
    while busy().await != 0.0 {
        assert!(Instant::now() < until, "the thread is still counted");
        sleep(Duration::from_millis(10)).await;
    }
}
