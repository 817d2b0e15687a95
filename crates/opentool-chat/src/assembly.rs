//! From the pieces of a streamed answer to a response: [`Assembly`].

use opentool_core::ToolCall;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::delta::{Delta, ToolCallDelta};
use crate::generation::{FinishReason, Generation};
use crate::message::AssistantMessage;
use crate::response::ChatResponse;
use crate::usage::Usage;

/// Puts the pieces of a streamed answer together.
///
/// Pieces of a call belong together by index, where the provider counts, else by id, else to the last call. Servers that give
/// every call the index 0 are understood by their ids and names. Nothing is lost, whatever order the pieces come in.
///
/// ```
/// use opentool_chat::{Assembly, Delta, ToolCallDelta};
///
/// let piece = |index| ToolCallDelta::new().with_index(index);
/// let mut assembly = Assembly::new();
/// assembly.push(Delta::text("Let me see."));
/// assembly.push(piece(0).with_id("a").with_name("now").with_arguments(r#"{"zo"#).into());
/// assembly.push(piece(1).with_id("b").with_name("later").into());
/// assembly.push(piece(0).with_arguments(r#"ne":"utc"}"#).into());
/// let response = assembly.finish();
/// assert_eq!(response.text(), "Let me see.");
/// assert_eq!(response.tool_calls()[0].arguments.as_str(), r#"{"zone":"utc"}"#);
/// assert_eq!(&*response.tool_calls()[1].name, "later");
/// ```
#[derive(Debug, Default)]
pub struct Assembly {
    response: ChatResponse,
    text: String,
    reasoning: String,
    provider_data: Vec<(String, Value)>,
    calls: Vec<PartialCall>,
    finish: Option<FinishReason>,
}

/// A call that may not be whole yet.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl Assembly {
    /// Starts with nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece.
    pub fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Begin { id, model } => {
                self.response.id = id.or(self.response.id.take());
                self.response.model = model.or(self.response.model.take());
            }
            Delta::Text(text) => append(&mut self.text, text),
            Delta::Reasoning(text) => append(&mut self.reasoning, text),
            Delta::ToolCall(piece) => {
                self.push_call(piece);
            }
            Delta::ProviderData { provider, data } => self.push_data(provider, data),
            Delta::Usage(usage) => self.response.usage = usage,
            Delta::Metadata(metadata) => self.response.metadata.extend(metadata),
            Delta::Finish(reason) => self.finish = Some(reason),
        }
    }

    /// Returns the usage as far as it is known.
    pub(crate) fn usage(&self) -> Usage {
        self.response.usage
    }

    /// Returns what was said as far as it came, without calls; none where nothing was.
    pub(crate) fn partial(self) -> Option<AssistantMessage> {
        let is_silent = self.text.is_empty() && self.reasoning.is_empty();
        (!is_silent).then(|| AssistantMessage::new(self.text).with_reasoning(self.reasoning))
    }

    /// Returns the answer as far as it came.
    #[must_use]
    pub fn finish(self) -> ChatResponse {
        let mut response = self.response;
        let tool_calls: Vec<_> =
            self.calls.into_iter().map(|call| ToolCall::new(call.id, call.name, call.arguments)).collect();
        let finish_reason = self.finish.unwrap_or(match tool_calls.is_empty() {
            true => FinishReason::Stop,
            false => FinishReason::ToolCalls,
        });
        let mut answer = Generation { finish_reason, ..Generation::default() };
        answer.message.text = self.text.into();
        answer.message.reasoning = self.reasoning.into();
        answer.message.tool_calls = tool_calls;
        answer.message.provider_data.extend(self.provider_data);
        response.generations.push(answer);
        response
    }

    /// Adds a piece of a call; returns the piece with its place, and with the id and the name of its call as far as they are known.
    pub(crate) fn push_call(&mut self, piece: ToolCallDelta) -> ToolCallDelta {
        let place = match self.place_of(&piece) {
            Some(place) => place,
            None => {
                self.calls.push(PartialCall { index: piece.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        if let Some(id) = piece.id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        // Some repeat the name with every piece, none sends it in pieces.
        if let Some(name) = piece.name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (id, name) = (known(&call.id), known(&call.name));
        append(&mut call.arguments, piece.arguments.clone());
        ToolCallDelta { index: Some(place), id, name, arguments: piece.arguments }
    }

    /// Finds the call that a piece belongs to; none where it begins a new one.
    fn place_of(&self, piece: &ToolCallDelta) -> Option<usize> {
        let id = piece.id.as_deref().unwrap_or_default();
        match piece.index {
            // The latest of an index, since some give every call the same.
            Some(index) => {
                let place = self.calls.iter().rposition(|call| call.index == Some(index))?;
                (!begins_another(&self.calls[place], piece)).then_some(place)
            }
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None => {
                let last = self.calls.len().checked_sub(1)?;
                (!begins_another(&self.calls[last], piece)).then_some(last)
            }
        }
    }

    fn push_data(&mut self, provider: String, data: Value) {
        let known = self.provider_data.iter_mut().find(|(known, _)| *known == provider);
        match (known, data) {
            (Some((_, Value::Object(known))), Value::Object(data)) => known.extend(data),
            (Some((_, known)), data) => *known = data,
            (None, data) => self.provider_data.push((provider, data)),
        }
    }
}

/// Says whether a piece that claims the place of a call begins another call all the same.
fn begins_another(call: &PartialCall, piece: &ToolCallDelta) -> bool {
    let (id, name) = (piece.id.as_deref().unwrap_or_default(), piece.name.as_deref().unwrap_or_default());
    if name.is_empty() || call.name.is_empty() {
        // A call begins with its name.
        return false;
    }
    if !id.is_empty() && !call.id.is_empty() {
        return id != call.id;
    }
    // Without ids to compare: a second name after whole arguments, or another name, is another call.
    name != call.name || (!piece.arguments.is_empty() && is_whole(&call.arguments))
}

fn is_whole(json: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(json).is_ok()
}

fn append(text: &mut String, piece: String) {
    if text.is_empty() {
        *text = piece;
    } else {
        text.push_str(&piece);
    }
}
