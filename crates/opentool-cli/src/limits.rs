//! The limits of calls that a command line can set, and what holds for every connection.

use std::{sync::Arc, time::Duration};

use opentool::{Executor, ExecutorBuilder};
use opentool_client::Client;
use opentool_mcp::{McpClient, ServerUrl};

/// How much larger than its result the answer of a server may be: the rest of the message, and escapes.
const ANSWER_OVERHEAD: usize = 2;

/// How large an answer may be by default.
const ANSWER: usize = 16 << 20;

/// An executor with a deadline and a limit of results, where they are given.
pub(crate) fn executor(timeout: Option<Duration>, max_result: Option<usize>) -> ExecutorBuilder {
    let mut executor = Executor::builder();
    if let Some(timeout) = timeout {
        executor = executor.timeout(timeout);
    }
    if let Some(bytes) = max_result {
        executor = executor.max_result_size(bytes);
    }
    executor
}

/// Certificates to trust instead of the system's, where some are given.
#[derive(Debug, Clone, Default)]
pub(crate) struct CaCertificates(pub(crate) Option<Arc<[u8]>>);

/// What holds for every connection to a server: its own limits are no tighter than those of the executor.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectOptions {
    pub(crate) certificates: CaCertificates,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_result: Option<usize>,
}

impl ConnectOptions {
    /// Trusts these certificates, and has no other limits than the defaults.
    pub(crate) fn new(certificates: CaCertificates) -> Self {
        ConnectOptions { certificates, timeout: None, max_result: None }
    }

    /// Makes room for a result of this size, where a tool may have one that is larger than others.
    pub(crate) fn with_result_of(mut self, bytes: Option<usize>) -> Self {
        self.max_result = self.max_result.max(bytes);
        self
    }

    fn max_answer(&self) -> Option<usize> {
        self.max_result.map(|bytes| bytes.saturating_mul(ANSWER_OVERHEAD).max(ANSWER))
    }

    /// Prepares the client of an OpenTool server.
    pub(crate) fn client(&self, mut client: Client) -> Client {
        if let Some(pem) = &self.certificates.0 {
            client = client.ca_certificates(pem);
        }
        if let Some(timeout) = self.timeout {
            client = client.timeout(timeout);
        }
        match self.max_answer() {
            Some(bytes) => client.max_response_size(bytes),
            None => client,
        }
    }

    /// Prepares the URL of an MCP server.
    pub(crate) fn mcp_url(&self, url: ServerUrl) -> ServerUrl {
        match &self.certificates.0 {
            Some(pem) => url.ca_certificates(&**pem),
            None => url,
        }
    }

    /// Prepares the client of an MCP server.
    pub(crate) fn mcp(&self, mut client: McpClient) -> McpClient {
        if let Some(timeout) = self.timeout {
            client = client.timeout(timeout);
        }
        match self.max_answer() {
            Some(bytes) => client.max_message_size(bytes),
            None => client,
        }
    }
}
