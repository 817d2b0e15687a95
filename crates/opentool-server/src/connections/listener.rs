//! A socket that accepts connections: [`Listener`].

use std::fmt;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::limits::ConnectionLimits;
use super::registry::{Admission, Connection, ConnectionRegistry, PhaseLimits};
use super::serve::{ListenerState, handle_connection};
use super::transport::Transport;
use crate::file::FileError;
use crate::http::refusal::Refusal;
use crate::http::routes::Routes;
use crate::http::service::Service;

/// How long to wait where the system cannot open another connection.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// How often the log says that connections are refused.
const WARN_INTERVAL: Duration = Duration::from_secs(10);

/// The result of accepting a connection.
pub(super) type Accepted = io::Result<(TcpStream, SocketAddr)>;

/// A socket, and the connections that it accepted.
pub(crate) struct Listener {
    pub(super) socket: TcpListener,
    pub(super) registry: Arc<ConnectionRegistry>,
    pub(super) tasks: JoinSet<()>,
    state: Arc<ListenerState>,
    /// When the next warning may be written.
    next_warning: Option<Instant>,
}

impl Listener {
    pub(crate) fn new(
        socket: TcpListener,
        service: Arc<Service>,
        routes: Routes,
        transport: Transport,
        max_connections: usize,
        limits: ConnectionLimits,
    ) -> Self {
        Self {
            socket,
            registry: ConnectionRegistry::new(max_connections),
            tasks: JoinSet::new(),
            state: Arc::new(ListenerState { service, routes, transport, limits }),
            next_warning: None,
        }
    }

    /// Serves a connection that was accepted, in a task of its own.
    pub(super) async fn accept(&mut self, accepted: Accepted) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_about_the_client(&error) => return,
            Err(error) => {
                // No descriptors or no memory: the longest idle connections are closed.
                self.warn(&error);
                let evicted = self.registry.evict_some();
                self.state.service.metrics().connections_evicted(evicted);
                return sleep(RETRY_DELAY).await;
            }
        };
        let metrics = self.state.service.metrics();
        let connection = match self.registry.admit() {
            Admission::Admitted(connection) => connection,
            Admission::AfterEviction(connection) => {
                metrics.connections_evicted(1);
                connection
            }
            Admission::Refused => return self.refuse(socket),
        };
        // Responses are written whole, so waiting for more would only delay them.
        let _ = socket.set_nodelay(true);
        metrics.connection_opened();
        let registered = RegisteredConnection {
            state: self.state.clone(),
            registry: self.registry.clone(),
            connection: connection.clone(),
        };
        self.tasks.spawn(async move {
            handle_connection(registered.state.clone(), socket, peer, connection).await;
            drop(registered);
        });
    }

    /// Writes a warning, but not too many.
    fn warn(&mut self, reason: &dyn fmt::Display) {
        let now = Instant::now();
        if self.next_warning.is_none_or(|next| now >= next) {
            self.next_warning = Some(now + WARN_INTERVAL);
            tracing::warn!(target: "opentool::server", %reason, "a connection was refused");
        }
    }

    fn refuse(&mut self, socket: TcpStream) {
        self.state.service.metrics().connection_refused();
        self.warn(&"all others are busy");
        if self.state.transport.is_plain()
            && let Ok(mut socket) = socket.into_std()
        {
            // The send buffer of a new socket is empty, so this does not block.
            let _ = socket.write_all(&Refusal::too_many_connections().to_http1());
        }
    }

    /// A handle that reads the files of the listener again.
    pub(super) fn reload_handle(&self) -> ReloadHandle {
        ReloadHandle(self.state.clone())
    }

    pub(super) fn tick(&mut self, limits: PhaseLimits) {
        while self.tasks.try_join_next().is_some() {}
        self.registry.tick(limits);
    }
}

/// Reads the API keys and certificates of a server again; a clone is for the same server.
///
/// Files are read again by themselves within a second of a change that shows in their time, length or identity; this
/// does not wait for one.
#[derive(Clone)]
pub struct ReloadHandle(Arc<ListenerState>);

impl ReloadHandle {
    /// Reads the files now.
    ///
    /// # Errors
    ///
    /// Where one cannot be used; its earlier content stays in use.
    pub fn reload(&self) -> Result<(), FileError> {
        let keys = self.0.service.reload_keys();
        #[cfg(feature = "tls")]
        if let Transport::Tls(certificates) = &self.0.transport {
            certificates.reload()?;
        }
        keys
    }
}

impl fmt::Debug for ReloadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadHandle").finish_non_exhaustive()
    }
}

/// A connection in the registry, until its task ends, however it ends.
struct RegisteredConnection {
    state: Arc<ListenerState>,
    registry: Arc<ConnectionRegistry>,
    connection: Arc<Connection>,
}

impl Drop for RegisteredConnection {
    fn drop(&mut self) {
        self.state.service.metrics().connection_closed();
        self.registry.remove(&self.connection);
    }
}

/// Says whether accepting failed because of that one client.
fn is_about_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
