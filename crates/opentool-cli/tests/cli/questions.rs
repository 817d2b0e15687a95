//! Tools that ask the user something: at the terminal, over MCP, and where no one can be asked.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use serde_json::{Value, json as value};

use super::mcp::Agent;
use super::serving::{Connection, Served};
use super::*;

#[cfg(unix)]
mod at_a_terminal {
    use super::super::chat::terminal::Terminal;
    use super::*;

    const CTRL_C: &str = "\u{3}";
    const CTRL_D: &str = "\u{4}";

    fn call(folder: &TestFolder, arguments: &[&str]) -> Terminal {
        Terminal::start(folder, &[&["call", "demo", "ask_user"], arguments].concat(), &[])
    }

    #[test]
    fn a_call_gets_its_answer_from_the_user() {
        let folder = TestFolder::new();
        let mut terminal = call(&folder, &["question=What is your name?"]);
        terminal.wait_for("the tool asks: What is your name?\r\n");
        terminal.wait_for("Answer (text): ");
        terminal.enter("");
        // An empty text is shorter than the schema wants.
        terminal.wait_for("Answer (text): ");
        terminal.enter("Ann");
        terminal.wait_for("\"answer\": \"Ann\"");
        assert_eq!(terminal.wait().code(), Some(0));
    }

    #[test]
    fn a_choice_is_made_by_its_text_or_its_number_and_nothing_else() {
        let folder = TestFolder::new();
        let mut terminal = call(&folder, &["question=Which?", "choices=red", "choices=blue"]);
        let before = terminal.wait_for("Answer (one of them): ");
        assert!(before.contains("  1. red\r\n  2. blue"), "{before}");
        terminal.enter("green");
        terminal.wait_for("write one of the values, or its number");
        terminal.wait_for("Answer (one of them): ");
        terminal.enter("2");
        terminal.wait_for("\"answer\": \"blue\"");
        assert_eq!(terminal.wait().code(), Some(0));
    }

    #[test]
    fn a_user_may_decline_or_cancel() {
        let folder = TestFolder::new();
        for (key, message) in [
            (CTRL_D, "error: the user declined to answer"),
            (CTRL_C, "error: the user closed the question without an answer"),
        ] {
            let mut terminal = call(&folder, &["question=Who?"]);
            terminal.wait_for("Answer (text): ");
            terminal.type_in(key);
            terminal.wait_for(message);
            assert_eq!(terminal.wait().code(), Some(1));
        }
    }

    #[test]
    fn a_question_cannot_write_to_the_terminal_what_it_wants() {
        let folder = TestFolder::new();
        let mut terminal = call(&folder, &["question=a\u{1b}[2Jb"]);
        terminal.wait_for("the tool asks: a\u{fffd}[2Jb\r\n");
        terminal.type_in(CTRL_D);
        assert_eq!(terminal.wait().code(), Some(1));
    }
}

#[test]
fn without_a_terminal_a_call_says_that_no_one_can_be_asked() {
    let ran = run(&["call", "demo", "ask_user", "question=Who?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(ran.stderr, "error: the tool asks \"Who?\", and there is no terminal at which the user could answer\n");
}

#[test]
fn over_opentool_http_no_one_can_be_asked() {
    let served = Served::start(&TestFolder::new(), &[], &[]);
    let answer = served.call("ask_user", value!({ "question": "Who?" }));
    let message = "the tool has a question, and this caller has no way to answer it";
    assert_eq!(answer["error"]["message"], message, "{answer}");
}

#[test]
fn an_agent_is_asked_over_stdio() {
    let mut agent = Agent::start(&TestFolder::new(), &[]);
    agent.initialize("2025-11-25", value!({ "elicitation": {} }));
    let call = value!({ "name": "ask_user", "arguments": { "question": "Which?", "choices": ["a", "b"] } });
    agent.send(&value!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call }));
    let question = agent.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["message"], "Which?");
    let answer = value!({ "action": "accept", "content": { "answer": "b" } });
    agent.send(&value!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    let answer = agent.receive();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&value!(7), &value!("b")), "{answer}");
}

/// A call over HTTP in the revision that calls again with answers.
fn call_again(served: &Served, tool: &str, mut params: Value, capabilities: Value) -> Value {
    params["name"] = value!(tool);
    params["_meta"] = value!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
    });
    let body = value!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    served.ask("POST", "/mcp", &headers, &body).json()
}

