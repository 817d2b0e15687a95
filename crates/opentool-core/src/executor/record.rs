//! The record of a call in a journal: its start, and its outcome before it is seen.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::admit::Admitted;
use super::interrupt::{late, unless_cancelled, while_caller_waits};
use super::job::{Job, NotRun};
use super::policies::Policies;
use crate::context::RecordedScope;
use crate::journal::{CallOrigin, Recording};
use crate::panics::guarded_future;
use crate::{
    Begun, CallEffect, CallEnd, CallKey, CallStart, ErrorKind, Journal, OwnedRun, Reconciled, RecordedResult,
    ToolError, ToolMetadata, UncertainDecision,
};

/// Returns how long a call may run by what its tool or the executor says. The calls of a composite tool have deadlines of their own.
pub(super) fn own_time_limit(policies: &Policies, metadata: &ToolMetadata) -> Option<Duration> {
    metadata.timeout().or(policies.timeout.filter(|_| !metadata.is_composite()))
}

/// Returns how long a call may run: as long as its tool or the executor says, and no longer than its caller waits.
pub(super) fn time_limit(job: &Job<'_>, metadata: &ToolMetadata) -> Option<Duration> {
    let own = own_time_limit(job.policies, metadata);
    match job.context.time_limit() {
        None => own,
        Some(left) => Some(own.map_or(left, |own| own.min(left))),
    }
}

/// A call whose start a journal has recorded.
pub(super) struct RecordedCall {
    journal: Arc<dyn Journal>,
    key: Arc<CallKey>,
    effect: CallEffect,
    /// The run, where it can wait and go on.
    owned: Option<Arc<dyn OwnedRun>>,
    /// Whether it waits because calls that it makes do, and for nothing else.
    waits_for_calls: bool,
    attempt: u32,
    has_ended: bool,
}

/// Records the start of a call, where its context says so.
///
/// # Errors
///
/// Where the call does not run: it has run before, or it may not run again, or its start cannot be recorded.
pub(super) async fn begin(job: &mut Job<'_>, admitted: Admitted<'_>) -> Result<Option<Box<RecordedCall>>, NotRun> {
    if job.context.time_limit() == Some(Duration::ZERO) {
        return Err(late().into());
    }
    let Some(recording) = job.context.origin().and_then(|origin| origin.recording.clone()) else { return Ok(None) };
    let recorded = guarded_future(begin_recorded(job, admitted, &recording)).await?;
    Ok(Some(Box::new(recorded)))
}

async fn begin_recorded(
    job: &mut Job<'_>,
    admitted: Admitted<'_>,
    recording: &Recording,
) -> Result<RecordedCall, NotRun> {
    let Recording { journal, identity, owned } = recording;
    let in_batch = job.resumable.then(|| job.batch.as_ref().map(|batch| batch.place)).flatten();
    let (run, place) = identity.place(job.context.caller().unwrap_or_default(), job.name, in_batch);
    let key = Arc::new(CallKey::new(run, place, job.name, job.arguments));
    let effect = match owned {
        Some(_) if admitted.metadata.records_steps() => CallEffect::Composite,
        _ => admitted.metadata.effect(),
    };
    loop {
        let call = CallStart {
            key: &key,
            effect,
            call_id: job.call_id.map(|id| &**id).unwrap_or_default(),
            arguments: job.arguments,
            caller: job.context.caller(),
            is_keyed: identity.is_keyed(),
        };
        match journal.begin(call).await? {
            Begun::Run { attempt } => {
                let (journal, owned) = (journal.clone(), owned.clone());
                let waits_for_calls = admitted.metadata.is_composite();
                return Ok(RecordedCall { journal, key, effect, owned, waits_for_calls, attempt, has_ended: false });
            }
            Begun::Answer(RecordedResult { result, return_direct }) => {
                debug!(gen_ai.tool.name = job.name, "call answered from the journal");
                job.answer = Some(result);
                job.return_direct = return_direct;
                return Err(NotRun::Recorded);
            }
            Begun::InFlight => wait_for_first(job, &**journal, &key).await?,
            Begun::Uncertain => match reconcile(job, admitted, &**journal, &key).await {
                // It waits in the turn until it is decided what became of it.
                Err(error) if can_wait(job, owned.as_ref(), &error) => return Err(NotRun::Suspended),
                reconciled => reconciled?,
            },
        }
    }
}

/// Says whether a call of which it is not known what became of it waits in its turn.
fn can_wait(job: &Job<'_>, owned: Option<&Arc<dyn OwnedRun>>, error: &ToolError) -> bool {
    owned.is_some() && job.resumable && error.kind() == ErrorKind::Uncertain
}

