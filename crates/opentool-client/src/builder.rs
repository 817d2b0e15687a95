//! The settings of a [`Client`].

use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ToolMetadata, TraceContext};
use opentool_http::ApiKey;

use crate::client::Client;

/// Each of these makes a new client, which shares no connections with the one before.
impl Client {
    /// Sets the API key, sent as a bearer token to this server only.
    ///
    /// Over plain HTTP to another machine it can be read on the way; a WARN event, target `opentool::http`, says so.
    #[must_use]
    pub fn api_key(self, key: impl Into<String>) -> Self {
        let key = ApiKey::new(key);
        self.change(|config| config.key = key)
    }

    /// Sets how long a request without a deadline may take, attempts and all, and how long a stream may be silent; 60 s.
    ///
    /// A call with a deadline in its [context](opentool_core::ToolContext) has until then.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.change(|config| config.timeout = timeout)
    }

    /// Sets how long connecting may take; 10 s.
    #[must_use]
    pub fn connect_timeout(self, timeout: Duration) -> Self {
        self.change(|config| config.connect_timeout = timeout)
    }

    /// Sets how often a request that may be repeated is repeated when the server is overloaded or cannot be reached; 2.
    ///
    /// Only `version`, `load` and the calls of tools whose [metadata](Self::metadata) says read-only or
    /// idempotent may be: repeating
    /// another call could do twice what should be done once.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        self.change(|config| config.retries = retries)
    }

    /// Sets how long to wait before the first repetition; 100 ms. Each further wait is twice as long, up to 30 times.
    #[must_use]
    pub fn backoff(self, first: Duration) -> Self {
        self.change(|config| config.backoff = first)
    }

    /// Sets how many idle connections are kept; 32.
    #[must_use]
    pub fn max_idle_connections(self, connections: usize) -> Self {
        self.change(|config| config.max_idle_connections = connections)
    }

    /// Sets how long an idle connection is kept; 4 s.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.change(|config| config.idle_timeout = timeout)
    }

    /// Sets how many bytes an answer, or an event of a stream, may have; 16 MiB.
    #[must_use]
    pub fn max_response_size(self, bytes: usize) -> Self {
        self.change(|config| config.max_response_size = bytes)
    }

    /// Sets whether a result of exactly `{"code": 400 or more, "message": "…"}` is an error; yes.
    ///
    /// The ecosystem's own examples answer that for an unknown function. Turn it off for a server whose functions really
    /// return such an object.
    #[must_use]
    pub fn errors_in_results(self, are_errors: bool) -> Self {
        self.change(|config| config.errors_in_results = are_errors)
    }

    /// Trusts the certificates of a PEM text instead of the system's.
    #[must_use]
    pub fn ca_certificates(self, pem: impl AsRef<[u8]>) -> Self {
        let pem: Arc<[u8]> = pem.as_ref().into();
        self.change(|config| config.ca_certificates = Some(pem))
    }

    /// Sets what the operator says about a tool of the server.
    ///
    /// Without it a remote tool is neither read-only nor destructive nor idempotent, whatever the server says: a server
    /// that could declare its own tools harmless could bypass every approval.
    #[must_use]
    pub fn metadata(self, tool: impl Into<String>, metadata: ToolMetadata) -> Self {
        let tool = tool.into();
        self.change(|config| drop(config.metadata.insert(tool, metadata)))
    }

    /// Sets how long the server's tools are reused when the client is a source of tools; 60 s.
    ///
    /// [`toolbox`](Self::toolbox) always asks the server.
    #[must_use]
    pub fn refresh_after(self, age: Duration) -> Self {
        self.change(|config| config.refresh_after = age)
    }

    /// Sets a function that returns the trace of a request as it is made.
    ///
    /// Without it, or when it returns none, the trace is the [`TraceContext`] in the call's context.
    #[must_use]
    pub fn trace_context(self, current: impl Fn() -> Option<TraceContext> + Send + Sync + 'static) -> Self {
        self.change(|config| config.trace = Some(Arc::new(current)))
    }
}
