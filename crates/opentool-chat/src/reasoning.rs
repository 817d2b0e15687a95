//! How much a model thinks: [`ReasoningEffort`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much a model should think before it answers.
///
/// A provider that knows fewer steps takes the nearest.
///
/// ```
/// use opentool_chat::ReasoningEffort;
///
/// assert_eq!("high".parse(), Ok(ReasoningEffort::High));
/// assert!(ReasoningEffort::Low < ReasoningEffort::High);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// As usual.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// As much as possible.
    Max,
}

impl ReasoningEffort {
    /// All of them, from least to most.
    pub const ALL: [Self; 7] = [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Returns the name: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for ReasoningEffort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no [`ReasoningEffort`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown reasoning effort {0:?}; it is one of none, minimal, low, medium, high, xhigh, max")]
pub struct UnknownEffort(String);

impl FromStr for ReasoningEffort {
    type Err = UnknownEffort;

    fn from_str(name: &str) -> Result<Self, UnknownEffort> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == name).ok_or_else(|| UnknownEffort(name.to_owned()))
    }
}
