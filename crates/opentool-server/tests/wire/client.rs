//! A client that writes and reads bytes, and shares no code with the server.

use std::net::SocketAddr;
use std::time::Duration;

use opentool_server::{ListenAddr, ReloadHandle, Server, ShutdownHandle};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for a busy machine; a test that waits this long fails.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);

/// A server that runs until the test is over.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) handle: ShutdownHandle,
    pub(crate) reload: ReloadHandle,
    pub(crate) task: JoinHandle<()>,
}

pub(crate) async fn start(server: Server) -> Running {
    start_at(server, "127.0.0.1:0").await
}

pub(crate) async fn start_at(server: Server, addr: impl Into<ListenAddr>) -> Running {
    let bound = server.bind(addr).await.unwrap();
    let (addr, admin, handle) = (bound.local_addr().unwrap(), bound.admin_addr(), bound.shutdown_handle());
    let reload = bound.reload_handle();
    Running { addr, admin, handle, reload, task: tokio::spawn(bound.serve()) }
}

impl Running {
    pub(crate) async fn connect(&self) -> Connection<TcpStream> {
        Connection::new(TcpStream::connect(self.addr).await.unwrap())
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn ask(&self, request: Request) -> Reply {
        let mut wire = self.connect().await;
        wire.send(&request.bytes()).await;
        wire.reply().await
    }

    /// Calls a tool and returns the JSON-RPC answer.
    pub(crate) async fn call(&self, method: &str, params: &str) -> Value {
        let reply = self.ask(call(method, params)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// Waits until the server has ended.
    pub(crate) async fn ended(self) {
        timeout(MAX_WAIT, self.task).await.expect("the server does not end").unwrap();
    }
}

pub(crate) fn call(method: &str, params: &str) -> Request {
    post("/opentool/call").body(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"1"}}"#))
}

/// A request, written as it will be sent.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

pub(crate) fn get(path: &str) -> Request {
    request("GET", path)
}

pub(crate) fn post(path: &str) -> Request {
    request("POST", path)
}

pub(crate) fn request(method: &str, path: &str) -> Request {
    let headers = vec![("Host".to_owned(), "localhost".to_owned())];
    Request { method: method.to_owned(), path: path.to_owned(), headers, body: None }
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        self.headers.retain(|(name, _)| name != "Host");
        self.header("Host", host)
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            out += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            out += &format!("Content-Length: {}\r\n", body.len());
        }
        out += "\r\n";
        let mut out = out.into_bytes();
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that the body is a JSON-RPC error of a code, whatever the status, and returns its message.
    #[track_caller]
    pub(crate) fn rpc_error(&self, status: u16, code: i64) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let json = self.json();
        let members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["jsonrpc", "result", "error", "id"]);
        assert_eq!((&json["jsonrpc"], &json["result"]), (&"2.0".into(), &serde_json::json!({})));
        assert_eq!(json["error"]["code"], code, "{json}");
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

impl Connection<TcpStream> {
    /// Closes the connection with a reset.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

/// One connection.
pub(crate) struct Connection<S> {
    stream: S,
    read: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Closes this side; the other one may still send.
    pub(crate) async fn end(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Sends as much as the other side takes.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        matches!(timeout(MAX_WAIT, self.stream.write_all(bytes.as_ref())).await, Ok(Ok(())))
    }

    /// Reads more; false at the end.
    async fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match timeout(MAX_WAIT, self.stream.read(&mut buffer)).await.expect("nothing comes") {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.read.extend_from_slice(&buffer[..read]);
                true
            }
        }
    }

    async fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|window| window == end) {
                return Some(self.read.drain(..at + end.len()).collect());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.read.len() < length {
            assert!(self.more().await, "the body breaks off");
        }
        self.read.drain(..length).collect()
    }

    /// Reads the status line and the headers.
    pub(crate) async fn head(&mut self) -> Option<Reply> {
        let head = String::from_utf8(self.until(b"\r\n\r\n").await?).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Reply { status, headers, body: Vec::new() })
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await.expect("the connection closed without an answer");
        if let Some(length) = reply.header("content-length") {
            reply.body = self.exactly(length.parse().unwrap()).await;
        } else if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                reply.body.extend(chunk);
            }
        }
        reply
    }

    /// Reads one chunk of a chunked body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = String::from_utf8(self.until(b"\r\n").await?).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let chunk = self.exactly(size).await;
        self.exactly(2).await;
        (size > 0).then_some(chunk)
    }

    /// Asserts that the server closes the connection without sending more.
    pub(crate) async fn closed(&mut self) {
        while self.more().await {}
        assert_eq!(String::from_utf8_lossy(&self.read), "");
    }
}
