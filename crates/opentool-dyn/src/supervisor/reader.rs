//! The task that reads the replies of a worker, on the tokio runtime of the first caller.
//!
//! Reading where the callers are saves a change of threads for every call (`cargo bench -p opentool-dyn --bench isolated`). Where that runtime ends before the library does,
//! the callers that still wait are notified, and one of them starts another task on its own runtime.

use std::future::poll_fn;
use std::io::{PipeReader, PipeWriter};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use opentool_core::ToolError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use super::child::CLOSING;
use super::connection::{Connection, Received};
use super::exit::ExitCause;
use super::state::Inner;

/// Starts a task that reads the replies of a worker, unless there is one.
pub(super) fn ensure_reader(inner: &Inner, connection: &mut Connection) -> Result<(), ToolError> {
    if connection.reader.is_some() || connection.closed {
        return Ok(());
    }
    let runtime = Handle::try_current()
        .map_err(|_| ToolError::unavailable("a library in a worker process can be called within tokio only"))?;
    let (requests, replies) = (connection.requests.clone(), connection.replies.clone());
    connection.readers += 1;
    let guard = ReaderGuard { inner: inner.weak.clone(), worker: connection.worker, number: connection.readers };
    let reader = runtime.spawn(run(guard, requests, replies)).abort_handle();
    if reader.is_finished() {
        return Err(unreadable());
    }
    connection.reader = Some(reader);
    Ok(())
}

/// Reads once, and answers the calls whose replies are there; says whether to go on reading at once, and none where the
/// connection has ended.
pub(super) fn receive(inner: &Inner, worker: u64) -> Option<bool> {
    let mut state = inner.lock();
    let has_failures = !state.breakers.is_empty();
    let connection = state.connection(worker)?;
    connection.wants_answered = has_failures;
    let before = connection.answers;
    let received = connection.receive();
    let has_answered = connection.answers > before;
    let functions = std::mem::take(&mut connection.answered);
    connection.closed = matches!(received, Received::Closed | Received::Damaged(_));
    for function in functions {
        state.breakers.record_success(function);
    }
    // Answers before the damage count, too.
    if has_answered {
        state.backoff.record_success();
    }
    let more = match received {
        Received::All => false,
        Received::Some => true,
        Received::Closed => {
            inner.retire(&mut state, worker, ExitCause::ClosedPipes, CLOSING);
            return None;
        }
        Received::Damaged(damage) => {
            inner.retire(&mut state, worker, damage.into(), Duration::ZERO);
            return None;
        }
    };
    // A call that was given up frees a slot, too.
    state.wake_waiting();
    Some(more)
}

/// Writes what is unsent, and keeps the waker for when there is more; says whether that was everything.
fn flush(inner: &Inner, worker: u64, context: &Context<'_>) -> Option<bool> {
    let mut state = inner.lock();
    let connection = state.connection(worker)?;
    if !connection.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        connection.waker = Some(context.waker().clone());
    }
    // A pipe that is closed shows when it is read.
    Some(connection.flush().unwrap_or(true))
}

/// Notices when a reader task ends, for whatever reason.
struct ReaderGuard {
    inner: Weak<Inner>,
    worker: u64,
    /// Which of the reader tasks of this worker it belongs to.
    number: u64,
}

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let (worker, number) = (self.worker, self.number);
        // Not here: a runtime that shuts down drops a task while it is being spawned, when the lock is held.
        inner.run_later(Duration::ZERO, move |inner| {
            let mut state = inner.lock();
            if let Some(connection) = state.connection(worker).filter(|connection| connection.readers == number) {
                connection.reader_stopped();
            }
        });
    }
}

/// The error of a call whose runtime cannot read replies.
pub(super) fn unreadable() -> ToolError {
    ToolError::unavailable(
        "the replies of the worker cannot be read: the tokio runtime of the call is shutting down, or has no I/O enabled",
    )
}

async fn run(guard: ReaderGuard, requests: Arc<PipeWriter>, replies: Arc<PipeReader>) {
    // SAFETY: a pipe end stays the same open descriptor until it is dropped, which the `AsyncFd` that owns it does last.
    let Ok(replies) = (unsafe { AsyncFd::register_with_interest(replies, Interest::READABLE) }) else { return };
    // SAFETY: as above.
    let Ok(requests) = (unsafe { AsyncFd::register_with_interest(requests, Interest::WRITABLE) }) else { return };
    poll_fn(|context| poll(&guard, &requests, &replies, context)).await;
}

fn poll(
    guard: &ReaderGuard,
    requests: &AsyncFd<Arc<PipeWriter>>,
    replies: &AsyncFd<Arc<PipeReader>>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let Some(inner) = guard.inner.upgrade() else { return Poll::Ready(()) };
    while let Poll::Ready(ready) = replies.poll_read_ready(context) {
        let Ok(mut ready) = ready else { return Poll::Ready(()) };
        match receive(&inner, guard.worker) {
            Some(true) => ready.retain_ready(),
            // A read that did not fill the buffer has emptied the pipe.
            Some(false) => ready.clear_ready(),
            None => return Poll::Ready(()),
        }
    }
    loop {
        match flush(&inner, guard.worker, context) {
            None => return Poll::Ready(()),
            Some(true) => return Poll::Pending,
            Some(false) => match requests.poll_write_ready(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(_)) => return Poll::Ready(()),
            },
        }
    }
}
