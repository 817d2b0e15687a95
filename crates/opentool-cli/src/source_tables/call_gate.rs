//! How many calls run at once: [`CallGate`].

use std::{fmt, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets so many calls run at once; further ones wait. A clone shares the count.
#[derive(Clone)]
pub(crate) struct CallGate {
    max: u32,
    permits: Arc<Semaphore>,
}

impl CallGate {
    pub(super) fn new(max: u32) -> Self {
        let permits = usize::try_from(max).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        CallGate { max, permits: Arc::new(Semaphore::new(permits)) }
    }

    /// Waits until a call may run; it runs for as long as the permit is kept.
    pub(super) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        // There is always one in the end, since the semaphore is never closed.
        self.permits.clone().acquire_owned().await.ok()
    }
}

/// Without the calls of this moment: sources are compared by it.
impl fmt::Debug for CallGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallGate").field(&self.max).finish()
    }
}
