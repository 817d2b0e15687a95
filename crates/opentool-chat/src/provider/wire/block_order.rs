//! The order of thinking, text and calls in a message.
//!
//! Anthropic and OpenAI refuse a conversation whose thinking comes back in another order, and a model may think between two
//! sentences or two calls. A message holds all its text as one string and all its calls in one list, so the order is kept
//! beside it.

use opentool_core::ToolCall;
use serde_json::{Map, Value};

use crate::AssistantMessage;

/// The member of the provider data that holds the blocks of thinking, and others that only the provider understands, as they
/// came, to be sent back.
const THINKING: &str = "thinking";
/// The member that holds the order up to the last block of thinking, unless there is nothing else: `"thinking"` is the next
/// block of thinking, `"call"` the next call, and a number this many bytes of the text.
const ORDER: &str = "order";
const CALL: &str = "call";

/// The blocks of an answer that is being read.
#[derive(Debug, Default)]
pub(crate) struct BlockOrder(Vec<OrderedBlock>);

#[derive(Debug)]
enum OrderedBlock {
    /// A block of thinking or the like; none while it is incomplete, or if it must not be sent back.
    Thought(Option<Value>),
    /// This many bytes of the text.
    Text(usize),
    Call,
}

impl BlockOrder {
    /// A block of thinking begins; returns its index.
    pub(crate) fn begin_thought(&mut self) -> usize {
        self.0.push(OrderedBlock::Thought(None));
        self.0.len() - 1
    }

    /// The block of thinking at an index is complete.
    pub(crate) fn end_thought(&mut self, place: usize, thought: Value) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = OrderedBlock::Thought(Some(thought));
        }
    }

    /// Text was added.
    pub(crate) fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(OrderedBlock::Text(length)) => *length += text.len(),
            _ if text.is_empty() => {}
            _ => self.0.push(OrderedBlock::Text(text.len())),
        }
    }

    /// A call begins.
    pub(crate) fn call(&mut self) {
        self.0.push(OrderedBlock::Call);
    }

    /// The provider data of the message; none without thinking.
    pub(crate) fn data(&self) -> Option<Value> {
        let last = self.0.iter().rposition(|slot| matches!(slot, OrderedBlock::Thought(Some(_))))?;
        let slots = &self.0[..=last];
        let thoughts = slots.iter().filter_map(|slot| match slot {
            OrderedBlock::Thought(thought) => thought.clone(),
            _ => None,
        });
        let mut data = Map::from_iter([(THINKING.to_owned(), thoughts.collect())]);
        if slots.iter().any(|slot| !matches!(slot, OrderedBlock::Thought(_))) {
            let order = slots.iter().filter_map(|slot| match slot {
                OrderedBlock::Thought(thought) => thought.as_ref().map(|_| Value::from(THINKING)),
                OrderedBlock::Text(length) => Some(Value::from(*length)),
                OrderedBlock::Call => Some(Value::from(CALL)),
            });
            data.insert(ORDER.to_owned(), order.collect());
        }
        Some(data.into())
    }
}

/// A part of a message that is sent back.
pub(crate) enum MessagePart<'a> {
    /// A block of thinking, exactly as it came.
    Thought(&'a Value),
    Text(&'a str),
    Call(&'a ToolCall),
}

/// The parts of a message in the order in which they came from a provider; without an order, and past its end: thinking, text,
/// calls.
pub(crate) fn message_parts<'a>(message: &'a AssistantMessage, provider: &str) -> Vec<MessagePart<'a>> {
    let kept =
        |key| message.provider_data.get(provider).and_then(|data| data.get(key)?.as_array()).into_iter().flatten();
    let (mut thoughts, mut text, mut calls) = (kept(THINKING), &*message.text, message.tool_calls.iter());
    let mut parts = Vec::new();
    for slot in kept(ORDER) {
        parts.extend(match slot.as_u64() {
            Some(length) => {
                // A text that was edited since is not cut in the middle of a character.
                let cut = usize::try_from(length).ok().and_then(|length| text.split_at_checked(length));
                let (head, rest) = cut.unwrap_or((text, ""));
                text = rest;
                Some(MessagePart::Text(head))
            }
            None if slot == CALL => calls.next().map(MessagePart::Call),
            None => thoughts.next().map(MessagePart::Thought),
        });
    }
    parts.extend(thoughts.map(MessagePart::Thought));
    parts.push(MessagePart::Text(text));
    parts.extend(calls.map(MessagePart::Call));
    // A blank text would be refused.
    parts.retain(|part| !matches!(part, MessagePart::Text(text) if text.trim().is_empty()));
    parts
}
