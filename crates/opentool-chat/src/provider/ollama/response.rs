//! Reading answers, whole or line by line.

use std::collections::VecDeque;

use opentool_core::ToolCall;
use opentool_http::Frame;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{StreamProgress, StreamReader, WireError, arguments_text, is_blank, lenient, text_of};
use crate::{AssistantMessage, ChatResponse, Delta, FinishReason, ToolCallDelta, Usage};

/// An answer, or a line of it.
#[derive(Deserialize)]
struct OllamaLine {
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    message: Option<OllamaMessage>,
    #[serde(default, deserialize_with = "lenient")]
    done: bool,
    #[serde(default, deserialize_with = "lenient")]
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_eval_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    eval_count: u64,
    #[serde(default, deserialize_with = "lenient")]
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct OllamaMessage {
    #[serde(default, deserialize_with = "lenient")]
    content: String,
    #[serde(default, deserialize_with = "lenient")]
    thinking: String,
    #[serde(default, deserialize_with = "lenient")]
    tool_calls: Vec<OllamaCall>,
}

#[derive(Deserialize)]
struct OllamaCall {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    function: OllamaFunction,
}

#[derive(Default, Deserialize)]
struct OllamaFunction {
    #[serde(default, deserialize_with = "lenient")]
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

/// Reads a whole answer.
pub(super) fn read_line(text: &str) -> Result<ChatResponse, WireError> {
    let line = OllamaLine::parse(text)?;
    let usage = line.usage();
    let Some(message) = line.message else { return Err(WireError::missing("message", text)) };
    let mut answer = AssistantMessage::new(message.content).with_reasoning(message.thinking);
    answer.tool_calls = message.tool_calls.into_iter().map(OllamaCall::whole).collect();
    let reason = finish_reason(line.done_reason.as_deref().unwrap_or_default(), !answer.tool_calls.is_empty());
    let mut response = ChatResponse::new(answer, reason).with_usage(usage);
    response.model = line.model;
    Ok(response)
}

/// Why a model stopped; Ollama says `stop` when it calls tools.
fn finish_reason(reason: &str, calls: bool) -> FinishReason {
    match reason {
        "" | "stop" if calls => FinishReason::ToolCalls,
        "" | "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Reads line by line.
#[derive(Debug, Default)]
pub struct OllamaLines {
    begun: bool,
    /// How many calls have come; each comes whole and without an index.
    calls: usize,
    finished: bool,
}

impl StreamReader for OllamaLines {
    fn read(&mut self, frame: &Frame, deltas: &mut VecDeque<Delta>) -> Result<StreamProgress, WireError> {
        let mut line = OllamaLine::parse(&frame.data)?;
        if !self.begun {
            self.begun = true;
            deltas.push_back(Delta::Begin { id: None, model: line.model.take() });
        }
        let message = line.message.take().unwrap_or_default();
        if !message.thinking.is_empty() {
            deltas.push_back(Delta::Reasoning(message.thinking));
        }
        if !message.content.is_empty() {
            deltas.push_back(Delta::Text(message.content));
        }
        for call in message.tool_calls {
            deltas.push_back(call.piece(self.calls).into());
            self.calls += 1;
        }
        if !line.done {
            return Ok(StreamProgress::More);
        }
        self.finished = true;
        deltas.push_back(Delta::Usage(line.usage()));
        let reason = line.done_reason.as_deref().unwrap_or_default();
        deltas.push_back(Delta::Finish(finish_reason(reason, self.calls > 0)));
        Ok(StreamProgress::Done)
    }

    fn is_complete(&self) -> bool {
        self.finished
    }
}

impl OllamaLine {
    fn parse(text: &str) -> Result<Self, WireError> {
        let line: Self = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
        let is_error = line.error.as_ref().is_some_and(|error| !is_blank(error) || line.message.is_none());
        if is_error { Err(WireError::from_body(text)) } else { Ok(line) }
    }

    fn usage(&self) -> Usage {
        Usage::new(self.prompt_eval_count, self.eval_count)
    }
}

impl OllamaCall {
    fn piece(self, index: usize) -> ToolCallDelta {
        let mut piece = ToolCallDelta::new().with_index(index).with_name(self.function.name);
        piece.id = self.id.as_ref().and_then(text_of);
        piece.arguments = self.function.arguments.as_deref().map(arguments_text).unwrap_or_default();
        piece
    }

    fn whole(self) -> ToolCall {
        let piece = self.piece(0);
        ToolCall::new(piece.id.unwrap_or_default(), piece.name.unwrap_or_default(), piece.arguments)
    }
}

#[derive(Deserialize)]
struct OllamaTags {
    models: Vec<OllamaTag>,
}

#[derive(Deserialize)]
struct OllamaTag {
    name: String,
}

/// Reads the list of models.
pub(super) fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
    let tags: OllamaTags = serde_json::from_str(text).map_err(|_| WireError::from_body(text))?;
    Ok(tags.models.into_iter().map(|tag| ModelInfo::new(tag.name)).collect())
}
