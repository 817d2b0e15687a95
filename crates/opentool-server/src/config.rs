//! The settings of a server or a router: [`Config`], and how they are made: [`ConfigBuilder`].

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{Journal, MemoryBudget, MemoryJournal, TraceContext};

use crate::file::FileError;
use crate::http::body::BodyLimits;
use crate::http::hosts::AllowedHosts;
use crate::http::keys::{ApiKey, KeyError, KeyRing};
use crate::http::origins::AllowedOrigins;
use crate::http::settings::{Settings, StopHook, TraceHook};
use crate::http::sources::SourceState;
use crate::limits::ConnectionLimits;

/// Checked settings, for a router. A [`Server`](crate::Server) takes the [`ConfigBuilder`] and checks it for its address.
///
/// ```
/// use opentool_server::Config;
///
/// let config = Config::builder().api_keys(["s3cret"]).prefix("/tools").build()?;
/// assert!(!format!("{config:?}").contains("s3cret"));
/// assert!(Config::builder().build().is_err(), "callers without a key only where that is allowed");
/// # Ok::<(), opentool_server::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Config(pub(crate) Arc<Settings>);

impl Config {
    /// Starts with the defaults, which lack only a decision about API keys.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("prefix", &self.0.prefix)
            .field("keys", &self.0.keys)
            .field("hosts", &self.0.hosts)
            .field("origins", &self.0.origins)
            .finish_non_exhaustive()
    }
}

/// Builds a [`Config`], or configures a [`Server`](crate::Server).
///
/// The settings of connections, TLS, the drain and the operator's address are for a server; a router leaves them to the
/// server it is mounted in.
#[derive(Clone)]
#[must_use = "a configuration is made by `build`"]
pub struct ConfigBuilder {
    prefix: String,
    version: String,
    public_url: Option<String>,
    keys: Vec<ApiKey>,
    keys_file: Option<PathBuf>,
    allow_anonymous: bool,
    allowed_hosts: Vec<String>,
    allow_any_host: bool,
    origins: AllowedOrigins,
    max_body: usize,
    body_timeout: Duration,
    max_calls: usize,
    max_buffered: usize,
    enable_stop: bool,
    on_stop: Option<StopHook>,
    operator_routes: bool,
    sources: Vec<SourceState>,
    trace_hook: Option<Arc<TraceHook>>,
    journal: Option<Arc<dyn Journal>>,
    pub(crate) limits: ConnectionLimits,
    pub(crate) admin_addr: Option<String>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<TlsFiles>,
    /// The first key that cannot be used.
    error: Option<(Arc<str>, KeyError)>,
}

/// The PEM files of a certificate chain and its private key.
#[cfg(feature = "tls")]
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) certificates: PathBuf,
    pub(crate) key: PathBuf,
}

impl Default for ConfigBuilder {
    fn default() -> Self {
        Self {
            prefix: "/opentool".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            public_url: None,
            keys: Vec::new(),
            keys_file: None,
            allow_anonymous: false,
            allowed_hosts: Vec::new(),
            allow_any_host: false,
            origins: AllowedOrigins::default(),
            max_body: 16 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            max_calls: 1024,
            max_buffered: 64 * 1024 * 1024,
            enable_stop: false,
            on_stop: None,
            operator_routes: true,
            sources: Vec::new(),
            trace_hook: None,
            journal: None,
            limits: ConnectionLimits::default(),
            admin_addr: None,
            #[cfg(feature = "tls")]
            tls: None,
            error: None,
        }
    }
}

impl ConfigBuilder {
    /// Sets under which path the server answers: `/opentool`.
    pub fn prefix(mut self, prefix: impl AsRef<str>) -> Self {
        let prefix = prefix.as_ref().trim_matches('/');
        self.prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        self
    }

