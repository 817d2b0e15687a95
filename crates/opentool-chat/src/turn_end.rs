//! Why a turn ended: [`TurnEnd`].

use serde::{Deserialize, Serialize};

/// Why a turn ended, with an answer or without one.
///
/// [`ChatResponse::end`](crate::ChatResponse::end) and [`ChatError::end`](crate::ChatError::end) both say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model answered.
    Answered,
    /// A limit of the turn was reached, and the model answered with what it knew by then.
    AnsweredAtLimit,
    /// The answer was cut off, because it ran out of tokens.
    CutOff,
    /// The provider withheld the rest of the answer.
    Filtered,
    /// The model refused to answer.
    Refused,
    /// The results of tools are the answer.
    ReturnDirect,
    /// Calls wait for a decision.
    Suspended,
    /// The answer has calls that the caller runs.
    CallsLeft,
    /// The provider paused the answer more often than the loop goes on with it.
    Paused,
    /// A limit of the turn was reached, and there is no answer.
    Limit,
    /// The turn took too long.
    Deadline,
    /// The turn was cancelled.
    Cancelled,
    /// A tool ended the turn.
    ToolFailed,
    /// The answer did not have the form that was asked for.
    WrongForm,
    /// Something else failed: the provider, the way to it, the memory, the setup.
    Failed,
}

impl TurnEnd {
    /// Returns the reason as it is serialised, in one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::AnsweredAtLimit => "answered_at_limit",
            Self::CutOff => "cut_off",
            Self::Filtered => "filtered",
            Self::Refused => "refused",
            Self::ReturnDirect => "return_direct",
            Self::Suspended => "suspended",
            Self::CallsLeft => "calls_left",
            Self::Paused => "paused",
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::ToolFailed => "tool_failed",
            Self::WrongForm => "wrong_form",
            Self::Failed => "failed",
        }
    }

    /// Says whether there is an answer that came to its end.
    #[must_use]
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Answered | Self::AnsweredAtLimit | Self::ReturnDirect)
    }
}
