//! A server that binds, serves and drains: [`Server`].

mod connections;
mod listener;
mod talk;
mod tls;
mod tracked;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use opentool_core::{Executor, Host, IntoToolSource, Source, ToolboxError};
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};

pub use self::listener::BoundServer;
use self::listener::{Listener, Pace};
use crate::config::{Config, ConfigBuilder, ConfigError};
use crate::endpoint::{Door, Endpoint};
use crate::gate::Hosts;

/// Serves tools over HTTP, with everything that a [router](crate::router) leaves to whoever binds the socket.
///
/// ```no_run
/// # use opentool_core::{tool, toolbox};
/// use opentool_server::Server;
///
/// struct Clock;
///
/// #[toolbox]
/// impl Clock {
///     /// Get the current date and time in the user's time zone.
///     #[tool]
///     fn current_date_time(&self) -> String {
///         "2026-11-15T12:00:00+01:00".to_owned()
///     }
/// }
/// # impl Clock { fn new() -> Self { Clock } }
/// # async fn serve() -> Result<(), opentool_server::ServeError> {
///
/// Server::new(Clock::new()).api_keys(["s3cret"]).serve("127.0.0.1:9627").await?;
/// # Ok(())
/// # }
/// ```
///
/// On a loopback address the server takes requests addressed to this machine only, so that no web page can reach it under a
/// name of its own, and needs no key. On any other address it needs one, or an explicit [`no_auth`](Self::no_auth).
#[must_use = "a server serves only when it is told to"]
pub struct Server {
    source: Result<Source, ToolboxError>,
    executor: Executor,
    config: ConfigBuilder,
    options: Options,
}

struct Options {
    max_connections: usize,
    header_timeout: Duration,
    idle_timeout: Duration,
    max_header_size: usize,
    drain_delay: Duration,
    drain_timeout: Duration,
    tls: Option<(PathBuf, PathBuf)>,
    admin_addr: Option<String>,
}

impl Server {
    /// Serves tools, or whatever yields them, with the default executor.
    ///
    /// Where the tools cannot stand in one toolbox, serving returns the error.
    pub fn new<M>(source: impl IntoToolSource<M>) -> Self {
        Self {
            source: source.into_tool_source(),
            executor: Executor::new(),
            config: Config::builder(),
            options: Options {
                max_connections: 4096,
                header_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(90),
                max_header_size: 16 * 1024,
                drain_delay: Duration::ZERO,
                drain_timeout: Duration::from_secs(35),
                tls: None,
                admin_addr: None,
            },
        }
    }

    /// Serves a host: its tools, with its executor.
    pub fn of(host: &Host) -> Self {
        Self::new(host.source().clone()).executor(host.executor().clone())
    }

    /// Sets the executor that runs the calls.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// Sets everything that a router is told too, replacing what was set before.
    pub fn config(mut self, config: ConfigBuilder) -> Self {
        self.config = config;
        self
    }

    /// Changes what a router is told too.
    ///
    /// ```
    /// # use opentool_core::Toolbox;
    /// # use opentool_server::Server;
    /// let server = Server::new(Toolbox::new()).configure(|config| config.prefix("/tools").max_calls_in_flight(10));
    /// # let _ = server;
    /// ```
    pub fn configure(mut self, change: impl FnOnce(ConfigBuilder) -> ConfigBuilder) -> Self {
        self.config = change(self.config);
        self
    }

