//! Before a call runs: find its tool, apply the limits.

use std::sync::Arc;

use tracing::debug;

use super::job::{Job, NotRun};
use crate::panics::guarded;
use crate::{Resolver, Tool, ToolCall, ToolDefinition, ToolError, ToolMetadata, Turn};

/// A tool that may be called, with its definition and metadata.
#[derive(Clone, Copy)]
pub(super) struct Admitted<'t> {
    pub(super) tool: &'t dyn Tool,
    pub(super) metadata: &'t ToolMetadata,
    pub(super) definition: &'t ToolDefinition,
}

/// Finds the tool and applies the limits of the turn. Its arguments are still to be checked.
///
/// A tool that a resolver found is kept in `unlisted`.
pub(super) fn find<'t, 'a: 't>(
    job: &mut Job<'a>,
    unlisted: &'t mut Option<Arc<dyn Tool>>,
) -> Result<Admitted<'t>, NotRun> {
    let refusal = match &mut job.batch {
        Some(batch) => {
            *unlisted = batch.unlisted.take();
            batch.refusal.take()
        }
        None if job.policies.has_own_limits => limits_of_host(job),
        None => None,
    };
    let tool = match job.tools.get(job.name) {
        Some(tool) => Some(&**tool),
        None if unlisted.is_some() => unlisted.as_deref(),
        None => {
            let (tools, resolver) = (job.tools, job.policies.resolver.as_ref());
            *unlisted = guarded(|| Ok(tools.resolve(job.name).or_else(|| resolver?.resolve(job.name))))?;
            unlisted.as_deref()
        }
    };
    // The limits apply to wrong names too, or a model could try names without end.
    if let Some(refusal) = refusal {
        return Err(refusal.into());
    }
    let Some(tool) = tool else {
        debug!(gen_ai.tool.name = job.name, "tool unknown");
        return Err(NotRun::Answered(guarded(|| job.policies.unknown_tool.answer(job.name, job.tools))?));
    };
    if job.context.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    let admitted = guarded(|| Ok(Admitted { tool, metadata: tool.metadata(), definition: tool.definition() }))?;
    job.definition = Some(admitted.definition.clone());
    Ok(admitted)
}

/// Asks the user's own limits about a host's call, which is a turn of its own.
#[cold]
fn limits_of_host(job: &Job<'_>) -> Option<ToolError> {
    let id = job.call_id.cloned().unwrap_or_else(|| Arc::from(""));
    let call = ToolCall { id, name: job.name.into(), arguments: job.arguments.clone() };
    guarded(|| {
        let tool = job.tools.resolve(job.name).or_else(|| job.policies.resolver.as_ref()?.resolve(job.name));
        job.policies.limits.admit(&Turn::new(), &call, tool.as_deref())
    })
    .err()
}
