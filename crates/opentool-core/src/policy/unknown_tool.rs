//! What answers a call of an unknown tool: [`UnknownToolPolicy`].

use opentool_spec::json::near;

use crate::{ErrorSeverity, ToolError, ToolOutput, Toolbox};

/// Answers a call of an unknown tool.
///
/// A closure `Fn(&str, &Toolbox) -> Result<ToolOutput, ToolError>` is such a policy.
pub trait UnknownToolPolicy: Send + Sync + 'static {
    /// Answers in the tool's place.
    ///
    /// # Errors
    ///
    /// The usual answer: an error that says so.
    fn answer(&self, name: &str, tools: &Toolbox) -> Result<ToolOutput, ToolError>;
}

impl<F> UnknownToolPolicy for F
where
    F: Fn(&str, &Toolbox) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    fn answer(&self, name: &str, tools: &Toolbox) -> Result<ToolOutput, ToolError> {
        self(name, tools)
    }
}

/// The usual answers to a call of an unknown tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownTool {
    /// The model gets an error, with the names it may have meant.
    #[default]
    TellModel,
    /// The caller gets an error.
    Fail,
}

impl UnknownToolPolicy for UnknownTool {
    fn answer(&self, name: &str, tools: &Toolbox) -> Result<ToolOutput, ToolError> {
        let near = near_names(name, tools);
        let error = ToolError::unknown_tool(name, &near);
        Err(match self {
            Self::TellModel => error,
            Self::Fail => error.with_severity(ErrorSeverity::Fatal),
        })
    }
}

/// The names that a wrong one was probably meant to be, best first, at most three.
fn near_names<'a>(name: &str, tools: &'a Toolbox) -> Vec<&'a str> {
    /// In a larger toolbox the search would cost more than the hint is worth.
    const MOST: usize = 10_000;
    near::names(name, tools.names().take(MOST), 3)
}
