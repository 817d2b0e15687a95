//! One call, from its name to its one answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tracing::{Instrument, debug, error};

use super::admit::{Admitted, find};
use super::arguments_check::{check, check_short};
use super::interrupt::{CancelOnDrop, interrupt, no_timer};
use super::job::{Job, NotRun};
use super::policies::{Executor, Policies};
use super::record::{RecordedCall, begin, own_time_limit, time_limit};
use super::span;
use super::wait::{must_wait, wait};
use crate::context::CallScope;
use crate::panics::{guarded, guarded_future};
use crate::{ErrorKind, ErrorSeverity, Invocation, Next, ToolError, ToolMetadata, ToolOutput};

/// Settles a call, in a span of its own where a subscriber wants it.
pub(super) async fn settle(job: &mut Job<'_>) {
    // Most calls have neither a span nor an origin: one branch, and a small future.
    if span::wanted() | job.context.origin().is_some() {
        Box::pin(settle_observed(job)).await;
    } else {
        conclude::<false>(job).await;
    }
}

/// Settles a call that has a span, or whose caller wants it recorded or waits only so long.
async fn settle_observed(job: &mut Job<'_>) {
    if !span::wanted() {
        return conclude::<true>(job).await;
    }
    let span = span::open(job);
    async {
        conclude::<true>(job).await;
        span::record(job);
    }
    .instrument(span)
    .await
}

/// Answers a call that cannot be tried, in the same way as one that failed.
pub(super) fn refuse(job: &mut Job<'_>, error: ToolError) {
    let span = span::wanted().then(|| span::open(job).entered());
    job.answer = Some(Err(error));
    finish(job);
    if span.is_some() {
        span::record(job);
    }
}

/// The answer to a call that would have to wait in a turn which the caller does not keep.
pub(super) fn not_resumable() -> ToolError {
    ToolError::denied("the tool needs approval, for which this caller cannot wait")
}

/// Turns whatever happens to a call into its one answer. Only with `ORIGIN` the context is asked where the call comes from.
async fn conclude<const ORIGIN: bool>(job: &mut Job<'_>) {
    let mut recorded = None;
    match attempt::<ORIGIN>(job, &mut recorded).await {
        Ok(()) => {}
        Err(NotRun::Error(error)) => job.answer = Some(Err(error)),
        Err(NotRun::Answered(mut output)) => {
            let converted = guarded(|| convert(job.policies, &ToolMetadata::new(), &mut output));
            job.answer = Some(converted.map(|()| output));
        }
        Err(NotRun::Suspended) if job.resumable => {
            debug!(gen_ai.tool.name = job.name, "call suspended");
            return;
        }
        Err(NotRun::Suspended) => job.answer = Some(Err(not_resumable())),
        // The error policies had their say when it ran.
        Err(NotRun::Recorded) => return,
    }
    finish(job);
    if ORIGIN && let Some(recorded) = recorded {
        recorded.end(job).await;
    }
}

/// Gives the answer its last form.
fn finish(job: &mut Job<'_>) {
    match &mut job.answer {
        Some(Err(error)) => {
            apply_error_policies(job.policies, job.name, error);
            job.return_direct = false;
        }
        _ => debug!(gen_ai.tool.name = job.name, "call finished"),
    }
}

