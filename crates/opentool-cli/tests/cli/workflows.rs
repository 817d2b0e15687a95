//! OpenWorkflow documents: checked, called, served, and for agents.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use serde_json::{Value, json as value};

use super::mcp::Agent;
use super::readme::walk;
use super::serving::{Script, Served};
use super::*;

const GUIDE: &str = include_str!("../../../../docs/workflow.md");

/// The example of the format's own shape.
pub(crate) const EXAMPLE: &str = r##"{"openworkflow": "1.0.0", "info": {"title": "Store and look", "version": "1.0.0"}, "workflow": {
  "start": {"function": "count", "arguments": {}, "results": {"count": 0}, "next": "pause"},
  "pause": {"function": "sleep", "arguments": {"milliseconds": 50}, "results": {}, "next": "step2"},
  "step2": {"function": "create", "arguments": {"key": "a"}, "results": {"id": 0}, "next": "step3"},
  "step3": {"function": "read", "arguments": {"id": "#/step2/results/id"}, "results": {"value": ""}, "next": "null"}}}
"##;

/// A server with the functions of the example.
pub(crate) fn store() -> Script {
    let returns = |name: &str, kind: &str| value!({ "name": name, "schema": { "type": kind } });
    let parameter = |name: &str, kind: &str| value!([{ "name": name, "schema": { "type": kind }, "required": true }]);
    let document = value!({
        "opentool": "1.1.0",
        "info": { "title": "Store", "version": "1.0.0" },
        "functions": [
            { "name": "count", "description": "Count.", "parameters": [], "return": returns("count", "integer") },
            { "name": "create", "description": "Create.", "parameters": parameter("key", "string"), "return": returns("id", "integer") },
            { "name": "read", "description": "Read.", "parameters": parameter("id", "integer"), "return": returns("value", "string") },
        ],
    });
    let (last, keys) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    Script::start(move |request| {
        if request.path().ends_with("/load") {
            return Some((200, document.to_string()));
        }
        let called = request.json();
        let arguments = &called["params"];
        let result = match called["method"].as_str() {
            Some("count") => value!({ "count": keys.lock().unwrap().len() }),
            Some("create") => {
                keys.lock().unwrap().push(arguments["key"].as_str().unwrap().to_owned());
                value!({ "id": last.fetch_add(1, SeqCst) })
            }
            _ => {
                let id = usize::try_from(arguments["id"].as_u64().unwrap()).unwrap();
                value!({ "value": keys.lock().unwrap()[id] })
            }
        };
        Some((200, value!({ "jsonrpc": "2.0", "result": result, "id": called["id"] }).to_string()))
    })
}

/// The functions that a server was asked to run, in their order.
fn called(store: &Script) -> Vec<String> {
    let calls = store.requests().into_iter().filter(|request| request.is_call());
    calls.map(|request| request.json()["method"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_example_of_the_format_runs_by_call() {
    let (folder, store) = (TestFolder::with("flow.openworkflow.json", EXAMPLE), store());
    let ran = folder.run(&["call", "flow.openworkflow.json", "--tools", &store.url()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"value\": \"a\"\n}\n"), "{}", ran.stderr);
    assert_eq!(called(&store), ["count", "create", "read"]);
    let ran = folder.run(&["call", "flow.openworkflow.json", "store_and_look", "--tools", &store.url(), "--raw"]);
    assert_eq!(json(&ran.stdout), value!({ "value": "a" }), "{ran:?}");
}

#[test]
fn the_example_of_the_format_is_served_over_http_and_mcp() {
    let (folder, store) = (TestFolder::with("flow.openworkflow.json", EXAMPLE), store());
    let served = Served::start(&folder, &["flow.openworkflow.json", "--tools", &store.url()], &[]);
    assert_eq!(served.call("store_and_look", value!({}))["result"], value!({ "value": "a" }));
    let loaded = served.get("/opentool/load").json();
    let names: Vec<_> = loaded["functions"].as_array().unwrap().iter().map(|function| &function["name"]).collect();
    assert_eq!(names, ["store_and_look"]);
    assert_eq!(loaded["info"]["title"], "Store and look");
    let refused = served.call("create", value!({ "key": "x" }));
    assert!(refused["error"].is_object(), "the tools of the steps are not served: {refused}");
    let params = value!({ "name": "store_and_look", "arguments": {} });
    let message = value!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let answer = served.ask("POST", "/mcp", &[("Content-Type", "application/json")], &message).json();
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"value":"a"}"#, "{answer}");
    let mut agent = Agent::start(&folder, &["flow.openworkflow.json", "--tools", &store.url()]);
    assert_eq!(agent.call("store_and_look", value!({}))["content"][0]["text"], r#"{"value":"a"}"#);
}

#[test]
fn a_failed_step_is_named_to_the_caller() {
    let folder = TestFolder::new();
    folder.put(
        "flow.json",
        r##"{"openworkflow": "1.0.0", "info": {"title": "T", "version": "1"}, "workflow": {
      "start": {"function": "add_note", "arguments": {"title": "a", "text": "b"}, "results": {"id": 0}, "next": "look"},
      "look": {"function": "read_note", "arguments": {"id": 7}, "results": {}, "next": "null"}}}"##,
    );
    let ran = folder.run(&["call", "flow.json", "--tools", "demo"]);
    let message = "error: the step `look` (`read_note`) failed: there is no note 7: `list_notes` lists them\n";
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.as_str()), (Some(1), message, ""));
    let served = Served::start(&folder, &["flow.json", "--tools", "demo"], &[]);
    let error = served.call("t", value!({}))["error"].take();
    assert_eq!(error["message"], "the step `look` (`read_note`) failed: there is no note 7: `list_notes` lists them");
}

