//! What wraps every call: [`Middleware`].

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::{Invocation, Tool, ToolError, ToolOutput};

/// Wraps every call of an executor: inside its checks and its deadline, around the tool.
///
/// ```
/// use opentool_core::{BoxFuture, Invocation, Middleware, Next, ToolError, ToolOutput};
///
/// struct Loud;
///
/// impl Middleware for Loud {
///     fn call<'a>(
///         &'a self,
///         invocation: Invocation<'a>,
///         next: Next<'a>,
///     ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
///         Box::pin(async move {
///             let output = next.run(invocation).await?;
///             Ok(ToolOutput::text(output.to_text().to_uppercase()))
///         })
///     }
/// }
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// Handles a call, usually by running what is next; `next` may be run again, for instance to retry.
    fn call<'a>(&'a self, invocation: Invocation<'a>, next: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What a [`Middleware`] is around: the other middleware, and the tool.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    tool: &'a dyn Tool,
    rest: &'a [Arc<dyn Middleware>],
}

impl<'a> Next<'a> {
    pub(crate) fn new(tool: &'a dyn Tool, rest: &'a [Arc<dyn Middleware>]) -> Self {
        Self { tool, rest }
    }

    /// Returns the tool in the middle.
    #[must_use]
    pub fn tool(&self) -> &'a dyn Tool {
        self.tool
    }

    /// Runs the other middleware and the tool.
    pub fn run(self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match self.rest.split_first() {
            None => self.tool.call(invocation),
            Some((first, rest)) => first.call(invocation, Next { tool: self.tool, rest }),
        }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("tool", &self.tool.definition().name())
            .field("middleware", &self.rest.len())
            .finish()
    }
}