/// Admits a call, waits until it may run, and runs it.
///
/// Every call passes through here, so its future is kept small (`benches/calls.rs many` prints the size): what only
/// some calls wait for is boxed.
async fn attempt<const ORIGIN: bool>(
    job: &mut Job<'_>,
    recorded: &mut Option<Box<RecordedCall>>,
) -> Result<(), NotRun> {
    let policies = job.policies;
    let mut unlisted = None;
    let admitted @ Admitted { tool, metadata, definition } = find(job, &mut unlisted)?;
    if job.arguments.is_long() {
        Box::pin(check(job, admitted)).await?;
    } else {
        check_short(job, admitted)?;
    }
    let permits =
        if must_wait(job, metadata) { Some(Box::new(guarded_future(wait(job, admitted)).await?)) } else { None };

    if ORIGIN && job.context.origin().is_some() {
        *recorded = Box::pin(begin(job, admitted)).await?;
    }

    debug!(gen_ai.tool.name = job.name, "call started");
    job.return_direct = metadata.is_return_direct();
    let sink = job.batch.as_mut().and_then(|batch| batch.sink.take());
    if let Some(sink) = &sink {
        Box::pin(sink.started()).await;
    }
    let events = sink.clone();
    let mut context = job.context.for_call(CallScope {
        call_id: job.call_id,
        definition,
        timeout: if ORIGIN { time_limit(job, metadata) } else { own_time_limit(policies, metadata) },
        sink,
        pool: &policies.pool,
        exclusive: permits.as_ref().and_then(|permits| permits.exclusive.as_ref()).map(Arc::downgrade),
        recorded: if ORIGIN { recorded.as_ref().map(|recorded| recorded.scope()) } else { None },
    });
    if metadata.is_composite() {
        Executor(policies.clone()).insert_into(&mut context);
    }
    let context = context;
    let mut cancel = CancelOnDrop::new(&context);
    let invocation = Invocation::new(job.arguments, &context);
    let mut running = None;
    // Made when the call first waits: a call that is ready at once needs neither timer nor cancellation token.
    let mut interruption: Option<Pin<Box<dyn Future<Output = ToolError> + Send + '_>>> = None;
    let answer = &mut job.answer;
    poll_fn(|cx| {
        // Inside the guard are the call of the tool, its polls, and the conversion of its result.
        let polled = guarded(|| {
            let future = running.get_or_insert_with(|| Next::new(tool, &policies.middleware).run(invocation));
            let mut polled = future.as_mut().poll(cx);
            if let Poll::Ready(Ok(output)) = &mut polled {
                convert(policies, metadata, output)?;
                if policies.check_results || definition.checks_results() {
                    definition.check_result(output)?;
                }
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
            cancel.disarm();
            return Poll::Ready(());
        }
        let interruption = interruption.get_or_insert_with(|| Box::pin(interrupt(&context)));
        // A timer panics on a runtime that has none.
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
    // Dropping the future runs code of the tool too; the answer stands, whatever that code does.
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
fn apply_error_policies(policies: &Policies, name: &str, error: &mut ToolError) {
    let mut last = error.clone();
    if last.message().trim().is_empty() {
        let cause = last.source_type().unwrap_or(last.kind().as_str());
        let message = format!("error in tool `{name}` ({cause})");
        last = last.with_message(message);
    }
    if policies.all_errors_fatal {
        last = last.with_severity(ErrorSeverity::Fatal);
    }
    if let Some(policy) = &policies.errors {
        last =
            guarded(|| Ok(policy.decide(name, last))).unwrap_or_else(|panic| panic.with_severity(ErrorSeverity::Fatal));
    }
    let (kind, detail) = (last.kind().as_str(), last.detail());
    if last.kind() == ErrorKind::Panic {
        error!(gen_ai.tool.name = name, error.type = kind, detail, "call failed");
    } else {
        debug!(gen_ai.tool.name = name, error.type = kind, detail, "call failed");
    }
    *error = last;
}

/// Gives a result its last form, by the tool's converter and limit or those of the executor.
fn convert(policies: &Policies, metadata: &ToolMetadata, output: &mut ToolOutput) -> Result<(), ToolError> {
    if let Some(converter) = metadata.converter().or(policies.converter.as_deref()) {
        *output = converter.convert(std::mem::take(output))?;
    }
    let (size, limit) = (output.size(), metadata.max_result_size().unwrap_or(policies.max_result_size));
    if size > limit {
        let message = format!("the result has {size} bytes, more than the {limit} allowed");
        return Err(ToolError::invalid_result(message));
    }
    Ok(())
}
