//! A server on loopback that answers what it is told to, byte by byte, and remembers what it was asked: [`Server`].
//!
//! Whatever is wrong with a test panics.
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

/// How long what is written gets to arrive on its own.
const APART: Duration = Duration::from_millis(2);

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done for one request; where nothing else is said, the next one follows on the same connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Write these bytes; others that follow come apart from them.
    Write(Vec<u8>),
    /// Take time.
    Wait(Duration),
    /// Write these bytes again and again until the client closes the connection.
    Repeat(Vec<u8>),
    /// Say and do nothing until the client closes the connection.
    Hang,
    /// Close the connection.
    Close,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The first line and the headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Seen {
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

/// A server that answers what it is told to.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// The replies to come; the last one is given again and again.
    replies: Mutex<VecDeque<Vec<Step>>>,
    seen: Mutex<Vec<Seen>>,
    connections: watch::Sender<usize>,
    closed: watch::Sender<usize>,
    requests: watch::Sender<usize>,
}

impl Server {
    /// Starts a server that gives these replies, the last one again and again.
    pub async fn start(replies: impl IntoIterator<Item = impl Into<Vec<Step>>>) -> Self {
        Self::start_with(replies, None).await
    }

    /// Starts a server that speaks TLS, with a certificate of its own, which comes along.
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
        let state = Arc::new(State {
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

    /// Returns where the server is.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Returns the requests that came.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Returns the only request there was.
    pub fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    /// Returns how many connections there have been.
    pub fn connections(&self) -> usize {
        *self.state.connections.borrow()
    }

    /// Waits until so many requests have come.
    pub async fn requests(&self, count: usize) {
        until(&self.state.requests, count).await;
    }

    /// Waits until so many connections are closed; where the server was to hang, it was the client who closed them.
    pub async fn hung_up(&self, count: usize) {
        until(&self.state.closed, count).await;
    }
}

async fn until(counter: &watch::Sender<usize>, count: usize) {
    let mut receiver = counter.subscribe();
    let reached = receiver.wait_for(|reached| *reached >= count);
    tokio::time::timeout(PATIENCE, reached).await.expect("nothing came").unwrap();
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
        let mut written = false;
        for step in reply {
            match step {
                Step::Write(bytes) => {
                    if std::mem::replace(&mut written, true) {
                        tokio::time::sleep(APART).await;
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
