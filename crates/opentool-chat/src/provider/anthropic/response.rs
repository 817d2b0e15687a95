//! What comes back, whole.

use opentool_core::ToolCall;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::NAME;
use super::order::Order;
use crate::provider::connection::{Fault, lenient, to_json};
use crate::{ChatResponse, FinishReason, Generation, Usage};

#[derive(Default, Deserialize)]
pub(super) struct WireMessage {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    content: Option<Vec<Block>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stop_sequence: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: WireUsage,
}

/// A block of content, or what begins one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Block {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) text: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) thinking: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) signature: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) data: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default)]
    input: Option<Box<RawValue>>,
}

/// Counts as they come; what is not told this time stays as it was.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_read_input_tokens: Option<u64>,
}

/// Reads a whole answer.
pub(super) fn read_whole(text: &str) -> Result<ChatResponse, Fault> {
    let message: WireMessage = serde_json::from_str(text).map_err(|_| Fault::of(text))?;
    let Some(blocks) = message.content else {
        return Err(Fault::told(text).unwrap_or_else(|| Fault::without("content", text)));
    };
    let mut answer = Generation::default();
    let (mut said, mut thought, mut order) = (String::new(), String::new(), Order::default());
    for block in blocks {
        match block.r#type.as_str() {
            "text" => {
                said.push_str(&block.text);
                order.text(&block.text);
            }
            "tool_use" => {
                answer.message.tool_calls.push(ToolCall::new(&*block.id, &*block.name, block.arguments()));
                order.call();
            }
            _ => {
                thought.push_str(&block.thinking);
                if let Some(thought) = block.thought() {
                    let place = order.begin_thought();
                    order.end_thought(place, thought);
                }
            }
        }
    }
    answer.message.text = said.into();
    answer.message.reasoning = thought.into();
    answer.message.provider_data.extend(order.data().map(|data| (NAME.to_owned(), data)));
    let calls = !answer.message.tool_calls.is_empty();
    answer.finish_reason = finish_reason(message.stop_reason.as_deref().unwrap_or_default(), calls);
    Ok(ChatResponse {
        generations: vec![answer],
        usage: message.usage.total(),
        id: message.id,
        model: message.model,
        metadata: metadata(message.stop_sequence),
        ..ChatResponse::default()
    })
}

/// Why a model stopped.
pub(super) fn finish_reason(reason: &str, calls: bool) -> FinishReason {
    match reason {
        "" | "end_turn" | "stop_sequence" | "tool_use" if calls => FinishReason::ToolCalls,
        "" | "end_turn" | "stop_sequence" | "tool_use" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

pub(super) fn metadata(stop_sequence: Option<String>) -> Map<String, Value> {
    stop_sequence.into_iter().map(|text| ("stop_sequence".to_owned(), text.into())).collect()
}

impl Block {
    /// The arguments of a call; none where they are to come in pieces.
    pub(super) fn arguments(&self) -> String {
        self.input.as_deref().map(to_json).unwrap_or_default()
    }

    /// The block as it must be sent back, where it is a thought.
    pub(super) fn thought(&self) -> Option<Value> {
        match (self.r#type.as_str(), &self.signature) {
            // Without a signature nobody but the server at home has thought it, and Anthropic would refuse it.
            ("thinking", Some(signature)) if !signature.is_empty() => {
                Some(json!({ "type": "thinking", "thinking": self.thinking, "signature": signature }))
            }
            ("redacted_thinking", _) => Some(json!({ "type": "redacted_thinking", "data": self.data })),
            _ => None,
        }
    }
}

impl WireUsage {
    /// Takes over what a later count tells.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
    }

    /// Everything that was read, cached or not, and written.
    pub(super) fn total(&self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let read = [self.input_tokens, self.cache_creation_input_tokens].into_iter().flatten();
        let read = read.fold(cached, u64::saturating_add);
        Usage::new(read, self.output_tokens.unwrap_or(0)).with_cached_input_tokens(cached)
    }
}
