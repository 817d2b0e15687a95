//! What a conversion could not keep.

use std::fmt;

use crate::reference::push_escaped;

/// A keyword that a conversion could not keep as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The JSON pointer of the schema that had the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// Why it could not stay, and what stands in its place if anything does.
    pub reason: String,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "{} at {at}: {}", self.keyword, self.reason)
    }
}

/// Collects a report while walking a schema, knowing where the walk is.
#[derive(Debug, Default)]
pub(super) struct Report {
    pointer: String,
    pub(super) dropped: Vec<Dropped>,
}

impl Report {
    /// Starts a report whose walk begins at `pointer`.
    pub(super) fn at(pointer: String) -> Self {
        Self { pointer, dropped: Vec::new() }
    }

    /// Walks one step down; the returned mark leads back.
    pub(super) fn enter(&mut self, step: &str) -> usize {
        let here = self.pointer.len();
        self.pointer.push('/');
        push_escaped(&mut self.pointer, step);
        here
    }

    /// Walks back to where `enter` was called.
    pub(super) fn leave(&mut self, mark: usize) {
        self.pointer.truncate(mark);
    }

    /// Whether the walk has not left its beginning.
    pub(super) fn is_at_root(&self) -> bool {
        self.pointer.is_empty()
    }

    /// Notes that `keyword` of the schema at hand could not stay.
    pub(super) fn drop(&mut self, keyword: &str, reason: impl Into<String>) {
        self.dropped.push(self.entry(keyword, reason));
    }

    /// What [`Report::drop`] would note.
    pub(super) fn entry(&self, keyword: &str, reason: impl Into<String>) -> Dropped {
        Dropped { pointer: self.pointer.clone(), keyword: keyword.to_owned(), reason: reason.into() }
    }
}
