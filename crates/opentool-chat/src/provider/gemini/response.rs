//! Reading answers, whole or in chunks.

use std::collections::VecDeque;

use opentool_core::ToolCall;
use opentool_http::Frame;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::data::{CALL_SIGNATURES, NAME, TEXT_SIGNATURE};
use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{StreamProgress, StreamReader, WireError, arguments_text, is_blank, lenient};
use crate::{ChatResponse, Delta, FinishReason, Generation, ToolCallDelta, Usage};

/// An answer or a chunk of one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiContent {
    #[serde(default, deserialize_with = "lenient")]
    candidates: Option<Vec<GeminiCandidate>>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default, deserialize_with = "lenient")]
    usage_metadata: Option<UsageMetadata>,
    #[serde(default, deserialize_with = "lenient")]
    model_version: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    response_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    #[serde(default, deserialize_with = "lenient")]
    index: usize,
    #[serde(default, deserialize_with = "lenient")]
    content: Option<CandidateContent>,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    finish_message: Option<String>,
}

#[derive(Default, Deserialize)]
struct CandidateContent {
    #[serde(default, deserialize_with = "lenient")]
    parts: Vec<GeminiPart>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart {
    #[serde(default, deserialize_with = "lenient")]
    text: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    thought: bool,
    #[serde(default, deserialize_with = "lenient")]
    thought_signature: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    function_call: Option<GeminiCall>,
}

#[derive(Default, Deserialize)]
struct GeminiCall {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    name: String,
    #[serde(default)]
    args: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default, deserialize_with = "lenient")]
    block_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    block_reason_message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    #[serde(default, deserialize_with = "lenient")]
    prompt_token_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    tool_use_prompt_token_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    candidates_token_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    thoughts_token_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    cached_content_token_count: u64,
}

/// Reads a whole answer.
pub(super) fn read_content(text: &str) -> Result<ChatResponse, WireError> {
    let content = GeminiContent::parse(text)?;
    let metadata = content.metadata();
    let blocked = content.is_blocked();
    let mut generations: Vec<_> = content.candidates.into_iter().flatten().map(generation).collect();
    if generations.is_empty() {
        if !blocked {
            return Err(WireError::missing("candidates", text));
        }
        generations.push(Generation { finish_reason: FinishReason::ContentFilter, ..Generation::default() });
    }
    let usage = content.usage_metadata.map(Usage::from).unwrap_or_default();
    let (id, model) = (content.response_id, content.model_version);
    Ok(ChatResponse { generations, usage, id, model, metadata, ..ChatResponse::default() })
}

fn generation(candidate: GeminiCandidate) -> Generation {
    let mut answer = Generation::default();
    let (mut said, mut thought) = (String::new(), String::new());
    let mut signatures = SignatureLog::default();
    for part in candidate.content.unwrap_or_default().parts {
        let text = part.text.unwrap_or_default();
        match part.function_call {
            Some(call) => {
                signatures.call(answer.message.tool_calls.len(), part.thought_signature);
                let arguments = call.args.as_deref().map(arguments_text).unwrap_or_default();
                answer.message.tool_calls.push(ToolCall::new(call.id.unwrap_or_default(), call.name, arguments));
            }
            None if part.thought => thought.push_str(&text),
            None => {
                said.push_str(&text);
                signatures.text(part.thought_signature);
            }
        }
    }
    answer.message.text = said.into();
    answer.message.reasoning = thought.into();
    answer.message.provider_data.extend(signatures.data().map(|data| (NAME.to_owned(), data)));
    let reason = candidate.finish_reason.as_deref().unwrap_or_default();
    answer.finish_reason = finish_reason(reason, !answer.message.tool_calls.is_empty());
    answer
}

/// Why a model stopped; Gemini says `STOP` when it calls tools.
fn finish_reason(reason: &str, calls: bool) -> FinishReason {
    match reason {
        "" | "STOP" | "FINISH_REASON_UNSPECIFIED" if calls => FinishReason::ToolCalls,
        "" | "STOP" | "FINISH_REASON_UNSPECIFIED" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_ascii_lowercase()),
    }
}

/// The signatures of an answer that is being read.
#[derive(Debug, Default)]
struct SignatureLog {
    calls: Map<String, Value>,
    text: Option<String>,
}

impl SignatureLog {
    /// Keeps the signature of the call at a place; says whether there is one.
    fn call(&mut self, place: usize, signature: Option<String>) -> bool {
        let signature = signature.filter(|signature| !signature.is_empty());
        let is_new = signature.is_some();
        self.calls.extend(signature.map(|signature| (place.to_string(), signature.into())));
        is_new
    }

    /// Keeps the signature of the text; says whether there is one.
    fn text(&mut self, signature: Option<String>) -> bool {
        let signature = signature.filter(|signature| !signature.is_empty());
        let is_new = signature.is_some();
        self.text = signature.or(self.text.take());
        is_new
    }

    fn data(&self) -> Option<Value> {
        let mut data = Map::new();
        if !self.calls.is_empty() {
            data.insert(CALL_SIGNATURES.to_owned(), json!(self.calls));
        }
        data.extend(self.text.as_ref().map(|signature| (TEXT_SIGNATURE.to_owned(), json!(signature))));
        (!data.is_empty()).then_some(data.into())
    }
}

