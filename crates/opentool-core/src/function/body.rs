//! The code of a tool, in the two forms it has.

use std::fmt;
use std::sync::Arc;

use futures_util::future::lazy;

use crate::{BoxFuture, DefinitionError, Invocation, ToolDefinition, ToolError, ToolOutput};

/// Code that runs to its end where it is called.
type SyncBody = dyn Fn(Invocation<'_>) -> Result<ToolOutput, ToolError> + Send + Sync;

/// Code that waits; a trait of its own because a closure cannot lend what it has captured.
pub(crate) trait AsyncBody: Send + Sync + 'static {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// The code of a tool.
pub(crate) enum Body {
    Inline(Box<SyncBody>),
    Blocking(Arc<SyncBody>),
    Async(Box<dyn AsyncBody>),
}

impl Body {
    pub(crate) fn inline<F>(function: F) -> Self
    where
        F: Fn(Invocation<'_>) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    {
        Self::Inline(Box::new(function))
    }

    pub(crate) fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self {
            // Inside the future, so that a panic is met by whoever polls it.
            Self::Inline(function) => Box::pin(lazy(move |_| function(invocation))),
            Self::Blocking(function) => {
                let function = Arc::clone(function);
                let arguments = invocation.arguments.clone();
                let context = invocation.context.clone();
                Box::pin(async move {
                    let code = move || function(Invocation::new(&arguments, &context));
                    invocation.context.run_blocking(code).await?
                })
            }
            Self::Async(function) => function.call(invocation),
        }
    }

    /// Moves sync code to the blocking pool.
    pub(crate) fn on_blocking_pool(self, definition: &ToolDefinition) -> Result<Self, DefinitionError> {
        match self {
            Self::Inline(function) => Ok(Self::Blocking(Arc::from(function))),
            Self::Blocking(_) => Ok(self),
            Self::Async(_) => Err(DefinitionError::AsyncBlocking { tool: definition.name().to_owned() }),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inline(_) => "Inline",
            Self::Blocking(_) => "Blocking",
            Self::Async(_) => "Async",
        })
    }
}
