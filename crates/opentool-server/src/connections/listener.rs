//! A socket that accepts connections: [`Listener`].

use std::fmt;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::Host;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::registry::{Admission, Connection, ConnectionRegistry, PhaseLimits};
use super::serve::{ListenerState, LocalOnly, handle_connection};
use super::transport::Transport;
use crate::config::{ConfigBuilder, ConfigError};
use crate::file::FileError;
use crate::http::current::CurrentService;
use crate::http::refusal::Refusal;
use crate::http::routes::Routes;
use crate::limits::ConnectionLimits;

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
        service: Arc<CurrentService>,
        local_only: LocalOnly,
        routes: Routes,
        transport: Transport,
        max_connections: usize,
        limits: ConnectionLimits,
    ) -> Self {
        let metrics = service.get().metrics().clone();
        Self {
            socket,
            registry: ConnectionRegistry::new(max_connections),
            tasks: JoinSet::new(),
            state: Arc::new(ListenerState { service, metrics, local_only, routes, transport, limits }),
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
                self.state.metrics.connections_evicted(evicted);
                return sleep(RETRY_DELAY).await;
            }
        };
        let metrics = &self.state.metrics;
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
        self.state.metrics.connection_refused();
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

/// Reads the API keys and certificates of a server again, or gives it other tools and settings; a clone is for the same server.
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
        let keys = self.0.service.get().reload_keys();
        #[cfg(feature = "tls")]
        if let Transport::Tls(certificates) = &self.0.transport {
            certificates.reload()?;
        }
        keys
    }

    /// Serves other tools with other settings from the next request on. Requests that run are finished with the earlier ones.
    ///
    /// Addresses, the prefix, TLS, mounted frontends and the limits of connections and of the drain stay as they are; so does the
    /// journal, where the settings have none. MCP clients that listen are notified by the [signal](opentool_core::ToolSource::changes)
    /// of the source that they began with.
    ///
    /// # Errors
    ///
    /// Where the settings cannot be used, or other machines could call the tools without a key and that was not allowed. Then nothing
    /// changes.
    pub fn replace(&self, host: &Host, mut config: ConfigBuilder) -> Result<(), ConfigError> {
        if !config.decides_access() && !self.0.local_only.all {
            return Err(ConfigError::NoKeys);
        }
        let current = self.0.service.get();
        config.keep(current.settings());
        let settings = config.build_for(self.0.local_only.tools)?.0;
        self.0.service.set(current.with(host.clone(), settings));
        Ok(())
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
        self.state.metrics.connection_closed();
        self.registry.remove(&self.connection);
    }
}

/// Says whether accepting failed because of that one client.
fn is_about_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