    /// Sets what `/version` answers, an `x.y.z`: this crate's version.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the URL under which clients reach the server, which `/load` then names: one of http or https.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.public_url = Some(url.into());
        self
    }

    /// Adds API keys, which logs show as `key-1`, `key-2` and so on.
    pub fn api_keys<K: AsRef<str>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        for key in keys {
            let name = format!("key-{}", self.keys.len() + 1);
            self = self.named_key(name, key);
        }
        self
    }

    /// Adds an API key that logs show under a name.
    pub fn named_key(mut self, name: impl Into<String>, key: impl AsRef<str>) -> Self {
        let name: Arc<str> = name.into().into();
        match ApiKey::new(name.clone(), key.as_ref()) {
            Ok(key) => self.keys.push(key),
            Err(error) => {
                self.error.get_or_insert((name, error));
            }
        }
        self
    }

    /// Adds the API key of an environment variable, if it is set, which logs show under the variable's name.
    pub fn api_key_from_env(self, variable: &str) -> Self {
        match env::var(variable) {
            Ok(key) => self.named_key(variable, key.trim()),
            Err(env::VarError::NotPresent) => self,
            Err(env::VarError::NotUnicode(_)) => self.named_key(variable, "\0"),
        }
    }

    /// Adds the API keys of a file with a `name:key` a line, each of at least 8 characters; it is read again when it changes.
    ///
    /// A change counts once the file has stayed the same for a second, so that a half-written one does not; best replace it
    /// by renaming another one to its name. A file that cannot be used is logged and tried again, and its earlier keys stay
    /// in use. The keys of a file that is emptied or deleted are refused.
    pub fn api_keys_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys_file = Some(path.into());
        self
    }

    /// Sets whether callers need no key: false. A server without keys on a loopback address does not need it.
    pub fn allow_anonymous(mut self, allow: bool) -> Self {
        self.allow_anonymous = allow;
        self
    }

    /// Adds a host that requests may be addressed to, with or without a port, besides the loopback names.
    ///
    /// `*` stands for every host. A router that is reached under another name needs this.
    pub fn allowed_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Sets whether requests may be addressed to any host, for a server whose name is not known: false.
    pub fn allow_any_host(mut self, allow: bool) -> Self {
        self.allow_any_host = allow;
        self
    }

    /// Adds an origin, such as `https://app.example`, whose pages may call; requests of other pages are refused.
    pub fn allowed_origin(mut self, origin: impl Into<String>) -> Self {
        let origin = origin.into();
        self.origins.listed.push(origin.trim_end_matches('/').to_owned());
        self
    }

    /// Sets whether pages of the allowed origins may read the answers (CORS): false.
    pub fn cors(mut self, cors: bool) -> Self {
        self.origins.cors = cors;
        self
    }

    /// Sets how many bytes the body of a request may have: 16 MiB.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets how long a body may take to arrive: 30 seconds.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.body_timeout = time;
        self
    }

    /// Sets how many calls may be in flight: 1,024.
    pub fn max_calls_in_flight(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets how many bytes may be held over all requests, for their bodies and for the check of long arguments: 64 MiB.
    ///
    /// A request that needs more than is left is refused with 503, or its call as unavailable.
    pub fn max_buffered_bytes(mut self, bytes: usize) -> Self {
        self.max_buffered = bytes;
        self
    }

    /// Sets whether `POST /stop` stops the server: false. It takes a key to be enabled.
    pub fn enable_stop(mut self, enable: bool) -> Self {
        self.enable_stop = enable;
        self
    }

    /// Sets what `POST /stop` runs before it answers, so that the tools can shut down.
    pub fn on_stop<F, R>(mut self, run: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        self.on_stop = Some(Arc::new(move || Box::pin(run())));
        self
    }

    /// Sets whether `/healthz`, `/readyz` and `/metrics` are served: true. An application may have its own.
    pub fn operator_routes(mut self, serve: bool) -> Self {
        self.operator_routes = serve;
        self
    }

    /// Adds a source of tools whose state `/readyz` and `/metrics` show; `is_up` returns what was last known about it, and
    /// must not wait.
    ///
    /// While every source is down, `/readyz` answers 503. Which ones are, it tells a caller with a key only.
    ///
    /// ```
    /// # use opentool_server::ConfigBuilder;
    /// let is_up = || true; // for instance `move || client.is_up() != Some(false)`
    /// let config = ConfigBuilder::default().source_state("weather", is_up);
    /// # let _ = config;
    /// ```
    pub fn source_state(mut self, name: impl Into<String>, is_up: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.sources.push(SourceState::new(name.into(), is_up));
        self
    }

    /// Sets what joins requests to the application's tracing.
    ///
    /// It runs inside the span of each request, with the trace context of the request. There it can make that the parent of
    /// the current span, and it returns the trace context that tools pass on. Without a hook, tools pass on that of the
    /// request, and so they do where the hook panics. It runs only where a subscriber records spans.
    pub fn trace_hook<F>(mut self, hook: F) -> Self
    where
        F: Fn(Option<&TraceContext>) -> Option<TraceContext> + Send + Sync + 'static,
    {
        self.trace_hook = Some(Arc::new(hook));
        self
    }

    /// Sets where calls with a key are recorded, for instance `SqliteJournal` of `opentool-journal`, whose outcomes survive the process.
    ///
    /// A caller gives a call a key with the header `Idempotency-Key`. The same key again, of the same API key and for the same tool, has the outcome of
    /// the first call, which goes on where its client does not wait for it. Without a journal the outcomes are kept in memory for 24 hours and count
    /// among the [bytes held](Self::max_buffered_bytes).
    pub fn journal(mut self, journal: impl Journal) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Sets how many connections may be open: 4,096. At the cap the longest idle one is closed.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.max_connections = connections;
        self
    }

    /// Sets how long the head of a request may take to arrive: 10 seconds.
    pub fn header_timeout(mut self, time: Duration) -> Self {
        self.limits.header_timeout = time;
        self
    }

    /// Sets how long a connection may stay without a request: 90 seconds.
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.limits.idle_timeout = time;
        self
    }

    /// Sets how long a call may run after its client closed its side of the connection: 2 seconds.
    ///
    /// Such a client may still read its answer, or be gone. Then the call is cancelled; one whose connection was reset is
    /// cancelled at once.
    pub fn half_close_timeout(mut self, timeout: Duration) -> Self {
        self.limits.half_close_timeout = timeout;
        self
    }

    /// Sets how many bytes the head of a request may have, at least 8 KiB: 16 KiB.
    pub fn max_header_size(mut self, bytes: usize) -> Self {
        self.limits.max_header_size = bytes.max(8 * 1024);
        self
    }

    /// Sets how long the server still accepts connections after it was stopped, while `/readyz` answers 503: not at all.
    pub fn drain_delay(mut self, delay: Duration) -> Self {
        self.limits.drain_delay = delay;
        self
    }

    /// Sets how long calls may run once the listener is closed: 35 seconds, more than the deadline of a call.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.limits.drain_timeout = timeout;
        self
    }

    /// Serves HTTPS, with a certificate chain and a key in PEM files; they are read again when they change.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, certificates: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.tls = Some(TlsFiles { certificates: certificates.into(), key: key.into() });
        self
    }

    /// Moves `/healthz`, `/readyz` and `/metrics` to an address of their own, which speaks plain HTTP.
    pub fn admin_addr(mut self, addr: impl Into<String>) -> Self {
        self.admin_addr = Some(addr.into());
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// Where a key or the file of keys cannot be used, or where there is neither a key nor
    /// [`allow_anonymous`](Self::allow_anonymous).
    pub fn build(self) -> Result<Config, ConfigError> {
        if !self.decides_access() {
            return Err(ConfigError::NoKeys);
        }
        self.build_for(true)
    }

    /// Says whether it is decided who may call: callers with a key, or all.
    pub(crate) fn decides_access(&self) -> bool {
        self.allow_anonymous || !self.keys.is_empty() || self.keys_file.is_some() || self.error.is_some()
    }

    /// Takes over what stays while a server runs.
    pub(crate) fn keep(&mut self, current: &Settings) {
        self.prefix.clone_from(&current.prefix);
        self.operator_routes = current.operator_routes;
        self.journal.get_or_insert_with(|| current.journal.clone());
    }

    /// Checks the settings; `check_host` says whether an unlisted host is refused also where none is listed.
    pub(crate) fn build_for(self, check_host: bool) -> Result<Config, ConfigError> {
        if let Some((name, error)) = self.error {
            return Err(ConfigError::Key { name: name.to_string(), error });
        }
        if self.allow_anonymous && (!self.keys.is_empty() || self.keys_file.is_some()) {
            return Err(ConfigError::KeysAndAnonymous);
        }
        if let Some(origin) = self.origins.listed.iter().find(|origin| !is_origin(origin)) {
            return Err(ConfigError::Origin { origin: origin.clone() });
        }
        if let Some(url) = self.public_url.iter().find(|url| !is_http_url(url)) {
            return Err(ConfigError::PublicUrl { url: url.clone() });
        }
        let keys = if self.keys.is_empty() && self.keys_file.is_none() {
            None
        } else {
            Some(KeyRing::new(self.keys, self.keys_file)?)
        };
        if self.enable_stop && keys.is_none() {
            return Err(ConfigError::StopWithoutKeys);
        }
        let hosts = if self.allow_any_host || (self.allowed_hosts.is_empty() && !check_host) {
            AllowedHosts::Any
        } else {
            AllowedHosts::listed(&self.allowed_hosts)
        };
        let budget = MemoryBudget::new(self.max_buffered);
        let journal = self.journal.unwrap_or_else(|| Arc::new(MemoryJournal::new(budget.clone())));
        let on_stop = self.enable_stop.then(|| self.on_stop.unwrap_or_else(|| Arc::new(|| Box::pin(async {}))));
        Ok(Config(Arc::new(Settings {
            prefix: self.prefix,
            version: self.version,
            public_url: self.public_url,
            keys,
            hosts,
            origins: self.origins,
            body: BodyLimits { size: self.max_body, time: self.body_timeout, budget },
            max_calls: self.max_calls,
            on_stop,
            operator_routes: self.operator_routes,
            sources: self.sources,
            trace_hook: self.trace_hook,
            journal,
        })))
    }
}

