//! What a model sees of a tool: [`ToolDefinition`].

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::check::{ArgumentChecker, SchemaError};
use crate::error::ToolError;
use crate::output::ToolOutput;
use crate::patterns::PatternEngine;
use crate::result_check::ResultChecker;

/// What a model sees of a tool: name, title, description, and the schemas of what goes in and comes out.
///
/// It is checked when it is built, compiles its input schema once, and is cheap to clone. [Extensions](Self::extensions) carry
/// what a protocol says about the tool and this type has no field for.
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
    title: Option<Arc<str>>,
    description: Arc<str>,
    extensions: Option<Arc<Map<String, Value>>>,
    input_schema: Arc<Value>,
    checker: Arc<ArgumentChecker>,
    output: Option<Output>,
    patterns: PatternEngine,
}

struct Output {
    name: Option<Arc<str>>,
    schema: Option<Arc<Value>>,
    checked: bool,
    /// Compiled when a result is first checked, which few executors do.
    checker: OnceLock<Result<ResultChecker, String>>,
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.schema == other.schema && self.checked == other.checked
    }
}

impl ToolDefinition {
    /// Starts a definition; without more, the tool takes no arguments.
    pub fn builder(name: impl Into<String>) -> ToolDefinitionBuilder {
        ToolDefinitionBuilder {
            name: name.into(),
            title: None,
            description: None,
            extensions: None,
            input: InputSchema::None,
            output_name: None,
            output_schema: None,
            check_results: false,
            patterns: PatternEngine::Bounded,
        }
    }

    /// Starts a definition like this one; the input schema is not compiled again unless it is replaced.
    pub fn to_builder(&self) -> ToolDefinitionBuilder {
        let inner = &*self.0;
        let output = inner.output.as_ref();
        ToolDefinitionBuilder {
            name: inner.name.to_string(),
            title: inner.title.clone(),
            description: Some(inner.description.clone()),
            extensions: inner.extensions.clone(),
            input: InputSchema::Compiled(inner.input_schema.clone(), inner.checker.clone()),
            output_name: output.and_then(|output| output.name.clone()),
            output_schema: output.and_then(|output| output.schema.clone()),
            check_results: output.is_some_and(|output| output.checked),
            patterns: inner.patterns,
        }
    }

    /// Returns the name, which matches `^[A-Za-z0-9_-]{1,64}$`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the title, which people see instead of the name.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Returns what a protocol or an application says about the tool besides, by key.
    ///
    /// Documents carry the keys that begin with `x-`.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.extensions.iter().flat_map(|extensions| extensions.iter()).map(|(key, value)| (key.as_str(), value))
    }

    /// Returns one of the [extensions](Self::extensions).
    #[must_use]
    pub fn extension(&self, key: &str) -> Option<&Value> {
        self.0.extensions.as_ref()?.get(key)
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

    /// Says whether every executor checks the results of the tool against its output schema.
    ///
    /// An output schema is a promise: a frontend publishes it only where results are checked, here or by the
    /// [executor](crate::Executor::checks_results).
    #[must_use]
    pub fn checks_results(&self) -> bool {
        self.0.output.as_ref().is_some_and(|output| output.checked)
    }

    /// Checks a result against the output schema; where there is none, every result is right.
    pub(crate) fn check_result(&self, output: &ToolOutput) -> Result<(), ToolError> {
        let Some(Output { schema: Some(schema), checker, .. }) = &self.0.output else { return Ok(()) };
        match checker.get_or_init(|| ResultChecker::compile(schema, self.0.patterns)) {
            Ok(checker) => checker.check(output),
            Err(reason) => {
                Err(ToolError::invalid_result("the tool's output schema cannot be used").with_detail(reason))
            }
        }
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
                && a.title == b.title
                && a.description == b.description
                && a.extensions == b.extensions
                && a.input_schema == b.input_schema
                && a.output == b.output)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.name())
            .field("title", &self.title())
            .field("description", &self.description())
            .field("input_schema", self.input_schema())
            .field("output_name", &self.output_name())
            .field("output_schema", &self.output_schema())
            .field("checks_results", &self.checks_results())
            .field("extensions", &self.0.extensions)
            .finish()
    }
}

