//! What may change the result of a tool before it leaves: [`ResultConverter`].

use crate::error::ToolError;
use crate::output::ToolOutput;

/// Changes what a tool answered, before events, spans and callers see it.
///
/// One may be set for a tool ([`ToolMetadata::with_converter`](crate::ToolMetadata::with_converter))
/// or for every tool that has none of its own, on the executor. A closure is a converter.
pub trait ResultConverter: Send + Sync + 'static {
    /// Converts the output of a call that succeeded.
    ///
    /// # Errors
    ///
    /// Where the output cannot be converted; the error becomes the outcome of the call.
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError>;
}

impl<F> ResultConverter for F
where
    F: Fn(ToolOutput) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        self(output)
    }
}
