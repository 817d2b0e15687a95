//! Reading streamed answers.

use std::collections::{BTreeMap, HashMap, VecDeque};

use opentool_http::Frame;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::data::NAME;
use super::response::{OutputItem, ResponseObject};
use crate::provider::wire::{BlockOrder, StreamProgress, StreamReader, WireError, lenient};
use crate::{Delta, ToolCallDelta};

#[derive(Deserialize)]
struct ResponseEvent {
    #[serde(default, deserialize_with = "lenient")]
    r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    output_index: Option<usize>,
    #[serde(default, deserialize_with = "lenient")]
    item_id: String,
    #[serde(default, deserialize_with = "lenient")]
    summary_index: usize,
    #[serde(default, deserialize_with = "lenient")]
    delta: String,
    #[serde(default)]
    item: Option<Box<RawValue>>,
    #[serde(default)]
    response: Option<Box<RawValue>>,
}

/// Reads event by event.
#[derive(Debug, Default)]
pub struct ResponseEvents {
    /// The items that have begun and not ended.
    open: BTreeMap<usize, OpenItem>,
    /// The items of a server that does not number them.
    unnumbered: UnnumberedItems,
    order: BlockOrder,
    has_reasoning: bool,
    calls: bool,
    refused: bool,
    finished: bool,
}

#[derive(Debug, Default)]
struct OpenItem {
    /// Whether pieces of it came.
    pieces: bool,
    /// The index of reasoning in the order of items.
    place: Option<usize>,
}