#[test]
fn several_sources_have_the_tools_of_a_workflow() {
    let store = store();
    let flow = EXAMPLE.replace(
        r#""function": "count", "arguments": {}, "results": {"count": 0}"#,
        r#""function": "add", "arguments": {"a": 1, "b": 2}, "results": {"sum": 0}"#,
    );
    let folder = TestFolder::with("flow.json", flow);
    let ran = folder.run(&["call", "flow.json", "--tools", "demo", "--tools", &store.url()]);
    assert_eq!((ran.code, json(&ran.stdout)), (Some(0), value!({ "value": "a" })), "{}", ran.stderr);
    assert_eq!(called(&store), ["create", "read"]);
    let ran = folder.run(&["call", "flow.json", "--tools", "demo", "--tools", "demo"]);
    assert_eq!(ran.code, Some(2), "one name is one tool: {ran:?}");
}

#[test]
fn a_workflow_whose_tools_are_not_there_is_refused_before_it_runs() {
    let (folder, store) = (TestFolder::with("flow.json", EXAMPLE), store());
    for command in ["call", "serve", "chat"] {
        let ran = folder.run_with(&[command, "flow.json", "--tools", "demo"], "hello");
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        if command != "chat" {
            assert!(ran.stderr.contains("the tools have no function `count`"), "{ran:?}");
            assert!(ran.stderr.contains("`--tools SOURCE`"), "{ran:?}");
        }
    }
    let ran = folder.run(&["call", "demo", "add", "a=1", "b=2", "--tools", &store.url()]);
    let message = "`--tools` names the tools of a workflow, and no source is an OpenWorkflow document";
    assert!(ran.code == Some(2) && ran.stderr.contains(message), "{ran:?}");
    let ran = folder.run(&["call", "flow.json", "--tools", "flow.json"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("is a workflow, whose own tools cannot be named here"),
        "{ran:?}"
    );
    assert_eq!(called(&store), [""; 0]);
}

#[test]
fn approval_goes_to_the_caller_for_each_destructive_step() {
    let flow = r##"{"openworkflow": "1.0.0", "info": {"title": "Clean", "version": "1"}, "workflow": {
      "start": {"function": "add_note", "arguments": {"title": "a", "text": "b"}, "results": {"id": 0}, "next": "clean"},
      "clean": {"function": "delete_note", "arguments": {"id": "#/start/results/id"}, "results": {}, "next": "null"}}}"##;
    let folder = TestFolder::with("flow.json", flow);
    let mut agent = Agent::start(&folder, &["flow.json", "--tools", "demo", "--approval", "caller"]);
    agent.initialize("2025-11-25", value!({ "elicitation": {} }));
    agent.send(
        &value!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "clean", "arguments": {} } }),
    );
    let question = agent.receive();
    assert_eq!(question["params"]["message"], "May `delete_note` run with {\"id\":1}?", "{question}");
    let answer = value!({ "action": "accept", "content": { "approve": false } });
    agent.send(&value!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let refused = agent.receive();
    let text = &refused["result"]["content"][0]["text"];
    assert_eq!(text, "the step `clean` (`delete_note`) failed: the caller did not approve the call", "{refused}");
}

