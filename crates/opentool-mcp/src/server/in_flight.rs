//! The calls that a client may cancel: [`CallsInFlight`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::Cancellation;

use super::json_text::JsonText;

/// The requests of one client that are not answered yet, by their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsInFlight(Arc<Mutex<HashMap<Box<str>, Cancellation>>>);

/// A request in flight, until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    calls: CallsInFlight,
    id: Box<str>,
    /// Whether it can be cancelled: a client that uses an id twice cancels the first request only.
    registered: bool,
}

impl CallsInFlight {
    /// Notes a request that can be cancelled from now on.
    pub(crate) fn enter(&self, id: JsonText<'_>, cancellation: Cancellation) -> InFlightGuard {
        let id: Box<str> = id.get().into();
        let registered = match self.lock().entry(id.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(cancellation);
                true
            }
            Entry::Occupied(_) => false,
        };
        InFlightGuard { calls: self.clone(), id, registered }
    }

    /// Cancels a request; one that is not known is over already.
    pub(crate) fn cancel(&self, id: JsonText<'_>) {
        if let Some(cancellation) = self.lock().get(id.get()) {
            cancellation.cancel();
        }
    }

    /// Cancels all of them.
    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(Cancellation::cancel);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Cancellation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.registered {
            self.calls.lock().remove(&self.id);
        }
    }
}
