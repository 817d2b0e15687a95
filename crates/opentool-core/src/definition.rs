//! What a model is told about a tool: [`ToolDefinition`].

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use thiserror::Error;

use crate::check::{ArgumentChecker, SchemaError};

/// What a model is told about a tool: name, description, and the schemas of what goes in and comes out.
///
/// It is checked when it is built, compiles its input schema once, and is cheap to clone.
///
/// ```
/// use opentool_core::ToolDefinition;
/// use serde_json::json;
///
/// let definition = ToolDefinition::builder("add")
///     .description("Add two numbers.")
///     .input_schema(json!({
///         "type": "object",
///         "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///         "required": ["a", "b"],
///         "additionalProperties": false,
///     }))
///     .build()?;
/// assert_eq!(definition.name(), "add");
/// # Ok::<(), opentool_core::DefinitionError>(())
/// ```
#[derive(Clone)]
pub struct ToolDefinition(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    description: Arc<str>,
    input_schema: Arc<Value>,
    checker: Arc<ArgumentChecker>,
    output: Option<Output>,
}

#[derive(Clone, Debug, PartialEq)]
struct Output {
    name: Option<Arc<str>>,
    schema: Option<Arc<Value>>,
}

impl ToolDefinition {
    /// Starts a definition; without more, the tool takes no arguments.
    pub fn builder(name: impl Into<String>) -> ToolDefinitionBuilder {
        ToolDefinitionBuilder {
            name: name.into(),
            description: None,
            input: Input::None,
            output_name: None,
            output_schema: None,
        }
    }

    /// Starts a definition like this one; the input schema is not compiled again unless it is replaced.
    pub fn to_builder(&self) -> ToolDefinitionBuilder {
        let inner = &*self.0;
        let output = inner.output.clone();
        let (output_name, output_schema) = match output {
            Some(Output { name, schema }) => (name, schema),
            None => (None, None),
        };
        ToolDefinitionBuilder {
            name: inner.name.to_string(),
            description: Some(inner.description.clone()),
            input: Input::Compiled(inner.input_schema.clone(), inner.checker.clone()),
            output_name,
            output_schema,
        }
    }

    /// Returns the name, which matches `^[A-Za-z0-9_-]{1,64}$`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the description; where none was given, the name.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Returns the JSON Schema of the arguments, whose root is an object.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.0.input_schema
    }

    /// Returns the name of the result, where it has one.
    #[must_use]
    pub fn output_name(&self) -> Option<&str> {
        self.0.output.as_ref()?.name.as_deref()
    }

    /// Returns the JSON Schema of the result, where it is known.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output.as_ref()?.schema.as_deref()
    }

    /// Returns the compiled form of the input schema.
    #[must_use]
    pub fn checker(&self) -> &ArgumentChecker {
        &self.0.checker
    }
}

impl PartialEq for ToolDefinition {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        std::ptr::eq(a, b)
            || (a.name == b.name
                && a.description == b.description
                && a.input_schema == b.input_schema
                && a.output == b.output)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.name())
            .field("description", &self.description())
            .field("input_schema", self.input_schema())
            .field("output_name", &self.output_name())
            .field("output_schema", &self.output_schema())
            .finish()
    }
}

/// Builds a [`ToolDefinition`].
#[derive(Debug)]
#[must_use = "a definition is made by `build`"]
pub struct ToolDefinitionBuilder {
    name: String,
    description: Option<Arc<str>>,
    input: Input,
    output_name: Option<Arc<str>>,
    output_schema: Option<Arc<Value>>,
}

enum Input {
    None,
    Schema(Value),
    Compiled(Arc<Value>, Arc<ArgumentChecker>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Schema(schema) => schema.fmt(f),
            Self::Compiled(schema, _) => schema.fmt(f),
        }
    }
}

impl ToolDefinitionBuilder {
    /// Sets the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description.
    pub fn description(mut self, description: impl AsRef<str>) -> Self {
        self.description = Some(description.as_ref().into());
        self
    }

    /// Sets the JSON Schema of the arguments.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = Input::Schema(schema);
        self
    }

    /// Names the result; an exit that answers an object wraps a scalar under this name.
    pub fn output_name(mut self, name: impl AsRef<str>) -> Self {
        self.output_name = Some(name.as_ref().into());
        self
    }

    /// Sets the JSON Schema of the result.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(Arc::new(schema));
        self
    }

    /// Checks and compiles the definition.
    ///
    /// # Errors
    ///
    /// Where the name breaks the rule, the input schema does not compile, or its root is not an object.
    pub fn build(self) -> Result<ToolDefinition, DefinitionError> {
        if !is_tool_name(&self.name) {
            return Err(DefinitionError::Name { name: self.name });
        }
        let compile = |schema: &Value| {
            ArgumentChecker::compile(schema)
                .map(Arc::new)
                .map_err(|source| DefinitionError::InputSchema { tool: self.name.clone(), source })
        };
        let (input_schema, checker) = match self.input {
            Input::Compiled(schema, checker) => (schema, checker),
            Input::Schema(schema) => {
                let checker = compile(&schema)?;
                (Arc::new(schema), checker)
            }
            Input::None => {
                let schema = json!({
                    "type": "object", "properties": {}, "required": [], "additionalProperties": false,
                });
                let checker = compile(&schema)?;
                (Arc::new(schema), checker)
            }
        };
        let name: Arc<str> = self.name.into();
        let description = match self.description {
            Some(text) if !text.trim().is_empty() => text,
            _ => name.clone(),
        };
        let output = (self.output_name.is_some() || self.output_schema.is_some())
            .then_some(Output { name: self.output_name, schema: self.output_schema });
        Ok(ToolDefinition(Arc::new(Inner { name, description, input_schema, checker, output })))
    }
}

/// Why a [`ToolDefinition`] could not be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The name is empty, too long, or has other characters than the rule allows.
    #[error("tool name `{name}` does not match ^[A-Za-z0-9_-]{{1,64}}$")]
    Name {
        /// The name that was given.
        name: String,
    },
    /// The input schema does not compile, or its root is not an object.
    #[error("input schema of tool `{tool}`: {source}")]
    InputSchema {
        /// The tool whose schema it is.
        tool: String,
        /// What is wrong with it.
        source: SchemaError,
    },
    /// A function of a document has a schema that cannot be written as JSON Schema.
    #[error("function `{tool}`: {source}")]
    Function {
        /// The function.
        tool: String,
        /// What is wrong with its schema.
        source: opentool_spec::schema::NormaliseError,
    },
    /// The type that a closure takes cannot be a tool's input, most often because it is not an object.
    #[error(
        "input of tool `{tool}`: `{input}` is not a set of named arguments ({source}); take a struct, or write \
         a `#[tool] fn {tool}(…)`, whose parameters have names"
    )]
    Input {
        /// The tool whose input it is.
        tool: String,
        /// The Rust type.
        input: &'static str,
        /// What is wrong with its schema.
        source: opentool_spec::schema::NormaliseError,
    },
    /// The schema of the result cannot be published.
    #[error("output schema of tool `{tool}`: {source}")]
    Output {
        /// The tool whose result it is.
        tool: String,
        /// What is wrong with the schema.
        source: opentool_spec::schema::NormaliseError,
    },
    /// An async function was declared to hold its thread.
    #[error("tool `{tool}` is async and cannot be `blocking`: take one of the two away")]
    AsyncBlocking {
        /// The tool.
        tool: String,
    },
}

/// Says whether a name may name a tool: `^[A-Za-z0-9_-]{1,64}$`.
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
