//! Whether the sources of the tools are there: [`SourceState`].

use std::fmt;
use std::sync::Arc;

/// A source of tools, and what was last known about it.
#[derive(Clone)]
pub(crate) struct SourceState {
    pub(crate) name: Arc<str>,
    is_up: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl SourceState {
    pub(crate) fn new(name: impl Into<Arc<str>>, is_up: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { name: name.into(), is_up: Arc::new(is_up) }
    }

    pub(crate) fn is_up(&self) -> bool {
        (self.is_up)()
    }
}

impl fmt::Debug for SourceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceState").field(&self.name).finish()
    }
}
