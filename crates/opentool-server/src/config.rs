//! What a router is told: [`Config`], and how it is told: [`ConfigBuilder`].

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{BoxFuture, TraceContext};

use crate::body::{BodyLimits, Budget};
use crate::gate::{Hosts, Origins};
use crate::keys::{Key, KeyError, KeyRing};
use crate::watched::FileError;

/// The settings of a [router](crate::router), checked.
///
/// ```
/// use opentool_server::Config;
///
/// let config = Config::builder().api_keys(["s3cret"]).prefix("/tools").build()?;
/// assert!(!format!("{config:?}").contains("s3cret"));
/// assert!(Config::builder().build().is_err(), "no auth only if it is said");
/// # Ok::<(), opentool_server::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Config(pub(crate) Arc<Settings>);

pub(crate) struct Settings {
    /// Empty, or with a slash at its beginning and none at its end.
    pub(crate) prefix: String,
    pub(crate) version: String,
    pub(crate) public_url: Option<String>,
    /// None where everybody may call.
    pub(crate) keys: Option<KeyRing>,
    pub(crate) hosts: Hosts,
    pub(crate) origins: Origins,
    pub(crate) body: BodyLimits,
    pub(crate) max_calls: usize,
    pub(crate) stop: Option<Stop>,
    pub(crate) operator_routes: bool,
    pub(crate) trace_hook: Option<Arc<TraceHook>>,
}

/// What runs when somebody stops the server.
pub(crate) type Stop = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;
pub(crate) type TraceHook = dyn Fn(Option<&TraceContext>) -> Option<TraceContext> + Send + Sync;

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

/// Builds a [`Config`].
#[derive(Clone)]
#[must_use = "a configuration is made by `build`"]
pub struct ConfigBuilder {
    prefix: String,
    version: String,
    public_url: Option<String>,
    keys: Vec<Key>,
    keys_file: Option<PathBuf>,
    no_auth: bool,
    allowed_hosts: Vec<String>,
    any_host: bool,
    origins: Origins,
    max_body: usize,
    body_timeout: Duration,
    max_calls: usize,
    max_buffered: usize,
    enable_stop: bool,
    on_stop: Option<Stop>,
    operator_routes: bool,
    trace_hook: Option<Arc<TraceHook>>,
    /// The first key that cannot be one.
    error: Option<(Arc<str>, KeyError)>,
}

