//! The tools that a server is known to have: [`KnownTools`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentool_core::Toolbox;
use tokio::time::Instant;

/// The tools of a server, as it last described them.
#[derive(Default)]
pub(crate) struct KnownTools {
    known: Mutex<Option<ServerTools>>,
    /// Held while the server is asked, so that concurrent callers ask once.
    pub(crate) asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
pub(crate) struct ServerTools {
    /// The document as it came; none if the server has none.
    pub(crate) document: Option<Arc<str>>,
    pub(crate) toolbox: Toolbox,
    at: Instant,
}

impl KnownTools {
    pub(crate) fn get(&self) -> Option<ServerTools> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, document: Option<Arc<str>>, toolbox: &Toolbox) {
        let known = ServerTools { document, toolbox: toolbox.clone(), at: Instant::now() };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }
    /// The tools, unless they are older than this.
    pub(crate) fn fresh(&self, max_age: Duration) -> Option<Toolbox> {
        let known = self.get()?;
        (known.at.elapsed() < max_age).then_some(known.toolbox)
    }
}
