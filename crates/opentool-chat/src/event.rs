//! What happens while a model answers: [`ChatEvent`].

use std::sync::Arc;

use opentool_core::ToolEvent;

use crate::delta::ToolCallDelta;
use crate::response::ChatResponse;
use crate::usage::Usage;

/// Something that happened while a model answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChatEvent {
    /// The turn is recorded in the run with this id; the first event, where the client has a
    /// [journal](crate::ChatClientBuilder::journal).
    Run(Arc<str>),
    /// The next piece of the text.
    Text(String),
    /// The next piece of the model's reasoning.
    Reasoning(String),
    /// The next piece of a call that the model is writing: its place in the answer, its id and name as far as they are known,
    /// and the next piece of its arguments.
    ///
    /// The call is requested only when the answer is whole.
    ToolCall(ToolCallDelta),
    /// Something happened to a call: it was requested, started, progressed, finished, failed or waits for a decision.
    Tool(ToolEvent),
    /// A round is over and has used so many tokens.
    Usage(Usage),
    /// The turn is over; the last event.
    Done(Box<ChatResponse>),
}
