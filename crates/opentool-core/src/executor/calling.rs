//! The executor that runs a call, for tools that consist of other calls.

use super::policies::Executor;
use crate::ToolContext;

/// The executor of a call, as the context of the call holds it.
struct CallingExecutor(Executor);

impl Executor {
    /// Returns the executor that runs the call of a context, for a [composite](crate::ToolMetadata::with_composite) tool to make its
    /// own calls with; none outside such a call.
    ///
    /// ```
    /// use opentool_core::{BoxFuture, Executor, FnTool, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
    ///
    /// struct Twice(ToolDefinition, ToolMetadata);
    ///
    /// impl Tool for Twice {
    ///     fn definition(&self) -> &ToolDefinition { &self.0 }
    ///     fn metadata(&self) -> &ToolMetadata { &self.1 }
    ///     fn call<'a>(&'a self, call: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
    ///         Box::pin(async move {
    ///             let executor = Executor::calling(call.context).cloned().unwrap_or_default();
    ///             let beep = executor.host(FnTool::new("beep", || "beep"));
    ///             Ok(format!("{} {}", beep.call("beep", "{}").await?.to_text(), beep.call("beep", "{}").await?.to_text()).into())
    ///         })
    ///     }
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let twice = Twice(ToolDefinition::builder("twice").build()?, ToolMetadata::new().with_composite(true));
    /// assert_eq!(Executor::new().host(twice).call("twice", "{}").await?.to_text(), "beep beep");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn calling(context: &ToolContext) -> Option<&Self> {
        context.typed::<CallingExecutor>().map(|CallingExecutor(executor)| executor)
    }

    /// Puts the executor into the context of a call.
    pub(super) fn insert_into(self, context: &mut ToolContext) {
        context.insert_typed(CallingExecutor(self));
    }
}
