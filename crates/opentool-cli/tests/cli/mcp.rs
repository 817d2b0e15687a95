//! Tools for agents: `opentool mcp`, and `/mcp` of `opentool serve`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json as value};

use super::readme::walk;
use super::serving::Served;
use super::*;

const GUIDE: &str = include_str!("../../../../docs/mcp.md");

/// An `opentool mcp` that an agent has started.
pub(crate) struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn start(folder: &TestFolder, arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.arg("mcp").args(arguments).current_dir(folder.0.path());
        for variable in ["OPENTOOL_API_KEY", "RUST_LOG"] {
            command.env_remove(variable);
        }
        command.env("XDG_STATE_HOME", folder.path("state"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Agent { child, input, output }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        json(&line)
    }

    /// Begins a session in one of the older revisions.
    pub(crate) fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = value!({ "name": "t", "version": "0" });
        let params = value!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let initialized = self.ask("initialize", params);
        self.send(&value!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        initialized
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&value!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        self.receive()
    }

    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", value!({ "name": name, "arguments": arguments }))["result"].take()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn an_agent_lists_and_calls_over_stdio() {
    let mut agent = Agent::start(&TestFolder::new(), &[]);
    let initialized = agent.initialize("2025-11-25", value!({}));
    assert_eq!(initialized["result"]["serverInfo"]["name"], "opentool demo tools");
    let tools = agent.ask("tools/list", value!({}))["result"]["tools"].take();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "delete_note"), "{tools}");
    assert_eq!(agent.call("add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3");
    let refused = agent.call("add", value!({ "a": 1 }));
    assert_eq!(
        (&refused["isError"], &refused["content"][0]["text"]),
        (&value!(true), &value!("invalid arguments: missing required argument \"b\" (integer)"))
    );
    drop(agent.input.take());
    assert!(agent.child.wait().unwrap().success(), "it ends with its input");
}

#[cfg(target_os = "linux")]
#[test]
fn a_c_library_and_a_server_are_tools_for_an_agent_too() {
    let folder = TestFolder::with("libm.opendyn.json", example("libm.opendyn.json"));
    let served = Served::start(&folder, &["demo"], &[("OPENTOOL_API_KEY", "s3cret")]);
    let mut command = Command::new(binary());
    command.args(["mcp", "libm.opendyn.json", "--library", "libm.so.6", &served.url]).current_dir(folder.0.path());
    command.env("OPENTOOL_API_KEY", "s3cret").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
    let mut agent = Agent { child, input, output };
    assert_eq!(agent.call("cos", value!({ "x": 0 }))["structuredContent"], value!({ "cosine": 1.0 }));
    assert_eq!(agent.call("add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3");
}

#[test]
fn mcp_uses_the_certificates_keys_and_limits_of_serve() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let folder = TestFolder::with("cert.pem", certified.cert.pem());
    folder.put("key.pem", certified.signing_key.serialize_pem());
    folder.put("key", "s3cret-key\n");
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let served = Served::start(&folder, &tls, &[("OPENTOOL_API_KEY", "s3cret-key")]);
    for source in [served.url.clone(), format!("mcp+https://{}/mcp", served.address)] {
        let options = ["--ca-file", "cert.pem", "--source-api-key-file", "key", "--max-body", "4k", "--timeout", "20s"];
        let mut agent = Agent::start(&folder, &[&[source.as_str()], &options[..]].concat());
        assert_eq!(agent.call("add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3", "{source}");
        let long = value!({ "name": "add_note", "arguments": { "title": "a", "text": "x".repeat(5_000) } });
        let refused = agent.ask("tools/call", long);
        assert!(refused["error"]["message"].as_str().unwrap().contains("4096"), "{refused}");
        let ran = folder.run(&["mcp", &source, "--source-api-key-file", "key"]);
        assert_eq!(ran.code, Some(3), "the certificate is not trusted: {ran:?}");
        let ran = folder.run(&["mcp", &source, "--ca-file", "cert.pem"]);
        assert_eq!(ran.code, Some(4), "there is no key: {ran:?}");
    }
    assert_eq!(folder.run(&["mcp", "demo", "--allow", "everything"]).code, Some(2));
}

#[test]
fn standard_output_has_messages_only() {
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}}\nnonsense\n";
    let ran = TestFolder::new().run_with(&["-vv", "mcp"], request);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<Value> = ran.stdout.lines().map(json).collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(ran.stderr.contains("execute_tool"), "the log is on standard error: {ran:?}");
}

#[test]
fn each_agent_gets_the_configuration_that_starts_it() {
    let folder = TestFolder::with("libm.opendyn.json", example("libm.opendyn.json"));
    for agent in ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "zed"] {
        let ran = folder.run(&["mcp", "libm.opendyn.json", "--library", "libm.so.6", "--print-config", agent]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let entry = if agent == "codex" {
            let table: toml::Table = ran.stdout.parse().unwrap();
            serde_json::to_value(&table["mcp_servers"]["opentool"]).unwrap()
        } else {
            let config = json(&ran.stdout);
            config.as_object().unwrap().values().next().unwrap()["opentool"].clone()
        };
        let arguments: Vec<_> = entry["args"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let document = std::path::absolute(folder.path("libm.opendyn.json")).unwrap();
        assert_eq!(arguments, ["mcp", document.to_str().unwrap(), "--library", "libm.so.6"], "{agent}");
        assert_eq!(entry["command"].as_str().map(Path::new), Some(binary()), "{agent}");
    }
    let ran = folder.run(&["mcp", "http://a", "--source-api-key", "planted", "--print-config"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stdout.contains("planted") && ran.stderr.contains("OPENTOOL_API_KEY"), "{ran:?}");
}

#[test]
fn a_server_offers_its_tools_at_a_path_of_their_own() {
    let folder = TestFolder::new();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let ask = |served: &Served, path: &str| served.ask("POST", path, &[("Content-Type", "application/json")], ping);
    let served = Served::start(&folder, &["--prefix", "/tools"], &[]);
    assert!(served.announcement.contains(&format!("MCP clients:  http://{}/mcp\n", served.address)));
    assert_eq!(ask(&served, "/mcp").json(), value!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    let moved = Served::start(&folder, &["--mcp-path", "agents/mcp/"], &[]);
    assert_eq!((ask(&moved, "/agents/mcp").status, ask(&moved, "/mcp").status), (200, 404));
    let without = Served::start(&folder, &["--no-mcp"], &[]);
    assert!(!without.announcement.contains("MCP"), "{}", without.announcement);
    assert_eq!(ask(&without, "/mcp").status, 404);
    let ran = folder.run(&["serve", "--port", "0", "--prefix", "/mcp"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--mcp-path") && ran.stderr.contains("--no-mcp"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_guide_does_what_it_shows() {
    let folder = TestFolder::with("libm.opendyn.json", example("libm.opendyn.json"));
    let mut commands = 0;
    for block in GUIDE.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "toml" => drop(folder.put("opentool.toml", text)),
            "console" => {
                let text = text.replace("/usr/local/bin/opentool", binary().to_str().unwrap());
                commands += walk(&folder, &text, if text.contains("2>&1") { "" } else { "2>/dev/null" });
            }
            other => panic!("a block of `{other}` that no test tries"),
        }
    }
    assert_eq!(commands, 26);
}
