//! What the attributes generate: a function that becomes a tool when it gets its state.

use std::any::type_name;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use schemars::JsonSchema;
use serde_json::Value;

use super::body::{AsyncBody, Body};
use super::fn_tool::FnTool;
use super::recipe::{InputType, Recipe};
use crate::{DefinitionError, Invocation, ToolDefinition, ToolError, ToolMetadata, ToolOutput, input_schema};

type Called<'a> = BoxFuture<'a, Result<ToolOutput, ToolError>>;

/// A function or method with `#[tool]`, without the `S` it is called on.
#[derive(Debug)]
#[must_use]
pub struct Declaration<S> {
    recipe: Recipe,
    function: DeclaredFunction<S>,
}

#[derive(Debug)]
enum DeclaredFunction<S> {
    Sync(fn(&S, Invocation<'_>) -> Result<ToolOutput, ToolError>),
    Async(for<'a> fn(&'a S, Invocation<'a>) -> Called<'a>),
}

impl<S> Declaration<S> {
    /// Declares a plain function.
    pub fn sync(name: &str, function: fn(&S, Invocation<'_>) -> Result<ToolOutput, ToolError>) -> Self {
        Self { recipe: Recipe::new(name.to_owned(), None), function: DeclaredFunction::Sync(function) }
    }

    /// Declares an async function.
    pub fn asynchronous(name: &str, function: for<'a> fn(&'a S, Invocation<'a>) -> Called<'a>) -> Self {
        Self { recipe: Recipe::new(name.to_owned(), None), function: DeclaredFunction::Async(function) }
    }

    /// Says what the function does.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.recipe.description = Some(description.into());
        self
    }

    /// Sets the type that the arguments are read into.
    pub fn input<T: JsonSchema>(mut self) -> Self {
        self.recipe.set_input_type(InputType { name: type_name::<T>(), schema: input_schema::<T> });
        self
    }

    /// Sets the schema of the result, where its type has one.
    pub fn output(mut self, schema: Option<Result<Value, opentool_spec::schema::NormaliseError>>) -> Self {
        self.recipe.output = schema;
        self
    }

    /// Names the result.
    pub fn output_name(mut self, name: impl Into<String>) -> Self {
        self.recipe.output_name = Some(name.into());
        self
    }

    /// Sets the metadata.
    pub fn metadata(mut self, metadata: ToolMetadata) -> Self {
        self.recipe.metadata = metadata;
        self
    }

    /// Runs a plain function on the thread of its caller instead of the blocking pool.
    pub fn inline(mut self) -> Self {
        self.recipe.inline = true;
        self
    }

    /// Returns what a model sees of the function.
    ///
    /// # Errors
    ///
    /// Where a parameter's own schema does not compile.
    pub fn definition(self) -> Result<ToolDefinition, DefinitionError> {
        self.recipe.finish().map(|finished| finished.definition)
    }

    /// Joins the function with what it is called on.
    pub fn bind(self, state: &Arc<S>) -> FnTool
    where
        S: Send + Sync + 'static,
    {
        let state = Arc::clone(state);
        let body = match self.function {
            DeclaredFunction::Sync(function) => Body::sync(move |invocation| function(&state, invocation)),
            DeclaredFunction::Async(function) => Body::Async(Box::new(BoundMethod { state, function })),
        };
        FnTool { recipe: self.recipe, body }
    }
}

struct BoundMethod<S> {
    state: Arc<S>,
    function: for<'a> fn(&'a S, Invocation<'a>) -> Called<'a>,
}

impl<S: Send + Sync + 'static> AsyncBody for BoundMethod<S> {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> Called<'a> {
        (self.function)(&self.state, invocation)
    }
}
