//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
#[cfg(feature = "tls")]
use tokio_rustls::TlsAcceptor;

use super::registry::{BusyGuard, CloseReason, Connection, Phase};
use super::request_body::TrackedBody;
use super::socket::{ClientSocket, TrackedSocket};
use super::transport::Transport;
use crate::http::current::CurrentService;
use crate::http::refusal::Refusal;
use crate::http::response::HttpResponse;
use crate::http::routes::Routes;
use crate::http::service::RequestHead;
use crate::limits::ConnectionLimits;
use crate::metrics::Metrics;

/// How long a connection that should close may take, for instance to write a response that the client does not read.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether only this machine can connect to the addresses of a server.
#[derive(Clone, Copy)]
pub(crate) struct LocalOnly {
    /// To the address of the tools.
    pub(crate) tools: bool,
    /// To all addresses, the operator's included.
    pub(crate) all: bool,
}

/// What the connections of a listener share.
pub(super) struct ListenerState {
    pub(super) service: Arc<CurrentService>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) local_only: LocalOnly,
    pub(super) routes: Routes,
    pub(super) transport: Transport,
    pub(super) limits: ConnectionLimits,
}

/// Serves a connection until either side closes it.
pub(super) async fn handle_connection(
    listener: Arc<ListenerState>,
    socket: TcpStream,
    peer: SocketAddr,
    connection: Arc<Connection>,
) {
    // Until a client sends something it gets no buffers: thousands may be idle.
    let mut byte = [0];
    tokio::select! {
        biased;
        first = socket.peek(&mut byte) => if !matches!(first, Ok(1)) { return },
        _ = connection.closing(CloseReason::None) => return,
    }
    connection.enter(Phase::Head);
    match &listener.transport {
        Transport::Plain => Box::pin(serve_http(socket, listener, peer, connection)).await,
        #[cfg(feature = "tls")]
        Transport::Tls(certificates) => {
            let acceptor = TlsAcceptor::from(Arc::clone(&*certificates.get()));
            let accepted = tokio::select! {
                accepted = Box::pin(acceptor.accept(socket)) => accepted,
                _ = connection.closing(CloseReason::None) => return,
            };
            match accepted {
                Ok(socket) => {
                    connection.enter(Phase::Idle);
                    Box::pin(serve_http(socket, listener, peer, connection)).await;
                }
                Err(error) => {
                    tracing::debug!(target: "opentool::server", %peer, %error, "TLS handshake failed");
                }
            }
        }
    }
}

async fn serve_http<S: ClientSocket>(
    socket: S,
    listener: Arc<ListenerState>,
    peer: SocketAddr,
    connection: Arc<Connection>,
) {
    let mut http = http1::Builder::new();
    // No more is read ahead than a head may have: it bounds what an idle client can make the server hold.
    http.max_buf_size(listener.limits.max_header_size)
        .max_header_size(listener.limits.max_header_size)
        .half_close(S::CAN_PEEK)
        // The listener watches the time of idle connections and of slow heads alike.
        .header_read_timeout(None)
        // The body is copied to the head and written with it: for a short answer that is cheaper than a list of buffers
        // (`scripts/bench http`), and a long one comes in pieces.
        .writev(false);
    let io = TokioIo::new(TrackedSocket::new(socket, connection.clone(), listener.limits.half_close_timeout));
    let context = Arc::new(ConnectionContext { listener, connection: connection.clone(), peer });
    let service = service_fn(move |request: Request<Incoming>| {
        let context = context.clone();
        let (parts, body) = request.into_parts();
        // Boxed, so that the memory is reused by the next request of any connection; hyper would keep memory for the future in
        // every connection. `scripts/bench http` shows it at 256 connections.
        Box::pin(async move { Ok::<_, Infallible>(context.answer(&parts, body).await) })
    });
    let mut http = http.serve_connection(io, service);
    let close_timer = sleep(Duration::ZERO);
    tokio::pin!(close_timer);
    let mut close_reason = CloseReason::None;
    loop {
        tokio::select! {
            // What the client has sent comes first.
            biased;
            result = &mut http => {
                if let Err(error) = result {
                    tracing::debug!(target: "opentool::server", %peer, %error, "connection broke");
                }
                return;
            }
            reason = connection.closing(close_reason) => match reason {
                CloseReason::None => {}
                CloseReason::Idle => {
                    std::pin::Pin::new(&mut http).graceful_shutdown();
                    close_timer.as_mut().reset(Instant::now() + CLOSE_TIMEOUT);
                    close_reason = reason;
                }
                CloseReason::Evicted => return,
                CloseReason::HeadTimeout | CloseReason::OverBudget => {
                    let mut socket = http.into_parts().io.into_inner();
                    // hyper has not answered this request, so the response is ours, unless the last one is still being sent.
                    if !socket.is_blocked() {
                        let refusal = match reason {
                            CloseReason::OverBudget => Refusal::over_budget(),
                            _ => Refusal::head_timeout(),
                        };
                        let _ = socket.write_all(&refusal.to_http1()).await;
                        let _ = socket.shutdown().await;
                    }
                    return;
                }
            },
            () = &mut close_timer, if close_reason == CloseReason::Idle => {
                if connection.phase() != Phase::Busy {
                    return;
                }
                // A request came in just then, and is answered.
                close_timer.as_mut().reset(Instant::now() + CLOSE_TIMEOUT);
            }
        }
    }
}

/// What the requests of a connection share.
struct ConnectionContext {
    listener: Arc<ListenerState>,
    connection: Arc<Connection>,
    peer: SocketAddr,
}

impl ConnectionContext {
    async fn answer(&self, parts: &Parts, body: Incoming) -> HttpResponse {
        let busy = BusyGuard::new(&self.connection);
        let body = TrackedBody::new(body, self.connection.clone());
        let routes = &self.listener.routes;
        let head = RequestHead { parts, routes, peer: Some(self.peer), nested_at: "" };
        let service = self.listener.service.get();
        let mut response = service.handle(&head, body).await;
        response.body_mut().hold(busy);
        response
    }
}
