//! A tool as the server lists it, and as the core knows it.

use opentool_core::{DefinitionError, ToolDefinition, ToolMetadata};
use rmcp::model::{Tool as ListedTool, ToolAnnotations};
use serde::Serialize;
use serde_json::Value;

use super::settings::ClientSettings;

/// The extensions that hold what MCP says about a tool and a definition has no field for.
const ANNOTATIONS: &str = "annotations";
const ICONS: &str = "icons";
const META: &str = "_meta";
/// The name that the server gave, where it cannot be the tool's own.
const ORIGINAL_NAME: &str = "x-mcp-name";

/// Makes the definition of a tool. The input schema stays as it came.
pub(crate) fn definition(
    name: &str,
    tool: &ListedTool,
    settings: &ClientSettings,
) -> Result<ToolDefinition, DefinitionError> {
    let input = Value::Object((*tool.input_schema).clone());
    let mut builder = ToolDefinition::builder(name).input_schema(input);
    if let Some(title) = &tool.title {
        builder = builder.title(title);
    }
    if let Some(description) = &tool.description {
        builder = builder.description(description);
    }
    for (key, value) in [
        (ANNOTATIONS, json(&tool.annotations)),
        (ICONS, json(&tool.icons)),
        (META, json(&tool.meta)),
        (ORIGINAL_NAME, (tool.name != name).then(|| tool.name.as_ref().into())),
    ] {
        if let Some(value) = value {
            builder = builder.extension(key, value);
        }
    }
    let Some(schema) = &tool.output_schema else { return builder.build() };
    let unchecked = builder.output_schema(Value::Object((**schema).clone())).build()?;
    if !settings.check_results {
        return Ok(unchecked);
    }
    match unchecked.to_builder().check_results(true).build() {
        Ok(checked) => Ok(checked),
        Err(error) => {
            tracing::warn!(target: "opentool::mcp", %error, "the results of a tool are not checked");
            Ok(unchecked)
        }
    }
}

/// What the executor goes by: the operator's word, and the server's only where it is trusted.
pub(crate) fn metadata(name: &str, tool: &ListedTool, settings: &ClientSettings) -> ToolMetadata {
    let mut metadata = match settings.metadata.get(name) {
        Some(metadata) => metadata.clone(),
        None if settings.trust_annotations => tool.annotations.as_ref().map(hints).unwrap_or_default(),
        None => ToolMetadata::new(),
    };
    if let (None, Some(timeout)) = (metadata.timeout(), settings.progress_timeout.or(settings.call_timeout)) {
        metadata = metadata.with_timeout(timeout);
    }
    metadata
}

fn hints(annotations: &ToolAnnotations) -> ToolMetadata {
    ToolMetadata::new()
        .with_read_only(annotations.read_only_hint)
        .with_destructive(annotations.destructive_hint)
        .with_idempotent(annotations.idempotent_hint)
        .with_open_world(annotations.open_world_hint)
}

fn json<T: Serialize>(value: &Option<T>) -> Option<Value> {
    value.as_ref().and_then(|value| serde_json::to_value(value).ok())
}
