//! What a chat notes in its [run](crate::ChatClientBuilder::journal), step by step, as the export of a run has it.
//!
//! | kind | noted | body |
//! |---|---|---|
//! | [`REQUEST`] | before the model is asked the first time | [`RequestStep`] |
//! | [`ANSWER`] | when the model has answered, before a call of it runs | [`AnswerStep`] |
//! | [`ROUND`] | when every call of an answer has its outcome | [`RoundStep`] |
//! | [`SUSPENDED`](RunStep::SUSPENDED) | when calls wait | [`SuspendedStep`] |
//! | [`DECISION`](RunStep::DECISION) | when it is decided about one of them, by any process | [`ApprovalDecision`](opentool_core::ApprovalDecision) |
//! | [`SAVING`], [`SAVED`] | before and after messages are added to the memory | [`MemoryStep`] |
//! | [`END`] | when the turn is over | [`EndStep`] |
//!
//! The starts and outcomes of calls are recorded by the journal itself, each at its place: `ROUND.INDEX`. A chat that is used as a tool
//! notes its steps in the run of the chat that called it; `within` is then the place of that call, and empty otherwise.

#[cfg(doc)]
use opentool_core::RunStep;
use opentool_core::{ToolError, Turn, WaitingCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Message;
use crate::options::ChatOptions;
use crate::response::ChatResponse;
pub use crate::response_format::FormDescription;
use crate::turn_end::TurnEnd;

/// The kind of a step that has what the model is asked.
pub const REQUEST: &str = "request";
/// The kind of a step that has an answer of the model.
pub const ANSWER: &str = "answer";
/// The kind of a step that has the results of the calls of an answer.
pub const ROUND: &str = "round";
/// The kind of a step that says which messages are about to be added to the memory.
pub const SAVING: &str = "saving";
/// The kind of a step that says that they were added.
pub const SAVED: &str = "saved";
/// The kind of a step that says how the turn ended.
pub const END: &str = "end";

/// What a model is asked, with which tools.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RequestStep {
    /// The place of the call that asks; empty for the run itself.
    pub within: String,
    /// Everything that the model is sent first: system text, what the memory returned, the prompt.
    pub messages: Vec<Message>,
    /// Where the turn begins in the messages.
    pub start: usize,
    /// How many of the messages the memory has already, or need not have.
    pub saved: usize,
    /// The options, without tools and context, which are code and secrets.
    pub options: ChatOptions,
    /// The conversation, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The provider.
    pub provider: String,
    /// The model, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the model sees of the tools.
    pub tools: Vec<ToolDescription>,
    /// The form that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<FormDescription>,
    /// What the application wants to know again when the run is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// What a model sees of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Value,
}

/// An answer of the model, with the ids that its calls have in the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AnswerStep {
    /// The place of the call that asked; empty for the run itself.
    pub within: String,
    /// The round that its calls are, from 1.
    pub round: u32,
    /// How many messages the model was sent.
    pub sent: usize,
    /// What the provider answered.
    pub response: ChatResponse,
}

/// The results of the calls of an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RoundStep {
    /// The place of the call that asked; empty for the run itself.
    pub within: String,
    /// Which round it is, from 1.
    pub round: u32,
    /// The calls as they were run, and their answers.
    pub messages: Vec<Message>,
    /// The counters of the turn after the round.
    pub turn: Turn,
    /// Whether the results go to the caller instead of back to the model.
    pub return_direct: bool,
    /// The limit of the turn that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<ToolError>,
    /// The tool that ended the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedTool>,
}

/// A tool that ended a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedTool {
    /// Its name.
    pub tool: String,
    /// Why.
    pub error: ToolError,
}

impl FailedTool {
    pub(crate) fn new(tool: &str, error: &ToolError) -> Self {
        Self { tool: tool.to_owned(), error: error.clone() }
    }
}

/// A round of which some calls wait.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SuspendedStep {
    /// The place of the call that asked; empty for the run itself.
    pub within: String,
    /// Which round it is, from 1.
    pub round: u32,
    /// The turn with the calls of the round.
    pub turn: Turn,
    /// The calls that wait.
    pub calls: Vec<WaitingCall>,
}

/// Messages that are added to the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MemoryStep {
    /// The place of the call that asked; empty for the run itself.
    pub within: String,
    /// How many messages of the history the memory has then.
    pub upto: usize,
    /// How many messages are added.
    pub count: usize,
    /// A hash of them, by which they are found again.
    pub fingerprint: String,
    /// How often the memory had the same messages before.
    pub found: usize,
}

/// How a turn ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EndStep {
    /// The place of the call that asked; empty for the run itself.
    #[serde(default)]
    pub within: String,
    /// Why it ended.
    pub end: TurnEnd,
    /// What the caller got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ChatResponse>,
    /// The messages of the history after the last round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// What the turn cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
}

/// Why a turn has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFailure {
    /// The stable name of the cause.
    pub cause: String,
    /// What happened.
    pub message: String,
}

impl RunFailure {
    pub(crate) fn new(cause: &str, message: String) -> Self {
        Self { cause: cause.to_owned(), message }
    }
}

impl EndStep {
    pub(crate) fn new(within: &str, end: TurnEnd) -> Self {
        Self { within: within.to_owned(), end, response: None, messages: Vec::new(), cost: None, error: None }
    }
}
