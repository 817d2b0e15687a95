//! One call, from its name to its one answer.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::{Instrument, debug};

use super::supervise::supervise;
use super::{Policies, span};
use crate::context::CallScope;
use crate::event::EventSink;
use crate::policy::{ApprovalRequest, Decision};
use crate::{
    ArgumentChecker, Arguments, Concurrency, Invocation, Next, Resolver, Severity, Strictness, Tool, ToolContext,
    ToolError, ToolOutput, Toolbox,
};

/// A call that is about to be settled.
pub(super) struct Job<'a> {
    pub(super) policies: &'a Policies,
    pub(super) tools: &'a Toolbox,
    pub(super) call_id: Option<&'a Arc<str>>,
    pub(super) name: &'a str,
    pub(super) arguments: Arguments,
    pub(super) context: &'a ToolContext,
    /// Why the limits of the turn do not admit the call.
    pub(super) refusal: Option<ToolError>,
    /// What somebody decided about the call while it was suspended.
    pub(super) decision: Option<Decision>,
    pub(super) gate: Option<&'a Gate>,
    pub(super) sink: Option<EventSink>,
}

/// What became of a call.
pub(super) enum Settled {
    Answered { result: Result<ToolOutput, ToolError>, return_direct: bool },
    Suspended,
}

/// Why a call stopped before it had a result.
enum Stop {
    Error(ToolError),
    Suspended,
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

/// Lets only so many calls of a batch run at once, in the order in which they ask.
pub(super) struct Gate {
    slots: Semaphore,
    size: u32,
}

impl Gate {
    pub(super) fn new(size: u32) -> Self {
        Self { slots: Semaphore::new(size as usize), size }
    }

    async fn enter(&self, concurrency: Concurrency) -> Result<SemaphorePermit<'_>, ToolError> {
        let slots = if concurrency == Concurrency::Exclusive { self.size } else { 1 };
        self.slots.acquire_many(slots).await.map_err(|_| ToolError::cancelled())
    }
}

/// Settles a call, in a span of its own where somebody watches.
pub(super) async fn settle(job: Job<'_>) -> Settled {
    if span::wanted() {
        let span = span::open(&job);
        // The span outlives the job inside, so that the outcome can be written to it.
        Box::pin(
            async {
                let record_content = job.policies.record_content;
                let settled = conclude(job).await;
                span::record(&settled, record_content);
                settled
            }
            .instrument(span),
        )
        .await
    } else {
        conclude(job).await
    }
}

/// Turns whatever happens to a call into its one answer.
async fn conclude(job: Job<'_>) -> Settled {
    let (policies, name) = (job.policies, job.name);
    let mut return_direct = false;
    let error = match AssertUnwindSafe(attempt(job, &mut return_direct)).catch_unwind().await {
        Ok(Ok(output)) => {
            debug!(gen_ai.tool.name = name, "call finished");
            return Settled::Answered { result: Ok(output), return_direct };
        }
        Ok(Err(Stop::Suspended)) => {
            debug!(gen_ai.tool.name = name, "call suspended");
            return Settled::Suspended;
        }
        Ok(Err(Stop::Error(error))) => error,
        Err(panic) => ToolError::panicked(panic_text(&*panic)),
    };
    let error = judge(policies, name, error);
    debug!(gen_ai.tool.name = name, error.type = error.kind().as_str(), "call failed");
    Settled::Answered { result: Err(error), return_direct: false }
}

/// Gives an error its last form, by the policies.
fn judge(policies: &Policies, name: &str, mut error: ToolError) -> ToolError {
    if error.message().trim().is_empty() {
        let cause = error.source_type().unwrap_or(error.kind().as_str());
        let message = format!("error in tool `{name}` ({cause})");
        error = error.with_message(message);
    }
    if policies.throw_on_error {
        error = error.with_severity(Severity::Fatal);
    }
    match &policies.errors {
        None => error,
        Some(policy) => catch_unwind(AssertUnwindSafe(|| policy.judge(name, error)))
            .unwrap_or_else(|panic| ToolError::panicked(panic_text(&*panic)).with_severity(Severity::Fatal)),
    }
}

