//! Why an MCP server gave no answer: [`McpError`].

use std::time::Duration;

use opentool_core::{ErrorKind, ToolError};
use serde_json::Value;

/// Why an MCP server gave no answer that can be used.
///
/// It is the [source](std::error::Error::source) of the [`ToolError`] of a call. What a tool says about its own failure is no
/// such error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The server cannot be addressed: a URL or a header that cannot be used.
    #[error("{reason}")]
    Setup {
        /// What is wrong.
        reason: String,
    },
    /// The program cannot be started.
    #[error("the MCP server `{server}` cannot be started: {reason}")]
    Start {
        /// The name of the server.
        server: String,
        /// What the system says.
        reason: String,
    },
    /// The server cannot be reached, or is out of order.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Unreachable {
        /// The name of the server.
        server: String,
        /// What happened instead.
        reason: String,
    },
    /// The key is missing, wrong, or not enough.
    #[error("the MCP server `{server}` refused access (HTTP {status}): check its API key")]
    Unauthorized {
        /// The name of the server.
        server: String,
        /// The HTTP status: 401 or 403.
        status: u16,
    },
    /// The server lets in callers with an API key or a login, does not say which, and there is neither.
    #[error("the MCP server `{server}` wants an API key or a login, and none was given")]
    KeyRequired {
        /// The name of the server.
        server: String,
        /// The URL of the server, without its query.
        url: String,
    },
    /// The server wants a login (OAuth), or another one.
    #[error("the MCP server `{server}` wants a login ({reason}): run `opentool mcp login {url}`")]
    LoginRequired {
        /// The name of the server.
        server: String,
        /// The URL of the server, without its query.
        url: String,
        /// Why there is none, or why it counts no longer.
        reason: String,
    },
    /// A login failed, or its tokens cannot be kept.
    #[error("the login at the MCP server `{server}` failed: {reason}")]
    Login {
        /// The name of the server.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// The connection ended, most often because the program did.
    #[error("the MCP server `{server}` ended{}", after_colon(reason))]
    Closed {
        /// The name of the server.
        server: String,
        /// What is known of why: the last lines that it wrote to standard error.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server `{server}` did not answer within {after:?}")]
    Timeout {
        /// The name of the server.
        server: String,
        /// How long it had.
        after: Duration,
    },
    /// The server answered something that the protocol does not allow, or more than it may.
    #[error("the MCP server `{server}` answered what cannot be used: {reason}")]
    Protocol {
        /// The name of the server.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server answered with an error of the protocol.
    #[error("{message}")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// What the server said.
        message: String,
        /// What it said besides.
        data: Option<Value>,
    },
    /// The server asks for input before it goes on, and no one can give it.
    #[error("the tool asks for more input, which cannot be given here")]
    InputRequired,
}

fn after_colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl McpError {
    /// Says whether a later attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Unreachable { .. } | Self::Closed { .. } | Self::Timeout { .. })
    }
}

/// The error of a call: the model sees no addresses and none of what the server logged, the operator sees all.
impl From<McpError> for ToolError {
    fn from(error: McpError) -> Self {
        let shown = match &error {
            McpError::Refused { code, message, data } => {
                let kind = if *code == -32602 { ErrorKind::InvalidArguments } else { ErrorKind::Failed };
                let shown = Self::new(kind, message).with_code(*code);
                let shown = data.iter().cloned().fold(shown, Self::with_data);
                return shown.with_source(error);
            }
            McpError::InputRequired => Self::failed(error.to_string()),
            McpError::Timeout { after, .. } => Self::timeout(*after),
            McpError::Unauthorized { .. } => {
                Self::unavailable("the tool's server refused access").with_code(401).with_retryable(false)
            }
            McpError::KeyRequired { .. } => {
                let message = "the tool's server wants a key, which its operator has to give";
                Self::unavailable(message).with_code(401).with_retryable(false)
            }
            McpError::LoginRequired { .. } | McpError::Login { .. } => {
                let message = "the tool's server wants a login, which its operator has to do";
                Self::unavailable(message).with_code(401).with_retryable(false)
            }
            McpError::Protocol { .. } => Self::invalid_result("the tool's server answered what cannot be used"),
            McpError::Closed { .. } => Self::unavailable("the tool's server ended"),
            McpError::Start { .. } => Self::unavailable("the tool's server cannot be started"),
            McpError::Setup { .. } => return Self::fatal(error),
            McpError::Unreachable { .. } => Self::unavailable("the tool's server cannot be reached"),
        };
        shown.with_detail(error.to_string()).with_source(error)
    }
}
