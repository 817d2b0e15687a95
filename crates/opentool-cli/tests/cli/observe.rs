//! What an operator sees of `opentool serve`, and what stays hidden.

use std::collections::{HashMap, HashSet};

use opentelemetry_proto::tonic::{collector::trace::v1::ExportTraceServiceRequest, trace::v1::Span};
use prost::Message as _;
use serde_json::json;

use super::serving::{Request, Script, Served, envelope};
use super::*;

/// A collector of spans.
pub(crate) fn collector() -> Script {
    Script::start(|_| Some((200, String::new())))
}

/// The spans that arrived, with the names of their services.
pub(crate) fn spans(collector: &Script) -> Vec<(String, Span)> {
    let mut spans = Vec::new();
    for request in collector.requests() {
        assert_eq!(request.path(), "/v1/traces");
        let export = ExportTraceServiceRequest::decode(request.body.as_slice()).unwrap();
        for resource in export.resource_spans {
            let attributes = resource.resource.unwrap().attributes;
            let service = attributes.iter().find(|it| it.key == "service.name").unwrap().value.clone();
            let service = format!("{:?}", service.unwrap().value.unwrap());
            for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                spans.push((service.clone(), span));
            }
        }
    }
    spans
}

#[test]
fn a_collector_gets_the_spans_of_a_call_and_its_parents_over_two_servers() {
    let collector = collector();
    let url = collector.url();
    let folder = TestFolder::new();
    let export = |service| [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_SERVICE_NAME", service)];
    let mut inner = Served::start(&folder, &[], &export("inner"));
    let mut outer = Served::start(&folder, &[&inner.url], &export("outer"));
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let header = format!("00-{trace}-{parent}-01");
    let headers = [("traceparent", header.as_str()), ("tracestate", "vendor=1")];
    let body = envelope("add", json!({ "a": 1, "b": 2 }));
    assert_eq!(outer.ask("POST", "/opentool/call", &headers, &body).json()["result"], json!({ "sum": 3 }));
    for served in [&mut outer, &mut inner] {
        served.signal("TERM");
        assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
    }

    let spans = spans(&collector);
    let find = |service: &str, name: &str| {
        let wanted =
            |(of, span): &&(String, Span)| of.contains(service) && span.name == name && hex(&span.trace_id) == trace;
        spans.iter().find(wanted).map(|(_, span)| span).unwrap_or_else(|| panic!("no {name} of {service}: {spans:#?}"))
    };
    let mut expected = parent.to_owned();
    for service in ["outer", "inner"] {
        for name in ["POST /opentool/call", "execute_tool add"] {
            let span = find(service, name);
            assert_eq!(hex(&span.parent_span_id), expected, "{name} of {service}");
            expected = hex(&span.span_id);
        }
    }
    let tool = find("inner", "execute_tool add");
    assert!(tool.attributes.iter().any(|attribute| attribute.key == "gen_ai.tool.name"), "{tool:?}");
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_collector_that_is_gone_does_not_keep_calls_from_being_answered() {
    let folder = TestFolder::new();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!("http://{gone}");
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", gone.as_str()), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let mut served = Served::start(&folder, &[], &variables);
    served.wait_for_log("spans are exported as http/protobuf, not as grpc");
    assert_eq!(served.call("add", json!({ "a": 1, "b": 2 }))["result"], json!({ "sum": 3 }));
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
    served.wait_for_log("ExportError");
}

#[test]
fn a_secret_is_in_no_log_span_metric_or_error() {
    const KEY: &str = "planted-key-7c1f";
    const CONTENT: &str = "planted-content-93ab";
    let collector = collector();
    let script = Script::with_functions(&["reveal"], |_| Some(json!({ "content": CONTENT })));
    let folder = TestFolder::new();
    let mut served = Served::start(
        &folder,
        &["demo", &script.url(), "--source-api-key", "planted-key-upstream", "-vv"],
        &[
            ("OPENTOOL_API_KEY", KEY),
            ("RUST_LOG", "trace"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-token=planted-key-collector"),
        ],
    );
    let key = format!("Bearer {KEY}");
    let call = |function: &str, arguments: serde_json::Value| {
        let headers = [("authorization", key.as_str())];
        served.ask("POST", &format!("/opentool/call?{CONTENT}"), &headers, &envelope(function, arguments))
    };
    assert!(call("add_note", json!({ "title": CONTENT, "text": CONTENT })).body.contains("\"id\":1"));
    assert!(call("read_note", json!({ "id": 1 })).body.contains(CONTENT));
    assert!(call("reveal", json!({})).body.contains(CONTENT));
    assert_eq!(call("add", json!({ "a": CONTENT, "b": 1 })).json()["error"]["code"], 400);
    assert_eq!(served.ask("GET", "/opentool/load", &[("authorization", "Bearer planted-key-wrong")], "").status, 401);
    let metrics = served.ask("GET", "/metrics", &[("authorization", &key)], "").body;
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0));

    let exported: Vec<u8> = collector.requests().into_iter().flat_map(|request: Request| request.body).collect();
    let exported = String::from_utf8_lossy(&exported);
    assert!(exported.contains("execute_tool read_note"), "spans were exported");
    let log = served.logged();
    assert!(
        log.contains("read_note") && log.contains("OPENTOOL_API_KEY"),
        "the log has the tool and the key's name: {log}"
    );
    for (place, text) in [("log", &*log), ("spans", &*exported), ("metrics", &metrics), ("words", &served.announcement)]
    {
        if let Some(at) = text.find("planted-key") {
            panic!("a key in the {place}: {}", &text[at.saturating_sub(200)..at + 40]);
        }
        if let Some(at) = text.find(CONTENT) {
            let start = (0..=at.saturating_sub(300)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            panic!("content in the {place}: {}", &text[start..at + CONTENT.len()]);
        }
    }
}

#[test]
fn the_log_is_text_for_people_and_json_for_machines() {
    let folder = TestFolder::new();
    for (format, line) in [("text", "http.response.status_code=200"), ("json", "\"http.response.status_code\":200")] {
        let served = Served::start(&folder, &["--log-format", format], &[("RUST_LOG", "opentool::access=info")]);
        served.call("add", json!({ "a": 1, "b": 2 }));
        served.wait_for_log(line);
        if format == "json" {
            for line in served.logged().lines() {
                assert_eq!(json(line)["target"], "opentool::access");
            }
        }
    }
    let served = Served::start(&folder, &["-v"], &[]);
    served.call("add", json!({ "a": 1, "b": 2 }));
    served.wait_for_log("DEBUG");
    let ran = folder.command().args(["serve", "--port", "0"]).env("RUST_LOG", "opentool=loud").output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("RUST_LOG is `opentool=loud`, which is no filter"));
}

#[test]
fn the_metrics_are_what_prometheus_reads() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    served.call("add", json!({ "a": 1, "b": 2 }));
    served.call("add", json!({ "a": 1 }));
    served.call("made\"up\n\\name", json!({}));
    let reply = served.get("/metrics");
    assert!(reply.head.to_lowercase().contains("content-type: text/plain"), "{}", reply.head);
    let samples = parse_metrics(&reply.body);
    let value = |sample: &str| *samples.get(sample).unwrap_or_else(|| panic!("no {sample} in {}", reply.body));
    assert_eq!(value(r#"opentool_calls_total{tool="add",outcome="ok"}"#), 1.0);
    assert_eq!(value(r#"opentool_calls_total{tool="add",outcome="invalid_arguments"}"#), 1.0);
    assert!(samples.keys().any(|sample| sample.starts_with("opentool_call_duration_seconds_bucket{tool=\"add\"")));
    assert!(!reply.body.contains("made"), "{}", reply.body);
}

/// Parses the text format as `promtool check metrics` does: types before samples, no sample twice, whole histograms.
fn parse_metrics(text: &str) -> HashMap<String, f64> {
    assert!(text.ends_with('\n'));
    let mut types: HashMap<String, String> = HashMap::new();
    let mut samples = HashMap::new();
    let mut helped = HashSet::new();
    let is_name = |name: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | ':'));
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "HELP", name, _] => assert!(is_name(name) && helped.insert(name.to_string()), "{line}"),
            ["#", "TYPE", name, kind] => {
                assert!(matches!(*kind, "counter" | "gauge" | "histogram"), "{line}");
                assert!(types.insert(name.to_string(), kind.to_string()).is_none(), "{line}");
            }
            _ => {
                let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
                let name = sample.split('{').next().unwrap();
                let family =
                    ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
                let kind = types.get(family).or_else(|| types.get(name)).unwrap_or_else(|| panic!("no type: {line}"));
                assert!(is_name(name) && (kind != "counter" || name.ends_with("_total")), "{line}");
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
                assert!(samples.insert(sample.to_owned(), value).is_none(), "twice: {line}");
            }
        }
    }
    for (sample, count) in samples.iter().filter(|(sample, _)| sample.contains("_count{")) {
        let (family, labels) = sample.split_once("_count{").unwrap();
        let labels = labels.trim_end_matches('}');
        let whole = format!("{family}_bucket{{{labels},le=\"+Inf\"}}");
        assert_eq!(samples.get(&whole), Some(count), "{whole}");
    }
    samples
}
