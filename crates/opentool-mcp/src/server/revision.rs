//! The revisions of the protocol: [`Revision`].

use std::fmt;

/// A revision of the protocol, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// All of them, the newest first.
    pub(crate) const ALL: [Self; 5] =
        [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26, Self::V2024_11_05];

    /// The newest one that begins with `initialize`.
    pub(crate) const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// What a client speaks over HTTP that does not say it: the header came with the next revision.
    pub(crate) const WITHOUT_HEADER: Self = Self::V2025_03_26;

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Says whether every request carries its revision and capabilities, instead of an `initialize` before them all.
    pub(crate) fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Says whether results have structured content and definitions have output schemas, titles and links.
    pub(crate) fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Says whether structured content may be any JSON value, not only an object.
    pub(crate) fn has_structured_values(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Says whether definitions have annotations, content may be audio, and progress has a message.
    pub(crate) fn has_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Says whether one HTTP request may hold several messages.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
