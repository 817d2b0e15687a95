//! A program for the tests of the client: `tools` has tools and serves them well, `calls` is a client in a process of its own, everything
//! else is a way to serve tools badly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, Write as _, stdin, stdout};
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{Executor, Question, ToolOutput, Toolbox, UserAnswer};
use opentool_mcp::{Mcp, McpClient, ServerCommand, ServerUrl};
use serde_json::{Value, json};

fn main() {
    let mode = std::env::args().nth(1).expect("a mode");
    eprintln!("mode \x1b[31m{mode}");
    match mode.as_str() {
        "tools" => serve(),
        "calls" => call_server(),
        mode => serve_badly(mode),
    }
}

#[tokio::main]
async fn serve() {
    let mut executor = Executor::builder();
    executor = executor.timeout(std::time::Duration::from_secs(600)).concurrency(1000);
    Mcp::new().serve_stdio(executor.build().host(tools())).await.unwrap();
    // A call that never ends must not keep the process.
    exit(0);
}

/// Calls the tool `call` of a server, which is a URL or a mode of this program, and prints how that ended and how much memory it took.
#[tokio::main]
async fn call_server() {
    let server = std::env::args().nth(2).expect("a server");
    let client = if server.starts_with("http") {
        McpClient::from_url(ServerUrl::new(server))
    } else {
        McpClient::from_command(ServerCommand::new(std::env::current_exe().unwrap()).arg(server))
    };
    let answer = Probe::new(client.clone()).call("call", "{}").await;
    let error = answer.outcome().error().expect("an error");
    println!("{:?}: {}", error.kind(), error.detail().unwrap_or(error.message()));
    client.close().await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim());
}

fn tools() -> Toolbox {
    let any = json!({ "type": "object" });
    let running = Arc::new(AtomicUsize::new(0));
    let counted = running.clone();
    let echo = FakeTool::new("echo").with_schema(any).acts(|arguments, _| {
        let text = arguments.as_str().to_owned();
        async move { Ok(ToolOutput::from_json_text(text).unwrap()) }
    });
    let hang = FakeTool::new("hang").acts(move |_, context| {
        let (running, context) = (running.clone(), context.clone());
        async move {
            running.fetch_add(1, Ordering::SeqCst);
            context.cancellation().cancelled().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::Empty)
        }
    });
    let hanging = FakeTool::new("hanging").acts(move |_, _| {
        let running = counted.load(Ordering::SeqCst);
        async move { Ok(ToolOutput::text(running.to_string())) }
    });
    let steps = FakeTool::new("steps").acts(|_, context| {
        let context = context.clone();
        async move {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), format!("step {step}"));
            }
            Ok(ToolOutput::text("done"))
        }
    });
    let pid = FakeTool::new("pid").answers(std::process::id().to_string());
    let variables = FakeTool::new("variables").acts(|_, _| {
        let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
        async move { ToolOutput::json(&names) }
    });
    let grandchild = FakeTool::new("grandchild").acts(|_, _| async {
        // It ignores what a program is asked to end by.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' TERM; while :; do sleep 60; done"]);
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let id = child.id();
        std::thread::spawn(move || child.wait());
        Ok(ToolOutput::text(id.to_string()))
    });
    let crash = FakeTool::new("crash").acts(|_, _| async {
        eprintln!("the disk is on fire");
        exit(3)
    });
    let asks = FakeTool::new("asks").acts(|_, context| async move {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        match context.ask_question(Question::new("Your name?", schema).with_key("who")).await? {
            UserAnswer::Accepted(answer) => Ok(ToolOutput::text(answer["name"].as_str().unwrap())),
            _ => Ok(ToolOutput::text("nobody")),
        }
    });
    Toolbox::from_tools([asks, echo, hang, hanging, steps, pid, variables, grandchild, crash])
        .unwrap()
        .with_title("Child")
}

/// Reads messages and answers each in the way of the mode.
fn serve_badly(mode: &str) {
    let mut lists = 0;
    let mut begun = false;
    let mut calls = Vec::new();
    for line in stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (method, id) = (message["method"].as_str().unwrap_or_default(), &message["id"]);
        if mode == "ends-unless-initialized" && method != "initialize" && !begun {
            eprintln!("expected initialize");
            exit(1);
        }
        match method {
            _ if mode == "silent" => {}
            "initialize" => {
                begun = true;
                println!("Listening on stdio");
                let server = json!({ "name": mode, "version": "1" });
                let capabilities = json!({ "tools": { "listChanged": true } });
                let revision = if mode == "oldest" { "2024-11-05" } else { "2025-06-18" };
                answer(id, json!({ "protocolVersion": revision, "capabilities": capabilities, "serverInfo": server }));
            }
            "tools/list" => {
                lists += 1;
                list(mode, id, lists, &message["params"]["cursor"]);
            }
            "tools/call" if mode.starts_with("asks") => {
                calls.push(id.clone());
                // The questions of two calls at once.
                if mode != "asks-two" || calls.len() == 2 {
                    calls.drain(..).for_each(|call| ask(&call));
                }
            }
            "tools/call" => call(mode, id, &message["params"]),
            "" if mode.starts_with("asks") => answered(mode, id, &message),
            "notifications/cancelled" => eprintln!("cancelled {}", message["params"]["requestId"]),
            _ if id.is_null() => {}
            _ => send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } })),
        }
    }
}

