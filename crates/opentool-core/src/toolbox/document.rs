//! Toolboxes to and from OpenTool documents.

use opentool_spec::schema::{Dropped, NormaliseError, SchemaTool, functions_from_schemas};
use opentool_spec::{Function, Info, OpenTool};

use super::{Toolbox, ToolboxError};
use crate::{DefinitionError, IntoTool, ToolDefinition};

/// What a result is called where nothing names it.
const RESULT: &str = "result";

impl ToolDefinition {
    /// Reads the definition of a function of a document.
    ///
    /// # Errors
    ///
    /// Where the function's name breaks the rule, or one of its schemas cannot be used.
    pub fn from_function(document: &OpenTool, function: &Function) -> Result<Self, DefinitionError> {
        let unusable = |source| DefinitionError::Function { tool: function.name.clone(), source };
        let mut builder = Self::builder(&function.name)
            .description(&function.description)
            .input_schema(document.input_schema(function).map_err(unusable)?);
        if let Some(returns) = &function.returns {
            builder = builder.output_name(&returns.name);
        }
        if let Some(schema) = document.output_schema(function).map_err(unusable)? {
            builder = builder.output_schema(schema);
        }
        builder.build()
    }
}

impl Toolbox {
    /// Makes a toolbox of a document; `tool` says what runs when a function is called.
    ///
    /// ```
    /// use opentool_core::{Arguments, FnTool, Toolbox};
    /// use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
    ///
    /// let document = OpenTool::new(Info::new("Calculator", "2.1.0")).function(
    ///     Function::new("add", "Add two integers.")
    ///         .parameter(Parameter::new("a", Schema::integer()))
    ///         .parameter(Parameter::new("b", Schema::integer())),
    /// );
    /// let tools = Toolbox::from_document(&document, |definition| {
    ///     FnTool::new("", |arguments: Arguments| arguments.to_string()).definition(definition)
    /// })?;
    /// assert_eq!((tools.title(), tools.version()), (Some("Calculator"), Some("2.1.0")));
    /// assert_eq!(tools.to_document()?.document.functions, document.functions);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where a function cannot be a tool, or two have the same name.
    pub fn from_document<T: IntoTool>(
        document: &OpenTool,
        mut tool: impl FnMut(ToolDefinition) -> T,
    ) -> Result<Self, ToolboxError> {
        let mut toolbox = Self::new().with_title(&document.info.title).with_version(&document.info.version);
        for function in &document.functions {
            toolbox.add(tool(ToolDefinition::from_function(document, function)?))?;
        }
        if let Some(server) = &document.server {
            toolbox = toolbox.with_server(server.clone());
        }
        Ok(toolbox)
    }

    /// Writes the tools as an OpenTool document, with a report of what a document cannot say.
    ///
    /// A toolbox without title or version gets `Tools` and `1.0.0`. A toolbox that
    /// [is open](Self::is_open) lists only the tools it knows.
    ///
    /// # Errors
    ///
    /// Where a tool's schema cannot be used.
    pub fn to_document(&self) -> Result<ToolboxDocument, NormaliseError> {
        let tools = self.iter().map(|tool| {
            let definition = tool.definition();
            let function = SchemaTool::new(definition.name(), definition.description(), definition.input_schema());
            match definition.output_schema() {
                Some(schema) => function.output(definition.output_name().unwrap_or(RESULT), schema),
                None => function,
            }
        });
        let mut imported = functions_from_schemas(tools)?;
        let dropped = std::mem::take(&mut imported.dropped);
        let info = Info::new(self.title().unwrap_or("Tools"), self.version().unwrap_or("1.0.0"));
        let mut document = imported.into_document(info);
        document.server = self.server().cloned();
        Ok(ToolboxDocument { document, dropped })
    }
}

/// A toolbox as a document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolboxDocument {
    /// The document.
    pub document: OpenTool,
    /// What the tools' schemas say and a document cannot.
    pub dropped: Vec<Dropped>,
}
