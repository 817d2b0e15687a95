//! What ends a call before it has a result: its deadline, or its cancellation.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::call_clock::TimeLeft;
use crate::{ErrorKind, ToolContext, ToolError};

/// Waits for the deadline or the cancellation of a call, and returns the call's error.
pub(super) async fn interrupt(context: &ToolContext) -> ToolError {
    let cancelled = async {
        match context.outer_cancellation() {
            Some(cancellation) => cancellation.cancelled().await,
            None => pending().await,
        }
        ToolError::cancelled()
    };
    match select(pin!(cancelled), pin!(out_of_time(context))).await {
        Either::Left((error, _)) | Either::Right((error, _)) => error,
    }
}

/// Waits for the deadline of a call or, for a sync tool that has no thread yet, for the end of its wait for one.
async fn out_of_time(context: &ToolContext) -> ToolError {
    loop {
        let before = context.time_left();
        let (TimeLeft::Running { until: Some(until), .. } | TimeLeft::WaitingForThread { until: Some(until), .. }) =
            before
        else {
            return pending().await;
        };
        if Handle::try_current().is_err() {
            return no_timer();
        }
        sleep_until(Instant::from_std(until)).await;
        match (before, context.time_left()) {
            (TimeLeft::WaitingForThread { limit, .. }, _) if context.give_up_thread() => {
                return context.pool().no_free_thread(limit);
            }
            // The tool started meanwhile.
            (TimeLeft::WaitingForThread { .. }, _) => {}
            // The call has waited for the answer to a question, or still does.
            (TimeLeft::Running { .. }, TimeLeft::Running { until: Some(later), .. }) if later > until => {}
            (TimeLeft::Running { timeout, .. }, _) => return ToolError::timeout(timeout),
        }
    }
}

/// The error of a call that would have to wait where there is no timer for its deadline.
#[cold]
pub(super) fn no_timer() -> ToolError {
    ToolError::unavailable("the tool cannot run here")
        .with_detail("a call that waits needs a tokio runtime with its timer enabled")
        .with_retryable(false)
}

/// Runs a future until it is ready or the context is cancelled.
pub(super) async fn unless_cancelled<T>(
    context: &ToolContext,
    future: impl Future<Output = T>,
) -> Result<T, ToolError> {
    match context.given_cancellation() {
        None => Ok(future.await),
        Some(cancellation) => cancellation.guard(future).await.ok_or_else(ToolError::cancelled),
    }
}

/// Runs a future until it is ready or the caller, who said how long, waits no longer.
pub(super) async fn while_caller_waits<T>(
    context: &ToolContext,
    future: impl Future<Output = T>,
) -> Result<T, ToolError> {
    match context.time_limit().filter(|_| Handle::try_current().is_ok()) {
        None => Ok(future.await),
        Some(left) => timeout(left, future).await.map_err(|_| late()),
    }
}

/// The error of a call whose caller waits no longer, before it has run.
pub(super) fn late() -> ToolError {
    ToolError::new(ErrorKind::Timeout, "the caller does not wait any longer")
}

/// Cancels a call that ends without a result of its own, so that what it started stops too.
pub(super) struct CancelOnDrop<'a>(Option<&'a ToolContext>);

impl<'a> CancelOnDrop<'a> {
    pub(super) fn new(context: &'a ToolContext) -> Self {
        Self(Some(context))
    }

    pub(super) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            context.cancel_call();
        }
    }
}
