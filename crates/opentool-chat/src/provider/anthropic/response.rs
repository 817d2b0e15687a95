//! Reading whole answers.

use opentool_core::ToolCall;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::data::NAME;
use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{BlockOrder, WireError, arguments_text, lenient};
use crate::{ChatResponse, FinishReason, Generation, Usage};

#[derive(Default, Deserialize)]
pub(super) struct AnthropicMessage {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    content: Option<Vec<Box<RawValue>>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) stop_sequence: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: AnthropicUsage,
}

/// A block of content, or what begins one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct AnthropicBlock {
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

/// Counts as they come; a count that is absent this time stays as it was.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct AnthropicUsage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens_details: Option<OutputTokensDetails>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct OutputTokensDetails {
    #[serde(default, deserialize_with = "lenient")]
    thinking_tokens: u64,
}

/// Reads a whole answer.
pub(super) fn read_message(text: &str) -> Result<ChatResponse, WireError> {
    let message: AnthropicMessage = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
    let Some(blocks) = message.content else {
        return Err(WireError::reported_in(text).unwrap_or_else(|| WireError::missing("content", text)));
    };
    let mut answer = Generation::default();
    let (mut text, mut reasoning, mut order) = (String::new(), String::new(), BlockOrder::default());
    for raw in blocks {
        let block: AnthropicBlock = serde_json::from_str(raw.get()).unwrap_or_default();
        match block.r#type.as_str() {
            "text" => {
                text.push_str(&block.text);
                order.text(&block.text);
            }
            "tool_use" => {
                answer.message.tool_calls.push(ToolCall::new(&*block.id, &*block.name, block.arguments()));
                order.call();
            }
            _ => {
                reasoning.push_str(&block.thinking);
                if let Some(thought) = block.thought().or_else(|| block.foreign(&raw)) {
                    let place = order.begin_thought();
                    order.end_thought(place, thought);
                }
            }
        }
    }
    answer.message.text = text.into();
    answer.message.reasoning = reasoning.into();
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
        "refusal" => FinishReason::Refused,
        "pause_turn" => FinishReason::Paused,
        other => FinishReason::Other(other.to_owned()),
    }
}

pub(super) fn metadata(stop_sequence: Option<String>) -> Map<String, Value> {
    stop_sequence.into_iter().map(|text| ("stop_sequence".to_owned(), text.into())).collect()
}

impl AnthropicBlock {
    /// The arguments of a call; empty if they come in pieces.
    pub(super) fn arguments(&self) -> String {
        self.input.as_deref().map(arguments_text).unwrap_or_default()
    }

    /// The block as it must be sent back, if it is of a kind that only Anthropic understands: a tool that it runs itself, and
    /// what that returned.
    pub(super) fn foreign(&self, raw: &RawValue) -> Option<Value> {
        let is_ours = matches!(self.r#type.as_str(), "" | "text" | "tool_use" | "thinking" | "redacted_thinking");
        if is_ours { None } else { serde_json::from_str(raw.get()).ok() }
    }

    /// The block as it must be sent back, if it is one of thinking.
    pub(super) fn thought(&self) -> Option<Value> {
        match (self.r#type.as_str(), &self.signature) {
            // Thinking without a signature comes from a local server, and Anthropic would refuse it.
            ("thinking", Some(signature)) if !signature.is_empty() => {
                Some(json!({ "type": "thinking", "thinking": self.thinking, "signature": signature }))
            }
            ("redacted_thinking", _) => Some(json!({ "type": "redacted_thinking", "data": self.data })),
            _ => None,
        }
    }
}

impl AnthropicUsage {
    /// Adopts the values of a later count.
    pub(super) fn update(&mut self, later: Self) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details.take());
    }

    /// Everything that was read, cached or not, and written.
    pub(super) fn total(&self) -> Usage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let read = [self.input_tokens, self.cache_creation_input_tokens].into_iter().flatten();
        let read = read.fold(cached, u64::saturating_add);
        let thinking = self.output_tokens_details.as_ref().map_or(0, |details| details.thinking_tokens);
        Usage::new(read, self.output_tokens.unwrap_or(0))
            .with_cached_input_tokens(cached)
            .with_cache_write_tokens(self.cache_creation_input_tokens.unwrap_or(0))
            .with_reasoning_tokens(thinking)
    }
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default, deserialize_with = "lenient")]
    display_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    max_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_tokens: Option<u64>,
}

/// Reads the list of models.
pub(super) fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
    let list: ModelList = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
    let models = list.data.into_iter().map(|model| ModelInfo {
        id: model.id,
        name: model.display_name,
        input_tokens: model.max_input_tokens,
        output_tokens: model.max_tokens,
    });
    Ok(models.collect())
}
