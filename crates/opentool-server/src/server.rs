//! A server that binds, serves and drains: [`Server`].

use std::fmt;
use std::io;
use std::sync::Arc;

use opentool_core::{Executor, Host, IntoToolSource, Source, ToolboxError};

use crate::config::{ConfigBuilder, ConfigError};
use crate::connections::bound::BoundServer;
use crate::connections::listener::Listener;
use crate::connections::serve::LocalOnly;
#[cfg(feature = "tls")]
use crate::connections::tls;
use crate::connections::transport::Transport;
use crate::http::current::CurrentService;
use crate::http::frontend::Frontend;
use crate::http::hosts::AllowedHosts;
use crate::http::mounted::MountedFrontend;
use crate::http::routes::{Route, Routes, strip_prefix};
use crate::http::service::Service;
use crate::http::settings::Settings;
use crate::listen::{ListenAddr, ResolvedAddr};

/// How many connections the operator's address takes: probes and a scraper or two.
const ADMIN_CONNECTIONS: usize = 64;

/// Serves tools over HTTP: it binds an address, bounds its connections, and drains when it is stopped.
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
/// name of its own, and needs no key. On any other address it needs one, or
/// [`allow_anonymous(true)`](Self::allow_anonymous).
#[must_use = "a server does nothing until `serve` or `bind`"]
pub struct Server {
    source: Result<Source, ToolboxError>,
    executor: Executor,
    config: ConfigBuilder,
    frontends: Vec<MountedFrontend>,
}

impl Server {
    /// Serves tools, or a source of them, with the default executor.
    ///
    /// Where the tools cannot stand in one toolbox, serving returns the error.
    pub fn new<M>(source: impl IntoToolSource<M>) -> Self {
        Self {
            source: source.into_tool_source(),
            executor: Executor::new(),
            config: ConfigBuilder::default(),
            frontends: Vec::new(),
        }
    }

    /// Serves a host: its tools, with its executor.
    pub fn from_host(host: &Host) -> Self {
        Self::new(host.source().clone()).executor(host.executor().clone())
    }

    /// Sets the executor that runs the calls.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// Sets the whole configuration, replacing what was set before.
    pub fn config(mut self, config: ConfigBuilder) -> Self {
        self.config = config;
        self
    }

    /// Changes the configuration.
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

    /// Adds API keys, which logs show as `key-1`, `key-2` and so on: [`ConfigBuilder::api_keys`].
    pub fn api_keys<K: AsRef<str>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.configure(|config| config.api_keys(keys))
    }

    /// Sets whether callers need no key: [`ConfigBuilder::allow_anonymous`].
    pub fn allow_anonymous(self, allow: bool) -> Self {
        self.configure(|config| config.allow_anonymous(allow))
    }

    /// Serves the same tools through another frontend too, at a path of its own.
    ///
    /// The keys, the checks of `Host` and `Origin`, the limits, the log, the metrics and the drain are those of the server. A
    /// frontend that [authenticates its callers itself](Frontend::authenticates_callers) gets requests without a key too.
    pub fn mount(mut self, frontend: impl Frontend) -> Self {
        self.frontends.push(MountedFrontend::new(frontend));
        self
    }

    /// Listens and serves until the server is stopped.
    ///
    /// The address may be text, a socket address, a host with a port, or a listener that is bound already: [`ListenAddr`].
    ///
    /// # Errors
    ///
    /// Where the tools or the settings cannot be used, or the address cannot be bound.
    pub async fn serve(self, addr: impl Into<ListenAddr>) -> Result<(), ServeError> {
        self.bind(addr).await?.serve().await;
        Ok(())
    }

    /// Binds an address without serving yet, to learn the port or to get a handle that stops the server.
    ///
    /// # Errors
    ///
    /// Where the tools, the settings or the path of a frontend cannot be used, or the address cannot be bound.
    pub async fn bind(self, addr: impl Into<ListenAddr>) -> Result<BoundServer, ServeError> {
        let Self { source, executor, config, frontends } = self;
        let source = source?;
        let main = NamedAddr::resolve(addr.into()).await?;
        let admin = match config.admin_addr.clone() {
            Some(addr) => Some(NamedAddr::resolve(addr.into()).await?),
            None => None,
        };
        if !config.decides_access()
            && let Some(open) = [Some(&main), admin.as_ref()].into_iter().flatten().find(|addr| !addr.is_loopback())
        {
            return Err(ServeError::OpenToAll { addr: open.name.clone() });
        }
        let limits = config.limits;
        #[cfg(feature = "tls")]
        let tls_files = config.tls.clone();
        let config = config.build_for(main.is_loopback())?;
        #[cfg(feature = "tls")]
        let transport = match tls_files {
            Some(files) => Transport::Tls(tls::watch(files.certificates, files.key).map_err(ConfigError::from)?),
            None => Transport::Plain,
        };
        #[cfg(not(feature = "tls"))]
        let transport = Transport::Plain;
        let operator = config.0.operator_routes;
        let routes = Routes::all(operator && admin.is_none());
        let routes = mount_paths(routes, &frontends, &config.0)?;
        let service = Service::new(executor.host(source), config.0, frontends);
        let shutdown = Arc::clone(service.shutdown());
        let service = CurrentService::new(service);
        let local_only = LocalOnly {
            tools: main.is_loopback(),
            all: main.is_loopback() && admin.as_ref().is_none_or(NamedAddr::is_loopback),
        };
        let listener = |socket, routes, transport, max_connections| {
            Listener::new(socket, service.clone(), local_only, routes, transport, max_connections, limits)
        };
        let main = listener(main.bind().await?, routes, transport, limits.max_connections);
        let admin = match admin {
            None => None,
            Some(addr) => {
                let hosts = if addr.is_loopback() { AllowedHosts::listed(&[]) } else { AllowedHosts::Any };
                let routes = Routes::operator_only(operator, hosts);
                Some(listener(addr.bind().await?, routes, Transport::Plain, ADMIN_CONNECTIONS))
            }
        };
        Ok(BoundServer::new(main, admin, limits, shutdown))
    }
}

