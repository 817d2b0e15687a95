//! What comes back, event by event.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;

use super::NAME;
use super::order::Order;
use super::response::{Block, WireMessage, WireUsage, finish_reason, metadata};
use crate::provider::connection::{Fault, Frame, Progress, Reader, lenient};
use crate::{Delta, ToolCallDelta};

#[derive(Deserialize)]
struct Event {
    #[serde(default, deserialize_with = "lenient")]
    r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    index: usize,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<WireMessage>,
    #[serde(default, deserialize_with = "lenient")]
    content_block: Block,
    #[serde(default, deserialize_with = "lenient")]
    delta: Piece,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<WireUsage>,
}

/// The next piece of a block, or of the message itself.
#[derive(Default, Deserialize)]
struct Piece {
    #[serde(default, deserialize_with = "lenient")]
    text: String,
    #[serde(default, deserialize_with = "lenient")]
    thinking: String,
    #[serde(default, deserialize_with = "lenient")]
    signature: String,
    #[serde(default, deserialize_with = "lenient")]
    partial_json: String,
    #[serde(default, deserialize_with = "lenient")]
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    stop_sequence: Option<String>,
}

/// Reads event after event.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The blocks that have begun and not ended.
    open: BTreeMap<usize, Open>,
    order: Order,
    usage: WireUsage,
    calls: bool,
    finished: bool,
}

#[derive(Debug)]
struct Open {
    block: Block,
    /// Where a thought stands among the blocks.
    place: Option<usize>,
    /// Whether arguments came in pieces, so that those of the beginning do not count.
    pieces: bool,
}

impl Reader for Events {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<Progress, Fault> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Progress::More);
        }
        let event: Event = serde_json::from_str(data).map_err(|_| Fault::of(data))?;
        let kind = if event.r#type.is_empty() { frame.name.as_str() } else { event.r#type.as_str() };
        match kind {
            "message_start" => {
                let message = event.message.unwrap_or_default();
                deltas.push_back(Delta::Begin { id: message.id, model: message.model });
                self.count(message.usage, deltas);
            }
            "content_block_start" => self.begin(event.index, event.content_block, deltas),
            "content_block_delta" => self.piece(event.index, event.delta, deltas),
            "content_block_stop" => {
                if let Some(open) = self.open.remove(&event.index) {
                    self.end(event.index, open, deltas);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.usage {
                    self.count(usage, deltas);
                }
                let metadata = metadata(event.delta.stop_sequence);
                if !metadata.is_empty() {
                    deltas.push_back(Delta::Metadata(metadata));
                }
                if let Some(reason) = event.delta.stop_reason {
                    self.finish(&reason, deltas);
                }
            }
            "message_stop" => {
                if !self.finished {
                    self.finish("", deltas);
                }
                return Ok(Progress::Over);
            }
            "error" => return Err(Fault::of(data)),
            // `ping`, and whatever will be thought of.
            _ => {
                if let Some(fault) = Fault::told(data) {
                    return Err(fault);
                }
            }
        }
        Ok(Progress::More)
    }

    fn is_whole(&self) -> bool {
        self.finished
    }
}

impl Events {
    fn begin(&mut self, index: usize, block: Block, deltas: &mut VecDeque<Delta>) {
        let mut place = None;
        match block.r#type.as_str() {
            "text" => self.say(block.text.clone(), deltas),
            "thinking" | "redacted_thinking" => {
                place = Some(self.order.begin_thought());
                if !block.thinking.is_empty() {
                    deltas.push_back(Delta::reasoning(&*block.thinking));
                }
            }
            "tool_use" => {
                self.calls = true;
                self.order.call();
                let call = ToolCallDelta::new().with_index(index).with_id(&*block.id).with_name(&*block.name);
                deltas.push_back(call.into());
            }
            _ => {}
        }
        self.open.insert(index, Open { block, place, pieces: false });
    }

    fn say(&mut self, text: String, deltas: &mut VecDeque<Delta>) {
        if !text.is_empty() {
            self.order.text(&text);
            deltas.push_back(Delta::Text(text));
        }
    }

    fn piece(&mut self, index: usize, piece: Piece, deltas: &mut VecDeque<Delta>) {
        self.say(piece.text, deltas);
        let open = self.open.get_mut(&index);
        let brings_arguments = !piece.partial_json.is_empty();
        if brings_arguments && open.as_ref().is_none_or(|open| open.block.r#type == "tool_use") {
            deltas.push_back(ToolCallDelta::new().with_index(index).with_arguments(piece.partial_json).into());
        }
        if let Some(open) = open {
            open.pieces |= brings_arguments;
            open.block.thinking.push_str(&piece.thinking);
            if !piece.signature.is_empty() {
                open.block.signature.get_or_insert_default().push_str(&piece.signature);
            }
        }
        if !piece.thinking.is_empty() {
            deltas.push_back(Delta::Reasoning(piece.thinking));
        }
    }

    fn end(&mut self, index: usize, open: Open, deltas: &mut VecDeque<Delta>) {
        if open.block.r#type == "tool_use" && !open.pieces {
            let arguments = open.block.arguments();
            deltas.push_back(ToolCallDelta::new().with_index(index).with_arguments(arguments).into());
        }
        if let (Some(place), Some(thought)) = (open.place, open.block.thought()) {
            self.order.end_thought(place, thought);
            let kept = self.order.data().into_iter();
            deltas.extend(kept.map(|data| Delta::ProviderData { provider: NAME.to_owned(), data }));
        }
    }

    fn finish(&mut self, reason: &str, deltas: &mut VecDeque<Delta>) {
        self.finished = true;
        // Blocks whose end was forgotten.
        for (index, open) in std::mem::take(&mut self.open) {
            self.end(index, open, deltas);
        }
        deltas.push_back(Delta::Finish(finish_reason(reason, self.calls)));
    }

    fn count(&mut self, usage: WireUsage, deltas: &mut VecDeque<Delta>) {
        self.usage.update(usage);
        deltas.push_back(Delta::Usage(self.usage.total()));
    }
}
