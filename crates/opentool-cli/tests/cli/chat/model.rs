//! A scripted model, over HTTP in the wire format of whichever provider asks.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use serde_json::{Value, json};

use super::super::serving::wait_until;

/// What the model does when it is asked.
pub(super) enum Reply {
    /// Says this, piece by piece.
    Says(Vec<&'static str>),
    /// Says a piece at once, and each other one when the test lets it.
    SaysSlowly(Vec<&'static str>, mpsc::Receiver<()>),
    /// Calls tools: name and arguments.
    Calls(Vec<(&'static str, &'static str)>),
    /// Calls a tool when the test lets it.
    CallsSlowly((&'static str, &'static str), mpsc::Receiver<()>),
    /// Says something and calls a tool.
    SaysAndCalls(&'static str, (&'static str, &'static str)),
    /// Says this and ends for this reason, in the words of OpenAI.
    Ends(&'static str, &'static str),
    /// Says nothing until the client goes away.
    Hangs,
    /// Answers with an error.
    Refuses(u16, &'static str),
}

impl Reply {
    pub(super) fn says(text: &'static str) -> Self {
        Reply::Says(vec![text])
    }

    pub(super) fn calls(name: &'static str, arguments: &'static str) -> Self {
        Reply::Calls(vec![(name, arguments)])
    }
}

/// A request that the model got.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) head: String,
    pub(super) body: Value,
}

impl Asked {
    /// The texts of the messages with this role, in the format of OpenAI.
    pub(super) fn said_by(&self, role: &str) -> Vec<String> {
        let messages = self.body["messages"].as_array().unwrap().iter();
        let texts = messages.filter(|message| message["role"] == role).map(|message| &message["content"]);
        texts.map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned)).collect()
    }
}

/// A server that replies in order; asked once more than that, it refuses.
pub(super) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    left: Arc<Mutex<usize>>,
}

impl Model {
    pub(super) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, left) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let replies = Arc::new(Mutex::new(replies.into_iter()));
        let (seen, gone) = (asked.clone(), left.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, gone, replies) = (seen.clone(), gone.clone(), replies.clone());
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    let Some(request) = receive(&mut stream) else { return };
                    seen.lock().unwrap().push(request.clone());
                    let reply = replies.lock().unwrap().next();
                    let reply = reply.unwrap_or(Reply::Refuses(500, "the script is over"));
                    // A client that has gone away is what some tests want.
                    let _ = answer(&mut stream, &request, reply);
                    *gone.lock().unwrap() += 1;
                });
            }
        });
        Model { address, asked, left }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until the model was asked so many times.
    pub(super) fn wait_for_request(&self, count: usize) {
        wait_until(|| self.asked().len() >= count, || format!("request {count}"));
    }

    /// Waits until so many requests are over, also those whose client has gone away.
    pub(super) fn wait_for_end(&self, count: usize) {
        wait_until(|| *self.left.lock().unwrap() >= count, || format!("the end of request {count}"));
    }
}

