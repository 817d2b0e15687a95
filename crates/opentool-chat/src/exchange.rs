//! What was said so far: [`Exchange`].

use serde::{Deserialize, Serialize};

use crate::message::{AssistantMessage, Message};
use crate::prompt::Prompt;
use crate::usage::Usage;

/// What was said so far and what it cost, whether a turn ended well or not.
///
/// No call in it is without its answer, so it can be sent again as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Exchange {
    /// The whole conversation that the model was sent, and everything since.
    pub history: Vec<Message>,
    /// How many tokens this turn has used.
    pub usage: Usage,
    /// What that cost, by the [prices](crate::ChatModelBuilder::prices) of the model; none where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What the model had said of an answer that did not come to its end; its calls are not in it, since they did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<AssistantMessage>,
    /// Where this turn begins in the history.
    pub(crate) start: usize,
}

impl Exchange {
    /// Makes an exchange whose turn began with the last thing the user said in the prompt.
    pub(crate) fn new(prompt: &Prompt, history: Vec<Message>) -> Self {
        Self { start: prompt.turn_start(), history, ..Self::default() }
    }

    /// Says whether nothing was said or used.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the messages of this turn: what the user said last and everything since.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.history.get(self.start..).unwrap_or_default()
    }
}
