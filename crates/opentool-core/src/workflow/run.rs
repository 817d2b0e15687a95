//! One run of a workflow, from its first step to its result.

use std::sync::Arc;

use serde_json::json;

use super::plan::{PlannedStep, WorkflowPlan};
use super::values::{NamedValues, StepValues, members, named_results};
use crate::{ErrorKind, ErrorSeverity, Executor, Outcome, Tool, ToolCall, ToolContext, ToolError, ToolOutput, Turn};

/// Runs the steps in their order, each with its own tool, and returns what the last one answered.
pub(super) async fn run(
    plan: &WorkflowPlan,
    tools: &[Arc<dyn Tool>],
    executor: &Executor,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let mut run = Run {
        turn: Turn::new(),
        repeats: vec![Turn::new(); plan.steps.len()],
        iterations: vec![0; plan.steps.len()],
        values: plan.steps.iter().map(|_| None).collect(),
        may_be_repeated: true,
    };
    let mut at = 0;
    loop {
        let (Some(step), Some(tool)) = (plan.steps.get(at), tools.get(at)) else { return Ok(ToolOutput::Empty) };
        report(plan, &run, step, context);
        let output = run.step(at, step, tool, executor, context).await?;
        match step.next {
            Some(next) => at = next,
            None => return Ok(last_output(output, run.values[at].as_ref())),
        }
    }
}

/// Says how far the run is.
fn report(plan: &WorkflowPlan, run: &Run, step: &PlannedStep, context: &ToolContext) {
    #[expect(clippy::cast_precision_loss, reason = "no workflow has 2^52 steps")]
    let total = plan.length().map(|steps| steps as f64);
    context.progress(f64::from(run.turn.calls()), total, format!("step `{}`: {}", step.name, step.function));
}

/// What the caller gets of the last step: its results by name; parts that are no text stay what they are.
fn last_output(output: ToolOutput, values: Option<&StepValues>) -> ToolOutput {
    if !output.parts().is_empty() {
        return output;
    }
    let results = values.map(|values| &values.results);
    results.and_then(|results| ToolOutput::json(results).ok()).unwrap_or(output)
}

/// The state of a run.
struct Run {
    turn: Turn,
    /// The calls of each step, for the limit of equal calls.
    repeats: Vec<Turn>,
    /// How often each step has begun.
    iterations: Vec<u32>,
    /// What each step has since it last ran.
    values: Vec<Option<StepValues>>,
    /// Whether the whole run may be repeated: every step so far may.
    may_be_repeated: bool,
}

impl Run {
    async fn step(
        &mut self,
        at: usize,
        step: &PlannedStep,
        tool: &Arc<dyn Tool>,
        executor: &Executor,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        if context.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let failed = |message: String| ToolError::failed(message);
        let arguments = step.arguments(&self.values).map_err(|error| self.failure(step, failed(error)))?;
        self.iterations[at] += 1;
        // The same in every attempt of the run, so that a step is known again.
        let place = format!("{}.{}", step.name, self.iterations[at]);
        let id = match context.call_id() {
            "" => place.clone(),
            outer => format!("{outer}/{place}"),
        };
        let call = ToolCall::new(id, step.function.clone(), arguments);
        let limits = self.turn.at_step(&self.repeats[at]);
        self.turn.count(&call);
        self.repeats[at].count(&call);
        let sent = call.arguments.clone();
        let mut inner = context.clone().with_place(place);
        if !self.may_be_repeated {
            inner = inner.never_restarted();
        }
        let outcome = executor.step(tool.clone(), call, &limits, &inner).await;
        let Outcome { result, definition, arguments, edited, .. } = outcome;
        let output = result.map_err(|error| self.failure(step, error))?;
        self.may_be_repeated &= tool.metadata().is_repeatable();
        let name = definition.as_ref().and_then(|definition| definition.output_name());
        let unusable =
            |error: serde_json::Error| ToolError::invalid_result(format!("its result cannot be read: {error}"));
        let results = named_results(&output, name).map_err(|error| self.failure(step, unusable(error)))?;
        check_results(step, &results).map_err(|error| self.failure(step, error))?;
        // What an approver has changed is what ran.
        let used = if edited { arguments } else { sent };
        let arguments = members(used.as_str()).map_err(|error| self.failure(step, unusable(error)))?;
        self.values[at] = Some(StepValues { arguments, results });
        Ok(output)
    }

    /// The error of the run whose step failed.
    fn failure(&self, step: &PlannedStep, error: ToolError) -> ToolError {
        let mut data = json!({ "step": &*step.name, "function": &*step.function });
        if let Some(cause) = error.data() {
            data["cause"] = cause.clone();
        }
        let message = format!("the step `{}` (`{}`) failed: {}", step.name, step.function, error.message());
        let retryable = error.is_retryable() && self.may_be_repeated;
        // The limits of a run are not those of the turn in which it was called.
        let severity = if error.kind() == ErrorKind::Limit { ErrorSeverity::Recoverable } else { error.severity() };
        error.with_message(message).with_data(data).with_retryable(retryable).with_severity(severity)
    }
}

/// Checks that a step has the results that it must have, of the types that they must have.
fn check_results(step: &PlannedStep, results: &NamedValues) -> Result<(), ToolError> {
    for (key, kind) in &step.results {
        let fault = match results.get(key) {
            Some(value) => kind.fault(value.get()),
            None => {
                let known: Vec<_> = results.keys().map(|key| format!("`{key}`")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Some(format!("is not there; the results are: {known}"))
            }
        };
        if let Some(fault) = fault {
            return Err(ToolError::invalid_result(format!("its result `{key}` {fault}")));
        }
    }
    Ok(())
}
