//! The last decision about an error: [`ErrorPolicy`].

use crate::ToolError;

/// Decides last about an error: whether the model or the caller gets it, and what it says.
///
/// A closure `Fn(&str, ToolError) -> ToolError` is such a policy.
pub trait ErrorPolicy: Send + Sync + 'static {
    /// Returns the error that the call of this tool ends with.
    fn decide(&self, tool: &str, error: ToolError) -> ToolError;
}

impl<F> ErrorPolicy for F
where
    F: Fn(&str, ToolError) -> ToolError + Send + Sync + 'static,
{
    fn decide(&self, tool: &str, error: ToolError) -> ToolError {
        self(tool, error)
    }
}
