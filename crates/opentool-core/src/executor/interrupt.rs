//! What ends a call before its time: its deadline, or its cancellation.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use crate::{ToolContext, ToolError};

/// Waits for whatever ends a call before its time.
pub(super) async fn interrupt(context: &ToolContext) -> ToolError {
    let cancelled = async {
        match context.outer_cancellation() {
            Some(cancellation) => cancellation.cancelled().await,
            None => pending().await,
        }
        ToolError::cancelled()
    };
    let late = async {
        let (Some(timeout), Some(deadline)) = (context.timeout(), context.deadline()) else {
            return pending().await;
        };
        if Handle::try_current().is_err() {
            return no_timer();
        }
        sleep_until(Instant::from_std(deadline)).await;
        ToolError::timeout(timeout)
    };
    match select(pin!(cancelled), pin!(late)).await {
        Either::Left((error, _)) | Either::Right((error, _)) => error,
    }
}

/// The error of a call that would have to wait where nothing can tell its deadline.
#[cold]
pub(super) fn no_timer() -> ToolError {
    ToolError::unavailable("the tool cannot run here")
        .with_detail("a call that waits needs a tokio runtime with its timer enabled")
        .with_retryable(false)
}

/// Gives the call's cancellation signal when the call ends without a result of its own.
pub(super) struct Abandon<'a>(Option<&'a ToolContext>);

impl<'a> Abandon<'a> {
    pub(super) fn unless_over(context: &'a ToolContext) -> Self {
        Self(Some(context))
    }

    pub(super) fn over(&mut self) {
        self.0 = None;
    }
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            context.abandon();
        }
    }
}
