//! A gate that lets a bounded number of calls through at a time: [`Gate`].

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::ToolError;
use crate::error::readable;

/// Lets a bounded number of calls through at a time, in the order in which they ask: a semaphore that also knows whether
/// a thread holds its permits longer than the thread's call lasted.
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    size: u32,
    /// Whether the call that holds all permits is over, while its thread is still running.
    still_running: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn new(size: u32) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(size as usize));
        Arc::new(Self { permits, size, still_running: watch::Sender::new(false) })
    }

    /// Waits for one permit.
    pub(crate) async fn acquire(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.acquire_many(1).await
    }

    /// Waits for all permits. A thread may hold them beyond the end of its call.
    pub(crate) async fn acquire_all(self: &Arc<Self>) -> Result<Arc<ExclusivePermit>, ToolError> {
        let permits = self.acquire_many(self.size).await?;
        Ok(Arc::new(ExclusivePermit { gate: self.clone(), _permits: permits }))
    }

    async fn acquire_many(&self, permits: u32) -> Result<OwnedSemaphorePermit, ToolError> {
        self.permits.clone().acquire_many_owned(permits).await.map_err(|_| ToolError::cancelled())
    }

    /// Waits for a future that needs this gate.
    ///
    /// There is no limit while calls run, since each ends by its own deadline. There is one, `max_wait`, while a thread that
    /// outlived its call holds the permits: it may never return.
    pub(crate) async fn bounded<T>(
        &self,
        max_wait: Option<Duration>,
        acquiring: impl Future<Output = Result<T, ToolError>>,
        holder: &str,
    ) -> Result<T, ToolError> {
        match select(pin!(acquiring), pin!(self.waited_too_long(max_wait))).await {
            Either::Left((acquired, _)) => acquired,
            Either::Right((waited, _)) => Err(ToolError::unavailable(format!(
                "{holder} timed out or was cancelled, but is still running; this call waited {:?} for it",
                readable(waited)
            ))),
        }
    }

    /// Returns once a thread has outlived its call for `max_wait`.
    async fn waited_too_long(&self, max_wait: Option<Duration>) -> Duration {
        let Some(max_wait) = max_wait else { return pending().await };
        let mut still_running = self.still_running.subscribe();
        loop {
            if still_running.wait_for(|running| *running).await.is_err() {
                return pending().await;
            }
            if Handle::try_current().is_err() {
                // Without a runtime there is no timer.
                return Duration::ZERO;
            }
            if timeout(max_wait, still_running.wait_for(|running| !*running)).await.is_err() {
                return max_wait;
            }
        }
    }
}

/// All permits of a gate, released when the call is over and its thread, if it has one, has returned.
pub(crate) struct ExclusivePermit {
    gate: Arc<Gate>,
    _permits: OwnedSemaphorePermit,
}

impl ExclusivePermit {
    /// Releases the call's share at the end of the call; a thread that still has its own outlives the call.
    pub(crate) fn end_call(self: Arc<Self>) {
        if Arc::strong_count(&self) > 1 {
            self.gate.still_running.send_replace(true);
        }
    }
}

impl Drop for ExclusivePermit {
    /// Runs before the permits are released, so that the next holder starts with a clean flag.
    fn drop(&mut self) {
        self.gate.still_running.send_if_modified(std::mem::take);
    }
}
