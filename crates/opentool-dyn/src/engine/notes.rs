//! Remarks about a call that succeeded: [`Notes`].

/// Remarks about a call that succeeded, in one byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes(u8);

impl Notes {
    /// Some text of the result was not UTF-8, and what was not is replaced.
    pub(crate) const REPLACED: Notes = Notes(1);
    /// Some text of the result was longer than a result may have, and is cut.
    pub(crate) const CUT: Notes = Notes(2);
    /// Handles are open, which would be lost with the library.
    pub(crate) const HANDLES: Notes = Notes(4);
    /// The library was denied something, and went on.
    pub(crate) const DENIED: Notes = Notes(8);

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Notes(bits)
    }

    pub(crate) fn contains(self, other: Notes) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn add(&mut self, other: Notes) {
        self.0 |= other.0;
    }

    pub(crate) fn with(self, other: Notes) -> Notes {
        Notes(self.0 | other.0)
    }

    /// Removes some notes; says whether they were there.
    pub(crate) fn take(&mut self, other: Notes) -> bool {
        let contained = self.contains(other);
        self.0 &= !other.0;
        contained
    }
}
