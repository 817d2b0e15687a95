//! The spans of a chat, and what is not in them.

use serde_json::json;

use super::{
    super::observe::{collector, hex, spans},
    *,
};

const KEY: &str = "planted-key-52d0";
const CONTENT: &str = "planted-content-8e1c";

#[test]
fn spans_of_a_turn_reach_the_called_server_without_secrets() {
    let (folder, collector) = (TestFolder::new(), collector());
    let server = serving::Script::with_functions(&["reveal"], |_| Some(json!({ "content": CONTENT })));
    let model = Model::start(vec![Reply::calls("reveal", "{}"), Reply::Says(vec!["planted-", "content-8e1c"])]);
    let environment = [
        ("OPENAI_BASE_URL", model.url("/v1")),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("OPENTOOL_MODEL", "openai:scripted".to_owned()),
        ("OPENTOOL_API_KEY", "planted-key-tools".to_owned()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
        ("RUST_LOG", "trace".to_owned()),
    ];
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let arguments = [&server.url(), "--yes", "--conversation", "a", "--json", "-vv", CONTENT];
    let ran = chat_in(&folder, &arguments, &environment, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(json(&ran.stdout)["text"], CONTENT);

    let spans = spans(&collector);
    let find = |name: &str| &spans.iter().find(|(_, span)| span.name == name).unwrap_or_else(|| panic!("{spans:#?}")).1;
    let (turn, request, call) = (find("invoke_agent"), find("chat scripted"), find("execute_tool reveal"));
    for child in [request, call] {
        assert_eq!(hex(&child.parent_span_id), hex(&turn.span_id), "{child:?}");
    }
    let called = server.requests().into_iter().find(serving::Request::is_call).unwrap();
    let trace = format!("00-{}-{}-01", hex(&turn.trace_id), hex(&call.span_id));
    assert!(called.head.contains(&trace), "{trace} is not in {}", called.head);

    assert!(ran.stderr.contains("asking the model"), "the main steps are logged");
    let exported: Vec<u8> = collector.requests().into_iter().flat_map(|request| request.body).collect();
    for (place, text) in [("log", ran.stderr.as_str()), ("spans", &String::from_utf8_lossy(&exported))] {
        for secret in ["planted-key", CONTENT] {
            if let Some(line) = text.lines().find(|line| line.contains(secret)) {
                panic!("{secret} in the {place}: {line}");
            }
        }
    }
}
