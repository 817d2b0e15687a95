//! The settings of a client.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ToolMetadata, TraceContext};
use opentool_http::{ApiKey, HttpConfig, RetryPolicy, StreamLimit};
use reqwest::header::AUTHORIZATION;

use crate::address::Address;
use crate::error::ClientError;

/// How many times the first wait between attempts the longest one is.
const LONGEST_WAIT: u32 = 30;

/// Returns the trace that a request belongs to, as it is made.
pub(crate) type TraceFn = dyn Fn() -> Option<TraceContext> + Send + Sync;

/// Everything that can be set on a client.
#[derive(Clone)]
pub(crate) struct ClientConfig {
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

impl ClientConfig {
    pub(crate) fn new(base_url: &str) -> Self {
        Self {
            address: Address::parse(base_url),
            key: None,
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            retries: 2,
            backoff: Duration::from_millis(100),
            max_idle_connections: 32,
            // Servers on Node, such as one of the SDKs', close an idle connection after 5 s. A call on a connection that
            // is being closed is lost, because it must not be sent twice; so ours close earlier.
            idle_timeout: Duration::from_secs(4),
            max_response_size: 16 << 20,
            errors_in_results: true,
            ca_certificates: None,
            metadata: HashMap::new(),
            refresh_after: Duration::from_secs(60),
            trace: None,
        }
    }

    /// How the HTTP exchange is set up.
    pub(crate) fn http(&self) -> Result<HttpConfig, ClientError> {
        let mut http = HttpConfig::new(concat!("opentool-client/", env!("CARGO_PKG_VERSION")));
        http.connect_timeout = self.connect_timeout;
        http.pool_idle_timeout = self.idle_timeout;
        http.max_idle_connections = self.max_idle_connections;
        http.max_response_size = self.max_response_size;
        http.stream_limit = StreamLimit::PerFrame;
        http.ca_certificates = self.ca_certificates.clone();
        if let Some(key) = &self.key {
            http.headers.insert(AUTHORIZATION, key.header("Bearer ").map_err(ClientError::setup)?);
        }
        Ok(http)
    }

    /// How often and when a request is sent again; not at all unless it may be.
    pub(crate) fn retry(&self, repeatable: bool) -> RetryPolicy {
        let mut retry = RetryPolicy::default();
        retry.retries = if repeatable { self.retries } else { 0 };
        retry.backoff = self.backoff;
        retry.max_backoff = self.backoff.saturating_mul(LONGEST_WAIT);
        // The time that the request has is the limit.
        (retry.max_retry_after, retry.max_total) = (Duration::MAX, Duration::MAX);
        retry
    }

    /// What the operator says about a tool; the server's own word does not count.
    pub(crate) fn metadata_for(&self, name: &str) -> ToolMetadata {
        self.metadata.get(name).cloned().unwrap_or_default()
    }
}

impl fmt::Debug for ClientConfig {
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
