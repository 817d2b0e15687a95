//! One call, from its name to its one answer.

use std::any::Any;
use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;

use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tracing::{Instrument, debug};

use super::interrupt::{Abandon, interrupt};
use super::{Policies, span};
use crate::context::CallScope;
use crate::event::EventSink;
use crate::policy::{ApprovalRequest, Decision};
use crate::{
    ArgumentChecker, Arguments, Concurrency, Invocation, Next, Resolver, Severity, Strictness, Tool, ToolContext,
    ToolError, ToolMetadata, ToolOutput, Toolbox,
};

/// A call that is about to be settled.
///
/// It is lent, never moved: what an async function is given by value it stores twice.
pub(super) struct Job<'a> {
    pub(super) policies: &'a Policies,
    pub(super) tools: &'a Toolbox,
    pub(super) call_id: Option<&'a Arc<str>>,
    pub(super) name: &'a str,
    pub(super) arguments: Arguments,
    pub(super) context: &'a ToolContext,
    /// What a batch adds; a host's call has none of it.
    pub(super) round: Option<Box<Round>>,
    /// The one answer; none after the call was settled means that it is suspended. It stays here, because every layer of async
    /// functions that it passed through would copy it.
    pub(super) answer: Option<Result<ToolOutput, ToolError>>,
    pub(super) return_direct: bool,
}

/// What the rest of its batch means for a call.
#[derive(Default)]
pub(super) struct Round {
    /// Why the limits of the turn do not admit the call.
    pub(super) refusal: Option<ToolError>,
    /// What somebody decided about the call while it was suspended.
    pub(super) decision: Option<Decision>,
    pub(super) gate: Option<Arc<Gate>>,
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
    slots: Arc<Semaphore>,
    size: u32,
}

impl Gate {
    pub(super) fn new(size: u32) -> Self {
        Self { slots: Arc::new(Semaphore::new(size as usize)), size }
    }