/// Reads chunk by chunk.
#[derive(Debug, Default)]
pub struct GeminiChunks {
    begun: bool,
    /// How many calls have come; each comes whole and without an index.
    calls: usize,
    signatures: SignatureLog,
    finished: bool,
}

impl StreamReader for GeminiChunks {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(StreamProgress::KeepAlive);
        }
        if frame.name == "error" {
            return Err(WireError::from_body(data));
        }
        let chunk = GeminiContent::parse(data)?;
        if !std::mem::replace(&mut self.begun, true) {
            deltas.push_back(Delta::Begin { id: chunk.response_id.clone(), model: chunk.model_version.clone() });
        }
        let metadata = chunk.metadata();
        if !metadata.is_empty() {
            deltas.push_back(Delta::Metadata(metadata));
        }
        if let Some(usage) = &chunk.usage_metadata {
            deltas.push_back(Delta::Usage(usage.into()));
        }
        if chunk.is_blocked() {
            self.finished = true;
            deltas.push_back(Delta::Finish(FinishReason::ContentFilter));
        }
        // Of several answers only the first is streamed.
        let mut candidates = chunk.candidates.unwrap_or_default().into_iter();
        if let Some(candidate) = candidates.find(|candidate| candidate.index == 0) {
            self.candidate(candidate, deltas);
        }
        Ok(StreamProgress::More)
    }

    fn is_complete(&self) -> bool {
        self.finished
    }
}

impl GeminiChunks {
    fn candidate(&mut self, candidate: GeminiCandidate, deltas: &mut VecDeque<Delta>) {
        for part in candidate.content.unwrap_or_default().parts {
            self.part(part, deltas);
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finished = true;
            deltas.push_back(Delta::Finish(finish_reason(&reason, self.calls > 0)));
        }
    }

    fn part(&mut self, part: GeminiPart, deltas: &mut VecDeque<Delta>) {
        let text = part.text.filter(|text| !text.is_empty());
        let is_signed = match part.function_call {
            Some(call) => {
                let mut piece = ToolCallDelta::new().with_index(self.calls).with_name(call.name);
                piece.id = call.id;
                piece.arguments = call.args.as_deref().map(arguments_text).unwrap_or_default();
                deltas.push_back(piece.into());
                self.calls += 1;
                self.signatures.call(self.calls - 1, part.thought_signature)
            }
            None if part.thought => {
                deltas.extend(text.map(Delta::Reasoning));
                false
            }
            None => {
                deltas.extend(text.map(Delta::Text));
                self.signatures.text(part.thought_signature)
            }
        };
        if is_signed {
            let data = self.signatures.data().into_iter();
            deltas.extend(data.map(|data| Delta::ProviderData { provider: NAME.to_owned(), data }));
        }
    }
}

impl GeminiContent {
    fn parse(text: &str) -> Result<Self, WireError> {
        let content: Self = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
        match content.error.as_ref().filter(|error| !is_blank(error)) {
            Some(error) => Err(WireError::from_value(error)),
            None if content.candidates.is_none() && !content.is_blocked() && content.usage_metadata.is_none() => {
                Err(WireError::reported_in(text).unwrap_or_else(|| WireError::missing("candidates", text)))
            }
            None => Ok(content),
        }
    }

    /// Says whether the prompt was refused as a whole.
    fn is_blocked(&self) -> bool {
        self.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some())
    }

    fn metadata(&self) -> Map<String, Value> {
        let feedback = self.prompt_feedback.as_ref();
        let blocked = feedback.and_then(|feedback| {
            feedback
                .block_reason_message
                .as_ref()
                .or(feedback.block_reason.as_ref())
                .map(|reason| ("block_reason", reason))
        });
        let first = self.candidates.iter().flatten().next();
        let message = first.and_then(|first| Some(("finish_message", first.finish_message.as_ref()?)));
        blocked.into_iter().chain(message).map(|(name, text)| (name.to_owned(), json!(text))).collect()
    }
}

impl From<&UsageMetadata> for Usage {
    fn from(usage: &UsageMetadata) -> Self {
        let read = usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count);
        let written = usage.candidates_token_count.saturating_add(usage.thoughts_token_count);
        Self::new(read, written)
            .with_cached_input_tokens(usage.cached_content_token_count)
            .with_reasoning_tokens(usage.thoughts_token_count)
    }
}

impl From<UsageMetadata> for Usage {
    fn from(usage: UsageMetadata) -> Self {
        (&usage).into()
    }
}

#[derive(Deserialize)]
struct GeminiModels {
    models: Vec<GeminiModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModel {
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    display_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    input_token_limit: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_token_limit: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    supported_generation_methods: Option<Vec<String>>,
}

/// Reads the list of models: those that can be asked.
pub(super) fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
    let list: GeminiModels = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
    let can_be_asked = |model: &GeminiModel| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let models = list.models.into_iter().filter(can_be_asked).map(|model| ModelInfo {
        id: model.name.strip_prefix("models/").unwrap_or(&model.name).to_owned(),
        name: model.display_name,
        input_tokens: model.input_token_limit,
        output_tokens: model.output_token_limit,
    });
    Ok(models.collect())
}
