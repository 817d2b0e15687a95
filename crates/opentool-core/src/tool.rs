//! What everything callable becomes: the trait [`Tool`].

use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::{Arguments, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// Something that can be called: a definition, metadata, and the call itself.
///
/// Most tools are written as a function with `#[tool]` or as a closure; this
/// trait is for what those cannot say, for sources of tools and for wrappers. It has no default
/// methods, so that a wrapper cannot forget to forward one.
///
/// A tool is handed arguments that the executor has already checked against
/// [`ToolDefinition::input_schema`]; deadline, cancellation, panics and the size of the result are the executor's
/// business too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "write `#[tool]` on a function, or `FnTool::new(name, closure)`; for a type with several tools write `#[toolbox]` on its `impl`"
)]
pub trait Tool: Send + Sync + 'static {
    /// Returns what a model is told about the tool.
    fn definition(&self) -> &ToolDefinition;

    /// Returns what the executor and the exits need to know about the tool.
    fn metadata(&self) -> &ToolMetadata;

    /// Runs the tool once.
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What one run of a tool is given.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The arguments, checked against the tool's schema.
    pub arguments: &'a Arguments,
    /// What the application hands to the tool and the model never sees.
    pub context: &'a ToolContext,
}

impl<'a> Invocation<'a> {
    /// Pairs arguments with their context.
    #[must_use]
    pub fn new(arguments: &'a Arguments, context: &'a ToolContext) -> Self {
        Self { arguments, context }
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn definition(&self) -> &ToolDefinition {
        (**self).definition()
    }

    fn metadata(&self) -> &ToolMetadata {
        (**self).metadata()
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).call(invocation)
    }
}

impl<T: Tool + ?Sized> Tool for Box<T> {
    fn definition(&self) -> &ToolDefinition {
        (**self).definition()
    }

    fn metadata(&self) -> &ToolMetadata {
        (**self).metadata()
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).call(invocation)
    }
}
