//! A model over real HTTP.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// What a model was asked in a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) times: usize,
    /// The outcomes of calls that it has seen, with the ids of the calls.
    pub(super) outcomes: BTreeSet<(String, String)>,
}

/// A model that speaks the wire format of OpenAI: it pays twice and then says so, whichever process asks.
pub(super) struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<HashMap<String, Asked>>>,
}

impl Model {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<HashMap<String, Asked>>> = Arc::default();
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = seen.clone();
                thread::spawn(move || answer(stream, &seen));
            }
        });
        Self { address, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it was asked in the conversation that began with a prompt.
    pub(super) fn asked(&self, prompt: &str) -> Asked {
        self.asked.lock().unwrap().get(prompt).cloned().unwrap_or_default()
    }
}

fn answer(stream: TcpStream, asked: &Mutex<HashMap<String, Asked>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let messages = request["messages"].as_array()?;
    let rounds = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let outcomes = messages.iter().filter(|message| message["role"] == "tool");
    let outcomes = outcomes.filter_map(|message| Some((text(&message["tool_call_id"])?, text(&message["content"])?)));
    {
        let mut asked = asked.lock().unwrap();
        let asked = asked.entry(text(&messages[0]["content"])?).or_default();
        asked.times += 1;
        asked.outcomes.extend(outcomes);
    }
    let call = |delta: bool| {
        let mut call = json!({ "id": format!("call_{rounds}"), "type": "function",
            "function": { "name": "pay", "arguments": format!(r#"{{"round":{}}}"#, rounds + 1) } });
        if delta {
            call["index"] = 0.into();
        }
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    };
    let said = json!({ "role": "assistant", "content": "Both are paid." });
    let (message, reason) = if rounds < 2 { (call(request["stream"] == true), "tool_calls") } else { (said, "stop") };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let (kind, text) = if request["stream"] == true {
        let chunk = |choices: Value, usage: Value| json!({ "id": "c", "object": "chat.completion.chunk", "model": "tiny", "choices": choices, "usage": usage });
        let events = [
            chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), Value::Null),
            chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null),
            chunk(json!([]), usage),
        ];
        ("text/event-stream", events.map(|event| format!("data: {event}\n\n")).concat() + "data: [DONE]\n\n")
    } else {
        let choices = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        let whole =
            json!({ "id": "c", "object": "chat.completion", "model": "tiny", "choices": choices, "usage": usage });
        ("application/json", whole.to_string())
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let mut stream = stream;
    stream.write_all((head + &text).as_bytes()).ok()
}
