//! What is decided about a call that needs approval: [`Decision`].

use serde::{Deserialize, Serialize};

use crate::Arguments;

/// What is to happen with a call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// The call runs.
    Approve,
    /// The call does not run, and the model sees this reason.
    Deny(String),
    /// The call runs with these arguments, which are checked like any others.
    Edit(Arguments),
    /// The call waits in the turn until the caller decides.
    Suspend,
}

impl Decision {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny(_) => "deny",
            Self::Edit(_) => "edit",
            Self::Suspend => "suspend",
        }
    }
}
