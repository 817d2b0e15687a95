//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsAcceptor;

use super::connections::{Busy, Connection, Farewell, Phase};
use super::tls::Certificates;
use super::tracked::Tracked;
use crate::answer::AnswerBody;
use crate::endpoint::{Door, Endpoint};

/// How long a connection that should go may take, for instance to write an answer that nobody reads.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the connections of a listener share.
pub(super) struct Listening {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) door: Door,
    pub(super) certificates: Option<Certificates>,
    pub(super) max_header_size: usize,
}

/// What the requests of a connection share.
struct Caller {
    listening: Arc<Listening>,
    connection: Arc<Connection>,
    peer: SocketAddr,
}

/// Serves a connection until either side has enough.
pub(super) async fn talk(listening: Arc<Listening>, socket: TcpStream, peer: SocketAddr, connection: Arc<Connection>) {
    // Until a client says something it gets no buffers: thousands may be idle.
    let mut byte = [0];
    tokio::select! {
        biased;
        first = socket.peek(&mut byte) => if !matches!(first, Ok(1)) { return },
        _ = connection.dismissed() => return,
    }
    connection.enter(Phase::Head);
    match &listening.certificates {
        None => Box::pin(serve(socket, listening, peer, connection)).await,
        Some(certificates) => {
            let acceptor = TlsAcceptor::from(Arc::clone(&*certificates.get()));
            let greeted = tokio::select! {
                greeted = Box::pin(acceptor.accept(socket)) => greeted,
                _ = connection.dismissed() => return,
            };
            match greeted {
                Ok(socket) => {
                    connection.enter(Phase::Idle);
                    Box::pin(serve(socket, listening, peer, connection)).await;
                }
                Err(error) => {
                    tracing::debug!(target: "opentool::server", %peer, %error, "TLS handshake failed");
                }
            }
        }
    }
}

async fn serve<S>(socket: S, listening: Arc<Listening>, peer: SocketAddr, connection: Arc<Connection>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    // No more is read ahead than a head may have: it bounds what an idle client can make the server hold.
    http.max_buf_size(listening.max_header_size)
        .max_header_size(listening.max_header_size)
        // The listener looks after time, for waiting and for slow requests alike.
        .header_read_timeout(None);
    let io = TokioIo::new(Tracked::new(socket, connection.clone()));
    let caller = Arc::new(Caller { listening, connection: connection.clone(), peer });
    let service = service_fn(move |request: Request<Incoming>| {
        let caller = caller.clone();
        let (parts, body) = request.into_parts();
        // On the heap, where the next request finds it warm, whichever connection it is of: hyper would keep room for it in
        // every connection, and go through all of that memory when many are busy.
        Box::pin(async move {
            let busy = Busy::new(&caller.connection);
            let listening = &*caller.listening;
            let mut answer = listening.endpoint.handle(&listening.door, Some(caller.peer), &parts, body).await;
            if let AnswerBody::Stream(frames) = answer.body_mut() {
                frames.hold(busy);
            }
            Ok::<_, Infallible>(answer)
        })
    });
    let mut http = http.serve_connection(io, service);
    let patience = sleep(Duration::ZERO);
    tokio::pin!(patience);
    let mut leaving = false;
    loop {
        tokio::select! {
            // First whatever the client has sent.
            biased;
            result = &mut http => {
                if let Err(error) = result {
                    tracing::debug!(target: "opentool::server", %peer, %error, "connection broke");
                }
                return;
            }
            farewell = connection.dismissed() => match farewell {
                Farewell::None => {}
                Farewell::Quiet => {
                    std::pin::Pin::new(&mut http).graceful_shutdown();
                    patience.as_mut().reset(Instant::now() + PATIENCE);
                    leaving = true;
                }
                Farewell::Abort => return,
                Farewell::LateHead | Farewell::Crowded => {
                    let mut socket = http.into_parts().io.into_inner();
                    // Nobody has answered this request, so the words are ours, unless the last answer is still on its way.
                    if !socket.is_clogged() {
                        let words = if farewell == Farewell::Crowded { crowded() } else { late_head() };
                        let _ = socket.write_all(words.as_bytes()).await;
                        let _ = socket.shutdown().await;
                    }
                    return;
                }
            },
            () = &mut patience, if leaving => {
                if connection.phase() != Phase::Busy {
                    return;
                }
                // A request came in just then, and is answered.
                patience.as_mut().reset(Instant::now() + PATIENCE);
            }
        }
    }
}

fn late_head() -> String {
    refusal("408 Request Timeout", 408, "the request did not arrive in time")
}

fn crowded() -> String {
    refusal("503 Service Unavailable", 503, "the server holds as many bytes of requests as it may; try again")
}

pub(super) fn full() -> String {
    refusal("503 Service Unavailable", 503, "the server has as many connections as it may; try again")
}

/// An answer to somebody whose request was never read.
fn refusal(status: &str, code: u16, message: &str) -> String {
    let body =
        format!(r#"{{"jsonrpc":"2.0","result":{{}},"error":{{"code":{code},"message":"{message}"}},"id":null}}"#);
    let length = body.len();
    let later = if code == 503 { "retry-after: 1\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n{later}content-length: {length}\r\n\r\n{body}"
    )
}