/// Builds a [`ToolDefinition`].
#[derive(Debug)]
#[must_use = "a definition is made by `build`"]
pub struct ToolDefinitionBuilder {
    name: String,
    title: Option<Arc<str>>,
    description: Option<Arc<str>>,
    extensions: Option<Arc<Map<String, Value>>>,
    input: InputSchema,
    output_name: Option<Arc<str>>,
    output_schema: Option<Arc<Value>>,
    check_results: bool,
    patterns: PatternEngine,
}

enum InputSchema {
    None,
    Schema(Value),
    Compiled(Arc<Value>, Arc<ArgumentChecker>),
}

impl fmt::Debug for InputSchema {
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

    /// Sets the title, which people see instead of the name.
    pub fn title(mut self, title: impl AsRef<str>) -> Self {
        self.title = Some(title.as_ref().into());
        self
    }

    /// Adds an [extension](ToolDefinition::extensions).
    pub fn extension(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        Arc::make_mut(self.extensions.get_or_insert_default()).insert(key.into(), value.into());
        self
    }

    /// Sets the JSON Schema of the arguments.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = InputSchema::Schema(schema);
        self
    }

    /// Names the result; a frontend that answers an object wraps a scalar under this name.
    pub fn output_name(mut self, name: impl AsRef<str>) -> Self {
        self.output_name = Some(name.as_ref().into());
        self
    }

    /// Sets the JSON Schema of the result.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(Arc::new(schema));
        self
    }

    /// Sets whether every executor checks results against the output schema, and fails the call where they break it: false.
    pub fn check_results(mut self, check: bool) -> Self {
        self.check_results = check;
        self
    }

    /// Sets whether patterns may have look-around and back references, whose matching can take exponential time: false.
    ///
    /// This is for schemas that are written in the program. In those that come from a document or a server, such a pattern
    /// would let its author keep a processor busy. Tools that are made of Rust functions and types have this already.
    pub fn backtracking_patterns(mut self, allow: bool) -> Self {
        self.patterns = if allow { PatternEngine::Backtracking } else { PatternEngine::Bounded };
        self
    }

    /// Checks and compiles the definition.
    ///
    /// # Errors
    ///
    /// Where the name breaks the rule, the input schema does not compile, or its root is not an object; where results are to be
    /// checked, also where the output schema does not compile.
    pub fn build(self) -> Result<ToolDefinition, DefinitionError> {
        if !is_tool_name(&self.name) {
            return Err(DefinitionError::Name { name: self.name });
        }
        let compile = |schema: &Value| {
            ArgumentChecker::compile_with(schema, self.patterns)
                .map(Arc::new)
                .map_err(|source| DefinitionError::InputSchema { tool: self.name.clone(), source })
        };
        let (input_schema, checker) = match self.input {
            InputSchema::Compiled(schema, checker) => (schema, checker),
            InputSchema::Schema(schema) => {
                let checker = compile(&schema)?;
                (Arc::new(schema), checker)
            }
            InputSchema::None => {
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
        let output = (self.output_name.is_some() || self.output_schema.is_some()).then_some(Output {
            name: self.output_name,
            schema: self.output_schema,
            checked: self.check_results,
            checker: OnceLock::new(),
        });
        if let Some(Output { schema: Some(schema), checked: true, checker, .. }) = &output {
            let compiled = ResultChecker::compile(schema, self.patterns)
                .map_err(|reason| DefinitionError::OutputSchema { tool: name.to_string(), reason })?;
            checker.get_or_init(|| Ok(compiled));
        }
        Ok(ToolDefinition(Arc::new(Inner {
            name,
            title: self.title,
            description,
            extensions: self.extensions,
            input_schema,
            checker,
            output,
            patterns: self.patterns,
        })))
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
    /// The output schema does not compile, and results are to be checked against it.
    #[error("output schema of tool `{tool}`: {reason}")]
    OutputSchema {
        /// The tool whose schema it is.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The schema of the result cannot be published.
    #[error("output schema of tool `{tool}`: {source}")]
    Output {
        /// The tool whose result it is.
        tool: String,
        /// What is wrong with the schema.
        source: opentool_spec::schema::NormaliseError,
    },
}

/// Says whether a name may name a tool: `^[A-Za-z0-9_-]{1,64}$`.
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