/// Adds the paths of frontends to the routes.
fn mount_paths(mut routes: Routes, frontends: &[MountedFrontend], settings: &Settings) -> Result<Routes, ServeError> {
    for MountedFrontend { path: mount_path, .. } in frontends {
        let path = mount_path.as_str();
        let problem = path_problem(path, &routes, settings);
        let hides_tools = || {
            // Below the path are the OpenTool routes, which the frontend would get.
            let below = strip_prefix(&settings.prefix, path).is_some();
            (below && mount_path.takes_sub_paths()).then_some("the OpenTool routes are below it")
        };
        if let Some(problem) = problem.or_else(hides_tools) {
            return Err(ServeError::Mount { path: path.to_owned(), problem });
        }
        routes = routes.with_mounted(mount_path.clone());
    }
    Ok(routes)
}

/// Says why a frontend cannot be mounted at a path.
fn path_problem(path: &str, routes: &Routes, settings: &Settings) -> Option<&'static str> {
    let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    if !path.starts_with('/') || path.ends_with('/') {
        return Some("it must begin with a slash and end without one");
    }
    if !path.bytes().all(is_path_byte) {
        return Some("it may have letters, digits, `-`, `.`, `_`, `~` and `/` only");
    }
    match routes.find(path, settings) {
        Route::Outside => None,
        // Without a prefix everything is under it.
        Route::Unknown if settings.prefix.is_empty() => None,
        Route::Mounted(_) => Some("another frontend is mounted there"),
        Route::Operator(_) => Some("the operator's routes are there"),
        Route::Tools(_) | Route::Unknown => Some("the OpenTool routes are there"),
    }
}

/// An address that was looked up, with the name that errors show.
struct NamedAddr {
    name: String,
    addr: ResolvedAddr,
}

impl NamedAddr {
    async fn resolve(addr: ListenAddr) -> Result<Self, ServeError> {
        let name = addr.to_string();
        match addr.resolve().await {
            Ok(addr) => Ok(Self { name, addr }),
            Err(source) => Err(ServeError::Bind { addr: name, source }),
        }
    }

    fn is_loopback(&self) -> bool {
        self.addr.is_loopback()
    }

    async fn bind(self) -> Result<tokio::net::TcpListener, ServeError> {
        let Self { name, addr } = self;
        addr.bind().await.map_err(|source| ServeError::Bind { addr: name, source })
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
    /// Every machine on the network could call the tools, which was not allowed.
    #[error(
        "binding {addr} without an API key would let every machine on the network call the tools: set a key, or allow it \
         with `allow_anonymous(true)` (--insecure-no-auth)"
    )]
    OpenToAll {
        /// The address.
        addr: String,
    },
    /// A frontend cannot be mounted at its path.
    #[error("a frontend cannot be mounted at `{path}`: {problem}")]
    Mount {
        /// The path.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The address cannot be bound.
    #[error("cannot bind {addr}: {source}")]
    Bind {
        /// The address.
        addr: String,
        /// The error of the system.
        source: io::Error,
    },
}
