use crate::ToolError;

/// Has the last word about an error: who gets it, and what it says.
///
/// A closure `Fn(&str, ToolError) -> ToolError` is such a policy.
pub trait ErrorPolicy: Send + Sync + 'static {
    /// Returns the error as it shall be, for the tool of that name.
    fn judge(&self, tool: &str, error: ToolError) -> ToolError;
}

impl<F> ErrorPolicy for F
where
    F: Fn(&str, ToolError) -> ToolError + Send + Sync + 'static,
{
    fn judge(&self, tool: &str, error: ToolError) -> ToolError {
        self(tool, error)
    }
}
