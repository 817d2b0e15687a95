//! One call, from its name to its one answer.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{Instrument, debug};

use super::host::nobody_to_resume;
use super::interrupt::{Abandon, interrupt, no_timer};
use super::{Policies, span};
use crate::context::CallScope;
use crate::policy::{ApprovalRequest, Decision};
use crate::sink::EventSink;
use crate::turnstile::{Stay, Turnstile};
use crate::{
    ArgumentChecker, Arguments, Concurrency, ErrorKind, ErrorSeverity, Invocation, Next, Resolver, Strictness, Tool,
    ToolCall, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput, Toolbox, Turn,
};

/// A call that is about to be settled.
///
/// It is lent, never moved: what an async function is given by value it stores twice.
pub(super) struct Job<'a> {
    pub(super) policies: &'a Policies,
    pub(super) tools: &'a Toolbox,
    pub(super) call_id: Option<&'a Arc<str>>,
    pub(super) name: &'a str,
    /// Lent too: its owner made it where it stays, and a copy of what was only just written makes the processor wait.
    pub(super) arguments: &'a mut Arguments,
    pub(super) context: &'a ToolContext,
    /// What a batch adds; a host's call has none of it.
    pub(super) round: Option<Box<Round>>,
    /// The definition of the tool, once it is found.
    pub(super) definition: Option<ToolDefinition>,
    /// Whether the arguments were edited on approval.
    pub(super) edited: bool,
    /// The one answer; none after the call was settled means that it is suspended. It stays here, because every layer of async
    /// functions that it passed through would copy it.
    pub(super) answer: Option<Result<ToolOutput, ToolError>>,
    pub(super) return_direct: bool,
    /// Whether somebody will see the turn again, and can resume a suspended call.
    pub(super) resumable: bool,
}

/// What the rest of its batch means for a call.
#[derive(Default)]
pub(super) struct Round {
    /// Why the limits of the turn do not admit the call.
    pub(super) refusal: Option<ToolError>,
    /// What somebody decided about the call while it was suspended.
    pub(super) decision: Option<Decision>,
    pub(super) gate: Option<Arc<Gate>>,
    /// The tool that the limits were asked about, where it is not a listed one.
    pub(super) resolved: Option<Arc<dyn Tool>>,
    pub(super) sink: Option<Arc<EventSink>>,
}

/// Why a call did not run.
enum Stop {
    Error(ToolError),
    /// The policy for unknown tools answered in the tool's place.
    Answered(ToolOutput),
    Suspended,
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

/// Lets only so many calls of a batch run at once, in the order in which they ask.
pub(super) struct Gate {
    slots: Arc<Turnstile>,
    /// For each serial tool of the batch, whose turn it is to queue: one call of it may take a slot, and no more.
    queues: Mutex<HashMap<usize, Arc<Semaphore>>>,
}

impl Gate {
    pub(super) fn new(size: u32) -> Self {
        Self { slots: Turnstile::new(size), queues: Mutex::default() }
    }

    /// The queue of a serial tool, which is known by its turn.
    fn queue(&self, serial: &Arc<Turnstile>) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(Arc::as_ptr(serial).addr()).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }
}

/// What a running call holds so that others wait; all of it is free when the call is over, but for what a thread keeps.
#[derive(Default)]
struct Permit {
    _place: Option<OwnedSemaphorePermit>,
    _slot: Option<OwnedSemaphorePermit>,
    /// The turn of a serial tool, or every slot for an exclusive one.
    stay: Option<Arc<Stay>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(stay) = self.stay.take() {
            stay.over();
        }
    }
}

/// Settles a call, in a span of its own where somebody watches.
pub(super) async fn settle(job: &mut Job<'_>) {
    if span::wanted() { Box::pin(settle_in_span(job)).await } else { conclude(job).await }
}

async fn settle_in_span(job: &mut Job<'_>) {
    let span = span::open(job);
    async {
        conclude(job).await;
        span::record(job);
    }
    .instrument(span)
    .await
}

/// Answers a call that cannot even be tried, as any other that failed.
pub(super) fn refuse(job: &mut Job<'_>, error: ToolError) {
    let _span = span::wanted().then(|| span::open(job).entered());
    job.answer = Some(Err(error));
    finish(job);
    if _span.is_some() {
        span::record(job);
    }
}

