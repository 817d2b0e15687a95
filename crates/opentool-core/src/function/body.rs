//! The code of a tool: sync or async.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::future::lazy;

use crate::{Invocation, ToolError, ToolOutput};

type SyncBody = dyn Fn(Invocation<'_>) -> Result<ToolOutput, ToolError> + Send + Sync;

/// Async code; a trait, because the future of a closure cannot borrow what the closure captured.
pub(super) trait AsyncBody: Send + Sync + 'static {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// The code of a tool.
pub(super) enum Body {
    Sync(Arc<SyncBody>),
    Async(Box<dyn AsyncBody>),
}

impl Body {
    pub(super) fn sync<F>(function: F) -> Self
    where
        F: Fn(Invocation<'_>) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    {
        Self::Sync(Arc::new(function))
    }

    /// Runs the code: sync code on the blocking pool unless it is inline, async code where it is polled.
    pub(super) fn call<'a>(
        &'a self,
        invocation: Invocation<'a>,
        inline: bool,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self {
            // Lazy, so that a panic happens where the future is polled.
            Self::Sync(function) if inline => Box::pin(lazy(move |_| function(invocation))),
            Self::Sync(function) => {
                let (function, arguments) = (Arc::clone(function), invocation.arguments.clone());
                Box::pin(async move {
                    let code = move |context: &_| function(Invocation::new(&arguments, context));
                    invocation.context.run_tool(code).await?
                })
            }
            Self::Async(function) => function.call(invocation),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync(_) => "Sync",
            Self::Async(_) => "Async",
        })
    }
}
