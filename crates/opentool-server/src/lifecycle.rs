//! How a server comes to its end: [`ShutdownHandle`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opentool_core::Cancellation;

/// The state between running and stopped, shared by everything that serves.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    draining: AtomicBool,
    /// Given when the server shall stop.
    pub(crate) stop: Cancellation,
    /// Given when calls that still run must be answered now.
    pub(crate) cut_off: Cancellation,
}

impl Lifecycle {
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.stop.cancel();
    }
}

/// Stops a server gracefully; a clone stops the same one.
///
/// From then on `/readyz` answers 503, and answers tell clients to close their connection. After the drain delay the listener
/// closes. Calls in flight are answered; those still running after the drain timeout are answered with a deadline error.
#[derive(Clone, Debug)]
pub struct ShutdownHandle(pub(crate) Arc<Lifecycle>);

impl ShutdownHandle {
    /// Starts the drain; the future of the server ends when it is over.
    pub fn shutdown(&self) {
        self.0.stop();
    }

    /// Says whether the drain has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.is_draining()
    }
}