/// Turns whatever happens to a call into its one answer.
async fn conclude(job: &mut Job<'_>) {
    match attempt(job).await {
        Ok(()) => {}
        Err(Stop::Error(error)) => job.answer = Some(Err(error)),
        Err(Stop::Answered(mut output)) => {
            let converted = guarded(|| convert(job.policies, &ToolMetadata::new(), &mut output));
            job.answer = Some(converted.map(|()| output));
        }
        Err(Stop::Suspended) if job.resumable => {
            debug!(gen_ai.tool.name = job.name, "call suspended");
            return;
        }
        Err(Stop::Suspended) => job.answer = Some(Err(nobody_to_resume())),
    }
    finish(job);
}

/// Gives the answer its last form.
fn finish(job: &mut Job<'_>) {
    match &mut job.answer {
        Some(Err(error)) => {
            judge(job.policies, job.name, error);
            job.return_direct = false;
        }
        _ => debug!(gen_ai.tool.name = job.name, "call finished"),
    }
}

/// Admits a call, waits until it may run, and runs it.
///
/// This is the path that every call takes, so its future is kept small: what only some calls wait
/// for is boxed when they do.
async fn attempt(job: &mut Job<'_>) -> Result<(), Stop> {
    let policies = job.policies;
    let mut found = None;
    let admitted @ Admitted { tool, metadata, definition } = admit(job, &mut found)?;
    let permit = if must_wait(job, metadata) {
        match Box::pin(AssertUnwindSafe(wait(job, admitted)).catch_unwind()).await {
            Ok(permit) => Some(permit?),
            Err(panic) => return Err(panicked(panic).into()),
        }
    } else {
        None
    };

    debug!(gen_ai.tool.name = job.name, "call started");
    job.return_direct = metadata.is_return_direct();
    let sink = job.round.as_mut().and_then(|round| round.sink.take());
    if let Some(sink) = &sink {
        Box::pin(sink.started()).await;
    }
    let events = sink.clone();
    let context = job.context.for_call(CallScope {
        call_id: job.call_id,
        definition,
        timeout: metadata.timeout().or(policies.timeout),
        sink,
        pool: policies.pool.as_ref(),
        stay: permit.as_ref().and_then(|permit| permit.stay.as_ref()).map(Arc::downgrade),
    });
    let mut abandon = Abandon::unless_over(&context);
    let invocation = Invocation::new(job.arguments, &context);
    let mut running = None;
    // A call that is ready at once costs neither timer nor token: they are made when it first waits.
    let mut interruption: Option<Pin<Box<dyn Future<Output = ToolError> + Send + '_>>> = None;
    let answer = &mut job.answer;
    poll_fn(|cx| {
        // The tool is called in here too, so that one guard is enough.
        let polled = guarded(|| {
            let future = running.get_or_insert_with(|| Next::new(tool, &policies.middleware).run(invocation));
            // The result is converted where the tool left it: on a copy, all that follows would wait for the copy.
            let mut polled = future.as_mut().poll(cx);
            if let Poll::Ready(Ok(output)) = &mut polled {
                convert(policies, metadata, output)?;
            }
            if let Poll::Ready(result) = polled {
                *answer = Some(result);
            }
            Ok(())
        });
        if let Err(error) = polled {
            *answer = Some(Err(error));
        }
        if answer.is_some() {
            abandon.over();
            return Poll::Ready(());
        }
        let interruption = interruption.get_or_insert_with(|| Box::pin(interrupt(&context)));
        // Asking for a timer panics on a runtime that has none.
        let ended = guarded(|| Ok(interruption.as_mut().poll(cx))).unwrap_or_else(|_| Poll::Ready(no_timer()));
        ended.map(|error| *answer = Some(Err(error)))
    })
    .await;
    if let Some(Err(error)) = &mut job.answer {
        settle_timeout(metadata, error);
    }
    if let Some(events) = events {
        events.close();
    }
    // What the tool leaves behind is the tool's own code too; the answer stands whatever it does.
    let _ = guarded(|| {
        drop(running);
        Ok(())
    });
    Ok(())
}

/// Says of a timeout that another attempt may help, only where a call may be repeated: this one may have had its effect.
#[cold]
fn settle_timeout(metadata: &ToolMetadata, error: &mut ToolError) {
    if error.kind() == ErrorKind::Timeout {
        *error = error.clone().with_retryable(metadata.is_repeatable());
    }
}

/// Gives an error its last form, by the policies.
#[cold]
fn judge(policies: &Policies, name: &str, error: &mut ToolError) {
    let mut judged = error.clone();
    if judged.message().trim().is_empty() {
        let cause = judged.source_type().unwrap_or(judged.kind().as_str());
        let message = format!("error in tool `{name}` ({cause})");
        judged = judged.with_message(message);
    }
    if policies.all_errors_fatal {
        judged = judged.with_severity(ErrorSeverity::Fatal);
    }
    if let Some(policy) = &policies.errors {
        judged = guarded(|| Ok(policy.judge(name, judged)))
            .unwrap_or_else(|panic| panic.with_severity(ErrorSeverity::Fatal));
    }
    debug!(gen_ai.tool.name = name, error.type = judged.kind().as_str(), "call failed");
    *error = judged;
}

