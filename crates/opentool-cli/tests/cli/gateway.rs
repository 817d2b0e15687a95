//! An MCP server behind `opentool serve`: keys, limits, approval and metrics that it does not have itself.

use serde_json::{Value, json as value};

use super::serving::{Served, envelope};
use super::*;

const KEY: &str = "s3cret-key";

/// A gateway before an MCP server that is a program.
fn gateway(folder: &TestFolder, options: &[&str]) -> Served {
    let server = format!("'{}' mcp demo", binary().display());
    let arguments = [&["--mcp", &server], options].concat();
    Served::start(folder, &arguments, &[("OPENTOOL_API_KEY", KEY)])
}

/// Sends an MCP message to the gateway.
fn ask(served: &Served, key: Option<&str>, method: &str, params: Value) -> super::serving::Reply {
    let authorization = key.map(|key| format!("Bearer {key}"));
    let mut headers = vec![("accept", "application/json, text/event-stream")];
    headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
    let message = value!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    served.ask("POST", "/mcp", &headers, &message.to_string())
}

fn call(served: &Served, tool: &str, arguments: Value) -> Value {
    let params = value!({ "name": tool, "arguments": arguments });
    ask(served, Some(KEY), "tools/call", params).json()["result"].take()
}

#[test]
fn only_callers_with_a_key_reach_the_server() {
    let folder = TestFolder::new();
    let served = gateway(&folder, &[]);
    let params = value!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
    for key in [None, Some("wr0ng-key")] {
        assert_eq!(ask(&served, key, "tools/call", params.clone()).status, 401, "{key:?}");
        assert_eq!(ask(&served, key, "tools/list", value!({})).status, 401, "{key:?}");
    }
    assert_eq!(call(&served, "add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3");
}

#[test]
fn tools_are_called_over_mcp_http_and_the_command_line() {
    let folder = TestFolder::new();
    let served = gateway(&folder, &[]);
    let tools = ask(&served, Some(KEY), "tools/list", value!({})).json()["result"]["tools"].take();
    let add = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "add").unwrap();
    assert_eq!(add["inputSchema"]["required"], value!(["a", "b"]));

    let headers = [("authorization", "Bearer s3cret-key")];
    let reply = served.ask("POST", "/opentool/call", &headers, &envelope("add", value!({ "a": 1, "b": 2 })));
    assert_eq!(reply.json()["result"], value!({ "result": "3" }));
    let reply = served.ask("POST", "/opentool/call", &headers, &envelope("add", value!({ "a": 1 })));
    assert!(
        reply.json()["error"]["message"].as_str().unwrap().contains("missing required argument \"b\""),
        "{reply:?}"
    );

    for url in [served.url.clone(), format!("mcp+http://{}/mcp", served.address)] {
        let ran = folder.run(&["call", &url, "add", "a=20", "b=22", "--api-key", KEY]);
        assert_eq!(json(&ran.stdout), value!({ "result": "42" }), "{ran:?}");
    }
}

#[test]
fn limits_and_approval_hold_for_a_server_that_has_none() {
    let folder = TestFolder::new();
    let options = ["--max-result", "1k", "--max-body", "8k", "--needs-approval", "delete_note", "--timeout", "20s"];
    let served = gateway(&folder, &options);
    call(&served, "add_note", value!({ "title": "a", "text": "x".repeat(3_000) }));
    let result = call(&served, "read_note", value!({ "id": 1 }));
    assert!(result["isError"] == true && result.to_string().contains("1024"), "{result}");
    let denied = call(&served, "delete_note", value!({ "id": 1 }));
    assert_eq!(denied["content"][0]["text"], "the tool needs approval, and this server asks no one for it");
    let large = value!({ "name": "add_note", "arguments": { "title": "a", "text": "x".repeat(9_000) } });
    assert_eq!(ask(&served, Some(KEY), "tools/call", large).status, 413);
}

#[test]
fn its_calls_are_counted_by_their_outcome() {
    let folder = TestFolder::new();
    let served = gateway(&folder, &[]);
    call(&served, "add", value!({ "a": 1, "b": 2 }));
    call(&served, "divide", value!({ "a": 1, "b": 0 }));
    let metrics = served.ask("GET", "/metrics", &[("authorization", "Bearer s3cret-key")], "").body;
    let calls: Vec<_> = metrics.lines().filter(|line| line.starts_with("opentool_calls_total{")).collect();
    let total: f64 = calls.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
    assert_eq!(total, 2.0, "{calls:?}");
    assert!(calls.iter().any(|line| line.contains("outcome=\"ok\"")), "{calls:?}");
}
