//! The trait of everything that can be called: [`Tool`].

use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::{Arguments, DefinitionError, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// Something that can be called: a definition, metadata, and the call itself.
///
/// Most tools are written as a function with `#[tool]` or as a closure; this
/// trait is for what those cannot say, for sources of tools and for wrappers. It has no default
/// methods, so that a wrapper cannot forget to forward one.
///
/// The executor has already checked the arguments against [`ToolDefinition::input_schema`]; deadline, cancellation,
/// panics and the size of the result are its business too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "write `#[tool]` on a function, or `FnTool::new(name, closure)`; for a type with several tools write `#[toolbox]` on its `impl`"
)]
pub trait Tool: Send + Sync + 'static {
    /// Returns what a model sees of the tool.
    fn definition(&self) -> &ToolDefinition;

    /// Returns what the executor and the frontends need to know about the tool.
    fn metadata(&self) -> &ToolMetadata;

    /// Runs the tool once.
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// The input of one run of a tool.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The arguments, checked against the tool's schema.
    pub arguments: &'a Arguments,
    /// What the application passes to the tool and the model never sees.
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

/// What can be made into a tool: every [`Tool`], and a [`FnTool`](crate::FnTool), whose mistakes are found then.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "of a function with `#[tool]` take `name::tool()`; of a closure make a `FnTool::new(name, closure)`; a type with `#[toolbox]` is a source of several tools, whose toolbox is `into_toolbox()`"
)]
pub trait IntoTool {
    /// Makes the tool.
    ///
    /// # Errors
    ///
    /// Where the definition cannot be built.
    fn into_tool(self) -> Result<Arc<dyn Tool>, DefinitionError>;
}

impl<T: Tool> IntoTool for T {
    fn into_tool(self) -> Result<Arc<dyn Tool>, DefinitionError> {
        Ok(Arc::new(self))
    }
}
