//! MCP servers as sources: `--mcp`, `mcp+http://…`, and the files of agents.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::serving::{Served, wait_until};
use super::{TestFolder, binary, json};

/// A server whose description has an escape code in it, and which does not end when its input does. It leaves a process that
/// left its process group and ignores what a program is asked to end by.
const STUBBORN: &str = r#"
echo $$ >> pids
sleep 600 < /dev/null > /dev/null 2> /dev/null &
echo $! >> pids
setsid sh -c 'trap "" TERM; sleep 600' < /dev/null > /dev/null 2> /dev/null &
echo $! >> pids
printf 'for the \033[31mlog\n' >&2
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case "$line" in
    *'"initialize"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stubborn","version":"1"}}}' ;;
    *'"tools/list"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"greet","description":"Say \u001b[31mhello","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}}]}}' ;;
    *'"tools/call"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"hello"}]}}' ;;
    *'"id":'*)
        echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done
sleep 600
"#;

fn stubborn() -> TestFolder {
    TestFolder::with("server.sh", STUBBORN)
}

/// The processes that a server has started, itself included.
fn started(folder: &TestFolder) -> Vec<String> {
    let pids = std::fs::read_to_string(folder.0.path().join("pids")).unwrap();
    pids.lines().map(str::to_owned).collect()
}

fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

fn quoted(arguments: &str) -> String {
    format!("'{}' {arguments}", binary().display())
}

