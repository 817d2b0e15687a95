//! The state of a turn: [`TurnState`].

use std::sync::Arc;

use opentool_core::{ToolError, Turn};
use serde_json::Value;

use super::ids::Ids;
use super::memory::TurnMemory;
use super::parts::ModelParts;
use super::recorder::TurnRecorder;
use super::typed_turn::TypedTurn;
use crate::answer_form::SharedForm;
use crate::assembly::Assembly;
use crate::exchange::Exchange;
use crate::message::{AssistantMessage, Message};
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::{ChatResponse, RunState};
use crate::usage::Usage;

/// One turn of a model, as far as it has come.
///
/// `run` has the loop, `asking` one request to the model, `recording` what is noted, `typed` the form of an answer, `ending` the ways in
/// which a turn ends.
pub(super) struct TurnState {
    pub(super) model: Arc<ModelParts>,
    /// What the model is sent next, with merged options.
    pub(super) prompt: Prompt,
    /// The whole conversation; the prompt has less of it where the memory returns a window after every round.
    pub(super) history: Vec<Message>,
    /// Where this turn begins in the history.
    pub(super) start: usize,
    /// How many messages of the history are in the memory, or need not be there.
    pub(super) saved: usize,
    pub(super) turn: Turn,
    pub(super) ids: Ids,
    pub(super) usage: Usage,
    /// The answer that is still coming, as far as it came. Kept here, since a request that is cancelled is dropped.
    pub(super) coming: Assembly,
    /// What the model said in an answer that could not be used.
    pub(super) unused: Option<AssistantMessage>,
    /// An answer whose calls waited for decisions.
    pub(super) suspended: Option<ChatResponse>,
    /// The form that the answer must have.
    pub(super) typed: Option<TypedTurn>,
    /// What the model said before its provider paused it, which is how often.
    pub(super) paused: Vec<Arc<str>>,
    /// What the turn has cost; none where a price is not known.
    pub(super) cost: Option<f64>,
    /// The limit that the turn has reached; the model is asked once more, and a call is the error.
    pub(super) limit: Option<ToolError>,
    pub(super) conversation: Option<String>,
    pub(super) memory: Option<TurnMemory>,
    /// The record of the turn, where there is a journal.
    pub(super) recorder: Option<TurnRecorder>,
    /// What the application wants to know again when the run is resumed.
    pub(super) details: Option<Value>,
    /// The names of tools that were asked for.
    pub(super) tool_names: Option<Vec<String>>,
}

impl TurnState {
    /// Starts a turn with merged options. `saved` messages are in the memory; by default all before the turn.
    pub(super) fn new(model: Arc<ModelParts>, prompt: Prompt, saved: Option<usize>) -> Self {
        let start = prompt.turn_start();
        let cost = model.prices.is_some().then_some(0.0);
        Self {
            model,
            prompt,
            history: Vec::new(),
            start,
            saved: saved.unwrap_or(start),
            turn: Turn::new(),
            ids: Ids::default(),
            usage: Usage::default(),
            coming: Assembly::new(),
            unused: None,
            suspended: None,
            typed: None,
            paused: Vec::new(),
            cost,
            limit: None,
            conversation: None,
            memory: None,
            recorder: None,
            details: None,
            tool_names: None,
        }
    }

    /// Resumes a turn that waited, with merged options.
    pub(super) fn resume(model: Arc<ModelParts>, state: RunState, options: ChatOptions) -> Self {
        let RunState { exchange, response, turn, saved, conversation: _, options: _, run: _ } = state;
        let Exchange { history, usage, cost, start, partial: _ } = exchange;
        let run = Self::new(model, Prompt::new(history).with_options(options), Some(saved));
        Self { start, turn, usage, cost: run.cost.and(cost), suspended: Some(response), ..run }
    }

    /// Sets where the turn begins in the messages.
    pub(super) fn beginning_at(mut self, start: usize) -> Self {
        self.start = start;
        self
    }

    /// Sets the conversation that the turn belongs to, and its memory.
    pub(super) fn in_conversation(mut self, conversation: Option<String>, memory: Option<TurnMemory>) -> Self {
        (self.conversation, self.memory) = (conversation, memory);
        self
    }

    /// Sets where the turn is recorded, with what the application wants to know again.
    pub(super) fn recorded_by(mut self, recorder: Option<TurnRecorder>, details: Option<Value>) -> Self {
        (self.recorder, self.details) = (recorder, details);
        self
    }

    /// Sets the form that the answer must have.
    pub(super) fn with_form(mut self, form: Option<SharedForm>) -> Self {
        self.typed = form.map(TypedTurn::new);
        self
    }
}
