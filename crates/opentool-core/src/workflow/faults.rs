//! What is wrong with a workflow for the tools that it is to call.

use opentool_spec::json::{near, pointer};
use opentool_spec::{Code, ExternalFinding, OpenWorkflow, WorkflowStep};
use serde_json::Value;

use super::step_tools::attached;
use super::values::{RESULT, ResultType};
use crate::{ToolDefinition, Toolbox};

/// How many names are compared with unknown ones, for each and for all.
const COMPARED: usize = 1_000;
const COMPARED_IN_ALL: usize = 50_000;

/// Finds what keeps a workflow from running with these tools: functions that are not there, and results that a function does
/// not have, by what it is described to return.
///
/// ```
/// use opentool_core::{FnTool, Toolbox, workflow_faults};
/// use opentool_spec::{Code, Info, OpenWorkflow, WorkflowStep};
///
/// let tools = Toolbox::new().with(FnTool::new("count", || 1))?;
/// let document = OpenWorkflow::new(Info::new("T", "1")).step("start", WorkflowStep::new("cuont"));
/// let faults = workflow_faults(&document, &tools);
/// assert_eq!((faults[0].code, faults[0].pointer.as_str()), (Code::UnknownFunction, "/workflow/start/function"));
/// # Ok::<(), opentool_core::ToolboxError>(())
/// ```
#[must_use]
pub fn workflow_faults(document: &OpenWorkflow, tools: &Toolbox) -> Vec<ExternalFinding> {
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, step) in &document.workflow {
        if step.function == OpenWorkflow::SLEEP {
            continue; // the document alone says what is wrong with it
        }
        match attached(tools, &step.function) {
            Some(tool) => faults.extend(result_faults(name, step, tool.definition())),
            None => {
                let budget = COMPARED.min(COMPARED_IN_ALL - compared);
                compared += tools.len().min(budget);
                let near = near::names(&step.function, tools.names().take(budget), 1);
                faults.push(ExternalFinding {
                    pointer: place(&[name, "function"]),
                    code: Code::UnknownFunction,
                    message: format!("the tools have no function `{}`", step.function),
                    help: near.first().map(|near| format!("did you mean `{near}`?")),
                });
            }
        }
    }
    faults
}

fn place(tokens: &[&str]) -> String {
    let mut place = "/workflow".to_owned();
    for token in tokens {
        pointer::push(&mut place, token);
    }
    place
}

/// The results of a step that its function is described not to have.
fn result_faults(name: &str, step: &WorkflowStep, definition: &ToolDefinition) -> Vec<ExternalFinding> {
    let Some(root) = definition.output_schema() else { return Vec::new() };
    let function = definition.name();
    let schema = target(root, root);
    let faults = step.results.iter().filter_map(|(key, default)| {
        let kind = ResultType::of_default(default);
        let of_result = if schema["type"] == "object" {
            match schema["properties"].get(key) {
                Some(property) => target(root, property),
                None if schema["additionalProperties"] == Value::Bool(false) => {
                    return Some((key, format!("`{function}` has no result `{key}`")));
                }
                None => return None,
            }
        } else if schema["type"].is_string() {
            let own = definition.output_name().unwrap_or(RESULT);
            if own != key {
                return Some((key, format!("`{function}` has no result `{key}`: its result is called `{own}`")));
            }
            schema
        } else {
            return None;
        };
        let described = || {
            let wanted = kind.described();
            format!("the result `{key}` of `{function}` is of type {}, not {wanted}", of_result["type"])
        };
        (!kind.may_fit(of_result)).then(|| (key, described()))
    });
    faults
        .map(|(key, message)| ExternalFinding {
            pointer: place(&[name, "results", key]),
            code: Code::ResultType,
            message,
            help: None,
        })
        .collect()
}

/// The schema that a reference within the same schema leads to.
fn target<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    const MAX_REFERENCES: usize = 16;
    let mut at = schema;
    for _ in 0..MAX_REFERENCES {
        match at["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?)) {
            Some(target) => at = target,
            None => break,
        }
    }
    at
}
