//! A recorded turn as the steps of a run: what the model was asked, and what it answered.
//!
//! The steps are those of a chat run in a journal (`request`, `answer`, `round`), so that an export of one can be replayed, too.

use std::collections::HashMap;
use std::time::Duration;

use opentool_journal::RunExport;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::delta::Delta;
use crate::error::{Cause, ChatError};
use crate::generation::{FinishReason, Generation};
use crate::message::Message;
use crate::options::ChatOptions;
use crate::provider::ModelRequest;
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;
use crate::usage::Usage;

/// The kind of a run that a recorder made. Its outcomes are those of the tools, before anything converted them.
pub(super) const RECORDING: &str = "recording";

pub(super) const REQUEST: &str = "request";
pub(super) const ANSWER: &str = "answer";
pub(super) const ROUND: &str = "round";

/// The options that a model sees the effect of; the others are about the loop.
const COMPARED: [&str; 10] = [
    "model",
    "temperature",
    "max_tokens",
    "stop",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "reasoning_budget",
    "extra",
];

/// What a model sees of a tool; the schema of its result is there for redaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) input_schema: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output_schema: Option<Value>,
}

/// A conversation as a model is sent it first.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestBody {
    #[serde(default)]
    pub(super) within: String,
    pub(super) messages: Vec<Box<RawValue>>,
    #[serde(default)]
    pub(super) options: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// How the provider holds the model to a form, with tools and without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) typed_answers: Option<[TypedWord; 2]>,
    #[serde(default)]
    pub(super) tools: Vec<ToolForm>,
    /// The form of the answer, which a chat run notes beside the options, and not as the response format that is made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<Value>,
}

/// What a model answered: one of response and error.
#[derive(Serialize, Deserialize)]
pub(super) struct AnswerBody {
    #[serde(default)]
    pub(super) within: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<ResponseForm>,
    /// The pieces of an answer that was streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deltas: Option<Vec<Delta>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ErrorForm>,
}

/// What was added to the conversation before the model was asked again.
#[derive(Serialize, Deserialize)]
pub(super) struct RoundBody {
    #[serde(default)]
    pub(super) within: String,
    pub(super) messages: Vec<Box<RawValue>>,
    /// The options of the next request, where they are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Map<String, Value>>,
}

/// The part of a response that a provider makes.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ResponseForm {
    generations: Vec<Generation>,
    #[serde(default)]
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

impl From<ChatResponse> for ResponseForm {
    fn from(response: ChatResponse) -> Self {
        let ChatResponse { generations, usage, id, model, metadata, .. } = response;
        Self { generations, usage, id, model, metadata }
    }
}

impl From<ResponseForm> for ChatResponse {
    fn from(form: ResponseForm) -> Self {
        let ResponseForm { generations, usage, id, model, metadata } = form;
        Self { generations, usage, id, model, metadata, ..Self::default() }
    }
}

/// How a provider holds a model to a form, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TypedWord {
    Native,
    ForcedTool,
    Prompt,
}

impl From<TypedAnswers> for TypedWord {
    fn from(means: TypedAnswers) -> Self {
        match means {
            TypedAnswers::Native => Self::Native,
            TypedAnswers::ForcedTool => Self::ForcedTool,
            TypedAnswers::Prompt => Self::Prompt,
        }
    }
}

impl From<TypedWord> for TypedAnswers {
    fn from(word: TypedWord) -> Self {
        match word {
            TypedWord::Native => Self::Native,
            TypedWord::ForcedTool => Self::ForcedTool,
            TypedWord::Prompt => Self::Prompt,
        }
    }
}

/// Why a provider did not answer.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ErrorForm {
    cause: String,
    #[serde(default)]
    provider: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl From<&ChatError> for ErrorForm {
    fn from(error: &ChatError) -> Self {
        let cause = error.cause();
        let (provider, message) = match cause {
            Cause::Refused { provider, message, .. }
            | Cause::Unreachable { provider, message, .. }
            | Cause::Interrupted { provider, message }
            | Cause::Unreadable { provider, message } => (provider.clone(), message.clone()),
            other => (String::new(), other.to_string()),
        };
        let code = match cause {
            Cause::Refused { code, .. } => code.clone(),
            _ => None,
        };
        let after = error.retry_after().and_then(|after| u64::try_from(after.as_millis()).ok());
        let cause = cause.as_str().to_owned();
        Self { cause, provider, message, status: error.status(), code, retry_after_ms: after }
    }
}

impl From<ErrorForm> for ChatError {
    fn from(form: ErrorForm) -> Self {
        let ErrorForm { cause, provider, message, status, code, retry_after_ms } = form;
        let error = match cause.as_str() {
            "refused" => Self::refused(provider, status, message),
            "timeout" => Self::timed_out(provider, message),
            "unreachable" => Self::unreachable(provider, message),
            "interrupted" => Self::interrupted(provider, message),
            "unreadable" => Self::unreadable(provider, message),
            _ => Self::setup(message),
        };
        let error = code.into_iter().fold(error, Self::with_code);
        retry_after_ms.into_iter().map(Duration::from_millis).fold(error, Self::with_retry_after)
    }
}

/// A request to a model, as JSON that can be compared: the tools, the options and the messages.
pub(super) struct RequestText {
    tools: Vec<ToolForm>,
    options: Map<String, Value>,
    messages: Vec<Box<RawValue>>,
    /// The options of which the record does not say what they were.
    unsaid: Vec<&'static str>,
}

