//! Memory of a call that outlives it: [`RetainedMemory`].

use crate::closure::Closure;
use crate::frame::{Block, Slot};
use crate::guarded_pages::GuardedPages;

/// Memory that lives as long as a handle.
#[derive(Debug)]
pub(crate) struct RetainedMemory {
    _block: Block,
    _pages: Option<GuardedPages>,
    _texts: Vec<Box<[u8]>>,
    closure: Option<&'static Closure>,
}

impl RetainedMemory {
    /// Takes what a parameter points to from its slot.
    pub(crate) fn take(slot: &mut Slot) -> Self {
        Self {
            _block: std::mem::take(&mut slot.block),
            _pages: slot.pages.take(),
            _texts: std::mem::take(&mut slot.texts),
            closure: slot.closure.take(),
        }
    }
}

impl Drop for RetainedMemory {
    fn drop(&mut self) {
        if let Some(closure) = self.closure {
            closure.release();
        }
    }
}
