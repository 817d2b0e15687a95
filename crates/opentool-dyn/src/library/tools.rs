//! The tools of a library: their definitions and metadata.

use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ToolDefinition, ToolMetadata, Toolbox, ToolboxError};
use opentool_spec::{Function, OpenTool};
use serde_json::{Value, json};

use crate::plan::{Effect, Plan};
use crate::result_size::LARGEST_RESULT;
use crate::tool::{DynTool, Shared};

/// How long a call may wait for others. The executor's deadline counts waiting too, so it is later by this than the worker's,
/// which counts only the time that the function runs.
const WAITING: Duration = Duration::from_secs(30);

/// Makes a tool of every function that can be called.
pub(super) fn toolbox(shared: &Arc<Shared>, timeout: Option<Duration>) -> Result<Toolbox, ToolboxError> {
    let plan = &shared.plan;
    let seen = seen(plan);
    let mut toolbox = Toolbox::new().with_title(&seen.info.title).with_version(&seen.info.version);
    for (index, function) in seen.functions.iter().enumerate() {
        let planned = &plan.functions[index];
        if planned.disabled.is_some() {
            continue;
        }
        let definition = definition(&seen, function, planned.errno)?;
        let mut metadata = ToolMetadata::new()
            .with_checks_own_arguments(!is_constrained(definition.input_schema()))
            .with_max_result_size(LARGEST_RESULT);
        metadata = match planned.effect {
            Effect::Read => metadata.with_read_only(true),
            Effect::Destructive => metadata.with_destructive(true),
            Effect::Write => metadata.with_read_only(false).with_destructive(false),
            Effect::Unknown => metadata,
        };
        if planned.idempotent {
            metadata = metadata.with_idempotent(true);
        }
        if let Some(timeout) = timeout {
            metadata = metadata.with_timeout(timeout.saturating_add(WAITING));
        }
        toolbox.add(DynTool { definition, metadata, function: index, shared: shared.clone() })?;
    }
    Ok(toolbox)
}

/// Whether a schema asks for more than what C needs, which is what reading the arguments checks anyway.
fn is_constrained(schema: &Value) -> bool {
    const PLAIN: [&str; 11] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "description",
        "title",
        "default",
        "examples",
        "$schema",
        "format",
    ];
    match schema {
        Value::Object(schema) => schema.iter().any(|(key, value)| match key.as_str() {
            "properties" => value.as_object().is_some_and(|properties| properties.values().any(is_constrained)),
            "items" => is_constrained(value),
            key => !PLAIN.contains(&key) && !key.starts_with("x-"),
        }),
        _ => false,
    }
}

/// The document as callers see it, with what they may leave out.
fn seen(plan: &Plan) -> OpenTool {
    let mut document = plan.document.clone();
    for (function, planned) in document.functions.iter_mut().zip(&plan.functions) {
        for (parameter, planned) in function.parameters.iter_mut().zip(&planned.parameters) {
            parameter.required = planned.required;
        }
    }
    document.to_opentool()
}

fn definition(document: &OpenTool, function: &Function, errno: bool) -> Result<ToolDefinition, ToolboxError> {
    let definition = ToolDefinition::from_function(document, function)?;
    let mut results = match (definition.output_schema(), &function.returns) {
        // Several results are an object already.
        (Some(schema), Some(returns)) if returns.name == "result" && schema.get("properties").is_some() => {
            schema.clone()
        }
        (Some(schema), Some(returns)) => json!({
            "type": "object",
            "properties": { returns.name.as_str(): schema },
            "required": [returns.name.as_str()],
            "additionalProperties": false,
        }),
        _ => json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false }),
    };
    if errno {
        results["properties"]["errno"] = json!({ "type": "integer" });
        if let Some(required) = results["required"].as_array_mut() {
            required.push(Value::from("errno"));
        }
    }
    Ok(definition.to_builder().output_name("result").output_schema(results).build()?)
}
