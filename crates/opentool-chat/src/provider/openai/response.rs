//! Reading answers, whole or in chunks.

use std::collections::VecDeque;

use opentool_core::ToolCall;
use opentool_http::Frame;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::data::{EXTRA_CONTENT, NAME, REASONING_FIELD};
use crate::provider::wire::{StreamProgress, StreamReader, WireError, arguments_text, is_blank, lenient, text_of};
use crate::{AssistantMessage, ChatResponse, Delta, FinishReason, Generation, ToolCallDelta, Usage};

/// An answer or a chunk of one: a chunk has `delta` instead of `message`.
#[derive(Deserialize)]
struct Completion {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    system_fingerprint: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    service_tier: Option<String>,
    choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<CompletionUsage>,
    #[serde(default, deserialize_with = "lenient")]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<usize>,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<CompletionMessage>,
    #[serde(default, deserialize_with = "lenient")]
    delta: Option<CompletionMessage>,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct CompletionMessage {
    #[serde(default, deserialize_with = "lenient")]
    content: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    reasoning: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    tool_calls: Vec<CompletionCall>,
    /// The only call in OpenAI's old format, which some servers still send.
    #[serde(default, deserialize_with = "lenient")]
    function_call: Option<CompletionFunction>,
}

#[derive(Default, Deserialize)]
struct CompletionCall {
    #[serde(default, deserialize_with = "lenient")]
    index: Option<usize>,
    #[serde(default, deserialize_with = "lenient")]
    id: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    function: Option<CompletionFunction>,
    #[serde(default, deserialize_with = "lenient")]
    extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
struct CompletionFunction {
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct CompletionUsage {
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: Option<PromptTokensDetails>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens_details: Option<CompletionTokensDetails>,
    /// DeepSeek's word for cached tokens.
    #[serde(default, deserialize_with = "lenient")]
    prompt_cache_hit_tokens: u64,
}

#[derive(Default, Deserialize)]
struct CompletionTokensDetails {
    #[serde(default, deserialize_with = "lenient")]
    reasoning_tokens: u64,
}

#[derive(Default, Deserialize)]
struct PromptTokensDetails {
    #[serde(default, deserialize_with = "lenient")]
    cached_tokens: u64,
    #[serde(default, deserialize_with = "lenient")]
    cache_write_tokens: u64,
}

/// Reads a whole answer.
pub(crate) fn read_completion(text: &str) -> Result<ChatResponse, WireError> {
    let completion = Completion::parse(text)?;
    let metadata = completion.metadata();
    let generations: Vec<_> = completion.choices.into_iter().flatten().map(generation).collect();
    if generations.is_empty() {
        return Err(WireError::missing("choices", text));
    }
    let usage = completion.usage.map(Usage::from).unwrap_or_default();
    Ok(ChatResponse {
        generations,
        usage,
        id: completion.id,
        model: completion.model,
        metadata,
        ..ChatResponse::default()
    })
}

fn generation(choice: Choice) -> Generation {
    let mut message = choice.message.or(choice.delta).unwrap_or_default();
    message.convert_old_call();
    let mut answer = AssistantMessage::new(message.text());
    let mut kept = Map::new();
    if let Some((field, thought)) = message.reasoning() {
        answer.reasoning = thought.into();
        kept.insert(REASONING_FIELD.to_owned(), field.into());
    }
    let calls = message.tool_calls.iter().enumerate();
    let extras: Map<_, _> =
        calls.filter_map(|(place, call)| Some((place.to_string(), call.extra_content.clone()?))).collect();
    if !extras.is_empty() {
        kept.insert(EXTRA_CONTENT.to_owned(), extras.into());
    }
    if !kept.is_empty() {
        answer.provider_data.insert(NAME.to_owned(), kept.into());
    }
    let refused = message.is_refusal();
    answer.tool_calls = message.tool_calls.into_iter().map(CompletionCall::whole).collect();
    let reason = finish_reason(choice.finish_reason.as_deref().unwrap_or_default(), !answer.tool_calls.is_empty());
    Generation::new(answer, if refused { refusal(reason) } else { reason })
}

/// The reason of an answer that is a refusal; the wire says that it stopped.
fn refusal(reason: FinishReason) -> FinishReason {
    if reason == FinishReason::Stop { FinishReason::Refused } else { reason }
}

/// Why a model stopped; some servers say `stop`, or nothing, when it calls tools.
fn finish_reason(reason: &str, calls: bool) -> FinishReason {
    match reason {
        "" | "stop" | "eos" | "tool_calls" | "function_call" | "tool_use" if calls => FinishReason::ToolCalls,
        "" | "stop" | "eos" | "tool_calls" | "function_call" | "tool_use" => FinishReason::Stop,
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Reads chunk by chunk.
#[derive(Debug, Default)]
pub struct CompletionChunks {
    begun: bool,
    /// How many calls have begun.
    calls: usize,
    extras: Map<String, Value>,
    has_reasoning: bool,
    refused: bool,
    /// Whether any part of an answer has come.
    has_choices: bool,
    finished: bool,
}

impl StreamReader for CompletionChunks {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            if !self.has_choices {
                return Err(WireError::missing("choices", data));
            }
            self.finished = true;
            return Ok(StreamProgress::Done);
        }
        if data.is_empty() {
            return Ok(StreamProgress::KeepAlive);
        }
        if frame.name == "error" {
            return Err(WireError::from_body(data));
        }
        let chunk = Completion::parse(data)?;
        if !self.begun {
            self.begun = true;
            let metadata = chunk.metadata();
            deltas.push_back(Delta::Begin { id: chunk.id, model: chunk.model });
            if !metadata.is_empty() {
                deltas.push_back(Delta::Metadata(metadata));
            }
        }
        // Of several answers only the first is streamed.
        let mut choices = chunk.choices.unwrap_or_default().into_iter();
        if let Some(choice) = choices.find(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(choice, deltas);
        }
        if let Some(usage) = chunk.usage {
            deltas.push_back(Delta::Usage(usage.into()));
        }
        Ok(StreamProgress::More)
    }

    fn is_complete(&self) -> bool {
        self.finished
    }
}

impl CompletionChunks {
    fn choice(&mut self, choice: Choice, deltas: &mut VecDeque<Delta>) {
        self.has_choices = true;
        let mut message = choice.delta.or(choice.message).unwrap_or_default();
        message.convert_old_call();
        if let Some((field, thought)) = message.reasoning() {
            if !std::mem::replace(&mut self.has_reasoning, true) {
                let data = json!({ REASONING_FIELD: field });
                deltas.push_back(Delta::ProviderData { provider: NAME.to_owned(), data });
            }
            deltas.push_back(Delta::reasoning(thought));
        }
        let text = message.text();
        self.refused |= message.is_refusal();
        if !text.is_empty() {
            deltas.push_back(Delta::Text(text));
        }
        for mut call in message.tool_calls {
            let extra = call.extra_content.take();
            let piece = call.piece();
            self.calls += usize::from(piece.name.is_some());
            deltas.push_back(piece.into());
            if let Some(extra) = extra {
                self.extras.insert(self.calls.saturating_sub(1).to_string(), extra);
                let data = json!({ EXTRA_CONTENT: self.extras });
                deltas.push_back(Delta::ProviderData { provider: NAME.to_owned(), data });
            }
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finished = true;
            let reason = finish_reason(&reason, self.calls > 0);
            deltas.push_back(Delta::Finish(if self.refused { refusal(reason) } else { reason }));
        }
    }
}

impl Completion {
    fn parse(text: &str) -> Result<Self, WireError> {
        let completion: Self = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
        // Some servers send an error with a good status, and some an `error` that stands for none.
        match completion.error.as_ref().is_some_and(|error| !is_blank(error)) || completion.choices.is_none() {
            true => WireError::reported_in(text).map_or(Ok(completion), Err),
            false => Ok(completion),
        }
    }

