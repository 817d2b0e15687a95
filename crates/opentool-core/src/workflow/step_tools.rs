//! The tools of the steps: those that are attached, and `sleep`.

use std::sync::Arc;

use opentool_spec::OpenWorkflow;
use opentool_spec::json::near;

use super::error::WorkflowError;
use super::plan::WorkflowPlan;
use super::sleep::Sleep;
use crate::{IntoTool, Resolver, Tool, ToolError, ToolMetadata, Toolbox};

/// How many names are compared with an unknown one.
const COMPARED: usize = 1_000;

/// Finds the tool of each step; an error where one is not attached, so that nothing runs of a workflow that cannot be finished.
pub(super) fn step_tools(plan: &WorkflowPlan, tools: &Toolbox) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
    let sleep = Sleep::new().map_err(ToolError::fatal)?.into_tool().map_err(ToolError::fatal)?;
    let mut found = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        if *step.function == *OpenWorkflow::SLEEP {
            check_sleep(tools).map_err(ToolError::fatal)?;
            found.push(sleep.clone());
            continue;
        }
        match attached(tools, &step.function) {
            Some(tool) => found.push(tool),
            None => {
                let near = near::names(&step.function, tools.names().take(COMPARED), 3);
                let unknown = ToolError::unknown_tool(&step.function, &near);
                let message = format!("the step `{}` cannot run: {}", step.name, unknown.message());
                return Err(unknown.with_message(message));
            }
        }
    }
    Ok(found)
}

/// The attached tool of a name. A resolver of the executor does not count: a workflow has the tools that it was given.
pub(super) fn attached(tools: &Toolbox, name: &str) -> Option<Arc<dyn Tool>> {
    tools.get(name).cloned().or_else(|| tools.resolve(name))
}

/// Refuses tools among which is one called `sleep`: one name is one function.
pub(super) fn check_sleep(tools: &Toolbox) -> Result<(), WorkflowError> {
    if tools.contains(OpenWorkflow::SLEEP) { Err(WorkflowError::Sleep) } else { Ok(()) }
}

/// What is known about a workflow, by what is known about the tools of its steps.
pub(super) fn metadata_of<'a>(tools: impl Iterator<Item = &'a ToolMetadata>) -> ToolMetadata {
    let (mut read_only, mut destructive, mut open_world) = (Some(true), Some(false), Some(false));
    for tool in tools {
        read_only = read_only.filter(|_| tool.is_read_only());
        let destroys = tool.destructive().or(tool.read_only().filter(|read_only| *read_only).map(|_| false));
        destructive = either(destructive, destroys);
        open_world = either(open_world, tool.open_world());
    }
    ToolMetadata::new()
        .with_composite(true)
        .with_read_only(read_only)
        .with_destructive(destructive)
        .with_open_world(open_world)
}

/// Whether one of two is so: yes if one is, no if neither is, and otherwise not known.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}
