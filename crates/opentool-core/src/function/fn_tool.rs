//! The run-time builder of tools: [`FnTool`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde_json::Value;

use super::body::Body;
use super::closure::{FallibleToolFunction, Parts, ToolFunction};
use super::recipe::{Finished, Recipe};
use crate::{
    Concurrency, DefinitionError, IntoTool, Invocation, ResultConverter, Tool, ToolDefinition, ToolError, ToolMetadata,
    ToolOutput, output_schema,
};

/// A tool made of a function, with everything about it that can be set.
///
/// [`FnTool::new`] takes a closure that returns a value, [`FnTool::fallible`] one that returns a `Result`. Either may
/// be sync or async, take a typed input or none, and take the [`ToolContext`](crate::ToolContext), by value, as its
/// last parameter or not at all:
///
/// ```
/// use opentool_core::{FnTool, ToolContext};
/// # use std::fs;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: i64,
///     b: i64,
/// }
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct File { path: String }
///
/// FnTool::new("add", |i: Add| i.a + i.b).description("Add two numbers.");
/// FnTool::new("tenant", |cx: ToolContext| cx.get("tenant").cloned());
/// FnTool::fallible("size", |i: File, cx: ToolContext| async move { Ok(fs::metadata(i.path)?.len()) });
/// ```
///
/// The input is a struct (or map) because a closure's parameters have no names that a model could fill in; where
/// you have a plain signature, write a `#[tool] fn`.
///
/// A sync closure runs on the blocking pool, so that its deadline holds and other calls go on meanwhile; mark a quick pure one
/// [`inline`](Self::inline). An async closure runs on the thread of its caller.
///
/// # Tools made at run time
///
/// A closure may take [`Arguments`](crate::Arguments), the JSON text itself, or a `serde_json::Map`, under any schema:
///
/// ```
/// use opentool_core::{Arguments, FnTool, Tool};
/// use serde_json::json;
///
/// let tool = FnTool::new("greet", |arguments: Arguments| format!("called with {arguments}"))
///     .description("Greet a person.")
///     .input_schema(json!({
///         "type": "object",
///         "properties": { "name": { "type": "string" } },
///         "required": ["name"],
///         "additionalProperties": false,
///     }))
///     .build()?;
/// assert_eq!(tool.definition().name(), "greet");
/// # Ok::<(), opentool_core::DefinitionError>(())
/// ```
///
/// # Mistakes
///
/// What is wrong with a `FnTool` (its name, its schema) is found by [`build`](Self::build), or by the function that takes the
/// tool.
#[must_use = "a tool does nothing until something takes it"]
pub struct FnTool {
    pub(super) recipe: Recipe,
    pub(super) body: Body,
}

impl FnTool {
    /// Makes a tool of a closure that returns a value, or a future of one.
    ///
    /// The value may be anything that implements `serde::Serialize`. Strings and [`Text`](crate::Text) become
    /// text, `()` and `None` are no value, and everything else is JSON. A `Result` whose error can be serialised is its
    /// content, or a failure that the model sees; for all other errors there is [`fallible`](Self::fallible).
    pub fn new<F, M>(name: impl Into<String>, function: F) -> Self
    where
        F: ToolFunction<M>,
    {
        let Parts { input, body } = function.into_parts();
        Self { recipe: Recipe::new(name.into(), input), body }
    }

    /// Makes a tool of a closure that returns a `Result`, or a future of one.
    ///
    /// `?` works on every `std::error::Error`; of a string make one with `.map_err(Failure::new)?`, of a boxed error or an
    /// `anyhow::Error` with `.map_err(ToolError::from_error)?`. The model sees the error's text, unless it is a [`ToolError::fatal`].
    pub fn fallible<F, M>(name: impl Into<String>, function: F) -> Self
    where
        F: FallibleToolFunction<M>,
    {
        let Parts { input, body } = function.into_parts();
        Self { recipe: Recipe::new(name.into(), input), body }
    }

