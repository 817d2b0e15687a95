//! What a checked call waits for before it runs: approval, its turn, and a place in its batch.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use tracing::debug;

use super::admit::Admitted;
use super::arguments_check::check;
use super::interrupt::{unless_cancelled, while_caller_waits};
use super::job::{Job, NotRun};
use super::permits::{BatchGate, Permits};
use crate::gate::Gate;
use crate::{ApprovalRequest, Concurrency, Decision, ToolError, ToolMetadata};

/// Says whether a checked call has to wait for anything before it runs.
pub(super) fn must_wait(job: &Job<'_>, metadata: &ToolMetadata) -> bool {
    job.policies.approval.is_some()
        || metadata.needs_approval()
        || metadata.serial().is_some()
        || job.batch.as_ref().is_some_and(|batch| batch.gate.is_some() || batch.decision.is_some())
}

/// Waits for approval, and then for the permits to run. The type of the future is erased, since it is long for the compiler.
pub(super) fn wait<'a>(job: &'a mut Job<'_>, admitted: Admitted<'a>) -> BoxFuture<'a, Result<Permits, NotRun>> {
    Box::pin(get_permits(job, admitted))
}

async fn get_permits(job: &mut Job<'_>, admitted: Admitted<'_>) -> Result<Permits, NotRun> {
    approve(job, admitted).await?;
    let (context, metadata) = (job.context, admitted.metadata);
    let gate = job.batch.as_ref().and_then(|batch| batch.gate.as_deref());
    let timeout = metadata.timeout().or(job.policies.timeout);
    let max_wait = context.remaining().map_or(timeout, |left| Some(timeout.map_or(left, |timeout| timeout.min(left))));
    let permits = async {
        let acquiring = acquire(metadata, gate);
        let Some(gate) = gate else { return bounded(metadata.serial(), max_wait, acquiring).await };
        let acquiring = gate.calls.bounded(max_wait, acquiring, "a call that runs alone");
        bounded(metadata.serial(), max_wait, acquiring).await
    };
    let permits = while_caller_waits(context, unless_cancelled(context, permits)).await???;
    // A cancellation also releases the permits of the calls it ends, and those may arrive first.
    if context.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    Ok(permits)
}

async fn bounded<T>(
    serial: Option<&Arc<Gate>>,
    max_wait: Option<Duration>,
    acquiring: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    match serial {
        Some(serial) => serial.bounded(max_wait, acquiring, "an earlier call of the tool").await,
        None => acquiring.await,
    }
}

/// Acquires all permits that a call needs to run.
///
/// The order is always the same: the tool's queue, the batch, the tool's own gate. The holder of the last one runs and waits for
/// none of the others, so there is no deadlock; and the queue keeps the calls of one tool from taking every place in the batch.
async fn acquire(metadata: &ToolMetadata, gate: Option<&BatchGate>) -> Result<Permits, ToolError> {
    let mut permits = Permits::default();
    if let (Some(serial), Some(gate)) = (metadata.serial(), gate) {
        permits.queue = Some(gate.queue(serial).acquire_owned().await.map_err(|_| ToolError::cancelled())?);
    }
    match gate {
        Some(gate) if metadata.concurrency() == Concurrency::Exclusive => {
            permits.exclusive = Some(gate.calls.acquire_all().await?);
        }
        Some(gate) => permits.call = Some(gate.calls.acquire().await?),
        None => {}
    }
    if let Some(serial) = metadata.serial() {
        permits.exclusive = Some(serial.acquire_all().await?);
    }
    Ok(permits)
}

/// Gets the approval that a call needs; it may have other arguments afterwards.
async fn approve(job: &mut Job<'_>, admitted: Admitted<'_>) -> Result<(), NotRun> {
    let Admitted { tool, metadata, definition } = admitted;
    let decided = job.batch.as_mut().and_then(|batch| batch.decision.take());
    let decision = match (decided, &job.policies.approval) {
        (Some(decision), _) => decision,
        (None, None) if metadata.needs_approval() => {
            Decision::Deny("the tool needs approval and no approval policy is set".to_owned())
        }
        (None, Some(policy)) if policy.needed(tool, job.arguments) => {
            let call_id = job.call_id.map(|id| &**id).unwrap_or_default();
            let request = ApprovalRequest::new(call_id, tool, job.arguments, job.context);
            unless_cancelled(job.context, policy.decide(request)).await?
        }
        (None, _) => return Ok(()),
    };
    debug!(gen_ai.tool.name = definition.name(), decision = decision.as_str(), "approval decided");
    match decision {
        Decision::Approve => Ok(()),
        Decision::Edit(edited) => {
            job.edited = true;
            *job.arguments = edited;
            Ok(check(job, admitted).await?)
        }
        Decision::Suspend => Err(NotRun::Suspended),
        Decision::Deny(reason) if reason.trim().is_empty() => Err(ToolError::denied("the call was denied").into()),
        Decision::Deny(reason) => Err(ToolError::denied(reason).into()),
    }
}