impl fmt::Debug for ConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigBuilder")
            .field("prefix", &self.prefix)
            .field("keys", &self.keys)
            .field("keys_file", &self.keys_file)
            .field("allow_anonymous", &self.allow_anonymous)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// Says whether clients can take a text as the base URL of a server.
fn is_http_url(text: &str) -> bool {
    let uri: Result<http::Uri, _> = text.parse();
    uri.is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")))
}

/// Says whether a browser may send a text as an origin: a scheme and a host, perhaps with a port, or `null`.
fn is_origin(text: &str) -> bool {
    if matches!(text, "*" | "null") {
        return true;
    }
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let uri: Result<http::uri::Authority, _> = authority.parse();
    is_scheme && uri.is_ok_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'))
}

/// Why settings cannot be used. No key is ever in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no API key, and callers without one are not allowed.
    #[error(
        "no API key is set: give one with `api_keys` or `api_keys_file`, or let callers in without one with `allow_anonymous(true)`"
    )]
    NoKeys,
    /// There are API keys, and callers without one are allowed.
    #[error("API keys are set and so is `allow_anonymous`: leave one of them out")]
    KeysAndAnonymous,
    /// A key cannot be used.
    #[error("API key `{name}` {error}")]
    Key {
        /// The key's name.
        name: String,
        /// What is wrong with it.
        error: KeyError,
    },
    /// A file of keys or certificates cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// An allowed origin can match no page, since no browser sends such a one.
    #[error("the allowed origin `{origin}` can match no page: write it as https://app.example, without a path")]
    Origin {
        /// The origin.
        origin: String,
    },
    /// The public URL is none that clients can call.
    #[error("the public URL `{url}` is no http:// or https:// URL")]
    PublicUrl {
        /// What was given.
        url: String,
    },
    /// Callers without a key could stop the server.
    #[error("`enable_stop` needs an API key: without one any caller could stop the server")]
    StopWithoutKeys,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_one_that_clients_can_call() {
        for url in ["http://a", "HTTPS://tools.example:8443/x"] {
            assert!(is_http_url(url), "{url}");
        }
        for url in ["", "foo", "tools.example", "ftp://a", "http://", "http:// a"] {
            assert!(!is_http_url(url), "{url}");
        }
    }

    #[test]
    fn a_head_may_always_have_8_kib() {
        let size = |bytes| ConfigBuilder::default().max_header_size(bytes).limits.max_header_size;
        assert_eq!([size(0), size(8192), size(8193)], [8192, 8192, 8193]);
    }
}