#[test]
fn an_agent_of_the_newest_revision_calls_again_with_the_answer() {
    let served = Served::start(&TestFolder::new(), &[], &[]);
    let arguments = value!({ "question": "Who?" });
    let elicitation = value!({ "elicitation": {} });
    let asked = call_again(&served, "ask_user", value!({ "arguments": arguments }), elicitation.clone());
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, request) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["message"], "Who?");
    let responses = value!({ key: { "action": "accept", "content": { "answer": "Ann" } } });
    let params =
        value!({ "arguments": arguments, "inputResponses": responses, "requestState": result["requestState"] });
    let answered = call_again(&served, "ask_user", params, elicitation);
    assert_eq!(answered["result"]["content"][0]["text"], "Ann", "{answered}");
}

/// A session over HTTP in one of the older revisions.
struct Session {
    served: Served,
    id: String,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        let served = Served::start(&TestFolder::new(), arguments, &[]);
        let params = value!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "test", "version": "0" } });
        let message = value!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let headers = [("accept", "application/json, text/event-stream")];
        let reply = served.ask("POST", "/mcp", &headers, &message.to_string());
        let header =
            reply.head.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
        Session { id: header.unwrap_or_else(|| panic!("{reply:?}")).trim().to_owned(), served }
    }

    fn headers(&self) -> [(&str, &str); 3] {
        [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
            ("mcp-session-id", &self.id),
        ]
    }

    /// Calls a tool, answers its questions so, and returns the result and what was asked.
    fn call(&self, tool: &str, arguments: Value, answer: &Value) -> (Value, Vec<Value>) {
        let call = value!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let mut connection = Connection::open(self.served.address);
        connection.send("POST", "/mcp", &self.headers(), &call.to_string());
        let mut asked = Vec::new();
        let mut events = Events::new(connection.into_reader());
        loop {
            let message = events.next();
            if message["method"] == "elicitation/create" {
                let reply = value!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
                assert_eq!(self.served.ask("POST", "/mcp", &self.headers(), &reply.to_string()).status, 202);
                asked.push(message["params"].clone());
            } else if message["id"] == 1 {
                return (message["result"].clone(), asked);
            }
        }
    }
}

/// The messages of a response: those of an event stream, or the one that is its body.
struct Events {
    reader: BufReader<TcpStream>,
    /// How long the body is, where it is none of events.
    length: Option<usize>,
}

impl Events {
    fn new(mut reader: BufReader<TcpStream>) -> Self {
        let mut length = None;
        loop {
            let mut line = String::new();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the response ends");
            if line.trim().is_empty() {
                return Events { reader, length };
            }
            length =
                length.or(line.to_lowercase().strip_prefix("content-length:").map(|text| text.trim().parse().unwrap()));
        }
    }

    fn next(&mut self) -> Value {
        if let Some(length) = self.length {
            let mut body = vec![0; length];
            self.reader.read_exact(&mut body).unwrap();
            return json(std::str::from_utf8(&body).unwrap());
        }
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "the stream ends");
            if let Some(text) = line.strip_prefix("data:") {
                return json(text.trim());
            }
        }
    }
}

#[test]
fn approval_is_asked_of_the_caller_only_where_the_operator_says_so() {
    let says = |approve: bool| value!({ "action": "accept", "content": { "approve": approve } });
    let note = value!({ "title": "a", "text": "b" });
    let session = Session::start(&["--approval", "caller"]);
    let (_, asked) = session.call("add_note", note.clone(), &says(true));
    assert!(asked.is_empty(), "it destroys nothing: {asked:?}");
    for answer in [says(false), value!({ "action": "decline" }), value!({ "action": "cancel" })] {
        let (result, asked) = session.call("delete_note", value!({ "id": 1 }), &answer);
        assert_eq!(asked[0]["message"], "May `delete_note` run with {\"id\":1}?");
        assert_eq!(
            (&result["isError"], &result["content"][0]["text"]),
            (&value!(true), &value!("the caller did not approve the call"))
        );
    }
    let (result, asked) = session.call("delete_note", value!({ "id": 1 }), &says(true));
    assert_eq!((asked.len(), &result["isError"]), (1, &Value::Null), "{result}");
    // A caller who cannot be asked is denied.
    let answer = session.served.call("delete_note", value!({ "id": 1 }));
    let message = "the call needs approval, and this caller has no way to give it";
    assert_eq!(answer["error"]["message"], message, "{answer}");

    let session = Session::start(&[]);
    let (result, asked) = session.call("delete_note", value!({ "id": 1 }), &says(true));
    assert!(
        asked.is_empty() && result["content"][0]["text"].as_str().unwrap().contains("there is no note 1"),
        "{result}"
    );
}

