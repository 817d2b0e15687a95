//! The names of an integer's values (`x-values`): [`Names`].

/// The names of values, as C's constants have them.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// The names, each with its value as two's complement.
    entries: Box<[(Box<str>, u64)]>,
    /// Whether several values may be joined by "or" (`x-flags`).
    pub(crate) flags: bool,
}

impl Names {
    pub(super) fn new(entries: Vec<(Box<str>, u64)>, flags: bool) -> Self {
        Names { entries: entries.into(), flags }
    }

    /// The value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<u64> {
        self.entries.iter().find(|(known, _)| **known == *name).map(|(_, bits)| *bits)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| &**name)
    }
}
