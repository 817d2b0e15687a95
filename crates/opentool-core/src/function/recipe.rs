//! What is known about a tool until it is built: [`Recipe`].

use opentool_spec::schema::NormaliseError;
use serde_json::Value;

use crate::{DefinitionError, ToolDefinition, ToolMetadata};

/// Where an input schema comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputType {
    /// The name of the Rust type, for messages.
    pub(super) name: &'static str,
    pub(super) schema: fn() -> Result<Value, NormaliseError>,
}

#[derive(Debug)]
enum InputSource {
    None,
    Type(InputType),
    Schema(Value),
}

/// The settings of a tool, before its definition is built.
#[derive(Debug)]
pub(super) struct Recipe {
    /// A finished definition, to which what is set afterwards applies.
    base: Option<ToolDefinition>,
    pub(super) name: String,
    pub(super) description: Option<String>,
    input: InputSource,
    pub(super) output_name: Option<String>,
    pub(super) output: Option<Result<Value, NormaliseError>>,
    pub(super) metadata: ToolMetadata,
    pub(super) inline: bool,
}

/// The settings of a tool, complete and checked.
pub(super) struct Finished {
    pub(super) definition: ToolDefinition,
    pub(super) metadata: ToolMetadata,
    pub(super) inline: bool,
}

impl Recipe {
    pub(super) fn new(name: String, input: Option<InputType>) -> Self {
        Self {
            base: None,
            name,
            description: None,
            input: input.map_or(InputSource::None, InputSource::Type),
            output_name: None,
            output: None,
            metadata: ToolMetadata::new(),
            inline: false,
        }
    }

    pub(super) fn set_definition(&mut self, definition: ToolDefinition) {
        self.name = definition.name().to_owned();
        self.description = None;
        self.input = InputSource::None;
        self.output_name = None;
        self.output = None;
        self.base = Some(definition);
    }

    pub(super) fn set_input_type(&mut self, input: InputType) {
        self.input = InputSource::Type(input);
    }

    pub(super) fn set_input_schema(&mut self, schema: Value) {
        self.input = InputSource::Schema(schema);
    }

    pub(super) fn finish(self) -> Result<Finished, DefinitionError> {
        let Self { base, name, description, input, output_name, output, metadata, inline } = self;
        let mut definition = match base {
            Some(base) => base.to_builder().name(name.clone()),
            // What is made of Rust types was written in the program.
            None => {
                ToolDefinition::builder(name.clone()).backtracking_patterns(!matches!(input, InputSource::Schema(_)))
            }
        };
        match input {
            InputSource::None => {}
            InputSource::Schema(schema) => definition = definition.input_schema(schema),
            InputSource::Type(input) => match (input.schema)() {
                Ok(schema) => definition = definition.input_schema(schema),
                Err(source) => return Err(DefinitionError::Input { tool: name, input: input.name, source }),
            },
        }
        if let Some(description) = description {
            definition = definition.description(description);
        }
        if let Some(output_name) = output_name {
            definition = definition.output_name(output_name);
        }
        match output {
            None => {}
            Some(Ok(schema)) => definition = definition.output_schema(schema),
            Some(Err(source)) => return Err(DefinitionError::Output { tool: name, source }),
        }
        Ok(Finished { definition: definition.build()?, metadata, inline })
    }
}