/// Waits for the same call, which runs already, as long as the caller does.
async fn wait_for_first(job: &Job<'_>, journal: &dyn Journal, key: &CallKey) -> Result<(), ToolError> {
    while_caller_waits(job.context, unless_cancelled(job.context, journal.changed(key))).await?
}

/// Asks the tool whether an uncertain call had its effect, and lets the journal know; an error where it stays uncertain.
async fn reconcile(
    job: &Job<'_>,
    admitted: Admitted<'_>,
    journal: &dyn Journal,
    key: &CallKey,
) -> Result<(), ToolError> {
    let Some(reconcile) = admitted.metadata.reconcile() else { return Err(uncertain(key)) };
    let asking = unless_cancelled(job.context, reconcile.reconcile(key, job.arguments, job.context));
    let limit = time_limit(job, admitted.metadata).filter(|_| Handle::try_current().is_ok());
    let answer = match limit {
        None => asking.await,
        Some(limit) => timeout(limit, asking).await.unwrap_or_else(|_| Err(ToolError::timeout(limit))),
    };
    let decision = match answer.and_then(|answer| answer) {
        Ok(Reconciled::Happened(output)) => UncertainDecision::Happened(output),
        Ok(Reconciled::DidNotHappen) => UncertainDecision::RunAgain,
        Ok(Reconciled::Unknown) => return Err(uncertain(key)),
        Err(error) => return Err(uncertain(key).with_detail(format!("the tool cannot find out: {error}"))),
    };
    journal.decide(key, decision).await
}

fn uncertain(key: &CallKey) -> ToolError {
    let message = format!(
        "the call began and was interrupted, and it is not known whether it had its effect: it does not run again by itself \
         (call {} of run {})",
        key.place, key.run
    );
    ToolError::uncertain(message)
}

impl RecordedCall {
    /// What the context of the call says about its record.
    pub(super) fn scope(&self) -> RecordedScope {
        let inner = (self.effect == CallEffect::Composite).then(|| {
            let place = self.key.place.clone();
            let recording = match &self.owned {
                Some(run) => Recording::owned(run.clone(), place),
                None => Recording::run(self.journal.clone(), self.key.run.clone(), place),
            };
            Arc::new(CallOrigin { recording: Some(recording), deadline: None })
        });
        RecordedScope { key: self.key.clone(), attempt: self.attempt, inner }
    }

    /// Records the outcome; where that fails, the failure is the outcome, or the call waits without one.
    pub(super) async fn end(mut self: Box<Self>, job: &mut Job<'_>) {
        let Some(result) = &job.answer else { return };
        // A call inside it waits for a decision, after which this one is entered again.
        if self.effect == CallEffect::Composite
            && let Err(error) = result
            && error.kind() == ErrorKind::Uncertain
        {
            let can_wait = can_wait(job, self.owned.as_ref(), error);
            if !can_wait {
                return;
            }
            if self.is_undecided().await {
                job.answer = None;
                return;
            }
        }
        let Some(result) = &job.answer else { return };
        let end = CallEnd { key: &self.key, attempt: self.attempt, result, return_direct: job.return_direct };
        match guarded_future(async { self.journal.end(end).await }).await {
            Ok(()) => self.has_ended = true,
            Err(error) => {
                warn!(gen_ai.tool.name = job.name, %error, "the outcome of a call cannot be recorded");
                let error = self.unrecorded(&error);
                job.answer = if can_wait(job, self.owned.as_ref(), &error) { None } else { Some(Err(error)) };
                job.return_direct = false;
            }
        }
    }

    /// Says whether a call inside it waits for a decision. One that was given up does not.
    async fn is_undecided(&self) -> bool {
        let Some(run) = self.owned.as_ref().filter(|_| self.waits_for_calls) else { return true };
        let inner = format!("{}>", self.key.place);
        match run.log().await {
            Ok(log) => log.calls.iter().any(|call| call.place.starts_with(&inner) && call.outcome.is_none()),
            Err(_) => true,
        }
    }

    fn unrecorded(&self, error: &ToolError) -> ToolError {
        let message = format!("the outcome of the call cannot be recorded: {error}");
        if self.effect.is_repeatable() { ToolError::unavailable(message) } else { ToolError::uncertain(message) }
    }
}

impl Drop for RecordedCall {
    fn drop(&mut self) {
        if !self.has_ended {
            let abandoning = || self.journal.abandon(&self.key, self.attempt);
            let _ = std::panic::catch_unwind(AssertUnwindSafe(abandoning));
        }
    }
}
