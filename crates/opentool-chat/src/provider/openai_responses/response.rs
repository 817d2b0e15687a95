//! Reading whole answers.

use opentool_core::ToolCall;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::data::NAME;
use crate::provider::wire::{BlockOrder, WireError, arguments_text, is_blank, lenient};
use crate::{ChatResponse, FinishReason, Generation, Usage};

#[derive(Default, Deserialize)]
pub(super) struct ResponseObject {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    status: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    output: Option<Vec<Box<RawValue>>>,
    #[serde(default, deserialize_with = "lenient")]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(default, deserialize_with = "lenient")]
    error: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<ResponseUsage>,
    #[serde(default, deserialize_with = "lenient")]
    service_tier: Option<String>,
}

#[derive(Default, Deserialize)]
struct IncompleteDetails {
    #[serde(default, deserialize_with = "lenient")]
    reason: String,
}

#[derive(Default, Deserialize)]
struct ResponseUsage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    input_tokens_details: InputTokensDetails,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens_details: ReasoningTokens,
}

#[derive(Default, Deserialize)]
struct InputTokensDetails {
    #[serde(default, deserialize_with = "lenient")]
    cached_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    cache_write_tokens: u64,
}

#[derive(Default, Deserialize)]
struct ReasoningTokens {
    #[serde(default, deserialize_with = "lenient")]
    reasoning_tokens: u64,
}

/// An item of the output.
#[derive(Default, Deserialize)]
pub(super) struct OutputItem {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    content: Vec<OutputContent>,
    #[serde(default, deserialize_with = "lenient")]
    summary: Vec<OutputContent>,
    #[serde(default, deserialize_with = "lenient")]
    encrypted_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) call_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct OutputContent {
    #[serde(default, deserialize_with = "lenient")]
    r#type: String,
    #[serde(default, deserialize_with = "lenient")]
    text: String,
    #[serde(default, deserialize_with = "lenient")]
    refusal: String,
}

/// Reads a whole answer.
pub(super) fn read_response(text: &str) -> Result<ChatResponse, WireError> {
    let response: ResponseObject = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
    response.check(text)?;
    let Some(items) = &response.output else { return Err(WireError::missing("output", text)) };
    let mut answer = Generation::default();
    let (mut said, mut thought, mut refused) = (String::new(), String::new(), false);
    let mut order = BlockOrder::default();
    for raw in items {
        let item: OutputItem = serde_json::from_str(raw.get()).unwrap_or_default();
        match item.r#type.as_str() {
            "message" => {
                let (text, is_refusal) = item.text();
                order.text(&text);
                said.push_str(&text);
                refused |= is_refusal;
            }
            "function_call" => {
                order.call();
                answer.message.tool_calls.push(ToolCall::new(&*item.call_id, &*item.name, item.arguments()));
            }
            "reasoning" => {
                append_paragraph(&mut thought, &item.reasoning());
                if let Some(kept) = item.kept(raw) {
                    let place = order.begin_thought();
                    order.end_thought(place, kept);
                }
            }
            _ => {}
        }
    }
    answer.message.text = said.into();
    answer.message.reasoning = thought.into();
    answer.message.provider_data.extend(order.data().map(|data| (NAME.to_owned(), data)));
    answer.finish_reason = response.finish_reason(!answer.message.tool_calls.is_empty(), refused);
    Ok(ChatResponse {
        generations: vec![answer],
        usage: response.usage(),
        metadata: response.metadata(),
        id: response.id,
        model: response.model,
        ..ChatResponse::default()
    })
}

pub(super) fn append_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() && !paragraph.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

impl ResponseObject {
    /// An answer may report an error with a good status, and may have failed.
    pub(super) fn check(&self, text: &str) -> Result<(), WireError> {
        let failed = matches!(self.status.as_deref(), Some("failed" | "cancelled"));
        match &self.error {
            Some(error) if !is_blank(error) => Err(WireError::from_value(error)),
            _ if failed => Err(WireError::reported(self.status.clone(), "the answer failed, and no reason was given")),
            _ if self.output.is_none() => WireError::reported_in(text).map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    pub(super) fn finish_reason(&self, calls: bool, refused: bool) -> FinishReason {
        let reason = self.incomplete_details.as_ref().map_or("", |details| details.reason.as_str());
        match (self.status.as_deref(), reason) {
            (Some("incomplete"), "max_output_tokens" | "") => FinishReason::Length,
            (Some("incomplete"), "content_filter") => FinishReason::ContentFilter,
            (Some("incomplete"), other) => FinishReason::Other(other.to_owned()),
            _ if calls => FinishReason::ToolCalls,
            _ if refused => FinishReason::Refused,
            _ => FinishReason::Stop,
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let Some(usage) = &self.usage else { return Usage::default() };
        Usage::new(usage.input_tokens, usage.output_tokens)
            .with_cached_input_tokens(usage.input_tokens_details.cached_tokens)
            .with_cache_write_tokens(usage.input_tokens_details.cache_write_tokens)
            .with_reasoning_tokens(usage.output_tokens_details.reasoning_tokens)
    }

    pub(super) fn metadata(&self) -> Map<String, Value> {
        self.service_tier.iter().map(|tier| ("service_tier".to_owned(), tier.clone().into())).collect()
    }
}

impl OutputItem {
    /// The text of a message, and whether it is a refusal.
    pub(super) fn text(&self) -> (String, bool) {
        let refused = self.content.iter().any(|part| part.r#type == "refusal" && !part.refusal.is_empty());
        let texts = self.content.iter().flat_map(|part| [part.text.as_str(), part.refusal.as_str()]);
        (texts.collect(), refused)
    }

    /// What the model thought, as far as it is shown.
    pub(super) fn reasoning(&self) -> String {
        let mut text = String::new();
        for part in self.summary.iter().chain(&self.content) {
            append_paragraph(&mut text, &part.text);
        }
        text
    }

    /// The item as it must be sent back: only encrypted reasoning can be, since nothing is stored.
    pub(super) fn kept(&self, raw: &RawValue) -> Option<Value> {
        self.encrypted_content.as_ref().filter(|content| !content.is_empty())?;
        let mut item: Value = serde_json::from_str(raw.get()).ok()?;
        // It is a word of answers.
        item.as_object_mut()?.remove("status");
        Some(item)
    }

    pub(super) fn arguments(&self) -> String {
        self.arguments.as_deref().map(arguments_text).unwrap_or_default()
    }
}
