//! A client that writes and reads bytes, and shares no code with the server.

use std::net::SocketAddr;
use std::time::Duration;

use opentool_mcp::Mcp;
use opentool_server::{Server, ShutdownHandle};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for a busy machine; a test that waits this long fails.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);

pub(crate) const STATELESS: &str = "2026-07-28";
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// A server that runs until the test is over.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) handle: ShutdownHandle,
    pub(crate) task: JoinHandle<()>,
}

/// Starts a server that offers its tools over MCP too.
pub(crate) async fn start(server: Server) -> Running {
    start_with(server, Mcp::new()).await
}

pub(crate) async fn start_with(server: Server, mcp: Mcp) -> Running {
    let bound = server.mount(mcp).bind("127.0.0.1:0").await.unwrap();
    let (addr, handle) = (bound.local_addr().unwrap(), bound.shutdown_handle());
    Running { addr, handle, task: tokio::spawn(bound.serve()) }
}

impl Running {
    pub(crate) async fn open(&self, request: &Request) -> Connection {
        let mut connection = Connection { stream: TcpStream::connect(self.addr).await.unwrap(), read: Vec::new() };
        connection.stream.write_all(&request.bytes()).await.unwrap();
        connection
    }

    /// Sends a request on a connection of its own and reads the whole response.
    pub(crate) async fn ask(&self, request: &Request) -> Reply {
        self.open(request).await.reply().await
    }

    /// Sends a request of the stateless revision and returns the message of its answer.
    pub(crate) async fn stateless(&self, method: &str, params: Value) -> Value {
        self.ask(&stateless(method, params)).await.message()
    }

    /// Begins a session.
    pub(crate) async fn initialize(&self, revision: &str) -> Session<'_> {
        let params =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        let reply = self.ask(&post(&message("initialize", params))).await;
        assert_eq!(reply.message()["result"]["protocolVersion"], revision);
        let session = Session {
            server: self,
            id: reply.header("mcp-session-id").expect("a session").to_owned(),
            revision: revision.to_owned(),
        };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.ask(&session.post(&initialized)).await.status, 202);
        session
    }

    pub(crate) async fn ended(self) {
        timeout(MAX_WAIT, self.task).await.expect("the server does not end").unwrap();
    }
}

/// A session of a client that begins with `initialize`.
pub(crate) struct Session<'a> {
    server: &'a Running,
    pub(crate) id: String,
    pub(crate) revision: String,
}

impl Session<'_> {
    pub(crate) fn post(&self, message: &Value) -> Request {
        post(message).header("Mcp-Session-Id", &self.id).header("MCP-Protocol-Version", &self.revision)
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.server.ask(&self.post(&message(method, params))).await.message()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await["result"].take()
    }
}

pub(crate) fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A request of the stateless revision, with everything that it must carry.
pub(crate) fn stateless(method: &str, mut params: Value) -> Request {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let name = params["name"].as_str().map(str::to_owned);
    let request = post(&message(method, params)).header("MCP-Protocol-Version", STATELESS).header("Mcp-Method", method);
    match name {
        Some(name) => request.header("Mcp-Name", &name),
        None => request,
    }
}

pub(crate) fn post(message: &Value) -> Request {
    post_text(&message.to_string())
}

pub(crate) fn post_text(body: &str) -> Request {
    request("POST")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body)
}

/// A request, written as it will be sent.
#[derive(Clone)]
pub(crate) struct Request {
    method: &'static str,
    path: &'static str,
    headers: Vec<(String, String)>,
    body: String,
}

pub(crate) fn request(method: &'static str) -> Request {
    let headers = vec![("Host".to_owned(), "localhost".to_owned())];
    Request { method, path: "/mcp", headers, body: String::new() }
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces a header, or removes it.
    pub(crate) fn replace(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(header, _)| !header.eq_ignore_ascii_case(name));
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    pub(crate) fn path(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            out += &format!("{name}: {value}\r\n");
        }
        out += &format!("Content-Length: {}\r\n\r\n{}", self.body.len(), self.body);
        out.into_bytes()
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The message of the answer, which is the last event of a stream.
    pub(crate) fn message(&self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            return self.events().pop().expect("an event");
        }
        self.json()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.body.split("\n\n").filter_map(event).collect()
    }

    /// Asserts that the body is an error of a code and returns its message.
    #[track_caller]
    pub(crate) fn error(&self, status: u16, code: i64) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let json = self.json();
        assert_eq!(json["error"]["code"], code, "{json}");
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

/// The message of an event; none for a comment.
fn event(text: &str) -> Option<Value> {
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    assert!(text.starts_with("event: message\n"), "{text}");
    Some(serde_json::from_str(data).unwrap())
}

/// One connection.
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    /// Reads more; false at the end.
    async fn more(&mut self) -> bool {
        let mut buffer = vec![0; 64 * 1024];
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
    pub(crate) async fn head(&mut self) -> Reply {
        let head = self.until(b"\r\n\r\n").await.expect("the connection closed without an answer");
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(':').unwrap());
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
        Reply { status, headers, body: String::new() }
    }

    /// Reads the next piece of a chunked body; none at its end.
    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = String::from_utf8(self.until(b"\r\n").await?).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let chunk = self.exactly(size).await;
        self.exactly(2).await;
        (size > 0).then_some(chunk)
    }

    /// Reads the next event of a stream; none at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            let chunk = String::from_utf8(self.chunk().await?).unwrap();
            if let Some(event) = event(&chunk) {
                return Some(event);
            }
        }
    }

    /// Reads the next event and its id.
    pub(crate) async fn event_with_id(&mut self) -> Option<(Value, String)> {
        let chunk = String::from_utf8(self.chunk().await?).unwrap();
        let id = chunk.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
        Some((event(&chunk).expect("an event"), id))
    }

    pub(crate) async fn reply(mut self) -> Reply {
        let mut reply = self.head().await;
        let mut body = Vec::new();
        if let Some(length) = reply.header("content-length") {
            body = self.exactly(length.parse().unwrap()).await;
        } else if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
        }
        reply.body = String::from_utf8(body).unwrap();
        reply
    }
}