impl RequestText {
    pub(super) fn new(request: ModelRequest<'_>) -> Result<Self, serde_json::Error> {
        Ok(Self {
            tools: tool_forms(request),
            options: option_form(request.options)?,
            messages: request.messages.iter().map(to_raw_value).collect::<Result<_, _>>()?,
            unsaid: Vec::new(),
        })
    }

    /// Returns it as JSON, without what another one does not say.
    pub(super) fn json(&self, other: &Self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct SeenTool<'a> {
            name: &'a str,
            description: &'a str,
            input_schema: &'a Value,
        }
        #[derive(Serialize)]
        struct Compared<'a> {
            tools: Vec<SeenTool<'a>>,
            options: Map<String, Value>,
            messages: &'a [Box<RawValue>],
        }
        let mut options = self.options.clone();
        let is_said = |name: &str| !self.unsaid.contains(&name) && !other.unsaid.contains(&name);
        options.retain(|name, _| COMPARED.contains(&&**name) && is_said(name));
        let tools = self.tools.iter().map(|tool| SeenTool {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input_schema,
        });
        serde_json::to_string(&Compared { tools: tools.collect(), options, messages: &self.messages })
    }
}

pub(super) fn tool_forms(request: ModelRequest<'_>) -> Vec<ToolForm> {
    let form = |definition: &opentool_core::ToolDefinition| ToolForm {
        name: definition.name().to_owned(),
        description: definition.description().to_owned(),
        input_schema: definition.input_schema().clone(),
        output_schema: definition.output_schema().cloned(),
    };
    request.tools.iter().map(form).collect()
}

pub(super) fn option_form(options: &ChatOptions) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(options)? {
        Value::Object(options) => Ok(options),
        _ => Ok(Map::new()),
    }
}

/// A request with its answer.
pub(super) struct RecordedRound {
    pub(super) request: RequestText,
    pub(super) answer: RecordedAnswer,
}

#[derive(Clone)]
pub(super) struct RecordedAnswer {
    pub(super) response: Option<ResponseForm>,
    pub(super) deltas: Option<Vec<Delta>>,
    pub(super) error: Option<ErrorForm>,
}

/// A recorded turn, or several.
pub(super) struct Cassette {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) typed_answers: Option<[TypedWord; 2]>,
    pub(super) tools: Vec<ToolForm>,
    pub(super) rounds: Vec<RecordedRound>,
}

/// A conversation while the steps of it are read.
#[derive(Default)]
struct Conversation {
    tools: Vec<ToolForm>,
    options: Map<String, Value>,
    messages: Vec<Box<RawValue>>,
    unsaid: Vec<&'static str>,
    /// An answer that the provider paused, which is sent back as it is.
    paused: Option<Box<RawValue>>,
}

impl Cassette {
    /// Reads the steps of a run.
    pub(super) fn read(export: &RunExport) -> Result<Self, (i64, serde_json::Error)> {
        let mut cassette =
            Self { provider: None, model: None, typed_answers: None, tools: Vec::new(), rounds: Vec::new() };
        // A chat that is used as a tool is a conversation of its own.
        let mut conversations: HashMap<String, Conversation> = HashMap::new();
        let is_recording = export.record.summary.kind == RECORDING;
        for step in &export.record.steps {
            let at = |error| (step.number, error);
            let body = step.body.get();
            match step.kind.as_str() {
                REQUEST => {
                    let step: RequestBody = serde_json::from_str(body).map_err(at)?;
                    cassette.begin(&step);
                    let RequestBody { within, messages, options, tools, form, .. } = step;
                    let unsaid = form.map(|_| "response_format").into_iter().collect();
                    let begun = Conversation { tools, options, messages, unsaid, paused: None };
                    conversations.insert(within, begun);
                }
                ROUND => {
                    let RoundBody { within, messages, options } = serde_json::from_str(body).map_err(at)?;
                    let conversation = conversations.entry(within).or_default();
                    conversation.paused = None;
                    conversation.messages.extend(messages);
                    match options {
                        Some(options) => conversation.options = options,
                        None if is_recording => {}
                        // A chat run does not note that a model which had to call a tool need not do so again.
                        None => conversation.unsaid.push("tool_choice"),
                    }
                }
                ANSWER => {
                    let AnswerBody { within, response, deltas, error } = serde_json::from_str(body).map_err(at)?;
                    let conversation = conversations.entry(within).or_default();
                    conversation.messages.extend(conversation.paused.take());
                    let request = conversation.request();
                    conversation.paused = response.as_ref().and_then(paused).transpose().map_err(at)?;
                    cassette.rounds.push(RecordedRound { request, answer: RecordedAnswer { response, deltas, error } });
                }
                _ => {}
            }
        }
        Ok(cassette)
    }

    fn begin(&mut self, step: &RequestBody) {
        self.provider = self.provider.take().or_else(|| step.provider.clone());
        self.model = self.model.take().or_else(|| step.model.clone());
        self.typed_answers = self.typed_answers.or(step.typed_answers);
        for tool in &step.tools {
            if !self.tools.iter().any(|known| known.name == tool.name) {
                self.tools.push(tool.clone());
            }
        }
    }
}

impl Conversation {
    fn request(&self) -> RequestText {
        RequestText {
            tools: self.tools.clone(),
            options: self.options.clone(),
            messages: self.messages.clone(),
            unsaid: self.unsaid.clone(),
        }
    }
}

fn paused(response: &ResponseForm) -> Option<Result<Box<RawValue>, serde_json::Error>> {
    let generation = response.generations.first()?;
    let is_paused = generation.finish_reason == FinishReason::Paused && generation.message.tool_calls.is_empty();
    is_paused.then(|| to_raw_value(&Message::from(generation.message.clone())))
}