#[test]
fn a_tool_that_needs_approval_is_denied_with_a_text_that_says_so() {
    let demo = Served::start(&TestFolder::new(), &[], &[]);
    let url = format!("mcp+http://{}/mcp", demo.address);
    let session = Session::start(&[&url, "--needs-approval", "add"]);
    let (result, asked) =
        session.call("add", value!({ "a": 1, "b": 2 }), &value!({ "action": "accept", "content": {} }));
    assert!(asked.is_empty());
    assert_eq!(result["content"][0]["text"], "the tool needs approval, and this server asks no one for it", "{result}");
    let (result, _) = session.call("multiply", value!({ "a": 2, "b": 3 }), &Value::Null);
    assert_eq!(result["content"][0]["text"], "6", "{result}");
}

#[test]
fn approval_in_the_newest_revision_is_bound_to_the_call_and_spent_once() {
    let served = Served::start(&TestFolder::new(), &["--approval=caller"], &[]);
    let elicitation = value!({ "elicitation": {} });
    for _ in 0..2 {
        served.call("add_note", value!({ "title": "a", "text": "b" }));
    }
    let asked = call_again(&served, "delete_note", value!({ "arguments": { "id": 1 } }), elicitation.clone());
    let state = asked["result"]["requestState"].clone();
    let responses = value!({ "opentool-approval": { "action": "accept", "content": { "approve": true } } });
    let again = |id: u64| {
        let params = value!({ "arguments": { "id": id }, "inputResponses": responses, "requestState": state });
        call_again(&served, "delete_note", params, elicitation.clone())
    };
    assert_eq!(again(2)["error"]["code"], -32602, "it was given for another call");
    // That attempt has spent it.
    let asked = call_again(&served, "delete_note", value!({ "arguments": { "id": 1 } }), elicitation.clone());
    let params =
        |state: &Value| value!({ "arguments": { "id": 1 }, "inputResponses": responses, "requestState": state });
    let state = &asked["result"]["requestState"];
    let done = call_again(&served, "delete_note", params(state), elicitation.clone());
    assert_eq!(done["result"]["isError"], Value::Null, "{done}");
    assert_eq!(call_again(&served, "delete_note", params(state), elicitation.clone())["error"]["code"], -32602);
    // Answers that come without having been asked for count for nothing.
    let forged = value!({ "arguments": { "id": 2 }, "inputResponses": responses });
    let answer = call_again(&served, "delete_note", forged, elicitation);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
}

#[test]
fn each_source_has_the_approval_that_its_table_sets() {
    let folder = TestFolder::with(
        "opentool.toml",
        "[sources.a]\nkind = \"demo\"\nprefix = \"a_\"\napproval = \"caller\"\n\
         [sources.b]\nkind = \"demo\"\nprefix = \"b_\"\n",
    );
    let ran = folder.run(&["serve", "--port", "0"]);
    assert!(ran.stderr.contains("opentool.toml:4: sources.a.approval = \"caller\""), "it needs trust: {ran:?}");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let elicitation = value!({ "elicitation": {} });
    let asked = call_again(&served, "a_delete_note", value!({ "arguments": { "id": 1 } }), elicitation.clone());
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let ran = call_again(&served, "b_delete_note", value!({ "arguments": { "id": 1 } }), elicitation);
    assert!(ran["result"]["content"][0]["text"].as_str().unwrap().contains("there is no note 1"), "{ran}");
}

#[test]
fn stdio_takes_the_same_approval_and_limits_as_serve() {
    let folder = TestFolder::new();
    let mut agent = Agent::start(&folder, &["--approval", "caller", "--max-result", "1k"]);
    agent.initialize("2025-06-18", value!({ "elicitation": {} }));
    agent.send(&value!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": "delete_note", "arguments": { "id": 1 } } }));
    let question = agent.receive();
    assert_eq!(question["params"]["message"], "May `delete_note` run with {\"id\":1}?", "{question}");
    let answer = value!({ "action": "accept", "content": { "approve": true } });
    agent.send(&value!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    assert!(agent.receive()["result"]["content"][0]["text"].as_str().unwrap().contains("there is no note 1"));
    let long = agent.call("add_note", value!({ "title": "a", "text": "x".repeat(2000) }));
    assert_eq!(long["isError"], Value::Null, "{long}");
    let result = agent.call("read_note", value!({ "id": 1 }));
    assert!(result["isError"] == true && result.to_string().contains("1024"), "{result}");
}
