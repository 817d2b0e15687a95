//! The function that every workflow has: `sleep`.

use std::time::Duration;

use futures_core::future::BoxFuture;
use opentool_spec::OpenWorkflow;
use serde::Deserialize;
use serde_json::json;

use crate::{DefinitionError, Invocation, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// Waits for some milliseconds.
#[derive(Debug)]
pub(super) struct Sleep {
    definition: ToolDefinition,
    metadata: ToolMetadata,
}

#[derive(Deserialize)]
struct SleepArguments {
    milliseconds: f64,
}

impl Sleep {
    pub(super) fn new() -> Result<Self, DefinitionError> {
        let schema = json!({
            "type": "object",
            "properties": { "milliseconds": { "type": "integer", "minimum": 0, "description": "How long to wait." } },
            "required": ["milliseconds"],
            "additionalProperties": false,
        });
        let definition = ToolDefinition::builder(OpenWorkflow::SLEEP)
            .description("Wait for some milliseconds.")
            .input_schema(schema)
            .build()?;
        let metadata = ToolMetadata::new().with_read_only(true).with_idempotent(true).with_open_world(false);
        Ok(Self { definition, metadata })
    }
}

impl Tool for Sleep {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let SleepArguments { milliseconds } = invocation.arguments.parse()?;
            let wanted = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(Duration::MAX);
            // Better now than after the wait.
            if let Some(left) = invocation.context.remaining().filter(|left| *left < wanted) {
                let message =
                    format!("{milliseconds} milliseconds are more than the {} that the call may run", left.as_millis());
                return Err(ToolError::failed(message));
            }
            tokio::time::sleep(wanted).await;
            Ok(ToolOutput::Empty)
        })
    }
}
