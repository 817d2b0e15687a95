//! How much memory a client takes for what a server sends, and a server for what a client does, measured in a process of its own.

use std::net::SocketAddr;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::client_servers::program;

/// What a client may take in KiB: a message of 16 MiB and copies of it, and what every process needs.
const PEAK: u64 = 96 * 1024;

/// Calls a server from another process; returns how that ended and its peak memory.
async fn called(server: &str) -> (String, u64) {
    let output = Command::new(program()).args(["calls", server]).stderr(Stdio::inherit()).output().await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let (ended, peak) = printed.trim_end().rsplit_once('\n').unwrap();
    println!("{ended}; {peak}");
    (ended.to_owned(), peak.trim_end_matches(" kB").parse().unwrap())
}

#[tokio::test]
async fn a_result_of_a_gigabyte_from_a_program_is_refused_in_little_memory() {
    let (ended, peak) = called("gigabyte").await;
    assert!(ended.starts_with("InvalidResult: ") && ended.contains("more than 16777216 bytes"), "{ended}");
    assert!(peak <= PEAK, "{peak} KiB");
}

#[tokio::test]
async fn a_result_of_a_gigabyte_over_http_is_refused_in_little_memory() {
    for (media_type, start) in [("application/json", ""), ("text/event-stream", "event: message\ndata: ")] {
        let addr = serve_gigabytes(media_type, start).await;
        let (ended, peak) = called(&format!("http://{addr}/mcp")).await;
        assert!(ended.starts_with("InvalidResult: ") && ended.contains("16777216 bytes"), "{media_type}: {ended}");
        assert!(peak <= PEAK, "{media_type}: {peak} KiB");
    }
}

/// Starts a server whose every result has a gigabyte.
async fn serve_gigabytes(media_type: &'static str, start: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, media_type, start));
        }
    });
    addr
}

async fn answer(mut stream: TcpStream, media_type: &str, start: &str) {
    let Some(message) = read_message(&mut stream).await else { return };
    let id = &message["id"];
    let head = |media_type: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nConnection: close\r\n\r\n");
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let server = json!({ "name": "large", "version": "1" });
            json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": server })
        }
        "tools/list" => json!({ "tools": [{ "name": "call", "inputSchema": { "type": "object" } }] }),
        "tools/call" => {
            let start = format!(
                r#"{}{start}{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#,
                head(media_type)
            );
            let _ = stream.write_all(start.as_bytes()).await;
            // A reader that has enough hangs up.
            for _ in 0..1 << 14 {
                if stream.write_all(&[b'x'; 1 << 16]).await.is_err() {
                    return;
                }
            }
            let _ = stream.write_all(b"\"}]}}\n\n").await;
            return;
        }
        _ if id.is_null() => {
            let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(accepted.as_bytes()).await;
            return;
        }
        _ => {
            let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(refusal.as_bytes()).await;
            return;
        }
    };
    let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let _ = stream.write_all(format!("{}{message}", head("application/json")).as_bytes()).await;
}

/// Reads a request and returns the message in it; none where there is none.
async fn read_message(stream: &mut TcpStream) -> Option<Value> {
    let mut read = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(length) => read.extend_from_slice(&piece[..length]),
        }
        let text = String::from_utf8_lossy(&read);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(message) = serde_json::from_str(body)
        {
            return Some(message);
        }
    }
}

/// The peak memory of a process in KiB.
fn peak_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn a_server_on_stdio_skips_a_line_without_end_in_little_memory() {
    let mut server = Command::new(program())
        .arg("tools")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    for _ in 0..1 << 12 {
        input.write_all(&[b'x'; 1 << 16]).await.unwrap();
    }
    input.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n").await.unwrap();
    let mut lines = BufReader::new(output).lines();
    let refused: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(refused["error"]["message"], "a message may have 16777216 bytes");
    let answered: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!((&answered["id"], &answered["result"]), (&json!(7), &json!({})));
    let peak = peak_of(server.id().unwrap());
    assert!(peak <= PEAK, "{peak} KiB");
    drop(input);
    assert!(server.wait().await.unwrap().success());
}
