//! `soak PORT CALLS CONNECTIONS`: calls `add` with numbers of its own each time and checks every answer and its id.

use std::env;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let mut next = || -> Result<u64, Failure> { Ok(arguments.next().ok_or("PORT CALLS CONNECTIONS")?.parse()?) };
    let (port, calls, connections) = (u16::try_from(next()?)?, next()?, next()?.max(1));
    let mut tasks = Vec::new();
    for number in 0..connections {
        let share = calls / connections + u64::from(number < calls % connections);
        tasks.push(tokio::spawn(connection(port, number, share)));
    }
    let mut checked = 0;
    for task in tasks {
        checked += task.await??;
    }
    println!("{checked} calls on {connections} connections: every answer was the one to its call");
    Ok(())
}

/// Calls on one connection, and on a new one every 1,000 calls so that connections come and go as well.
async fn connection(port: u16, number: u64, calls: u64) -> Result<u64, Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let mut buffer = Vec::with_capacity(1024);
    for call in 0..calls {
        if call > 0 && call % 1000 == 0 {
            stream = TcpStream::connect(("127.0.0.1", port)).await?;
        }
        let id = format!("{number}-{call}");
        let body = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"add","params":{{"a":{number},"b":{call}}}}}"#);
        let length = body.len();
        let request = format!(
            "POST /opentool/call HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await?;
        let answer = read(&mut stream, &mut buffer).await?;
        let sum = number + call;
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{{"sum":{sum}}},"error":null,"id":"{id}"}}"#);
        if answer != expected {
            return Err(format!("call {id} got {answer}").into());
        }
    }
    Ok(calls)
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<String, Failure> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the connection was closed".into());
        }
        let text = std::str::from_utf8(buffer)?;
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned));
        if body.len() >= length.ok_or("no length")?.trim().parse()? {
            return Ok(body.to_owned());
        }
    }
}