impl Default for ConfigBuilder {
    fn default() -> Self {
        Self {
            prefix: "/opentool".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            public_url: None,
            keys: Vec::new(),
            keys_file: None,
            no_auth: false,
            allowed_hosts: Vec::new(),
            any_host: false,
            origins: Origins::default(),
            max_body: 16 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            max_calls: 1024,
            max_buffered: 64 * 1024 * 1024,
            enable_stop: false,
            on_stop: None,
            operator_routes: true,
            trace_hook: None,
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

    /// Sets the URL under which clients reach the server, which `/load` then names.
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
        match Key::new(name.clone(), key.as_ref()) {
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

    /// Adds the API keys of a file with a `name:key` a line; it is read again when it changes.
    ///
    /// Replace the file by renaming another one to its name: a file that is empty for a moment opens nothing.
    pub fn api_keys_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys_file = Some(path.into());
        self
    }

    /// Lets everybody call who can reach the server.
    pub fn no_auth(mut self) -> Self {
        self.no_auth = true;
        self
    }

    /// Adds a host that requests may be addressed to, with or without a port, besides the names of this machine for itself.
    ///
    /// `*` stands for every host. A router that is reached under another name needs this.
    pub fn allowed_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Takes requests addressed to any host, for a server whose name is not known.
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
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

    /// Sets how many bytes of bodies may be held over all requests: 64 MiB.
    pub fn max_buffered_bytes(mut self, bytes: usize) -> Self {
        self.max_buffered = bytes;
        self
    }

    /// Sets whether `POST /stop` stops the server: false. It takes a key to be enabled.
    pub fn enable_stop(mut self, enable: bool) -> Self {
        self.enable_stop = enable;
        self
    }

    /// Sets what `POST /stop` runs before it answers: whatever the tools need to shut down.
    pub fn on_stop<F, R>(mut self, run: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        self.on_stop = Some(Arc::new(move || Box::pin(run())));
        self
    }

    /// Leaves out `/healthz`, `/readyz` and `/metrics`, for an application that has its own.
    pub fn without_operator_routes(mut self) -> Self {
        self.operator_routes = false;
        self
    }

    /// Sets what joins requests to the application's tracing.
    ///
    /// It runs inside the span of each request, with the trace context that the request brought. There it can make that the
    /// parent of the current span, and it returns the trace context that tools pass on. Without it, tools pass on what came.
    /// It runs only where somebody records spans.
    pub fn trace_hook<F>(mut self, hook: F) -> Self
    where
        F: Fn(Option<&TraceContext>) -> Option<TraceContext> + Send + Sync + 'static,
    {
        self.trace_hook = Some(Arc::new(hook));
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// Where a key cannot be one, the file of keys cannot be used, or nothing was said about keys.
    pub fn build(self) -> Result<Config, ConfigError> {
        if !self.no_auth && !self.has_keys() {
            return Err(ConfigError::NoKeys);
        }
        self.build_for(true)
    }

    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty() || self.keys_file.is_some() || self.error.is_some()
    }

    pub(crate) fn says_no_auth(&self) -> bool {
        self.no_auth
    }

    /// Checks the settings; `check_host` says whether an unlisted host is refused even where none is listed.
    pub(crate) fn build_for(self, check_host: bool) -> Result<Config, ConfigError> {
        if let Some((name, error)) = self.error {
            return Err(ConfigError::Key { name: name.to_string(), error });
        }
        if self.no_auth && (!self.keys.is_empty() || self.keys_file.is_some()) {
            return Err(ConfigError::KeysAndNoAuth);
        }
        let keys = if self.keys.is_empty() && self.keys_file.is_none() {
            None
        } else {
            Some(KeyRing::new(self.keys, self.keys_file)?)
        };
        if self.enable_stop && keys.is_none() {
            return Err(ConfigError::StopWithoutKeys);
        }
        let hosts = if self.any_host || (self.allowed_hosts.is_empty() && !check_host) {
            Hosts::Any
        } else {
            Hosts::listed(&self.allowed_hosts)
        };
        let stop = self.enable_stop.then(|| self.on_stop.unwrap_or_else(|| Arc::new(|| Box::pin(async {}))));
        Ok(Config(Arc::new(Settings {
            prefix: self.prefix,
            version: self.version,
            public_url: self.public_url,
            keys,
            hosts,
            origins: self.origins,
            body: BodyLimits { size: self.max_body, time: self.body_timeout, budget: Budget::new(self.max_buffered) },
            max_calls: self.max_calls,
            stop,
            operator_routes: self.operator_routes,
            trace_hook: self.trace_hook,
        })))
    }
}

impl fmt::Debug for ConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigBuilder")
            .field("prefix", &self.prefix)
            .field("keys", &self.keys)
            .field("keys_file", &self.keys_file)
            .field("no_auth", &self.no_auth)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}

/// Why settings cannot be used. No key is ever in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing was said about API keys.
    #[error("no API key is set: give one with `api_keys` or `api_keys_file`, or say `no_auth` to let everybody call")]
    NoKeys,
    /// Keys are set, and so is that everybody may call.
    #[error("API keys are set and so is `no_auth`: leave one of them out")]
    KeysAndNoAuth,
    /// A key cannot be one.
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
    /// Anybody could stop the server.
    #[error("`enable_stop` needs an API key: without one anybody could stop the server")]
    StopWithoutKeys,
}
