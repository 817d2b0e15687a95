//! One call at a time, for libraries in this process that are not thread-safe: [`Serial`].

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Lets one call at a time into a library.
#[derive(Debug, Default)]
pub(crate) struct Serial {
    /// Held while a call runs, never across an `await`: a plain mutex, which is a sixth of the call cheaper than tokio's
    /// (`cargo bench -p opentool-dyn --bench calls`).
    running: Mutex<()>,
    /// Held by the one waiting call that is next, so that a busy library keeps one thread waiting and not one for each call.
    next: tokio::sync::Mutex<()>,
}

impl Serial {
    /// Lets a call in, unless another runs.
    #[inline]
    pub(crate) fn try_enter(&self) -> Option<MutexGuard<'_, ()>> {
        match self.running.try_lock() {
            Ok(running) => Some(running),
            // The mutex guards no data that a panic could leave half changed.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Lets a call in, once no other runs; the thread waits for it.
    pub(crate) fn enter(&self) -> MutexGuard<'_, ()> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the caller is next.
    pub(crate) async fn be_next(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.next.lock().await
    }
}
