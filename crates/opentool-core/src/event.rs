//! What happens while a batch runs: [`ToolEvent`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Arguments, Outcome, ToolDefinition, ToolOutput};

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// How much there is to do, where it is known.
    pub total: Option<f64>,
    /// What is being done, in words.
    pub message: Option<String>,
}

/// What a progress says in words, made of text, or of an option of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressMessage(pub(crate) Option<String>);

impl From<&str> for ProgressMessage {
    fn from(message: &str) -> Self {
        Self(Some(message.to_owned()))
    }
}

impl From<String> for ProgressMessage {
    fn from(message: String) -> Self {
        Self(Some(message))
    }
}

impl From<Option<String>> for ProgressMessage {
    fn from(message: Option<String>) -> Self {
        Self(message)
    }
}

/// Which call an event is about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallRef {
    /// The place of the call in its batch, from 0; unique where ids are not.
    pub index: usize,
    /// The id of the call.
    pub id: Arc<str>,
    /// The name under which the tool was called.
    pub tool: Arc<str>,
    /// The definition of the tool; none where no tool was found.
    pub definition: Option<ToolDefinition>,
}

/// Something that happened to a call of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolEvent {
    /// The call was requested, with these arguments.
    Requested(CallRef, Arguments),
    /// The tool runs.
    Started(CallRef),
    /// The tool says how far it is.
    Progress(CallRef, Progress),
    /// The tool streams a piece of its result.
    Output(CallRef, ToolOutput),
    /// The call has its result.
    Finished(CallRef, Outcome),
    /// The call has no result, and this is why.
    Failed(CallRef, Outcome),
    /// The call waits for a decision.
    Suspended(CallRef),
}

impl ToolEvent {
    /// Returns which call the event is about.
    #[must_use]
    pub fn call(&self) -> &CallRef {
        match self {
            Self::Requested(call, _)
            | Self::Started(call)
            | Self::Progress(call, _)
            | Self::Output(call, _)
            | Self::Finished(call, _)
            | Self::Failed(call, _)
            | Self::Suspended(call) => call,
        }
    }
}
