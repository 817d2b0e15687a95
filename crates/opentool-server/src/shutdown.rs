//! Stopping a server: [`ShutdownHandle`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opentool_core::Cancellation;

/// Whether the server runs, drains or stops, shared by everything that serves.
#[derive(Debug, Default)]
pub(crate) struct ShutdownState {
    draining: AtomicBool,
    /// Cancelled when the server should stop.
    pub(crate) stop: Cancellation,
    /// Cancelled when calls that still run must be answered now.
    pub(crate) cut_off: Cancellation,
    /// How many calls run without a connection that waits for them.
    detached: Arc<AtomicUsize>,
}

/// A call that runs without a connection, until this is dropped.
#[derive(Debug)]
pub(crate) struct DetachedCall(Arc<AtomicUsize>);

impl Drop for DetachedCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ShutdownState {
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Counts a call that does not end with its connection.
    pub(crate) fn detach(&self) -> DetachedCall {
        self.detached.fetch_add(1, Ordering::Relaxed);
        DetachedCall(self.detached.clone())
    }

    pub(crate) fn has_detached_calls(&self) -> bool {
        self.detached.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn stop(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.stop.cancel();
    }
}

/// Stops a server gracefully; a clone stops the same one.
///
/// From then on `/readyz` answers 503, and answers ask clients to close their connection. After the drain delay the listener
/// closes. Calls in flight are answered; those still running after the drain timeout are answered with a deadline error.
#[derive(Clone, Debug)]
pub struct ShutdownHandle(pub(crate) Arc<ShutdownState>);

impl ShutdownHandle {
    /// Starts the drain; `BoundServer::serve` returns when it is over.
    pub fn shutdown(&self) {
        self.0.stop();
    }

    /// Says whether the drain has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.is_draining()
    }
}
