//! Remarks about a call that succeeded: [`Notes`].

/// Remarks about a call that succeeded, in one byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Notes(u8);

impl Notes {
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