    /// Replaces everything that a model sees of the tool, the name included.
    pub fn definition(mut self, definition: ToolDefinition) -> Self {
        self.recipe.set_definition(definition);
        self
    }

    /// Replaces the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.recipe.name = name.into();
        self
    }

    /// Says what the tool does and when to use it; without a description a model reads the name.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.recipe.description = Some(description.into());
        self
    }

    /// Replaces the JSON Schema of the arguments, which otherwise is that of the closure's input.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.recipe.set_input_schema(schema);
        self
    }

    /// Names the result; a frontend that answers with an object wraps a scalar under this name.
    pub fn output_name(mut self, name: impl Into<String>) -> Self {
        self.recipe.output_name = Some(name.into());
        self
    }

    /// Sets the JSON Schema of the result.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.recipe.output = Some(Ok(schema));
        self
    }

    /// Sets the JSON Schema of the result to that of a type.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.recipe.output = Some(output_schema::<T>());
        self
    }

    /// Replaces everything that is known about the tool besides its definition.
    pub fn metadata(mut self, metadata: ToolMetadata) -> Self {
        self.recipe.metadata = metadata;
        self
    }

    /// Gives the result to the caller instead of the model.
    pub fn return_direct(self) -> Self {
        self.map_metadata(|metadata| metadata.with_return_direct(true))
    }

    /// Declares that the tool changes nothing.
    pub fn read_only(self) -> Self {
        self.map_metadata(|metadata| metadata.with_read_only(true))
    }

    /// Declares that the tool may destroy something.
    pub fn destructive(self) -> Self {
        self.map_metadata(|metadata| metadata.with_destructive(true))
    }

    /// Declares that a second call with the same arguments changes nothing more.
    pub fn idempotent(self) -> Self {
        self.map_metadata(|metadata| metadata.with_idempotent(true))
    }

    /// Declares that the tool reaches a world that the application does not know, such as the web.
    pub fn open_world(self) -> Self {
        self.map_metadata(|metadata| metadata.with_open_world(true))
    }

    /// Requires approval of each call.
    pub fn approval(self) -> Self {
        self.map_metadata(|metadata| metadata.with_approval(true))
    }

    /// Sets how calls of the tool may overlap.
    pub fn concurrency(self, concurrency: Concurrency) -> Self {
        self.map_metadata(|metadata| metadata.with_concurrency(concurrency))
    }

    /// Sets how long a call may run, instead of the executor's default.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.map_metadata(|metadata| metadata.with_timeout(timeout))
    }

    /// Sets what converts the tool's results, instead of the executor's default.
    pub fn converter(self, converter: impl ResultConverter) -> Self {
        self.map_metadata(|metadata| metadata.with_converter(converter))
    }

    /// Runs a sync closure on the thread of its caller instead of the blocking pool.
    ///
    /// It is for quick pure functions: an inline tool cannot be timed out, and nothing else runs on its thread
    /// meanwhile. An async closure always runs there.
    pub fn inline(mut self) -> Self {
        self.recipe.inline = true;
        self
    }

    /// Makes the tool, or says what is wrong with it.
    ///
    /// # Errors
    ///
    /// Where the name breaks the rule, the schema does not compile, or the schema of the closure's input is not an
    /// object.
    pub fn build(self) -> Result<Arc<dyn Tool>, DefinitionError> {
        let Self { recipe, body } = self;
        let Finished { definition, metadata, inline } = recipe.finish()?;
        Ok(Arc::new(FunctionTool { definition, metadata, body, inline }))
    }

    fn map_metadata(mut self, set: impl FnOnce(ToolMetadata) -> ToolMetadata) -> Self {
        self.recipe.metadata = set(self.recipe.metadata);
        self
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

/// A function that has become a tool.
struct FunctionTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    body: Body,
    inline: bool,
}

impl Tool for FunctionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.body.call(invocation, self.inline)
    }
}

impl IntoTool for FnTool {
    fn into_tool(self) -> Result<Arc<dyn Tool>, DefinitionError> {
        self.build()
    }
}
