//! What a function's tool will look like, collected until it is built.

use opentool_spec::schema::NormaliseError;
use serde_json::Value;

use crate::{DefinitionError, ToolDefinition, ToolMetadata};

/// Where an input schema comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputType {
    /// The name of the Rust type, for messages.
    pub(crate) name: &'static str,
    pub(crate) schema: fn() -> Result<Value, NormaliseError>,
}

#[derive(Debug)]
enum Input {
    None,
    Type(InputType),
    Schema(Value),
}

/// A definition in the making, with the metadata.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// A finished definition, which what is set afterwards changes.
    base: Option<ToolDefinition>,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    input: Input,
    pub(crate) output_name: Option<String>,
    pub(crate) output: Option<Result<Value, NormaliseError>>,
    pub(crate) metadata: ToolMetadata,
    pub(crate) blocking: bool,
}

impl Recipe {
    pub(crate) fn new(name: String, input: Option<InputType>) -> Self {
        Self {
            base: None,
            name,
            description: None,
            input: input.map_or(Input::None, Input::Type),
            output_name: None,
            output: None,
            metadata: ToolMetadata::new(),
            blocking: false,
        }
    }

    pub(crate) fn set_definition(&mut self, definition: ToolDefinition) {
        self.name = definition.name().to_owned();
        self.description = None;
        self.input = Input::None;
        self.output_name = None;
        self.output = None;
        self.base = Some(definition);
    }

    pub(crate) fn set_input_type(&mut self, input: InputType) {
        self.input = Input::Type(input);
    }

    pub(crate) fn set_input_schema(&mut self, schema: Value) {
        self.input = Input::Schema(schema);
    }

    /// Makes the definition, and hands back the metadata and whether the code holds its thread.
    pub(crate) fn finish(self) -> Result<(ToolDefinition, ToolMetadata, bool), DefinitionError> {
        let Self { base, name, description, input, output_name, output, metadata, blocking } = self;
        let mut definition = match base {
            Some(base) => base.to_builder().name(name.clone()),
            None => ToolDefinition::builder(name.clone()),
        };
        match input {
            Input::None => {}
            Input::Schema(schema) => definition = definition.input_schema(schema),
            Input::Type(input) => match (input.schema)() {
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
        Ok((definition.build()?, metadata, blocking))
    }
}
