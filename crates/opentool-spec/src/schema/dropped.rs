//! The keywords that a conversion drops.

use std::fmt;

use crate::json::pointer;

/// A keyword that a conversion could not keep as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The JSON pointer of the schema that had the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// Why it is dropped, and what replaces it, if anything.
    pub reason: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "{} at {at}: {}", self.keyword, self.reason)
    }
}

/// Records dropped keywords while a schema is walked, with the pointer of the current schema.
#[derive(Debug, Default)]
pub(super) struct DropLog {
    pointer: String,
    pub(super) dropped: Vec<Dropped>,
}

impl DropLog {
    /// Starts at `pointer`.
    pub(super) fn at(pointer: String) -> Self {
        Self { pointer, dropped: Vec::new() }
    }

    /// Steps down; the returned mark is for `leave`.
    pub(super) fn enter(&mut self, step: &str) -> usize {
        let here = self.pointer.len();
        pointer::push(&mut self.pointer, step);
        here
    }

    /// Steps back to where `enter` was called.
    pub(super) fn leave(&mut self, mark: usize) {
        self.pointer.truncate(mark);
    }

    /// Whether the current schema is the root.
    pub(super) fn is_at_root(&self) -> bool {
        self.pointer.is_empty()
    }

    /// Records that `keyword` of the current schema is dropped.
    pub(super) fn drop(&mut self, keyword: &str, reason: impl Into<String>) {
        self.dropped.push(self.entry(keyword, reason));
    }

    /// What [`DropLog::drop`] would record.
    pub(super) fn entry(&self, keyword: &str, reason: impl Into<String>) -> Dropped {
        Dropped { pointer: self.pointer.clone(), keyword: keyword.to_owned(), reason: reason.into() }
    }
}
