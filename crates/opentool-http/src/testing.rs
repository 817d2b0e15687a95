//! A server on loopback that follows a script, byte by byte, and records the requests it gets: [`Server`].
//!
//! Problems of a test are panics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// The pause between two writes, so that they arrive apart.
const WRITE_PAUSE: Duration = Duration::from_millis(2);

/// How long a test waits for an event.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A step of the response to one request; after the last, the next request may come on the same connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Write these bytes; further ones arrive apart from them.
    Write(Vec<u8>),
    /// Wait this long.
    Wait(Duration),
    /// Write these bytes again and again until the client closes the connection.
    Repeat(Vec<u8>),
    /// Do nothing until the client closes the connection.
    Hang,
    /// Close the connection.
    Close,
}

/// A request as the server received it.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// The first line and the headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl SeenRequest {
    /// Returns the first line without the protocol.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the body, which must be JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A server that follows a script.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<ServerState>,
}

#[derive(Debug)]
struct ServerState {
    /// The replies to come; the last one is repeated.
    replies: Mutex<VecDeque<Vec<Step>>>,
    seen: Mutex<Vec<SeenRequest>>,
    connections: watch::Sender<usize>,
    closed: watch::Sender<usize>,
    requests: watch::Sender<usize>,
}

impl Server {
    /// Starts a server that gives these replies in turn and repeats the last one.
    pub async fn start(replies: impl IntoIterator<Item = impl Into<Vec<Step>>>) -> Self {
        Self::start_with(replies, None).await
    }

    /// Starts a server that speaks TLS, and returns it with its self-signed certificate (PEM).
    pub async fn start_tls(replies: impl IntoIterator<Item = impl Into<Vec<Step>>>) -> (Self, String) {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let server = Self::start_with(replies, Some(TlsAcceptor::from(Arc::new(config)))).await;
        (server, certified.cert.pem())
    }

    async fn start_with(replies: impl IntoIterator<Item = impl Into<Vec<Step>>>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ServerState {
            replies: Mutex::new(replies.into_iter().map(Into::into).collect()),
            seen: Mutex::default(),
            connections: watch::channel(0).0,
            closed: watch::channel(0).0,
            requests: watch::channel(0).0,
        });
        let scheme = if tls.is_some() { "https" } else { "http" };
        tokio::spawn(accept(listener, state.clone(), tls));
        Self { address, scheme, state }
    }

    /// Returns the base URL of the server.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Returns the requests so far.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Returns the request, which must be the only one.
    pub fn only_request(&self) -> SeenRequest {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    /// Returns how many connections were accepted.
    pub fn connections(&self) -> usize {
        *self.state.connections.borrow()
    }

    /// Waits until this many requests have come.
    pub async fn wait_for_requests(&self, count: usize) {
        until(&self.state.requests, count).await;
    }

    /// Waits until this many connections are closed; after [`Step::Hang`] the client closed them.
    pub async fn wait_for_closed(&self, count: usize) {
        until(&self.state.closed, count).await;
    }
}

async fn until(counter: &watch::Sender<usize>, count: usize) {
    let mut receiver = counter.subscribe();
    let reached = receiver.wait_for(|reached| *reached >= count);
    tokio::time::timeout(MAX_WAIT, reached).await.expect("nothing came").unwrap();
}

async fn accept(listener: TcpListener, state: Arc<ServerState>, tls: Option<TlsAcceptor>) {
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

async fn serve(
    socket: &mut BufStream<impl AsyncRead + AsyncWrite + Unpin>,
    state: &ServerState,
) -> std::io::Result<()> {
    while let Some(seen) = read_request(socket).await? {
        state.seen.lock().unwrap().push(seen);
        let reply = {
            let mut replies = state.replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() }
        };
        state.requests.send_modify(|count| *count += 1);
        let mut written = false;
        for step in reply {
            match step {
                Step::Write(bytes) => {
                    if std::mem::replace(&mut written, true) {
                        tokio::time::sleep(WRITE_PAUSE).await;
                    }
                    socket.write_all(&bytes).await?;
                    socket.flush().await?;
                }
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Repeat(bytes) => loop {
                    socket.write_all(&bytes).await?;
                },
                Step::Hang => {
                    let _ = socket.read(&mut [0; 1]).await;
                    return Ok(());
                }
                Step::Close => return socket.shutdown().await,
            }
        }
    }
    Ok(())
}

async fn read_request(
    socket: &mut BufStream<impl AsyncRead + AsyncWrite + Unpin>,
) -> std::io::Result<Option<SeenRequest>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_until(b'\n', &mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut seen = SeenRequest { head: String::from_utf8(head).unwrap(), body: String::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    seen.body = String::from_utf8(body).unwrap();
    Ok(Some(seen))
}
