//! Where a model's thoughts stand among what it says and calls.
//!
//! Anthropic refuses a conversation whose thoughts come back in another order, and a model may think between two sentences or
//! two calls. A message keeps all its text in one piece and all its calls in one list, so what came before a thought is kept
//! beside it.

use opentool_core::ToolCall;
use serde_json::{Map, Value};

use super::NAME;
use crate::AssistantMessage;

/// Where a message's provider data keep the model's thoughts as they came, to be sent back.
const THINKING: &str = "thinking";
/// Where they keep what comes up to the last thought, unless it is nothing but thoughts: `"thinking"` is the next thought,
/// `"call"` the next call, and a number so many bytes of the text.
const ORDER: &str = "order";
const CALL: &str = "call";

/// The blocks of an answer that is being read.
#[derive(Debug, Default)]
pub(super) struct Order(Vec<Slot>);

#[derive(Debug)]
enum Slot {
    /// A thought; none while it is not whole, and where it must not be sent back.
    Thought(Option<Value>),
    /// So many bytes of the text.
    Text(usize),
    Call,
}

impl Order {
    /// A thought begins; returns its place.
    pub(super) fn begin_thought(&mut self) -> usize {
        self.0.push(Slot::Thought(None));
        self.0.len() - 1
    }

    /// The thought at a place is whole.
    pub(super) fn end_thought(&mut self, place: usize, thought: Value) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Slot::Thought(Some(thought));
        }
    }

    /// Something was said.
    pub(super) fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Slot::Text(length)) => *length += text.len(),
            _ if text.is_empty() => {}
            _ => self.0.push(Slot::Text(text.len())),
        }
    }

    /// A call begins.
    pub(super) fn call(&mut self) {
        self.0.push(Slot::Call);
    }

    /// What a message keeps of this; none without a thought.
    pub(super) fn data(&self) -> Option<Value> {
        let last = self.0.iter().rposition(|slot| matches!(slot, Slot::Thought(Some(_))))?;
        let slots = &self.0[..=last];
        let thoughts = slots.iter().filter_map(|slot| match slot {
            Slot::Thought(thought) => thought.clone(),
            _ => None,
        });
        let mut data = Map::from_iter([(THINKING.to_owned(), thoughts.collect())]);
        if slots.iter().any(|slot| !matches!(slot, Slot::Thought(_))) {
            let order = slots.iter().filter_map(|slot| match slot {
                Slot::Thought(thought) => thought.as_ref().map(|_| Value::from(THINKING)),
                Slot::Text(length) => Some(Value::from(*length)),
                Slot::Call => Some(Value::from(CALL)),
            });
            data.insert(ORDER.to_owned(), order.collect());
        }
        Some(data.into())
    }
}

/// A part of a message that is sent back.
pub(super) enum Part<'a> {
    /// A thought, exactly as it came.
    Thought(&'a Value),
    Text(&'a str),
    Call(&'a ToolCall),
}

/// The parts of a message in the order in which they came; without an order, and past its end: thoughts, text, calls.
pub(super) fn parts(message: &AssistantMessage) -> Vec<Part<'_>> {
    let kept = |key| message.provider_data.get(NAME).and_then(|data| data.get(key)?.as_array()).into_iter().flatten();
    let (mut thoughts, mut text, mut calls) = (kept(THINKING), &*message.text, message.tool_calls.iter());
    let mut parts = Vec::new();
    for slot in kept(ORDER) {
        parts.extend(match slot.as_u64() {
            Some(length) => {
                // A text that somebody has changed since is not cut in the middle of a character.
                let cut = usize::try_from(length).ok().and_then(|length| text.split_at_checked(length));
                let (said, rest) = cut.unwrap_or((text, ""));
                text = rest;
                Some(Part::Text(said))
            }
            None if slot == CALL => calls.next().map(Part::Call),
            None => thoughts.next().map(Part::Thought),
        });
    }
    parts.extend(thoughts.map(Part::Thought));
    parts.push(Part::Text(text));
    parts.extend(calls.map(Part::Call));
    // A blank text would be refused.
    parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
    parts
}
