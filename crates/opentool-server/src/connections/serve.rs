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
        let (parts, body) = request.into_parts();
        // Boxed, so that the memory is reused by the next request of any connection; hyper would keep memory for the future in
        // every connection. `scripts/bench http` shows it at 256 connections.
        Box::pin(respond(context.clone(), parts, body))
    });
    let mut http = http.serve_connection(io, service);
    let close_timer = sleep(Duration::ZERO);
    tokio::pin!(close_timer);
    let mut close_reason = CloseReason::None;
    let refusal = loop {
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
                // Given by the socket, which has lost bytes of the head: no request can come of it.
                CloseReason::OverBudget => break Refusal::over_budget(),
                CloseReason::HeadTimeout if connection.phase() == Phase::Head => break Refusal::head_timeout(),
                CloseReason::Evicted if connection.phase() == Phase::Head => return,
                // These are given by another task: the head may have arrived meanwhile, and a call that has started is answered.
                CloseReason::Idle | CloseReason::HeadTimeout | CloseReason::Evicted => {
                    std::pin::Pin::new(&mut http).graceful_shutdown();
                    close_timer.as_mut().reset(Instant::now() + CLOSE_TIMEOUT);
                    close_reason = reason;
                }
            },
            () = &mut close_timer, if close_reason != CloseReason::None => {
                if connection.phase() != Phase::Busy {
                    return;
                }
                // A request came in just then, and is answered.
                close_timer.as_mut().reset(Instant::now() + CLOSE_TIMEOUT);
            }
        }
    };
    // A statement of its own: it frees what was read of the head before the client is waited for (`scripts/bench attack`).
    let io = http.into_parts().io;
    Box::pin(refuse_head(io, refusal)).await;
}

/// Answers a request. Memory of up to 1,032 bytes is what the allocator keeps at hand; a larger block costs some 2 % of a request's
/// instructions (callgrind, with `scripts/bench http`).
#[expect(clippy::manual_async_fn, reason = "an `async fn` holds its arguments twice")]
fn respond(
    context: Arc<ConnectionContext>,
    parts: Parts,
    body: Incoming,
) -> impl Future<Output = Result<HttpResponse, Infallible>> + Send {
    async move { Ok(context.answer(&parts, body).await) }
}

/// Answers a request whose head has not arrived: hyper has not seen it, so the response is ours, unless the last one is still being
/// sent.
async fn refuse_head<S: ClientSocket>(io: TokioIo<TrackedSocket<S>>, refusal: Refusal) {
    let mut socket = io.into_inner();
    if !socket.is_blocked() {
        let _ = socket.write_all(&refusal.to_http1()).await;
        let _ = socket.shutdown().await;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::task::{Context, Poll};

    use opentool_core::testing::{CallLog, FakeTool};
    use opentool_core::{Executor, ToolOutput};
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};
    use tokio::sync::Notify;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    use super::super::registry::{Admission, ConnectionRegistry};
    use super::*;
    use crate::Config;
    use crate::http::service::Service;

    impl ClientSocket for DuplexStream {
        const CAN_PEEK: bool = false;

        fn poll_end(&self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Pending
        }
    }

    /// A listener with a tool that waits for a signal.
    fn gated() -> (Arc<ListenerState>, CallLog, Arc<Notify>) {
        let open: Arc<Notify> = Arc::default();
        let waiting = open.clone();
        let tool = FakeTool::new("wait").acts(move |_, _| {
            let waiting = waiting.clone();
            async move {
                waiting.notified().await;
                Ok(ToolOutput::text("done"))
            }
        });
        let log = tool.log();
        let host = Executor::new().host(opentool_core::Toolbox::from_tools([tool]).unwrap());
        let service = Service::new(host, Config::builder().allow_anonymous(true).build().unwrap().0, Vec::new());
        let state = ListenerState {
            metrics: service.metrics().clone(),
            service: CurrentService::new(service),
            local_only: LocalOnly { tools: true, all: true },
            routes: Routes::all(false),
            transport: Transport::Plain,
            limits: ConnectionLimits::default(),
        };
        (Arc::new(state), log, open)
    }

    async fn until(is_true: impl Fn() -> bool) {
        let waited = async {
            while !is_true() {
                yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), waited).await.unwrap();
    }

    fn size_of_future<A, B, C, F>(_: impl Fn(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_takes_no_more_memory_than_the_allocator_has_at_hand() {
        assert!(size_of_future(respond) <= 1032, "{} bytes", size_of_future(respond));
    }

    /// Sends a call whose head ends just when its connection must close, and returns all that the server sends.
    async fn call_at_close(reason: CloseReason, answers_at_once: bool) -> String {
        let (listener, log, open) = gated();
        let registry = ConnectionRegistry::new(1);
        let Admission::Admitted(connection) = registry.admit() else { panic!("refused") };
        let (mut client, socket) = duplex(64 * 1024);
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let task = tokio::spawn(serve_http(socket, listener, peer, connection.clone()));
        if answers_at_once {
            open.notify_one();
        }
        let body = r#"{"method":"wait","params":{},"id":"1"}"#;
        client.write_all(b"POST /opentool/call HTTP/1.1\r\nHost: local").await.unwrap();
        until(|| connection.phase() == Phase::Head).await;
        // Both before the task of the connection runs again.
        client.write_all(format!("host\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
        connection.close(reason);
        until(|| log.count() == 1).await;
        open.notify_one();
        let mut sent = String::new();
        client.read_to_string(&mut sent).await.unwrap();
        drop(client);
        task.await.unwrap();
        sent
    }

    #[tokio::test]
    async fn a_call_that_has_started_is_answered_and_nothing_after_it() {
        for reason in [CloseReason::Idle, CloseReason::HeadTimeout, CloseReason::Evicted] {
            for answers_at_once in [false, true] {
                let sent = call_at_close(reason, answers_at_once).await;
                assert!(sent.starts_with("HTTP/1.1 200 "), "{reason:?} {answers_at_once}: {sent}");
                assert!(sent.ends_with(r#""result":{"result":"done"},"error":null,"id":"1"}"#), "{reason:?}: {sent}");
            }
        }
    }
}