fn receive(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        match stream.read_line(&mut head) {
            Ok(1..) => {}
            _ => return None,
        }
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Asked { head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

fn answer(stream: &mut BufReader<TcpStream>, request: &Asked, reply: Reply) -> std::io::Result<()> {
    let wire = Wire::find(request);
    let (texts, gate, calls) = match reply {
        Reply::Says(texts) => (texts, None, vec![]),
        Reply::SaysSlowly(texts, gate) => (texts, Some(gate), vec![]),
        Reply::Calls(calls) => (vec![], None, calls),
        Reply::CallsSlowly(call, gate) => {
            let _ = gate.recv();
            (vec![], None, vec![call])
        }
        Reply::Ends(text, reason) => {
            let body = wire.ending(text, reason);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            return stream.get_mut().write_all(format!("{head}{body}").as_bytes());
        }
        Reply::SaysAndCalls(text, call) => (vec![text], None, vec![call]),
        Reply::Hangs => {
            stream.read_exact(&mut [0]).ok();
            return Ok(());
        }
        Reply::Refuses(status, message) => {
            let body = json!({ "error": { "message": message, "type": "error" } }).to_string();
            let head = format!("HTTP/1.1 {status} Refused\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            return stream
                .get_mut()
                .write_all(format!("{head}content-type: application/json\r\n\r\n{body}").as_bytes());
        }
    };
    let out = stream.get_mut();
    let kind = wire.content_type();
    write!(out, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")?;
    if request.body["stream"] != json!(true) && !(wire == Wire::Ollama && request.body["stream"].is_null()) {
        return out.write_all(wire.whole(&texts.concat(), &calls).to_string().as_bytes());
    }
    out.write_all(wire.event(&wire.begin()).as_bytes())?;
    for (place, text) in texts.iter().enumerate() {
        if let Some(gate) = gate.as_ref().filter(|_| place > 0)
            && gate.recv().is_err()
        {
            // The test has seen what it wanted; the client must not take this for the end of the answer.
            return Ok(());
        }
        out.write_all(wire.events(&wire.text(text)).as_bytes())?;
        out.flush()?;
    }
    for (place, (name, arguments)) in calls.iter().enumerate() {
        out.write_all(wire.events(&wire.call(place, name, arguments)).as_bytes())?;
    }
    out.write_all(wire.events(&wire.end(!calls.is_empty())).as_bytes())
}

/// The wire formats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    OpenAi,
    Anthropic,
    Ollama,
}

impl Wire {
    fn find(request: &Asked) -> Self {
        match request.head.split(' ').nth(1).unwrap() {
            path if path.ends_with("/chat/completions") => Wire::OpenAi,
            path if path.ends_with("/messages") => Wire::Anthropic,
            path if path.ends_with("/api/chat") => Wire::Ollama,
            path => panic!("no provider asks at {path}"),
        }
    }

    /// A whole stream that ends for a reason.
    fn ending(self, text: &str, reason: &str) -> String {
        assert!(self == Wire::OpenAi, "only this one has these reasons");
        self.events(&[
            self.begin(),
            chunk(json!({ "content": text }), Value::Null),
            chunk(json!({}), json!(reason)),
            json!({ "id": "c1", "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } }),
        ])
    }

    fn content_type(self) -> &'static str {
        match self {
            Wire::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    fn event(self, event: &Value) -> String {
        match self {
            Wire::OpenAi => format!("data: {event}\n\n"),
            Wire::Anthropic => format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()),
            Wire::Ollama => format!("{event}\n"),
        }
    }

    fn events(self, events: &[Value]) -> String {
        let mut text: String = events.iter().map(|event| self.event(event)).collect();
        if self == Wire::OpenAi && events.iter().any(|event| event["usage"].is_object()) {
            text.push_str("data: [DONE]\n\n");
        }
        text
    }

    fn begin(self) -> Value {
        match self {
            Wire::OpenAi => chunk(json!({ "role": "assistant", "content": "" }), Value::Null),
            Wire::Anthropic => json!({ "type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
                "stop_reason": null, "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
            Wire::Ollama => {
                json!({ "model": "scripted", "message": { "role": "assistant", "content": "" }, "done": false })
            }
        }
    }

    fn text(self, text: &str) -> Vec<Value> {
        match self {
            Wire::OpenAi => vec![chunk(json!({ "content": text }), Value::Null)],
            Wire::Anthropic => {
                block(0, json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }))
            }
            Wire::Ollama => {
                vec![json!({ "model": "scripted", "message": { "role": "assistant", "content": text }, "done": false })]
            }
        }
    }

    fn call(self, place: usize, name: &str, arguments: &str) -> Vec<Value> {
        let id = format!("call_{place}");
        match self {
            Wire::OpenAi => {
                let call = |function: Value| json!({ "tool_calls": [{ "index": place, "id": id, "type": "function", "function": function }] });
                let (first, rest) = arguments.split_at(arguments.len() / 2);
                vec![
                    chunk(call(json!({ "name": name, "arguments": first })), Value::Null),
                    chunk(
                        json!({ "tool_calls": [{ "index": place, "function": { "arguments": rest } }] }),
                        Value::Null,
                    ),
                ]
            }
            Wire::Anthropic => block(
                place + 1,
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": arguments }),
            ),
            Wire::Ollama => {
                let arguments: Value = serde_json::from_str(arguments).unwrap();
                let call = json!({ "function": { "name": name, "arguments": arguments } });
                vec![json!({ "model": "scripted", "done": false,
                    "message": { "role": "assistant", "content": "", "tool_calls": [call] } })]
            }
        }
    }

    fn end(self, called: bool) -> Vec<Value> {
        match self {
            Wire::OpenAi => vec![
                chunk(json!({}), json!(if called { "tool_calls" } else { "stop" })),
                json!({ "id": "c1", "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } }),
            ],
            Wire::Anthropic => vec![
                json!({ "type": "message_delta", "usage": { "output_tokens": 5 },
                    "delta": { "stop_reason": if called { "tool_use" } else { "end_turn" } } }),
                json!({ "type": "message_stop" }),
            ],
            Wire::Ollama => vec![json!({ "model": "scripted", "message": { "role": "assistant", "content": "" },
                "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5 })],
        }
    }

    /// The answer of a request that does not want it in pieces.
    fn whole(self, text: &str, calls: &[(&str, &str)]) -> Value {
        assert!(self == Wire::OpenAi, "only this one is asked without a stream");
        let calls = calls.iter().enumerate().map(|(place, (name, arguments))| {
            json!({ "id": format!("call_{place}"), "type": "function", "function": { "name": name, "arguments": arguments } })
        });
        let calls: Vec<_> = calls.collect();
        let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
        let mut message = json!({ "role": "assistant", "content": text });
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({ "id": "c1", "object": "chat.completion", "model": "scripted",
            "choices": [{ "index": 0, "message": message, "finish_reason": reason }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 } })
    }
}

fn chunk(delta: Value, reason: Value) -> Value {
    json!({ "id": "c1", "object": "chat.completion.chunk", "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

fn block(index: usize, start: Value, delta: Value) -> Vec<Value> {
    vec![
        json!({ "type": "content_block_start", "index": index, "content_block": start }),
        json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        json!({ "type": "content_block_stop", "index": index }),
    ]
}
