//! Runs a tool's future until it is done, past its deadline or cancelled.

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

use crate::{ToolContext, ToolError};

/// Runs the future of a call until it is done, past its deadline or cancelled.
///
/// A future that is ready at once costs neither timer nor token: they are made when it first waits.
pub(super) async fn supervise<T>(
    context: &ToolContext,
    future: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let mut future = pin!(future);
    let mut abandon = Abandon(Some(context));
    // Boxed, because most calls never wait and should not carry a timer around.
    let mut interruption: Option<Pin<Box<dyn Future<Output = ToolError> + Send + '_>>> = None;
    let result = poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending => interruption.get_or_insert_with(|| Box::pin(interrupt(context))).as_mut().poll(cx).map(Err),
    })
    .await;
    match result {
        Ok(result) => {
            abandon.0 = None;
            result
        }
        Err(interrupted) => Err(interrupted),
    }
}

/// Waits for whatever ends a call before its time.
async fn interrupt(context: &ToolContext) -> ToolError {
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
            return ToolError::unavailable("the tool cannot run here")
                .with_detail("a call that waits needs a tokio runtime for its deadline")
                .with_retryable(false);
        }
        sleep_until(Instant::from_std(deadline)).await;
        ToolError::timeout(timeout)
    };
    match select(pin!(cancelled), pin!(late)).await {
        Either::Left((error, _)) | Either::Right((error, _)) => error,
    }
}

/// Gives the call's cancellation signal when the call ends without a result of its own.
struct Abandon<'a>(Option<&'a ToolContext>);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.0 {
            context.abandon();
        }
    }
}