impl StreamReader for ResponseEvents {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(StreamProgress::KeepAlive);
        }
        let event: ResponseEvent = serde_json::from_str(data).map_err(|_| WireError::from_body(data))?;
        let kind = if event.r#type.is_empty() { frame.name.as_str() } else { event.r#type.as_str() };
        let item = event.item.as_deref().map(item).unwrap_or_default();
        let index = match event.output_index {
            Some(index) => index,
            None if kind == "response.output_item.added" => self.unnumbered.begin(&item),
            None if kind == "response.output_item.done" => self.unnumbered.end(&item),
            None => self.unnumbered.of_piece(&event.item_id),
        };
        match kind {
            "response.created" => {
                let response = response(event.response.as_deref());
                deltas.push_back(Delta::Begin { id: response.id, model: response.model });
            }
            "response.output_item.added" => self.begin(index, &item, deltas),
            "response.output_text.delta" => self.text(index, event.delta, deltas),
            "response.refusal.delta" => {
                self.refused = true;
                self.text(index, event.delta, deltas);
            }
            "response.reasoning_summary_part.added" if event.summary_index > 0 => {
                deltas.push_back(Delta::reasoning("\n\n"));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.piece(index);
                self.has_reasoning = true;
                deltas.push_back(Delta::Reasoning(event.delta));
            }
            "response.function_call_arguments.delta" => {
                self.piece(index);
                let piece = ToolCallDelta::new().with_index(index).with_arguments(event.delta);
                deltas.push_back(piece.into());
            }
            "response.output_item.done" => {
                if let Some(raw) = event.item.as_deref() {
                    self.end(index, &item, raw, deltas);
                }
            }
            "response.completed" | "response.incomplete" => {
                let whole = response(event.response.as_deref());
                whole.check(data)?;
                self.finished = true;
                deltas.push_back(Delta::Usage(whole.usage()));
                let metadata = whole.metadata();
                if !metadata.is_empty() {
                    deltas.push_back(Delta::Metadata(metadata));
                }
                deltas.push_back(Delta::Finish(whole.finish_reason(self.calls, self.refused)));
                return Ok(StreamProgress::Done);
            }
            "response.failed" | "response.cancelled" => {
                response(event.response.as_deref()).check(data)?;
                return Err(WireError::reported(None, "the answer failed, and no reason was given"));
            }
            "error" => return Err(WireError::from_body(data)),
            "keepalive" | "response.in_progress" | "response.queued" => return Ok(StreamProgress::KeepAlive),
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

fn response(raw: Option<&RawValue>) -> ResponseObject {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn item(raw: &RawValue) -> OutputItem {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The items of a server that does not number them, as llama.cpp does not: an item is known by its ids.
#[derive(Debug, Default)]
struct UnnumberedItems {
    count: usize,
    /// By the id of an item, and by that of a call; pieces may have either.
    by_id: HashMap<String, usize>,
    /// The item of each type that began last and has not ended.
    open: HashMap<String, usize>,
}

impl UnnumberedItems {
    fn begin(&mut self, item: &OutputItem) -> usize {
        let index = self.count;
        self.count += 1;
        for id in [&item.id, &item.call_id].into_iter().filter(|id| !id.is_empty()) {
            self.by_id.insert(id.clone(), index);
        }
        self.open.insert(item.r#type.clone(), index);
        index
    }

    /// A piece whose item is not known is one of the item that began last.
    fn of_piece(&self, id: &str) -> usize {
        self.by_id.get(id).copied().unwrap_or_else(|| self.count.saturating_sub(1))
    }

    /// A whole item may be the first event about it.
    fn end(&mut self, item: &OutputItem) -> usize {
        let by_id = self.by_id.get(&item.call_id).or_else(|| self.by_id.get(&item.id)).copied();
        // Each call has an id of its own; of anything else one is open at a time.
        let is_named_call = item.r#type == "function_call" && !(item.call_id.is_empty() && item.id.is_empty());
        let open = self.open.get(&item.r#type).copied();
        let index = by_id.or(open.filter(|_| !is_named_call)).unwrap_or_else(|| self.begin(item));
        if self.open.get(&item.r#type) == Some(&index) {
            self.open.remove(&item.r#type);
        }
        index
    }
}

impl ResponseEvents {
    fn begin(&mut self, index: usize, item: &OutputItem, deltas: &mut VecDeque<Delta>) {
        let mut open = OpenItem::default();
        match item.r#type.as_str() {
            "function_call" => self.call(index, item, deltas),
            "reasoning" => {
                open.place = Some(self.order.begin_thought());
                if self.has_reasoning {
                    deltas.push_back(Delta::reasoning("\n\n"));
                }
            }
            _ => {}
        }
        self.open.insert(index, open);
    }

    fn call(&mut self, index: usize, item: &OutputItem, deltas: &mut VecDeque<Delta>) {
        self.calls = true;
        self.order.call();
        deltas.push_back(ToolCallDelta::new().with_index(index).with_id(&*item.call_id).with_name(&*item.name).into());
    }

    fn piece(&mut self, index: usize) {
        self.open.entry(index).or_default().pieces = true;
    }

    fn text(&mut self, index: usize, text: String, deltas: &mut VecDeque<Delta>) {
        self.piece(index);
        if !text.is_empty() {
            self.order.text(&text);
            deltas.push_back(Delta::Text(text));
        }
    }

    /// Takes from a whole item what did not come in pieces.
    fn end(&mut self, index: usize, item: &OutputItem, raw: &RawValue, deltas: &mut VecDeque<Delta>) {
        let begun = self.open.remove(&index);
        let has_pieces = begun.as_ref().is_some_and(|open| open.pieces);
        match item.r#type.as_str() {
            "message" if !has_pieces => {
                let (text, is_refusal) = item.text();
                self.refused |= is_refusal;
                self.text(index, text, deltas);
                self.open.remove(&index);
            }
            "function_call" if !has_pieces => {
                if begun.is_none() {
                    self.call(index, item, deltas);
                }
                deltas.push_back(ToolCallDelta::new().with_index(index).with_arguments(item.arguments()).into());
            }
            "reasoning" => {
                let thought = item.reasoning();
                if !has_pieces && !thought.is_empty() {
                    self.has_reasoning = true;
                    deltas.push_back(Delta::Reasoning(thought));
                }
                if let Some(kept) = item.kept(raw) {
                    let place = begun.and_then(|open| open.place).unwrap_or_else(|| self.order.begin_thought());
                    self.order.end_thought(place, kept);
                    let data = self.order.data().into_iter();
                    deltas.extend(data.map(|data| Delta::ProviderData { provider: NAME.to_owned(), data }));
                }
            }
            _ => {}
        }
    }
}
