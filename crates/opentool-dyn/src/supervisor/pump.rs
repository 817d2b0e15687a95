//! Who reads the replies of a worker: a task on the runtime of whoever called first.
//!
//! Reading where the callers are saves a change of threads for every call. Where that runtime ends before the library does,
//! the callers that still wait are told, and one of them starts another task on its own.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use opentool_core::ToolError;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use super::death::Cause;
use super::link::{Link, Received};
use super::{CLOSING, Inner};

impl Inner {
    /// Sees to it that somebody reads the replies of a worker.
    pub(super) fn read(&self, link: &mut Link) -> Result<(), ToolError> {
        if link.pump.is_some() || link.closed {
            return Ok(());
        }
        let runtime = Handle::try_current()
            .map_err(|_| ToolError::unavailable("a library in a worker process can be called within tokio only"))?;
        let (requests, replies) = (link.requests.clone(), link.replies.clone());
        link.pumps += 1;
        let watch = Watch { inner: self.itself.clone(), worker: link.worker, number: link.pumps };
        let pump = runtime.spawn(pump(watch, requests, replies)).abort_handle();
        if pump.is_finished() {
            return Err(unreadable());
        }
        link.pump = Some(pump);
        Ok(())
    }

    /// Reads once; says whether to go on reading at once.
    pub(super) fn receive(&self, worker: u64) -> Option<bool> {
        let mut state = self.lock();
        let link = state.link(worker)?;
        let received = link.receive();
        link.closed = matches!(received, Received::Closed | Received::Forged);
        let (answered, more) = match received {
            Received::All(answered) => (answered, false),
            Received::Some(answered) => (answered, true),
            Received::Closed => {
                self.dismiss(&mut state, worker, Cause::ClosedPipes, CLOSING);
                return None;
            }
            Received::Forged => {
                self.dismiss(&mut state, worker, Cause::Forged, Duration::ZERO);
                return None;
            }
        };
        if answered > 0 {
            state.patience.win();
        }
        // A call that was given up makes room, too.
        super::wake(&mut state);
        Some(more)
    }

    /// Sends what is to be sent, and remembers whom to wake when there is more; says whether that was everything.
    fn flush(&self, worker: u64, context: &Context<'_>) -> Option<bool> {
        let mut state = self.lock();
        let link = state.link(worker)?;
        if !link.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            link.waker = Some(context.waker().clone());
        }
        // A pipe that is closed shows when it is read.
        Some(link.flush().unwrap_or(true))
    }
}

/// Notices when the reading ends, for whatever reason.
struct Watch {
    inner: Weak<Inner>,
    worker: u64,
    /// Which of those who ever read for this worker it watches.
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let (worker, number) = (self.worker, self.number);
        // Not here: a runtime that shuts down drops a task while it is being spawned, and whoever spawns holds the lock.
        inner.later(Duration::ZERO, move |inner| {
            if let Some(link) = inner.lock().link(worker).filter(|link| link.pumps == number) {
                link.unread();
            }
        });
    }
}

/// What a runtime says that cannot do its part.
pub(super) fn unreadable() -> ToolError {
    ToolError::unavailable(
        "the replies of the worker cannot be read: the tokio runtime of the call is shutting down, or has no I/O enabled",
    )
}

async fn pump(watch: Watch, requests: Arc<OwnedFd>, replies: Arc<OwnedFd>) {
    // SAFETY: an `OwnedFd` stays the same open descriptor until it is dropped, which the `AsyncFd` that owns it does last.
    let Ok(replies) = (unsafe { AsyncFd::register_with_interest(replies, Interest::READABLE) }) else { return };
    // SAFETY: as above.
    let Ok(requests) = (unsafe { AsyncFd::register_with_interest(requests, Interest::WRITABLE) }) else { return };
    poll_fn(|context| poll(&watch, &requests, &replies, context)).await;
}

fn poll(
    watch: &Watch,
    requests: &AsyncFd<Arc<OwnedFd>>,
    replies: &AsyncFd<Arc<OwnedFd>>,
    context: &mut Context<'_>,
) -> Poll<()> {
    let Some(inner) = watch.inner.upgrade() else { return Poll::Ready(()) };
    while let Poll::Ready(ready) = replies.poll_read_ready(context) {
        let Ok(mut ready) = ready else { return Poll::Ready(()) };
        match inner.receive(watch.worker) {
            Some(true) => ready.retain_ready(),
            // A read that did not fill the buffer has emptied the pipe; what comes later is told anew.
            Some(false) => ready.clear_ready(),
            None => return Poll::Ready(()),
        }
    }
    loop {
        match inner.flush(watch.worker, context) {
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