#[test]
fn the_tools_of_a_program_are_listed_and_called() {
    let folder = TestFolder::new();
    let demo = quoted("mcp demo");
    let ran = folder.run(&["tools", "--mcp", &demo]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("\nadd(a: integer, b: integer)\n    Add two integers.\n"), "{}", ran.stdout);
    let ran = folder.run(&["call", "--mcp", &demo, "add", "a=1", "b=2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"3\"\n}\n"), "{}", ran.stderr);
    let ran = folder.run(&["call", "--mcp", &demo, "add", "--args", r#"{"a":1}"#]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("missing required argument \"b\""), "{}", ran.stderr);
    assert_eq!(folder.run(&["call", "--mcp", &demo]).code, Some(2));
    assert_eq!(folder.run(&["call", "--mcp", &demo, "add", "a=1", "--args", "{}"]).code, Some(2));
}

#[test]
fn nothing_of_a_program_reaches_the_terminal_and_nothing_of_it_stays() {
    let folder = stubborn();
    let ran = folder.run(&["tools", "--mcp", "sh server.sh"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("\ngreet(name?: string)\n    Say \u{fffd}[31mhello\n"), "{}", ran.stdout);
    let ran = folder.run(&["call", "--mcp", "sh server.sh", "greet", "name=x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"hello\"\n}\n"), "{}", ran.stderr);
    let processes = started(&folder);
    assert_eq!(processes.len(), 6);
    assert!(!processes.iter().any(|process| runs(process)));
}

#[test]
fn what_a_program_says_is_logged_and_its_tools_make_a_document() {
    let folder =
        TestFolder::with("server.sh", format!("printf 'for the \\033[31mlog\\n' >&2; exec {}", quoted("mcp demo")));
    let ran = folder.run(&["-v", "tools", "--mcp", "sh server.sh"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("for the \\u{1b}[31mlog"), "{}", ran.stderr);
    let servers = serde_json::json!({ "servers": { "demo": { "command": "sh", "args": ["server.sh"] } } });
    folder.put("agent.json", servers.to_string());
    let document = json(&folder.run(&["load", "agent.json"]).stdout);
    let names: Vec<_> = document["functions"].as_array().unwrap().iter().map(|function| &function["name"]).collect();
    assert!(names.contains(&&serde_json::json!("demo_add")), "{names:?}");
}

#[test]
fn a_server_that_is_stopped_leaves_no_program() {
    let folder = stubborn();
    let mut served = Served::start(&folder, &["--mcp", "sh server.sh"], &[]);
    let answer = served.call("greet", serde_json::json!({ "name": "x" }));
    assert!(answer.to_string().contains("hello"), "{answer}");
    let processes = started(&folder);
    assert!(processes.iter().all(|process| runs(process)));
    served.signal("TERM");
    assert!(served.wait().success());
    assert!(!processes.iter().any(|process| runs(process)));
}

#[test]
fn a_well_behaved_program_ends_when_its_client_is_killed() {
    let folder = TestFolder::new();
    let script = format!("echo $$ > pids; exec {}", quoted("mcp demo"));
    folder.put("server.sh", script);
    let mut served = Served::start(&folder, &["--mcp", "sh server.sh"], &[]);
    let processes = started(&folder);
    assert!(runs(&processes[0]));
    served.signal("KILL");
    served.wait();
    wait_until(|| !runs(&processes[0]), || "the program goes on".to_owned());
}

/// The reapers that a process has started.
fn reapers(process: u32) -> Vec<String> {
    let arguments = format!("--opentool-child-reaper\0{process}\0");
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let commands = processes.map(|path| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default());
    commands.filter(|command| command.contains(&arguments)).collect()
}

#[test]
fn a_server_that_is_killed_leaves_no_program() {
    let folder = stubborn();
    let mut served = Served::start(&folder, &["--mcp", "sh server.sh"], &[]);
    let answer = served.call("greet", serde_json::json!({ "name": "x" }));
    assert!(answer.to_string().contains("hello"), "{answer}");
    let processes = started(&folder);
    assert!(processes.len() == 3 && processes.iter().all(|process| runs(process)));
    assert_eq!(reapers(served.pid()).len(), 1);
    served.signal("KILL");
    served.wait();
    let are_gone = || !processes.iter().any(|process| runs(process)) && reapers(served.pid()).is_empty();
    wait_until(are_gone, || "a program goes on".to_owned());
}

#[test]
fn an_agent_that_kills_the_gateway_leaves_no_program() {
    for signal in ["TERM", "KILL"] {
        let folder = stubborn();
        let mut command = Command::new(binary());
        command.args(["mcp", "--mcp", "sh server.sh"]).current_dir(folder.0.path());
        let mut gateway = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let call =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"x"}}}"#;
        writeln!(gateway.stdin.as_ref().unwrap(), "{call}").unwrap();
        let mut line = String::new();
        BufReader::new(gateway.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("hello"), "{line}");
        let processes = started(&folder);
        assert!(processes.len() == 3 && processes.iter().all(|process| runs(process)));
        let id = gateway.id();
        assert!(Command::new("kill").args(["-s", signal, &id.to_string()]).status().unwrap().success());
        gateway.wait().unwrap();
        let are_gone = || !processes.iter().any(|process| runs(process)) && reapers(id).is_empty();
        wait_until(are_gone, || format!("a program goes on after {signal}"));
    }
}

#[test]
fn a_program_that_takes_long_to_start_can_be_used() {
    // Longer than the client waits for an answer to its first question.
    let slow = format!("sleep 11; exec {}", quoted("mcp demo"));
    let folder = TestFolder::with("server.sh", slow);
    let ran = folder.run(&["call", "--mcp", "sh server.sh", "add", "a=1", "b=2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"3\"\n}\n"), "{}", ran.stderr);
}

#[test]
fn a_program_that_cannot_be_started_exits_with_3() {
    let folder = TestFolder::new();
    let ran = folder.run(&["tools", "--mcp", "/nowhere/no-such-server --key s3cret"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("the MCP server `no-such-server` cannot be started"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    for program in ["no-such-program", "./no-such-program"] {
        let ran = folder.run(&["tools", "--mcp", program]);
        assert!(ran.stderr.contains("the MCP server `no-such-program` cannot be started"), "{}", ran.stderr);
    }
    let ran = folder.run(&["tools", "--mcp", "sh -c 'echo no such package >&2; exit 1'"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("ended: exit status 1: no such package"), "{}", ran.stderr);
}

#[test]
fn a_url_takes_a_key_and_a_wrong_one_exits_with_4() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "s3cret")]);
    let url = format!("mcp+http://{}/mcp", served.address);
    let ran = folder.run(&["call", &url, "add", "a=1", "b=2", "--api-key", "s3cret"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"3\"\n}\n"), "{}", ran.stderr);
    let ran = folder.run(&["tools", &url, "--api-key", "wr0ng"]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.stderr.contains("refused access (HTTP 401)") && !ran.stderr.contains("wr0ng"), "{}", ran.stderr);
    assert_eq!(folder.run(&["tools", "mcp+http://127.0.0.1:1/mcp"]).code, Some(3));
    assert_eq!(folder.run(&["version", &url]).code, Some(2));
}

#[test]
fn a_file_of_an_agent_is_a_source_and_a_folder_needs_trust_to_name_it() {
    let folder = stubborn();
    let servers = serde_json::json!({ "mcpServers": {
        "first": { "command": "sh", "args": ["server.sh"], "env": { "GREETING": "${NO_SUCH:-hi}" } },
        "second.one": { "command": binary(), "args": ["mcp", "demo"] },
        "third": { "command": "false", "disabled": true },
    } });
    folder.put("agent.json", servers.to_string());
    let ran = folder.run(&["call", "agent.json", "first_greet"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"hello\"\n}\n"), "{}", ran.stderr);
    let ran = folder.run(&["call", "agent.json", "second_one_add", "a=20", "b=22"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"42\"\n}\n"), "{}", ran.stderr);
    let count = started(&folder).len();
    for settings in ["sources = [\"agent.json\"]\nport = 0\n", "mcp = \"sh server.sh\"\n"] {
        folder.put("opentool.toml", settings);
        let ran = folder.run(&["serve", "--port", "0"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("opentool.toml is not trusted"), "{}", ran.stderr);
    }
    assert_eq!(started(&folder).len(), count, "an untrusted file starts nothing");
}
