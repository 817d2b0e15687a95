//! A server that answers what it is told to, chunk by chunk.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// What is done for one request, after the bytes are written.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Then {
    /// Wait for the next request.
    #[default]
    Listen,
    /// Close the connection.
    Close,
    /// Say and do nothing until the client closes the connection.
    Hang,
    /// Write the body again and again until the client closes the connection.
    Repeat,
}

#[derive(Clone, Default)]
pub(crate) struct Reply {
    head: String,
    body: Vec<u8>,
    then: Then,
}

impl Reply {
    /// A whole answer.
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} So\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n");
        Self { head, body: body.into(), then: Then::Listen }
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn html(status: u16) -> Self {
        Self::new(status, "text/html; charset=utf-8", "<!doctype html><title>Bad Gateway</title><h1>Oops</h1>")
    }

    /// An answer in chunks, which the client sees one by one however the network carries them.
    pub(crate) fn chunks<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut reply = Self::unfinished(content_type, chunks);
        reply.body.extend_from_slice(b"0\r\n\r\n");
        Self { then: Then::Listen, ..reply }
    }

    /// An answer in chunks that breaks off.
    pub(crate) fn unfinished<'a>(content_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n");
        let mut body = Vec::new();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        Self { head, body, then: Then::Close }
    }

    /// No answer at all.
    pub(crate) fn silence() -> Self {
        Self { then: Then::Hang, ..Self::default() }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    /// The first line without the protocol.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
}

struct State {
    /// The replies to come; the last one is given again and again.
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    connections: watch::Sender<usize>,
    closed: watch::Sender<usize>,
    requests: watch::Sender<usize>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_with(replies, None).await
    }

    pub(crate) async fn start_with(replies: impl IntoIterator<Item = Reply>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            replies: Mutex::new(replies.into_iter().collect()),
            seen: Mutex::default(),
            connections: watch::channel(0).0,
            closed: watch::channel(0).0,
            requests: watch::channel(0).0,
        });
        let scheme = if tls.is_some() { "https" } else { "http" };
        tokio::spawn(accept(listener, state.clone(), tls));
        Self { address, scheme, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.state.connections.borrow()
    }

    /// Waits until so many requests have come.
    pub(crate) async fn requests(&self, count: usize) {
        until(&self.state.requests, count).await;
    }

    /// Waits until so many connections are closed; where the server was to hang, it was the client who closed them.
    pub(crate) async fn hung_up(&self, count: usize) {
        until(&self.state.closed, count).await;
    }
}

async fn until(counter: &watch::Sender<usize>, count: usize) {
    let mut receiver = counter.subscribe();
    let reached = receiver.wait_for(|reached| *reached >= count);
    tokio::time::timeout(Duration::from_secs(60), reached).await.expect("nothing came").unwrap();
}

async fn accept(listener: TcpListener, state: Arc<State>, tls: Option<TlsAcceptor>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        state.connections.send_modify(|count| *count += 1);
        let (state, tls) = (state.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => drop(serve(&mut BufStream::new(socket), &state).await),
                Some(tls) => {
                    if let Ok(socket) = tls.accept(socket).await {
                        drop(serve(&mut BufStream::new(socket), &state).await);
                    }
                }
            }
            state.closed.send_modify(|count| *count += 1);
        });
    }
}

async fn serve(socket: &mut BufStream<impl AsyncRead + AsyncWrite + Unpin>, state: &State) -> std::io::Result<()> {
    while let Some(seen) = read_request(socket).await? {
        state.seen.lock().unwrap().push(seen);
        let reply = {
            let mut replies = state.replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() }
        };
        state.requests.send_modify(|count| *count += 1);
        if !reply.head.is_empty() {
            socket.write_all(format!("{}\r\n", reply.head).as_bytes()).await?;
            socket.write_all(&reply.body).await?;
            socket.flush().await?;
        }
        match reply.then {
            Then::Listen => {}
            Then::Close => return socket.shutdown().await,
            Then::Hang => {
                let _ = socket.read(&mut [0; 1]).await;
                return Ok(());
            }
            Then::Repeat => loop {
                socket.write_all(&reply.body).await?;
            },
        }
    }
    Ok(())
}

async fn read_request(socket: &mut BufStream<impl AsyncRead + AsyncWrite + Unpin>) -> std::io::Result<Option<Seen>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_until(b'\n', &mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut seen = Seen { head: String::from_utf8(head).unwrap(), body: String::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    seen.body = String::from_utf8(body).unwrap();
    Ok(Some(seen))
}