fn list(mode: &str, id: &Value, lists: usize, cursor: &Value) {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    match mode {
        "endless-list" => answer(id, json!({ "tools": [tool(&format!("t{lists}"))], "nextCursor": lists.to_string() })),
        "empty-pages" => answer(id, json!({ "tools": [], "nextCursor": "again" })),
        "large-list" => {
            let mut large = tool("large");
            large["description"] = "x".repeat(100_000).into();
            answer(id, json!({ "tools": [large], "nextCursor": lists.to_string() }));
        }
        "huge-line" => {
            let mut output = stdout().lock();
            // Until no reader is left.
            while output.write_all(&[b'x'; 65536]).is_ok() {}
            exit(0);
        }
        "silent-list" => {}
        "bad-tools" => {
            let schema = |schema: Value| json!({ "name": "s", "inputSchema": schema });
            let mut tools = vec![
                tool("good"),
                tool("good"),
                tool("a.b"),
                tool("a_b"),
                schema(json!({ "type": "object", "properties": { "a": { "$ref": "https://evil.example/s.json" } } })),
            ];
            tools[0]["description"] = "safe\u{1b}]0;pwned\u{7}\u{202e}".into();
            tools[0]["annotations"] = json!({ "readOnlyHint": true, "destructiveHint": false });
            tools[4]["name"] = "remote_ref".into();
            answer(id, json!({ "tools": tools }));
        }
        "ref-bombs" => {
            let schema = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
            let twice = |level: usize| {
                let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
                json!({ "type": "object", "properties": { "a": next, "b": next }, "allOf": [next, next], "anyOf": [next, next] })
            };
            let mut levels: serde_json::Map<_, _> = (0..40).map(|level| (format!("l{level}"), twice(level))).collect();
            levels.insert("l40".to_owned(), json!({ "type": "object" }));
            let doubling = json!({ "type": "object", "$ref": "#/$defs/l0", "$defs": levels });
            let itself = json!({ "type": "object", "$ref": "#" });
            let round = json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/a" }],
                "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
            let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
            let tools =
                [schema("doubling", doubling), schema("itself", itself), schema("round", round), schema("tree", tree)];
            let tools = [&tools[..], &[tool("call")]].concat();
            answer(id, json!({ "tools": tools }));
        }
        "changing" => {
            let kind = if lists == 1 { "string" } else { "integer" };
            let schema = json!({ "type": "object", "properties": { "a": { "type": kind } }, "required": ["a"] });
            answer(id, json!({ "tools": [{ "name": "change", "inputSchema": schema }] }));
        }
        "paged" if cursor.is_null() => answer(id, json!({ "tools": [tool("first")], "nextCursor": "2" })),
        "paged" => answer(id, json!({ "tools": [tool("second")] })),
        _ => answer(id, json!({ "tools": [tool("call")] })),
    }
}

fn call(mode: &str, id: &Value, params: &Value) {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    match mode {
        "changing" => {
            answer(id, text("changed"));
            send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
        }
        "silent-call" => {}
        "gigabyte" => {
            let mut output = stdout().lock();
            write!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#).unwrap();
            // A reader that has enough hangs up.
            if (0..1 << 14).all(|_| output.write_all(&[b'x'; 1 << 16]).is_ok()) {
                let _ = writeln!(output, r#""}}]}}}}"#);
            }
        }
        "huge-result" => answer(id, text(&"x".repeat(1 << 20))),
        "bad-result" => answer(id, json!({ "content": [{ "type": "hologram" }] })),
        "refuses" => {
            let error = json!({ "code": -32602, "message": "no \u{1b}[31mway", "data": { "near": ["x"] } });
            send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        "progress" => {
            let token = &params["_meta"]["progressToken"];
            for progress in [1.0, 0.5, 2.0] {
                let params = json!({ "progressToken": token, "progress": progress });
                send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
            }
            answer(id, text("done"));
        }
        _ => answer(id, text(params["name"].as_str().unwrap())),
    }
}

/// Asks something for a call, whose id the question has in its own.
fn ask(call: &Value) {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let params = json!({ "message": "Your name?", "requestedSchema": schema });
    send(&json!({ "jsonrpc": "2.0", "id": call.to_string(), "method": "elicitation/create", "params": params }));
}

/// Answers a call with the answer to its question, or asks again.
fn answered(mode: &str, question: &Value, message: &Value) {
    let call: Value = serde_json::from_str(question.as_str().unwrap()).unwrap();
    if mode == "asks-forever" && message["error"].is_null() {
        return ask(&call);
    }
    let text = if message["error"].is_null() { message["result"].to_string() } else { "no answer".to_owned() };
    let is_error = !message["error"].is_null();
    answer(&call, json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }));
}

fn answer(id: &Value, result: Value) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn send(message: &Value) {
    println!("{message}");
}