/// Runs code, somebody else's included, and makes an error of a panic.
#[inline(always)]
pub(super) fn guarded<T>(code: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| Err(panicked(panic)))
}

/// A tool that may be called, and what the rest of the call asks it about itself.
#[derive(Clone, Copy)]
struct Admitted<'t> {
    tool: &'t dyn Tool,
    metadata: &'t ToolMetadata,
    definition: &'t ToolDefinition,
}

/// Finds the tool, holds the call to the limits of its turn, and checks the arguments.
///
/// A tool that is not listed but found at run time is kept in `found`.
#[inline]
fn admit<'t, 'a: 't>(job: &mut Job<'a>, found: &'t mut Option<Arc<dyn Tool>>) -> Result<Admitted<'t>, Stop> {
    let refusal = match &mut job.round {
        Some(round) => {
            *found = round.resolved.take();
            round.refusal.take()
        }
        None if job.policies.limits_hosts => limit_of_host(job),
        None => None,
    };
    let tool = match job.tools.get(job.name) {
        Some(tool) => Some(&**tool),
        None if found.is_some() => found.as_deref(),
        None => {
            let (tools, resolver) = (job.tools, job.policies.resolver.as_ref());
            *found = guarded(|| Ok(tools.resolve(job.name).or_else(|| resolver?.resolve(job.name))))?;
            found.as_deref()
        }
    };
    // The limits apply to wrong names too, or a model could try them for ever.
    if let Some(refusal) = refusal {
        return Err(refusal.into());
    }
    let Some(tool) = tool else {
        debug!(gen_ai.tool.name = job.name, "tool unknown");
        return Err(Stop::Answered(guarded(|| job.policies.unknown_tool.answer(job.name, job.tools))?));
    };
    if job.context.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    let admitted = guarded(|| {
        let admitted = Admitted { tool, metadata: tool.metadata(), definition: tool.definition() };
        job.definition = Some(admitted.definition.clone());
        check(job.policies, admitted, job.arguments)?;
        Ok(admitted)
    })?;
    debug!(gen_ai.tool.name = job.name, "arguments checked");
    Ok(admitted)
}

/// Asks limits of somebody's own about a call that is a turn of its own.
#[cold]
fn limit_of_host(job: &Job<'_>) -> Option<ToolError> {
    let id = job.call_id.cloned().unwrap_or_else(|| Arc::from(""));
    let call = ToolCall { id, name: job.name.into(), arguments: job.arguments.clone() };
    guarded(|| {
        let tool = job.tools.resolve(job.name).or_else(|| job.policies.resolver.as_ref()?.resolve(job.name));
        job.policies.limits.admit(&Turn::new(), &call, tool.as_deref())
    })
    .err()
}

/// Checks arguments against the published schema, and drops from them what it tells to drop.
#[inline]
fn check(policies: &Policies, tool: Admitted<'_>, arguments: &mut Arguments) -> Result<(), ToolError> {
    if !tool.metadata.checks_own_arguments() && tool.definition.checker().accepts_at_a_glance(arguments.as_str()) {
        return Ok(());
    }
    check_closely(policies, tool, arguments)
}

fn check_closely(policies: &Policies, tool: Admitted<'_>, arguments: &mut Arguments) -> Result<(), ToolError> {
    /// What even a tool that checks its own arguments may count on: an object without duplicate keys.
    static ANY_OBJECT: LazyLock<Option<ArgumentChecker>> =
        LazyLock::new(|| ArgumentChecker::compile(&json!({ "type": "object", "additionalProperties": true })).ok());

    let checked = if tool.metadata.checks_own_arguments() {
        match &*ANY_OBJECT {
            Some(checker) => checker.check(arguments.as_str(), Strictness::Lenient),
            None => return Ok(()),
        }
    } else {
        tool.definition.checker().check(arguments.as_str(), policies.strictness)
    };
    // What a tool checks itself is its arguments; whether others may be there, the executor decides.
    if tool.metadata.checks_own_arguments() && policies.strictness == Strictness::Strict {
        tool.definition.checker().check_names(arguments.as_str())?;
    }
    if let Cow::Owned(text) = checked? {
        *arguments = Arguments::from(text);
    }
    Ok(())
}

