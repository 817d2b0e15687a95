//! Reading streamed answers.

use std::collections::{BTreeMap, VecDeque};

use opentool_http::Frame;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::data::NAME;
use super::response::{AnthropicBlock, AnthropicMessage, AnthropicUsage, finish_reason, metadata};
use crate::provider::wire::{BlockOrder, StreamProgress, StreamReader, WireError, lenient};
use crate::{Delta, ToolCallDelta};

#[derive(Deserialize)]
struct AnthropicEvent {
    #[serde(default, deserialize_with = "lenient")]
    r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    index: usize,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<AnthropicMessage>,
    #[serde(default)]
    content_block: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "lenient")]
    delta: BlockDelta,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<AnthropicUsage>,
}

/// The next piece of a block, or of the message itself.
#[derive(Default, Deserialize)]
struct BlockDelta {
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

/// Reads event by event.
#[derive(Debug, Default)]
pub struct AnthropicEvents {
    /// The blocks that have begun and not ended.
    open: BTreeMap<usize, OpenBlock>,
    order: BlockOrder,
    usage: AnthropicUsage,
    calls: bool,
    finished: bool,
}

#[derive(Debug)]
struct OpenBlock {
    block: AnthropicBlock,
    /// The index of a block of thinking in the order of blocks.
    place: Option<usize>,
    /// Whether arguments came in pieces, in which case those of the beginning do not count.
    pieces: bool,
    /// A block that only Anthropic understands, and the pieces of its input.
    foreign: Option<Value>,
    input: String,
}

impl StreamReader for AnthropicEvents {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(StreamProgress::More);
        }
        let event: AnthropicEvent = serde_json::from_str(data).map_err(|_| WireError::from_body(data))?;
        let kind = if event.r#type.is_empty() { frame.name.as_str() } else { event.r#type.as_str() };
        match kind {
            "message_start" => {
                let message = event.message.unwrap_or_default();
                deltas.push_back(Delta::Begin { id: message.id, model: message.model });
                self.count(message.usage, deltas);
            }
            "content_block_start" => self.begin(event.index, event.content_block.as_deref(), deltas),
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
                return Ok(StreamProgress::Done);
            }
            "error" => return Err(WireError::from_body(data)),
            "ping" => return Ok(StreamProgress::KeepAlive),
            // Events that this reader does not know.
            _ => {
                if let Some(error) = WireError::reported_in(data) {
                    return Err(error);
                }
            }
        }
        Ok(StreamProgress::More)
    }

    fn is_complete(&self) -> bool {
        self.finished
    }
}

impl OpenBlock {
    /// A block that only Anthropic understands, with the input that came in pieces.
    fn into_foreign(self) -> Option<Value> {
        let mut block = self.foreign?;
        if let Ok(input) = serde_json::from_str::<Value>(&self.input) {
            block["input"] = input;
        }
        Some(block)
    }
}

impl AnthropicEvents {
    fn begin(&mut self, index: usize, raw: Option<&RawValue>, deltas: &mut VecDeque<Delta>) {
        let block: AnthropicBlock = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let foreign = raw.and_then(|raw| block.foreign(raw));
        let mut place = foreign.as_ref().map(|_| self.order.begin_thought());
        match block.r#type.as_str() {
            "text" => self.push_text(block.text.clone(), deltas),
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
        self.open.insert(index, OpenBlock { block, place, pieces: false, foreign, input: String::new() });
    }

    fn push_text(&mut self, text: String, deltas: &mut VecDeque<Delta>) {
        if !text.is_empty() {
            self.order.text(&text);
            deltas.push_back(Delta::Text(text));
        }
    }

    fn piece(&mut self, index: usize, piece: BlockDelta, deltas: &mut VecDeque<Delta>) {
        self.push_text(piece.text, deltas);
        let open = self.open.get_mut(&index);
        let has_arguments = !piece.partial_json.is_empty();
        if has_arguments && open.as_ref().is_none_or(|open| open.block.r#type == "tool_use") {
            deltas.push_back(ToolCallDelta::new().with_index(index).with_arguments(&*piece.partial_json).into());
        }
        if let Some(open) = open {
            open.pieces |= has_arguments;
            if open.foreign.is_some() {
                open.input.push_str(&piece.partial_json);
            }
            open.block.thinking.push_str(&piece.thinking);
            if !piece.signature.is_empty() {
                open.block.signature.get_or_insert_default().push_str(&piece.signature);
            }
        }
        if !piece.thinking.is_empty() {
            deltas.push_back(Delta::Reasoning(piece.thinking));
        }
    }

    fn end(&mut self, index: usize, open: OpenBlock, deltas: &mut VecDeque<Delta>) {
        if open.block.r#type == "tool_use" && !open.pieces {
            let arguments = open.block.arguments();
            deltas.push_back(ToolCallDelta::new().with_index(index).with_arguments(arguments).into());
        }
        let place = open.place;
        let thought = open.block.thought().or_else(|| open.into_foreign());
        if let (Some(place), Some(thought)) = (place, thought) {
            self.order.end_thought(place, thought);
            let kept = self.order.data().into_iter();
            deltas.extend(kept.map(|data| Delta::ProviderData { provider: NAME.to_owned(), data }));
        }
    }

    fn finish(&mut self, reason: &str, deltas: &mut VecDeque<Delta>) {
        self.finished = true;
        // Blocks that the server did not end.
        for (index, open) in std::mem::take(&mut self.open) {
            self.end(index, open, deltas);
        }
        deltas.push_back(Delta::Finish(finish_reason(reason, self.calls)));
    }

    fn count(&mut self, usage: AnthropicUsage, deltas: &mut VecDeque<Delta>) {
        self.usage.update(usage);
        deltas.push_back(Delta::Usage(self.usage.total()));
    }
}
