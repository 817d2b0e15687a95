//! How a client is set up.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ToolMetadata, TraceContext};
use opentool_http::ApiKey;

use crate::address::Address;
use crate::{Client, ClientError};

/// What a request belongs to, asked when the request is made.
pub(crate) type TraceFn = dyn Fn() -> Option<TraceContext> + Send + Sync;

/// Everything that can be chosen about a client.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) address: Result<Address, ClientError>,
    pub(crate) key: Option<ApiKey>,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) backoff: Duration,
    pub(crate) max_idle_connections: usize,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_response_size: usize,
    pub(crate) errors_in_results: bool,
    pub(crate) ca_certificates: Option<Arc<[u8]>>,
    pub(crate) metadata: HashMap<String, ToolMetadata>,
    pub(crate) refresh_after: Duration,
    pub(crate) trace: Option<Arc<TraceFn>>,
}

impl Settings {
    pub(crate) fn new(base_url: &str) -> Self {
        Self {
            address: Address::parse(base_url),
            key: None,
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            retries: 2,
            backoff: Duration::from_millis(100),
            max_idle_connections: 32,
            // Servers on Node, as one of the SDKs' is, close after 5 s. A call that meets the closing connection is
            // lost, since it cannot be sent twice, so ours are gone before.
            idle_timeout: Duration::from_secs(4),
            max_response_size: 16 << 20,
            errors_in_results: true,
            ca_certificates: None,
            metadata: HashMap::new(),
            refresh_after: Duration::from_secs(60),
            trace: None,
        }
    }

    /// What is known about a tool here, whatever the server says about it.
    pub(crate) fn metadata_of(&self, name: &str) -> ToolMetadata {
        self.metadata.get(name).cloned().unwrap_or_default()
    }
}

/// Each of these makes a client of its own: it shares no connections with the one it was made of.
impl Client {
    /// Sets the API key, sent as a bearer token to this server and to nobody else.
    #[must_use]
    pub fn api_key(self, key: impl Into<String>) -> Self {
        let key = ApiKey::new(key);
        self.change(|settings| settings.key = key)
    }

    /// Sets how long a request without a deadline may take, attempts and all, and how long a stream may be silent; 60 s.
    ///
    /// A call with a deadline in its [context](opentool_core::ToolContext) has until then.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.change(|settings| settings.timeout = timeout)
    }

    /// Sets how long connecting may take; 10 s.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        self.change(|settings| settings.connect_timeout = timeout)
    }

    /// Sets how often a request that may be repeated is repeated, where the server is in trouble; 2.
    ///
    /// Only `version`, `load` and the calls of tools whose [metadata](Self::metadata) says idempotent may be: whoever
    /// repeats another call may do twice what should be done once.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        self.change(|settings| settings.retries = retries)
    }

    /// Sets how long to wait before the first repetition; 100 ms. Each further wait is twice as long, up to 30 times.
    #[must_use]
    pub fn backoff(self, first: Duration) -> Self {
        self.change(|settings| settings.backoff = first)
    }

    /// Sets how many connections that are not in use are kept; 32.
    #[must_use]
    pub fn max_idle_connections(self, connections: usize) -> Self {
        self.change(|settings| settings.max_idle_connections = connections)
    }

    /// Sets how long a connection that is not in use is kept; 4 s.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.change(|settings| settings.idle_timeout = timeout)
    }

    /// Sets how many bytes an answer, or an event of a stream, may have; 16 MiB.
    #[must_use]
    pub fn max_response_size(self, bytes: usize) -> Self {
        self.change(|settings| settings.max_response_size = bytes)
    }

    /// Sets whether a result of exactly `{"code": 400 or more, "message": "…"}` is an error; yes.
    ///
    /// It is what the ecosystem's own examples answer for a function that they do not know. Turn it off for a server
    /// whose functions really return that.
    #[must_use]
    pub fn errors_in_results(self, are_errors: bool) -> Self {
        self.change(|settings| settings.errors_in_results = are_errors)
    }

    /// Trusts the certificates of a PEM text instead of those that the system trusts.
    #[must_use]
    pub fn ca_certificates(self, pem: impl AsRef<[u8]>) -> Self {
        let pem: Arc<[u8]> = pem.as_ref().into();
        self.change(|settings| settings.ca_certificates = Some(pem))
    }

    /// Says what is known about a tool of the server.
    ///
    /// Without it a remote tool is neither read-only nor destructive nor idempotent, whatever the server says of
    /// itself: a server that could declare its tools harmless could talk its way past every approval.
    #[must_use]
    pub fn metadata(self, tool: impl Into<String>, metadata: ToolMetadata) -> Self {
        let tool = tool.into();
        self.change(|settings| drop(settings.metadata.insert(tool, metadata)))
    }

    /// Sets how long the server's tools are taken to be the same, where the client is a source of tools; 60 s.
    ///
    /// [`toolbox`](Self::toolbox) asks the server at once.
    #[must_use]
    pub fn refresh_after(self, age: Duration) -> Self {
        self.change(|settings| settings.refresh_after = age)
    }

    /// Sets who says which trace a request belongs to, asked as the request is made.
    ///
    /// Without it, or where it says nothing, that is the [`TraceContext`] in the call's context.
    #[must_use]
    pub fn trace_context(self, current: impl Fn() -> Option<TraceContext> + Send + Sync + 'static) -> Self {
        self.change(|settings| settings.trace = Some(Arc::new(current)))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Client");
        match &self.address {
            Ok(address) => out.field("url", &address.as_str()),
            Err(error) => out.field("error", error),
        };
        out.field("api_key", &self.key).field("timeout", &self.timeout).field("retries", &self.retries);
        out.finish_non_exhaustive()
    }
}
