//! One request with its id, [`ToolCall`], and exactly one answer to it, [`Outcome`].

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Arguments, ToolDefinition, ToolError, ToolOutput};

/// A request to call a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the caller gave it, which its outcome carries.
    pub id: Arc<str>,
    /// The name of the tool.
    pub name: Arc<str>,
    /// The arguments, as they came.
    pub arguments: Arguments,
}

impl ToolCall {
    /// Makes a call.
    ///
    /// ```
    /// use opentool_core::ToolCall;
    ///
    /// let call = ToolCall::new("call_1", "add", r#"{"a":1,"b":2}"#);
    /// assert_eq!(&*call.name, "add");
    /// ```
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: impl Into<Arguments>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

/// The one answer to a call, whatever happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The id of the call.
    pub call_id: Arc<str>,
    /// The name under which the tool was called.
    pub tool: Arc<str>,
    /// The arguments as the tool got them: checked, without those that were dropped, and with an approver's edits.
    #[serde(default)]
    pub arguments: Arguments,
    /// What the tool answered, or why there is no answer.
    #[serde(with = "crate::to_json::stored_result")]
    pub result: Result<ToolOutput, ToolError>,
    /// Whether the result goes to the caller instead of back to the model; never so for an error.
    pub return_direct: bool,
    /// Whether the arguments were [edited](crate::Decision::Edit) on approval, so that they are not the caller's.
    #[serde(default)]
    pub edited: bool,
    /// The definition of the tool that was called; none where no tool was found, or where the outcome was stored and read again.
    #[serde(skip)]
    pub definition: Option<ToolDefinition>,
}

impl Outcome {
    /// Says whether the call has no result.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.result.is_err()
    }

    /// Returns why the call has no result.
    #[must_use]
    pub fn error(&self) -> Option<&ToolError> {
        self.result.as_ref().err()
    }

    /// Returns the result.
    #[must_use]
    pub fn output(&self) -> Option<&ToolOutput> {
        self.result.as_ref().ok()
    }
}

/// What became of the calls of a batch: the outcomes in call order, and the calls that wait for a decision.
///
/// It reads like a slice of the outcomes.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    outcomes: Vec<Outcome>,
    pending: Vec<ToolCall>,
}

impl Outcomes {
    pub(crate) fn new(outcomes: Vec<Outcome>, pending: Vec<ToolCall>) -> Self {
        Self { outcomes, pending }
    }

    /// Returns the calls that wait for a decision, in call order; the turn holds them.
    #[must_use]
    pub fn pending(&self) -> &[ToolCall] {
        &self.pending
    }

    /// Says whether every result goes to the caller instead of back to the model.
    ///
    /// One call that wants it otherwise, failed or waits for a decision is enough for the turn to go on.
    #[must_use]
    pub fn return_direct(&self) -> bool {
        !self.outcomes.is_empty()
            && self.pending.is_empty()
            && self.outcomes.iter().all(|outcome| outcome.return_direct)
    }

    /// Returns the first error that must reach the caller instead of the model.
    #[must_use]
    pub fn fatal(&self) -> Option<&ToolError> {
        self.outcomes.iter().filter_map(Outcome::error).find(|error| error.is_fatal())
    }

    /// Returns the outcomes in call order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Outcome> {
        self.outcomes
    }
}

impl Deref for Outcomes {
    type Target = [Outcome];

    fn deref(&self) -> &[Outcome] {
        &self.outcomes
    }
}

impl IntoIterator for Outcomes {
    type Item = Outcome;
    type IntoIter = std::vec::IntoIter<Outcome>;

    fn into_iter(self) -> Self::IntoIter {
        self.outcomes.into_iter()
    }
}

impl<'a> IntoIterator for &'a Outcomes {
    type Item = &'a Outcome;
    type IntoIter = std::slice::Iter<'a, Outcome>;

    fn into_iter(self) -> Self::IntoIter {
        self.outcomes.iter()
    }
}