    /// Adds API keys, which logs show as `key-1`, `key-2` and so on.
    pub fn api_keys<K: AsRef<str>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.configure(|config| config.api_keys(keys))
    }

    /// Lets everybody call who can reach the server.
    pub fn no_auth(self) -> Self {
        self.configure(ConfigBuilder::no_auth)
    }

    /// Sets how many connections may be open: 4,096. At the cap the longest idle one is closed.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.options.max_connections = connections;
        self
    }

    /// Sets how long the head of a request may take to arrive: 10 seconds.
    pub fn header_timeout(mut self, time: Duration) -> Self {
        self.options.header_timeout = time;
        self
    }

    /// Sets how long a connection may stay without a request: 90 seconds.
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.options.idle_timeout = time;
        self
    }

    /// Sets how many bytes the head of a request may have, at least 8 KiB: 16 KiB.
    pub fn max_header_size(mut self, bytes: usize) -> Self {
        self.options.max_header_size = bytes.max(8 * 1024);
        self
    }

    /// Sets how long the server still takes connections once it shall stop, while `/readyz` says so: not at all.
    pub fn drain_delay(mut self, delay: Duration) -> Self {
        self.options.drain_delay = delay;
        self
    }

    /// Sets how long calls may run once the listener is closed: 35 seconds, more than the deadline of a call.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.options.drain_timeout = timeout;
        self
    }

    /// Serves HTTPS, with a certificate chain and a key in PEM files; they are read again when they change.
    pub fn tls(mut self, certificates: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.options.tls = Some((certificates.into(), key.into()));
        self
    }

    /// Moves `/healthz`, `/readyz` and `/metrics` to an address of their own, which speaks plain HTTP.
    pub fn admin_addr(mut self, addr: impl Into<String>) -> Self {
        self.options.admin_addr = Some(addr.into());
        self
    }

    /// Binds an address and serves until the server is stopped.
    ///
    /// # Errors
    ///
    /// Where the tools or the settings cannot be used, or the address cannot be bound.
    pub async fn serve(self, addr: impl ToSocketAddrs + fmt::Display) -> Result<(), ServeError> {
        self.bind(addr).await?.serve().await;
        Ok(())
    }

    /// Binds an address, for those who need to know it or want to stop the server.
    ///
    /// # Errors
    ///
    /// Where the tools or the settings cannot be used, or the address cannot be bound.
    pub async fn bind(self, addr: impl ToSocketAddrs + fmt::Display) -> Result<BoundServer, ServeError> {
        let Self { source, executor, config, options } = self;
        let source = source?;
        let addr = Address::find(addr).await?;
        let admin = match &options.admin_addr {
            Some(admin) => Some(Address::find(admin).await?),
            None => None,
        };
        if !config.has_keys()
            && !config.says_no_auth()
            && let Some(open) = [Some(&addr), admin.as_ref()].into_iter().flatten().find(|addr| !addr.is_loopback())
        {
            return Err(ServeError::OpenToAll { addr: open.name.clone() });
        }
        let config = config.build_for(addr.is_loopback())?;
        let certificates = match options.tls {
            Some((certificates, key)) => Some(tls::watch(certificates, key).map_err(ConfigError::from)?),
            None => None,
        };
        let endpoint = Endpoint::new(executor.host(source), &config);
        let operator = endpoint.settings.operator_routes;
        let main = Listener::new(
            addr.bind().await?,
            endpoint.clone(),
            Door::whole(operator && admin.is_none()),
            certificates,
            options.max_connections,
            options.max_header_size,
        );
        let admin = match admin {
            None => None,
            Some(addr) => {
                /// Probes and a scraper or two.
                const ADMIN_CONNECTIONS: usize = 64;
                let hosts = if addr.is_loopback() { Hosts::listed(&[]) } else { Hosts::Any };
                let door = Door { tools: false, operator, hosts: Some(hosts) };
                let socket = addr.bind().await?;
                Some(Listener::new(socket, endpoint.clone(), door, None, ADMIN_CONNECTIONS, options.max_header_size))
            }
        };
        let pace = Pace {
            header_timeout: options.header_timeout,
            idle_timeout: options.idle_timeout,
            drain_delay: options.drain_delay,
            drain_timeout: options.drain_timeout,
        };
        Ok(BoundServer { endpoint, main, admin, pace })
    }
}

/// An address as it was given, and what it stands for.
struct Address {
    name: String,
    sockets: Vec<SocketAddr>,
}

impl Address {
    async fn find(addr: impl ToSocketAddrs + fmt::Display) -> Result<Self, ServeError> {
        let name = addr.to_string();
        match lookup_host(addr).await {
            Ok(sockets) => Ok(Self { name, sockets: sockets.collect() }),
            Err(source) => Err(ServeError::Bind { addr: name, source }),
        }
    }

    fn is_loopback(&self) -> bool {
        self.sockets.iter().all(|socket| socket.ip().is_loopback())
    }

    async fn bind(self) -> Result<TcpListener, ServeError> {
        let Self { name, sockets } = self;
        TcpListener::bind(&*sockets).await.map_err(|source| ServeError::Bind { addr: name, source })
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("source", &self.source).field("config", &self.config).finish_non_exhaustive()
    }
}

/// Why a server cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The tools cannot stand in one toolbox.
    #[error(transparent)]
    Tools(#[from] ToolboxError),
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Anybody on the network could call the tools, and nobody said that they may.
    #[error(
        "binding {addr} without an API key would let anybody call the tools: set a key, or allow it with `no_auth` \
         (--insecure-no-auth)"
    )]
    OpenToAll {
        /// The address.
        addr: String,
    },
    /// The address cannot be bound.
    #[error("cannot bind {addr}: {source}")]
    Bind {
        /// The address.
        addr: String,
        /// What the system said.
        source: io::Error,
    },
}