#[test]
fn check_compares_a_workflow_with_the_tools_it_is_given() {
    let (folder, store) = (TestFolder::with("flow.openworkflow.json", EXAMPLE), store());
    for arguments in
        [&["check"][..], &["check", "--strict", "--tools", &store.url()], &["check", "flow.openworkflow.json"]]
    {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let wrong = EXAMPLE.replace("\"create\"", "\"craete\"").replace(r#"{"value": ""}"#, r#"{"value": 0}"#);
    folder.put("flow.openworkflow.json", wrong);
    assert_eq!(folder.run(&["check"]).code, Some(0), "the document alone does not say it");
    let ran = folder.run(&["check", "--tools", &store.url()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        "error[OT099]: the tools have no function `craete`",
        "did you mean `create`?",
        "error[OT097]: the result `value` of `read` is of type \"string\", not an integer",
        "flow.openworkflow.json:4:",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    folder.put("flow.openworkflow.json", CLEAN);
    let ran = folder.run(&["check", "--tools", "demo"]);
    assert!(ran.stderr.contains("no OpenWorkflow document was checked, so that --tools had no effect"), "{ran:?}");
}

#[test]
fn the_wrong_example_of_an_unknown_function_is_found_with_tools() {
    let page = include_str!("../../../../docs/diagnostics.md");
    let section = page.split("\n## OT099").nth(1).unwrap();
    let wrong = section.split("```").nth(1).unwrap().strip_prefix("json\n").unwrap();
    let (folder, store) = (TestFolder::with("flow.json", wrong), store());
    let ran = folder.run(&["check", "flow.json", "--tools", &store.url()]);
    assert!(ran.code == Some(1) && ran.stdout.contains("OT099"), "{ran:?}");
}

#[test]
fn other_commands_take_a_workflow_for_what_it_is() {
    let folder = TestFolder::with("flow.json", EXAMPLE.replace(r#""arguments": {}, "#, ""));
    let ran = folder.run(&["tools", "flow.json"]);
    assert!(ran.code == Some(2), "a document with errors has no tools: {ran:?}");
    let ran = folder.run(&["fix", "flow.json", "--write"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let fixed: Value = json(&folder.read("flow.json"));
    assert_eq!(fixed["workflow"]["start"]["arguments"], value!({}));
    let ran = folder.run(&["tools", "flow.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Store and look 1.0.0: 1 tool\n\nstore_and_look()\n"), "{}", ran.stdout);
    let ran = folder.run(&["load", "flow.json"]);
    assert_eq!(json(&ran.stdout)["functions"][0]["name"], "store_and_look");
    let ran = folder.run(&["convert", "flow.json", "--to", "openai"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("is a workflow, which describes no functions"), "{ran:?}");
    let ran = folder.run(&["schema", "openworkflow"]);
    assert_eq!(json(&ran.stdout)["required"], value!(["openworkflow", "info", "workflow"]));
}

#[test]
fn a_key_goes_to_the_one_server_of_the_tools() {
    let folder = TestFolder::with(
        "flow.json",
        r##"{"openworkflow": "1.0.0", "info": {"title": "T", "version": "1"}, "workflow": {
      "start": {"function": "add", "arguments": {"a": 1, "b": 2}, "results": {"sum": 0}, "next": "null"}}}"##,
    );
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "s3cret-key")]);
    folder.put("key", "s3cret-key\n");
    let call = ["call", "flow.json", "--tools", &served.url];
    assert_eq!(folder.run(&call).code, Some(4));
    let ran = folder.run(&[&call[..], &["--api-key-file", "key"]].concat());
    assert_eq!((ran.code, json(&ran.stdout)), (Some(0), value!({ "sum": 3 })), "{}", ran.stderr);
    let ran = folder.run(&[&call[..], &["--tools", "http://127.0.0.1:1", "--api-key-file", "key"]].concat());
    assert!(ran.code == Some(2) && ran.stderr.contains("several of the tools' sources have a server"), "{ran:?}");
    let relayed = Served::start(&folder, &["flow.json", "--tools", &served.url, "--source-api-key-file", "key"], &[]);
    assert_eq!(relayed.call("t", value!({}))["result"], value!({ "sum": 3 }));
}

#[test]
fn the_guide_does_what_it_shows() {
    let folder = TestFolder::new();
    let mut commands = 0;
    for block in GUIDE.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "json" => drop(folder.put("notes.openworkflow.json", text)),
            "toml" => drop(folder.put("opentool.toml", text)),
            "console" => commands += walk(&folder, text, if text.contains("2>&1") { "" } else { "2>/dev/null" }),
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert_eq!(commands, 8);
}