    fn metadata(&self) -> Map<String, Value> {
        let fields = [("system_fingerprint", &self.system_fingerprint), ("service_tier", &self.service_tier)];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into()))).collect()
    }
}

impl CompletionMessage {
    /// Converts a call in the old format.
    fn convert_old_call(&mut self) {
        let call = self.function_call.take().filter(|_| self.tool_calls.is_empty());
        if let Some(function) = call.filter(|function| function.name.is_some() || function.arguments.is_some()) {
            self.tool_calls.push(CompletionCall {
                index: Some(0),
                function: Some(function),
                ..CompletionCall::default()
            });
        }
    }

    /// The text: a string or a list of parts, or a refusal instead.
    fn text(&self) -> String {
        let text = match &self.content {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            _ => String::new(),
        };
        if text.is_empty() { self.refusal.clone().unwrap_or_default() } else { text }
    }

    fn is_refusal(&self) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| !refusal.is_empty())
    }

    /// The model's reasoning, and the field it is in.
    fn reasoning(&self) -> Option<(&'static str, &str)> {
        let fields = [("reasoning_content", &self.reasoning_content), ("reasoning", &self.reasoning)];
        fields.into_iter().find_map(|(name, thought)| Some((name, thought.as_deref().filter(|t| !t.is_empty())?)))
    }
}

impl CompletionCall {
    fn piece(self) -> ToolCallDelta {
        let function = self.function.unwrap_or_default();
        let mut piece = ToolCallDelta::new();
        piece.index = self.index;
        piece.id = self.id.as_ref().and_then(text_of).filter(|id| !id.is_empty());
        piece.name = function.name.filter(|name| !name.is_empty());
        piece.arguments = function.arguments.map(|arguments| arguments_text(&arguments)).unwrap_or_default();
        piece
    }

    fn whole(self) -> ToolCall {
        let piece = self.piece();
        ToolCall::new(piece.id.unwrap_or_default(), piece.name.unwrap_or_default(), piece.arguments)
    }
}

impl From<CompletionUsage> for Usage {
    fn from(usage: CompletionUsage) -> Self {
        let (read, written) =
            (usage.prompt_tokens_details.unwrap_or_default(), usage.completion_tokens_details.unwrap_or_default());
        Self::new(usage.prompt_tokens, usage.completion_tokens)
            .with_cached_input_tokens(read.cached_tokens.max(usage.prompt_cache_hit_tokens))
            .with_cache_write_tokens(read.cache_write_tokens)
            .with_reasoning_tokens(written.reasoning_tokens)
    }
}
