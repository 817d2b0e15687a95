//! Toolboxes to and from OpenTool documents.

use opentool_spec::schema::{Dropped, NormaliseError, SchemaTool, functions_from_schemas};
use opentool_spec::{Function, Info, OpenTool};
use serde_json::Value;

use super::set::{Toolbox, ToolboxError};
use crate::{DefinitionError, IntoTool, ToolDefinition};

/// What a result is called where nothing names it.
const RESULT: &str = "result";
/// The key under which a function carries the title of its tool.
const TITLE: &str = "x-title";
/// The extensions that MCP knows, and the keys under which a function carries them.
const MCP_EXTENSIONS: [(&str, &str); 3] =
    [("annotations", "x-mcp-annotations"), ("icons", "x-mcp-icons"), ("_meta", "x-mcp-meta")];
/// What the keys begin with that a document may carry and its spec does not know.
const EXTENSION: &str = "x-";

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
        for (key, value) in function.extra.iter().filter(|(key, _)| key.starts_with(EXTENSION)) {
            let of_mcp = MCP_EXTENSIONS.iter().find(|(_, written)| written == key);
            builder = match value {
                Value::String(title) if key == TITLE => builder.title(title),
                value => builder.extension(of_mcp.map_or(key.as_str(), |(name, _)| name), value.clone()),
            };
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
        let mut toolbox = Self::new().with_info_of(document);
        for function in &document.functions {
            toolbox.add(tool(ToolDefinition::from_function(document, function)?))?;
        }
        if let Some(server) = &document.server {
            toolbox = toolbox.with_server(server.clone());
        }
        Ok(toolbox)
    }

    /// Takes title, version, description and version of the spec from a document.
    #[must_use]
    pub fn with_info_of(self, document: &OpenTool) -> Self {
        let Info { title, version, description, .. } = &document.info;
        let toolbox = self.with_title(title).with_version(version).with_spec_version(&document.opentool);
        match description {
            Some(description) => toolbox.with_description(description),
            None => toolbox,
        }
    }

    /// Writes the tools as an OpenTool document, with a report of what a document cannot say.
    ///
    /// A toolbox without title or version gets `Tools` and `1.0.0`. Tools of one document that names no server are written in
    /// [its version of the spec](Self::spec_version), all others in 1.1.0. A toolbox that
    /// [is open](Self::is_open) lists only the tools it knows. A tool's title stands as `x-title`, and its
    /// [extensions](ToolDefinition::extensions) stand as they are where their keys begin with `x-`; those that MCP knows
    /// (`annotations`, `icons` and `_meta`) stand with `x-mcp-` before their names.
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
        for (function, tool) in imported.functions.iter_mut().zip(self.iter()) {
            let definition = tool.definition();
            if let Some(title) = definition.title() {
                function.extra.insert(TITLE.to_owned(), title.into());
            }
            for (key, value) in definition.extensions() {
                let of_mcp = MCP_EXTENSIONS.iter().find(|(name, _)| *name == key).map(|(_, written)| *written);
                if let Some(key) = of_mcp.or(Some(key).filter(|key| key.starts_with(EXTENSION))) {
                    function.extra.insert(key.to_owned(), value.clone());
                }
            }
        }
        let mut info = Info::new(self.title().unwrap_or("Tools"), self.version().unwrap_or("1.0.0"));
        info.description = self.description().map(ToOwned::to_owned);
        let mut document = imported.into_document(info);
        document.server = self.server().cloned();
        // The server object came with the version that this crate writes.
        if let (Some(version), None) = (self.spec_version(), &document.server) {
            version.clone_into(&mut document.opentool);
        }
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
