//! A model on this machine that answers from a script, so that the examples need neither a key nor a network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use opentool::prelude::OpenAi;
use serde_json::{Value, json};

/// Starts a server with the chat completions interface of OpenAI, whose answers are these, one after the other.
pub(crate) fn start(script: impl IntoIterator<Item = Value>) -> io::Result<OpenAi> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    let script: Vec<Value> = script.into_iter().collect();
    let script = Arc::new(Mutex::new(script.into_iter()));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let script = script.clone();
            thread::spawn(move || answer(stream, || script.lock().ok()?.next()));
        }
    });
    Ok(OpenAi::new("scripted").base_url(url).api_key("none"))
}

/// An answer that asks for tools.
pub(crate) fn calls<const N: usize>(calls: [(&str, Value); N]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            json!({ "id": format!("call_{at}"), "type": "function", "function": { "name": name, "arguments": arguments.to_string() } })
        })
        .collect();
    json!({ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": calls } })
}

/// The last answer of a turn.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text.into() } })
}

/// Answers the requests of a connection.
fn answer(stream: TcpStream, next: impl Fn() -> Option<Value>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, body) = match next() {
            Some(choice) => {
                ("200 OK", json!({ "id": "1", "object": "chat.completion", "model": "scripted", "choices": [choice] }))
            }
            None => ("400 Bad Request", json!({ "error": { "message": "the script has no further answer" } })),
        };
        let body = body.to_string();
        write!(
            writer,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
