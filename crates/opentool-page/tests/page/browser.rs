//! A client that sends what a browser sends, and shares no code with the server.

use std::net::SocketAddr;
use std::time::Duration;

use opentool_page::{Page, PageTokens};
use opentool_server::{Server, ShutdownHandle};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Long enough for a busy machine; a test that waits this long fails.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);

/// A server with a page, which runs until the test is over.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) tokens: PageTokens,
    pub(crate) handle: ShutdownHandle,
    pub(crate) task: JoinHandle<()>,
}

/// Serves a page with these tools.
pub(crate) async fn start(server: Server, page: Page) -> Running {
    let tokens = page.tokens();
    let bound = server.mount(page).bind("127.0.0.1:0").await.unwrap();
    let (addr, handle) = (bound.local_addr().unwrap(), bound.shutdown_handle());
    Running { addr, tokens, handle, task: tokio::spawn(bound.serve()) }
}

impl Running {
    /// Sends a request on a connection of its own, with the headers of a browser that shows the page.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let mut request = self.bare(method, path).header("Sec-Fetch-Site", "same-origin");
        if method != "GET" && method != "HEAD" {
            request = request.header("Origin", &format!("http://{}", self.addr));
        }
        request
    }

    /// The same without what a browser adds.
    pub(crate) fn bare(&self, method: &str, path: &str) -> Request {
        let head = vec![("Host".to_owned(), self.addr.to_string())];
        Request { addr: self.addr, method: method.to_owned(), path: path.to_owned(), headers: head, body: None }
    }

    pub(crate) fn sign_in(&self, body: Value) -> Request {
        self.request("POST", "/ui/api/session").json(&body.to_string())
    }

    /// Signs in by a token.
    pub(crate) async fn browser(&self) -> Browser<'_> {
        let reply = self.sign_in(json!({ "token": self.tokens.issue().unwrap() })).send().await;
        assert_eq!(reply.status, 204, "{reply:?}");
        Browser { server: self, cookie: reply.cookie() }
    }

    /// Waits until the server has ended.
    pub(crate) async fn ended(self) {
        timeout(MAX_WAIT, self.task).await.expect("the server does not end").unwrap();
    }
}

/// A browser that is signed in.
#[derive(Clone)]
pub(crate) struct Browser<'a> {
    pub(crate) server: &'a Running,
    pub(crate) cookie: String,
}

impl Browser<'_> {
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        self.server.request(method, path).header("Cookie", &self.cookie)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Reply {
        self.request("POST", path).json(body).send().await
    }

    /// Opens a stream and checks that it is one.
    pub(crate) async fn open(&self, path: &str, body: &str) -> Lines {
        let mut lines = self.request("POST", path).json(body).open().await;
        if lines.head.status != 200 {
            let rest = lines.rest().await;
            panic!("{}: {rest}", lines.head.status);
        }
        assert_eq!(lines.head.header("content-type"), Some("application/x-ndjson"));
        lines
    }

    /// Makes a call and returns its outcome.
    pub(crate) async fn outcome(&self, tool: &str, arguments: &str) -> Value {
        let body = format!(r#"{{"id":"c1","tool":"{tool}","arguments":{arguments},"confirmed":true}}"#);
        self.open("/ui/api/calls", &body).await.last().await
    }
}

/// A request, written as it will be sent.
#[derive(Clone)]
pub(crate) struct Request {
    addr: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn json(mut self, body: &str) -> Self {
        self.body = Some(body.as_bytes().to_vec());
        self.header("Content-Type", "application/json")
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            out += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = &self.body {
            out += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut out = (out + "\r\n").into_bytes();
        out.extend_from_slice(self.body.as_deref().unwrap_or_default());
        out
    }

    /// Sends it and reads the whole answer.
    pub(crate) async fn send(&self) -> Reply {
        let mut lines = self.open().await;
        let body = if self.method == "HEAD" { Vec::new() } else { lines.body().await };
        Reply { body, ..lines.head }
    }

    /// Sends it and reads the head of the answer.
    pub(crate) async fn open(&self) -> Lines {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        stream.write_all(&self.bytes()).await.unwrap();
        let mut lines = Lines { stream, read: Vec::new(), text: Vec::new(), head: Reply::default(), is_over: false };
        lines.read_head().await;
        lines
    }
}

/// The head of a response, and its body where it was read.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The cookie as a browser sends it back.
    pub(crate) fn cookie(&self) -> String {
        let set = self.header("set-cookie").expect("no cookie");
        set.split(';').next().unwrap().to_owned()
    }

    /// Asserts that the API refused, and returns its word for the reason.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?} {}", String::from_utf8_lossy(&self.body));
        let error = &self.json()["error"];
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
        error["kind"].as_str().unwrap().to_owned()
    }
}

/// An answer that comes piece by piece.
pub(crate) struct Lines {
    stream: TcpStream,
    read: Vec<u8>,
    text: Vec<u8>,
    pub(crate) head: Reply,
    is_over: bool,
}

impl Lines {
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

    async fn read_head(&mut self) {
        let head = self.until(b"\r\n\r\n").await.expect("the connection closed without an answer");
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        self.head = Reply { status, headers, body: Vec::new() };
    }

    /// Reads the next piece; none at the end.
    pub(crate) async fn piece(&mut self) -> Option<Vec<u8>> {
        if self.is_over {
            return None;
        }
        if self.head.header("transfer-encoding") == Some("chunked") {
            let size = String::from_utf8(self.until(b"\r\n").await?).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let piece = self.exactly(size).await;
            self.exactly(2).await;
            self.is_over = size == 0;
            return (size > 0).then_some(piece);
        }
        self.is_over = true;
        let length = self.head.header("content-length").map_or(0, |length| length.parse().unwrap());
        let body = self.exactly(length).await;
        (!body.is_empty()).then_some(body)
    }

    async fn body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await {
            body.extend(piece);
        }
        body
    }

    /// Reads what is left, as text.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.text);
        rest.extend(self.body().await);
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// Reads the next line as text; none at the end.
    pub(crate) async fn next_text(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=at).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let piece = self.piece().await?;
            self.text.extend(piece);
        }
    }

    /// Reads the next line.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.next_text().await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads on to a line of a type.
    pub(crate) async fn next_of(&mut self, wanted: &str) -> Value {
        loop {
            let line = self.next().await.unwrap_or_else(|| panic!("the stream ended without `{wanted}`"));
            if line["type"] == wanted {
                return line;
            }
        }
    }

    /// Reads to the end and returns all lines.
    pub(crate) async fn all(&mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().await {
            lines.push(line);
        }
        lines
    }

    /// Reads to the end and returns the last line.
    pub(crate) async fn last(&mut self) -> Value {
        self.all().await.pop().expect("no line came")
    }
}
