//! A tool of a server: [`McpTool`].

use std::sync::Arc;
use std::time::Duration;

use opentool_core::{BoxFuture, ErrorKind, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::{Map, Value};

use super::call_clock::CallClock;
use super::link::ServerLink;

/// How long a call may take that has no deadline of its own.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct McpTool {
    pub(crate) definition: ToolDefinition,
    pub(crate) metadata: ToolMetadata,
    /// The name that the server knows.
    pub(crate) original: String,
    /// How long the server may be silent, where progress extends the time of a call.
    pub(crate) silence: Option<Duration>,
    pub(crate) link: Arc<ServerLink>,
}

impl Tool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Invocation { arguments, context, .. } = invocation;
            let arguments = arguments.parse::<Map<String, Value>>()?;
            let time = context.remaining().or(self.metadata.timeout()).unwrap_or(DEFAULT_TIMEOUT);
            let clock = Arc::new(CallClock::start(time, self.silence));
            let calling = async {
                let live = self.link.live().await?;
                live.call(&self.original, arguments, context, &clock).await
            };
            let in_time = async {
                tokio::select! {
                    biased;
                    result = calling => result,
                    limit = clock.expired() => Err(ToolError::timeout(limit)),
                }
            };
            let result = context.cancellation().guard(in_time).await.unwrap_or_else(|| Err(ToolError::cancelled()));
            result.map_err(|error| match error.kind() {
                // The call may have run, or run still.
                ErrorKind::Timeout | ErrorKind::Unavailable if error.is_retryable() => {
                    error.with_retryable(self.metadata.is_repeatable())
                }
                _ => error,
            })
        })
    }
}
