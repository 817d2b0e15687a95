//! A server that answers what it is told to, byte by byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// What is done for one request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Write these bytes, and give them time to arrive on their own.
    Write(Vec<u8>),
    /// Take time.
    Wait(Duration),
    /// Say and do nothing until the client closes the connection.
    Hang,
    /// Close the connection.
    Close,
}

pub(crate) type Reply = Vec<Step>;

/// A whole answer with a status and a body.
pub(crate) fn reply(status: u16, content_type: &str, body: &str) -> Reply {
    let head =
        format!("HTTP/1.1 {status} Whatever\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n", body.len());
    vec![Step::Write([head.as_bytes(), body.as_bytes()].concat())]
}

pub(crate) fn json(status: u16, body: &str) -> Reply {
    reply(status, "application/json", body)
}

pub(crate) fn html(status: u16) -> Reply {
    reply(status, "text/html", "<!doctype html><title>Oops</title>")
}

/// A good answer to a call.
pub(crate) fn result(result: &str) -> Reply {
    json(200, &format!(r#"{{"jsonrpc":"2.0","result":{result},"error":null,"id":"1"}}"#))
}

/// A refusal of a call.
pub(crate) fn error(code: i32, message: &str) -> Reply {
    let message = serde_json::to_string(message).unwrap();
    json(200, &format!(r#"{{"jsonrpc":"2.0","result":{{}},"error":{{"code":{code},"message":{message}}},"id":"1"}}"#))
}

/// A stream of events in pieces, ended by closing the connection.
pub(crate) fn events<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut steps = vec![Step::Write(head.into())];
    steps.extend(pieces.into_iter().map(|piece| Step::Write(piece.into())));
    steps.push(Step::Close);
    steps
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
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
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

    /// The only request there was.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
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
                None => drop(serve(socket, &state).await),
                Some(tls) => {
                    if let Ok(socket) = tls.accept(socket).await {
                        drop(serve(socket, &state).await);
                    }
                }
            }
            state.closed.send_modify(|count| *count += 1);
        });
    }
}

async fn serve(mut socket: impl AsyncRead + AsyncWrite + Unpin, state: &State) -> std::io::Result<()> {
    while let Some(seen) = read_request(&mut socket).await? {
        state.seen.lock().unwrap().push(seen);
        state.requests.send_modify(|count| *count += 1);
        let reply = {
            let mut replies = state.replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() }
        };
        for step in reply {
            match step {
                Step::Write(bytes) => {
                    socket.write_all(&bytes).await?;
                    socket.flush().await?;
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Hang => {
                    let _ = socket.read(&mut [0; 1]).await;
                    return Ok(());
                }
                Step::Close => {
                    socket.shutdown().await?;
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Option<Seen>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if socket.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let mut seen = Seen { head: String::from_utf8(head).unwrap(), body: String::new() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    seen.body = String::from_utf8(body).unwrap();
    Ok(Some(seen))
}
