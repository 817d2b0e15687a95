//! How much one turn may do: [`LimitPolicy`] and [`Limits`].

use crate::{ErrorSeverity, Tool, ToolCall, ToolError, Turn};

/// Says how much one turn may do.
pub trait LimitPolicy: Send + Sync + 'static {
    /// Admits or refuses a call, given what the turn has counted so far; `tool` is none where it is unknown.
    ///
    /// # Errors
    ///
    /// An error of kind [`Limit`](crate::ErrorKind::Limit); the model sees a recoverable one, the caller gets a fatal one.
    fn admit(&self, turn: &Turn, call: &ToolCall, tool: Option<&dyn Tool>) -> Result<(), ToolError>;
}

/// The limits of a turn.
///
/// Too many calls of one tool, or the same call too often, is an error that the model sees. Too many calls in
/// all, or too many rounds, is one that the caller gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many calls of one tool, where its metadata do not say otherwise: 40.
    pub per_tool: u32,
    /// How many calls in all: 150.
    pub total: u32,
    /// How many rounds of calls: 25.
    pub rounds: u32,
    /// How often the same call, with equal arguments: 3.
    pub repeats: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { per_tool: 40, total: 150, rounds: 25, repeats: 3 }
    }
}

impl Limits {
    /// No limits at all.
    #[must_use]
    pub const fn none() -> Self {
        Self { per_tool: u32::MAX, total: u32::MAX, rounds: u32::MAX, repeats: u32::MAX }
    }

    /// Sets how many calls of one tool there may be.
    #[must_use]
    pub const fn with_per_tool(mut self, calls: u32) -> Self {
        self.per_tool = calls;
        self
    }

    /// Sets how many calls in all there may be.
    #[must_use]
    pub const fn with_total(mut self, calls: u32) -> Self {
        self.total = calls;
        self
    }

    /// Sets how many rounds of calls there may be.
    #[must_use]
    pub const fn with_rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Sets how often the same call may be made.
    #[must_use]
    pub const fn with_repeats(mut self, repeats: u32) -> Self {
        self.repeats = repeats;
        self
    }
}

impl LimitPolicy for Limits {
    fn admit(&self, turn: &Turn, call: &ToolCall, tool: Option<&dyn Tool>) -> Result<(), ToolError> {
        let fatal = |message: String| Err(ToolError::limit(message).with_severity(ErrorSeverity::Fatal));
        if turn.rounds() > self.rounds {
            return fatal(format!("the turn has had its {} rounds of tool calls", self.rounds));
        }
        if turn.calls() >= self.total {
            return fatal(format!("the turn has had its {} tool calls", self.total));
        }
        let per_tool = tool.and_then(|tool| tool.metadata().call_limit()).unwrap_or(self.per_tool);
        if turn.calls_of(&call.name) >= per_tool {
            return Err(ToolError::limit(format!(
                "the tool `{}` may be called {per_tool} times in one turn; go on without it",
                call.name
            )));
        }
        if turn.repeats_of(call) >= self.repeats {
            return Err(ToolError::limit(format!(
                "the tool `{}` was already called {} times with these arguments; use the earlier result",
                call.name, self.repeats
            )));
        }
        Ok(())
    }
}