    async fn enter(&self, concurrency: Concurrency) -> Result<OwnedSemaphorePermit, ToolError> {
        let slots = if concurrency == Concurrency::Exclusive { self.size } else { 1 };
        self.slots.clone().acquire_many_owned(slots).await.map_err(|_| ToolError::cancelled())
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

/// Turns whatever happens to a call into its one answer.
async fn conclude(job: &mut Job<'_>) {
    match attempt(job).await {
        Ok(()) => {}
        Err(Stop::Error(error)) => job.answer = Some(Err(error)),
        Err(Stop::Answered(output)) => job.answer = Some(Ok(output)),
        Err(Stop::Suspended) => {
            debug!(gen_ai.tool.name = job.name, "call suspended");
            return;
        }
    }
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
    let tool = admit(job, &mut found)?;
    let _permit = if must_wait(job, tool) {
        match Box::pin(AssertUnwindSafe(wait(job, tool)).catch_unwind()).await {
            Ok(permit) => Some(permit?),
            Err(panic) => return Err(panicked(&*panic).into()),
        }
    } else {
        None
    };

    debug!(gen_ai.tool.name = job.name, "call started");
    let metadata = tool.metadata();
    job.return_direct = metadata.is_return_direct();
    let sink = job.round.as_mut().and_then(|round| round.sink.take());
    if let Some(sink) = &sink {
        Box::pin(sink.started()).await;
    }
    let context = job.context.for_call(CallScope {
        call_id: job.call_id,
        definition: tool.definition(),
        timeout: metadata.timeout().or(policies.timeout),
        sink,
        pool: policies.pool.as_ref(),
    });
    let mut abandon = Abandon::unless_over(&context);
    let invocation = Invocation::new(&job.arguments, &context);
    let mut future = guarded(|| Ok(Next::new(tool, &policies.middleware).run(invocation)))?;
    // A call that is ready at once costs neither timer nor token: they are made when it first waits.
    let mut interruption: Option<Pin<Box<dyn Future<Output = ToolError> + Send + '_>>> = None;
    let answer = &mut job.answer;
    poll_fn(|cx| {
        let polled = guarded(|| match future.as_mut().poll(cx) {
            Poll::Ready(result) => {
                *answer = Some(result);
                convert(policies, metadata, answer)
            }
            Poll::Pending => Ok(()),
        });
        if let Err(error) = polled {
            *answer = Some(Err(error));
        }
        if answer.is_some() {
            abandon.over();
            return Poll::Ready(());
        }
        let interruption = interruption.get_or_insert_with(|| Box::pin(interrupt(&context)));
        interruption.as_mut().poll(cx).map(|error| *answer = Some(Err(error)))
    })
    .await;
    Ok(())
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
    if policies.throw_on_error {
        judged = judged.with_severity(Severity::Fatal);
    }
    if let Some(policy) = &policies.errors {
        judged =
            guarded(|| Ok(policy.judge(name, judged))).unwrap_or_else(|panic| panic.with_severity(Severity::Fatal));
    }
    debug!(gen_ai.tool.name = name, error.type = judged.kind().as_str(), "call failed");
    *error = judged;
}

/// Runs code, somebody else's included, and makes an error of a panic.
#[inline(always)]
fn guarded<T>(code: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Finds the tool, holds the call to the limits of its turn, and checks the arguments.
///
/// A tool that is not listed but found at run time is kept in `found`.
#[inline]
fn admit<'t, 'a: 't>(job: &mut Job<'a>, found: &'t mut Option<Arc<dyn Tool>>) -> Result<&'t dyn Tool, Stop> {
    let refusal = job.round.as_mut().and_then(|round| round.refusal.take());
    let tool = match job.tools.get(job.name) {
        Some(tool) => Some(&**tool),
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
    guarded(|| check(job.policies, tool, &mut job.arguments))?;
    debug!(gen_ai.tool.name = job.name, "arguments checked");
    Ok(tool)
}

/// Checks arguments against the published schema, and drops from them what it tells to drop.
fn check(policies: &Policies, tool: &dyn Tool, arguments: &mut Arguments) -> Result<(), ToolError> {
    /// What even a tool that checks its own arguments may count on: an object without duplicate keys.
    static ANY_OBJECT: LazyLock<Option<ArgumentChecker>> =
        LazyLock::new(|| ArgumentChecker::compile(&json!({ "type": "object", "additionalProperties": true })).ok());

    let checked = if tool.metadata().checks_own_arguments() {
        match &*ANY_OBJECT {
            Some(checker) => checker.check(arguments.as_str(), Strictness::Lenient),
            None => return Ok(()),
        }
    } else {
        tool.definition().checker().check(arguments.as_str(), policies.strictness)
    };
    if let Cow::Owned(text) = checked? {
        *arguments = Arguments::from(text);
    }
    Ok(())
}

/// Says whether anything stands between a checked call and its run.
#[inline]
fn must_wait(job: &Job<'_>, tool: &dyn Tool) -> bool {
    let metadata = tool.metadata();
    job.policies.approval.is_some()
        || metadata.needs_approval()
        || metadata.serial().is_some()
        || job.round.as_ref().is_some_and(|round| round.gate.is_some() || round.decision.is_some())
}

/// What a running call holds so that others wait.
struct Permit<'t> {
    _turn_of_tool: Option<SemaphorePermit<'t>>,
    _slot: Option<OwnedSemaphorePermit>,
}

/// Waits for approval, for the tool's own turn, and for a slot of the batch.
async fn wait<'t>(job: &mut Job<'_>, tool: &'t dyn Tool) -> Result<Permit<'t>, Stop> {
    permit(job, tool).await?;
    let (context, metadata) = (job.context, tool.metadata());
    let turn_of_tool = match metadata.serial() {
        None => None,
        Some(serial) => Some(unless_cancelled(context, serial.acquire()).await?.map_err(|_| ToolError::cancelled())?),
    };
    let slot = match job.round.as_ref().and_then(|round| round.gate.as_ref()) {
        None => None,
        Some(gate) => Some(unless_cancelled(context, gate.enter(metadata.concurrency())).await??),
    };
    Ok(Permit { _turn_of_tool: turn_of_tool, _slot: slot })
}

/// Sees to it that a call which needs approval has it; the arguments may be others afterwards.
async fn permit(job: &mut Job<'_>, tool: &dyn Tool) -> Result<(), Stop> {
    let decided = job.round.as_mut().and_then(|round| round.decision.take());
    let decision = match (decided, &job.policies.approval) {
        (Some(decision), _) => decision,
        (None, None) if tool.metadata().needs_approval() => {
            Decision::Deny("the tool needs approval and there is nobody to ask".to_owned())
        }
        (None, Some(policy)) if policy.needed(tool, &job.arguments) => {
            let call_id = job.call_id.map(|id| &**id).unwrap_or_default();
            let request = ApprovalRequest::new(call_id, tool, &job.arguments, job.context);
            unless_cancelled(job.context, policy.decide(request)).await?
        }
        (None, _) => return Ok(()),
    };
    debug!(gen_ai.tool.name = tool.definition().name(), decision = decision.as_str(), "approval decided");
    match decision {
        Decision::Approve => Ok(()),
        Decision::Edit(edited) => {
            job.arguments = edited;
            Ok(check(job.policies, tool, &mut job.arguments)?)
        }
        Decision::Suspend => Err(Stop::Suspended),
        Decision::Deny(reason) if reason.trim().is_empty() => Err(ToolError::denied("the call was denied").into()),
        Decision::Deny(reason) => Err(ToolError::denied(reason).into()),
    }
}

/// Gives a result its last form, by the tool's wishes and the policies.
#[inline]
fn convert(
    policies: &Policies,
    metadata: &ToolMetadata,
    answer: &mut Option<Result<ToolOutput, ToolError>>,
) -> Result<(), ToolError> {
    let Some(Ok(output)) = answer else { return Ok(()) };
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

async fn unless_cancelled<T>(context: &ToolContext, future: impl Future<Output = T>) -> Result<T, ToolError> {
    match context.given_cancellation() {
        None => Ok(future.await),
        Some(cancellation) => cancellation.guard(future).await.ok_or_else(ToolError::cancelled),
    }
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.as_str()
    } else {
        "a panic without a message"
    };
    ToolError::panicked(text)
}