async fn attempt(job: Job<'_>, return_direct: &mut bool) -> Result<ToolOutput, Stop> {
    let Job { policies, tools, call_id, name, arguments, context, refusal, decision, gate, sink } = job;

    let found;
    let tool: &dyn Tool = match tools.get(name) {
        Some(tool) => &**tool,
        None => match tools.resolve(name).or_else(|| policies.resolver.as_ref()?.resolve(name)) {
            Some(tool) => {
                found = tool;
                &*found
            }
            None => {
                debug!(gen_ai.tool.name = name, "tool unknown");
                // The limits apply to wrong names too, or a model could try them for ever.
                return match refusal {
                    Some(refusal) => Err(refusal.into()),
                    None => Ok(policies.unknown_tool.answer(name, tools)?),
                };
            }
        },
    };
    if let Some(refusal) = refusal {
        return Err(refusal.into());
    }
    if context.is_cancelled() {
        return Err(ToolError::cancelled().into());
    }
    let arguments = check(policies, tool, arguments)?;
    debug!(gen_ai.tool.name = name, "arguments checked");

    let arguments = permit(policies, tool, arguments, call_id, decision, context).await?;
    let metadata = tool.metadata();
    let _turn_of_tool = match metadata.serial() {
        None => None,
        Some(serial) => Some(unless_cancelled(context, serial.acquire()).await?.map_err(|_| ToolError::cancelled())?),
    };
    let _slot = match gate {
        None => None,
        Some(gate) => Some(unless_cancelled(context, gate.enter(metadata.concurrency())).await??),
    };

    debug!(gen_ai.tool.name = name, "call started");
    if let Some(sink) = &sink {
        sink.started();
    }
    let context = context.for_call(CallScope {
        call_id,
        definition: tool.definition(),
        timeout: metadata.timeout().or(policies.timeout),
        sink,
        pool: &policies.pool,
    });
    let output = supervise(&context, async {
        let invocation = Invocation::new(&arguments, &context);
        let output = Next::new(tool, &policies.middleware).run(invocation).await?;
        let converter = metadata.converter().or(policies.converter.as_deref());
        let output = match converter {
            Some(converter) => converter.convert(output)?,
            None => output,
        };
        let (size, most) = (output.size(), metadata.max_result_size().unwrap_or(policies.max_result_size));
        if size > most {
            let message = format!("the result has {size} bytes, more than the {most} allowed");
            return Err(ToolError::invalid_result(message));
        }
        Ok(output)
    })
    .await?;
    *return_direct = metadata.is_return_direct();
    Ok(output)
}

/// Checks arguments against the published schema.
fn check(policies: &Policies, tool: &dyn Tool, arguments: Arguments) -> Result<Arguments, ToolError> {
    /// What even a tool that checks its own arguments may count on: an object without duplicate keys.
    static ANY_OBJECT: LazyLock<Option<ArgumentChecker>> =
        LazyLock::new(|| ArgumentChecker::compile(&json!({ "type": "object", "additionalProperties": true })).ok());

    let checked = if tool.metadata().checks_own_arguments() {
        match &*ANY_OBJECT {
            Some(checker) => checker.check(arguments.as_str(), Strictness::Lenient),
            None => return Ok(arguments),
        }
    } else {
        tool.definition().checker().check(arguments.as_str(), policies.strictness)
    };
    match checked? {
        Cow::Borrowed(_) => Ok(arguments),
        Cow::Owned(text) => Ok(Arguments::from(text)),
    }
}

/// Sees to it that a call which needs approval has it; returns the arguments to run with.
async fn permit(
    policies: &Policies,
    tool: &dyn Tool,
    arguments: Arguments,
    call_id: Option<&Arc<str>>,
    decision: Option<Decision>,
    context: &ToolContext,
) -> Result<Arguments, Stop> {
    let decision = match (decision, &policies.approval) {
        (Some(decision), _) => decision,
        (None, None) if tool.metadata().needs_approval() => {
            Decision::Deny("the tool needs approval and there is nobody to ask".to_owned())
        }
        (None, Some(policy)) if policy.needed(tool, &arguments) => {
            let call_id = call_id.map(|id| &**id).unwrap_or_default();
            let request = ApprovalRequest::new(call_id, tool, &arguments, context);
            unless_cancelled(context, policy.decide(request)).await?
        }
        (None, _) => return Ok(arguments),
    };
    debug!(gen_ai.tool.name = tool.definition().name(), decision = decision.as_str(), "approval decided");
    match decision {
        Decision::Approve => Ok(arguments),
        Decision::Edit(edited) => Ok(check(policies, tool, edited)?),
        Decision::Suspend => Err(Stop::Suspended),
        Decision::Deny(reason) if reason.trim().is_empty() => Err(ToolError::denied("the call was denied").into()),
        Decision::Deny(reason) => Err(ToolError::denied(reason).into()),
    }
}

async fn unless_cancelled<T>(context: &ToolContext, future: impl Future<Output = T>) -> Result<T, ToolError> {
    match context.given_cancellation() {
        None => Ok(future.await),
        Some(cancellation) => cancellation.guard(future).await.ok_or_else(ToolError::cancelled),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
