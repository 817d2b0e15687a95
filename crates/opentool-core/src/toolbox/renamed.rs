//! A tool under another name.

use std::sync::Arc;

use futures_core::future::BoxFuture;

use crate::{DefinitionError, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// A tool under another name.
pub(super) struct Renamed {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Renamed {
    pub(super) fn new(tool: Arc<dyn Tool>, name: &str) -> Result<Self, DefinitionError> {
        let definition = tool.definition();
        let described = definition.description() != definition.name();
        let mut builder = definition.to_builder().name(name);
        if !described {
            // The description was only the old name.
            builder = builder.description("");
        }
        Ok(Self { definition: builder.build()?, tool })
    }
}

impl Tool for Renamed {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        self.tool.metadata()
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.tool.call(invocation)
    }
}