/// Says whether anything stands between a checked call and its run.
#[inline]
fn must_wait(job: &Job<'_>, metadata: &ToolMetadata) -> bool {
    job.policies.approval.is_some()
        || metadata.needs_approval()
        || metadata.serial().is_some()
        || job.round.as_ref().is_some_and(|round| round.gate.is_some() || round.decision.is_some())
}

/// Waits for approval, for the tool's own turn, and for a slot of the batch.
async fn wait(job: &mut Job<'_>, admitted: Admitted<'_>) -> Result<Box<Permit>, Stop> {
    permit(job, admitted).await?;
    let (context, metadata) = (job.context, admitted.metadata);
    let gate = job.round.as_ref().and_then(|round| round.gate.as_deref());
    let most = metadata.timeout().or(job.policies.timeout);
    let patience = context.remaining().map_or(most, |left| Some(most.map_or(left, |most| most.min(left))));
    let permit = unless_cancelled(context, async {
        let entering = enter(metadata, gate);
        let Some(gate) = gate else { return patiently(metadata.serial(), patience, entering).await };
        let entering = gate.slots.patiently(patience, entering, "a call that runs alone");
        patiently(metadata.serial(), patience, entering).await
    })
    .await??;
    // What was cancelled with the call frees its slot at the same moment, and the slot may come first.
    if context.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    Ok(Box::new(permit))
}

/// Waits for what a serial tool's turn is needed for, though not for ever where that turn may never end.
async fn patiently<T>(
    serial: Option<&Arc<Turnstile>>,
    patience: Option<Duration>,
    entering: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    match serial {
        Some(serial) => serial.patiently(patience, entering, "an earlier call of the tool").await,
        None => entering.await,
    }
}

/// Waits for everything that a call must hold to run.
///
/// Always in this order: a place in the tool's queue, a slot, the tool's own turn. Whoever has the turn runs and waits for
/// neither of the others, so nobody waits for ever; and the queue keeps one tool's calls from taking every slot.
async fn enter(metadata: &ToolMetadata, gate: Option<&Gate>) -> Result<Permit, ToolError> {
    let mut permit = Permit::default();
    if let (Some(serial), Some(gate)) = (metadata.serial(), gate) {
        permit._place = Some(gate.queue(serial).acquire_owned().await.map_err(|_| ToolError::cancelled())?);
    }
    match gate {
        Some(gate) if metadata.concurrency() == Concurrency::Exclusive => {
            permit.stay = Some(gate.slots.enter_alone().await?);
        }
        Some(gate) => permit._slot = Some(gate.slots.enter().await?),
        None => {}
    }
    if let Some(serial) = metadata.serial() {
        permit.stay = Some(serial.enter_alone().await?);
    }
    Ok(permit)
}

/// Sees to it that a call which needs approval has it; the arguments may be others afterwards.
async fn permit(job: &mut Job<'_>, admitted: Admitted<'_>) -> Result<(), Stop> {
    let Admitted { tool, metadata, definition } = admitted;
    let decided = job.round.as_mut().and_then(|round| round.decision.take());
    let decision = match (decided, &job.policies.approval) {
        (Some(decision), _) => decision,
        (None, None) if metadata.needs_approval() => {
            Decision::Deny("the tool needs approval and there is nobody to ask".to_owned())
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
            Ok(check(job.policies, admitted, job.arguments)?)
        }
        Decision::Suspend => Err(Stop::Suspended),
        Decision::Deny(reason) if reason.trim().is_empty() => Err(ToolError::denied("the call was denied").into()),
        Decision::Deny(reason) => Err(ToolError::denied(reason).into()),
    }
}

/// Gives a result its last form, by the tool's wishes and the policies.
#[inline]
fn convert(policies: &Policies, metadata: &ToolMetadata, output: &mut ToolOutput) -> Result<(), ToolError> {
    if let Some(converter) = metadata.converter().or(policies.converter.as_deref()) {
        *output = converter.convert(std::mem::take(output))?;
    }
    let (size, most) = (output.size(), metadata.max_result_size().unwrap_or(policies.max_result_size));
    if size > most {
        let message = format!("the result has {size} bytes, more than the {most} allowed");
        return Err(ToolError::invalid_result(message));
    }
    Ok(())
}

pub(super) async fn unless_cancelled<T>(
    context: &ToolContext,
    future: impl Future<Output = T>,
) -> Result<T, ToolError> {
    match context.given_cancellation() {
        None => Ok(future.await),
        Some(cancellation) => cancellation.guard(future).await.ok_or_else(ToolError::cancelled),
    }
}

#[cold]
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> ToolError {
    let text = if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.as_str()
    } else {
        "a panic without a message"
    };
    let error = ToolError::panicked(text);
    // What a tool panics with is its own type, whose end may panic as well.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    error
}
