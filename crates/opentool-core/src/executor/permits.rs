//! What calls of one batch hold so that others wait: [`BatchGate`] and [`Permits`].

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::gate::{ExclusivePermit, Gate};

/// Bounds how many calls of a batch run at once, in the order in which they ask.
pub(super) struct BatchGate {
    pub(super) calls: Arc<Gate>,
    /// For each serial tool of the batch, known by its gate, a queue: one of its calls waits in `calls`, and no more.
    queues: Mutex<Vec<(Arc<Gate>, Arc<Semaphore>)>>,
}

impl BatchGate {
    pub(super) fn new(size: u32) -> Self {
        Self { calls: Gate::new(size), queues: Mutex::default() }
    }

    pub(super) fn queue(&self, serial: &Arc<Gate>) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, queue)) = queues.iter().find(|(gate, _)| Arc::ptr_eq(gate, serial)) {
            return queue.clone();
        }
        let queue = Arc::new(Semaphore::new(1));
        queues.push((serial.clone(), queue.clone()));
        queue
    }
}

/// The permits of a running call. All are released at its end, but for the exclusive one, which its thread may keep.
#[derive(Default)]
pub(super) struct Permits {
    pub(super) queue: Option<OwnedSemaphorePermit>,
    pub(super) call: Option<OwnedSemaphorePermit>,
    /// The gate of a serial tool, or all calls of the batch for an exclusive one.
    pub(super) exclusive: Option<Arc<ExclusivePermit>>,
}

impl Drop for Permits {
    fn drop(&mut self) {
        if let Some(exclusive) = self.exclusive.take() {
            exclusive.end_call();
        }
    }
}
