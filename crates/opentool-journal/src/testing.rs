//! Hooks at every commit: where a test kills the process, to see what is left.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) type CommitHook = Arc<dyn Fn(CommitPoint) + Send + Sync>;

/// A point just before or just after a commit of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommitPoint {
    /// The start of a call is about to be recorded.
    BeforeStart,
    /// The start of a call is recorded, and the call has not run.
    AfterStart,
    /// A call has run, and its outcome is about to be recorded.
    BeforeOutcome,
    /// The outcome of a call is recorded, and has not been seen.
    AfterOutcome,
    /// A step is about to be recorded.
    BeforeStep,
    /// A step is recorded.
    AfterStep,
    /// The ownership of a run is about to be taken.
    BeforeClaim,
    /// The ownership of a run is taken.
    AfterClaim,
    /// A decision is about to be recorded.
    BeforeDecision,
    /// A decision is recorded.
    AfterDecision,
}

impl CommitPoint {
    /// Every point.
    pub const ALL: [Self; 10] = [
        Self::BeforeClaim,
        Self::AfterClaim,
        Self::BeforeStep,
        Self::AfterStep,
        Self::BeforeStart,
        Self::AfterStart,
        Self::BeforeOutcome,
        Self::AfterOutcome,
        Self::BeforeDecision,
        Self::AfterDecision,
    ];

    /// Returns the point as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeStart => "before-start",
            Self::AfterStart => "after-start",
            Self::BeforeOutcome => "before-outcome",
            Self::AfterOutcome => "after-outcome",
            Self::BeforeStep => "before-step",
            Self::AfterStep => "after-step",
            Self::BeforeClaim => "before-claim",
            Self::AfterClaim => "after-claim",
            Self::BeforeDecision => "before-decision",
            Self::AfterDecision => "after-decision",
        }
    }
}

impl fmt::Display for CommitPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no commit point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no commit point")]
pub struct UnknownCommitPoint(String);

impl FromStr for CommitPoint {
    type Err = UnknownCommitPoint;

    fn from_str(word: &str) -> Result<Self, UnknownCommitPoint> {
        let point = Self::ALL.into_iter().find(|point| point.as_str() == word);
        point.ok_or_else(|| UnknownCommitPoint(word.to_owned()))
    }
}
