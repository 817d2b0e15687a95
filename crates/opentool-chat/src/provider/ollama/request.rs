//! Writing requests.

use std::borrow::Cow;

use bytes::Bytes;
use opentool_core::spec::schema::{Dialect, Target};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::provider::request::ModelRequest;
use crate::provider::wire::{
    JsonBody, WireRequest, empty_object, inlined_text, is_common_image, object_or_none, refused_media,
};
use crate::{
    AssistantMessage, ChatError, ChatOptions, Message, ReasoningEffort, ToolAnswer, ToolChoice, ToolDefinitions,
    UserMessage, UserPart,
};

#[derive(Default, Serialize)]
struct OllamaRequestMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaRequestCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct OllamaRequestCall<'a> {
    id: &'a str,
    function: OllamaRequestFunction<'a>,
}

#[derive(Serialize)]
struct OllamaRequestFunction<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

pub(super) fn write_body(wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
    let WireRequest { model, request, stream, .. } = wire;
    let options = request.options;
    // The options of the model are an object of their own, to which the user's are added.
    let mut extra = options.extra.clone();
    let ours = model_options(options);
    if !ours.is_empty() {
        match extra.get_mut("options") {
            Some(Value::Object(theirs)) => {
                for (name, value) in ours {
                    theirs.entry(name).or_insert(value);
                }
            }
            Some(_) => {}
            None => {
                extra.insert("options".to_owned(), ours.into());
            }
        }
    }
    let mut body = JsonBody::new(&extra);
    body.put("model", model)?;
    body.put("messages", &messages(request.messages)?)?;
    if let Some(tools) = offered(request) {
        body.put("tools", tools.wire(Target::OpenAi))?;
    }
    let format = options.response_format.as_ref();
    // Ollama makes a grammar of it, which knows more of JSON Schema than its tools do.
    body.put_some("format", format.map(|format| format.adapted(Dialect::OpenAi).schema))?;
    body.put_some("think", thinking(options, model))?;
    body.put("stream", &stream)?;
    body.finish()
}

/// Whether the model thinks; only gpt-oss knows how much.
fn thinking(options: &ChatOptions, model: &str) -> Option<Value> {
    let effort = options.reasoning_effort;
    let thinks =
        options.reasoning_budget.map(|budget| budget > 0).or(effort.map(|effort| effort != ReasoningEffort::None))?;
    let level = match effort {
        None | Some(ReasoningEffort::None) => None,
        Some(ReasoningEffort::Minimal | ReasoningEffort::Low) => Some("low"),
        Some(ReasoningEffort::Medium) => Some("medium"),
        Some(_) => Some("high"),
    };
    Some(level.filter(|_| thinks && model.contains("gpt-oss")).map_or(thinks.into(), Value::from))
}

fn model_options(options: &ChatOptions) -> Map<String, Value> {
    let mut ours = Map::new();
    if let Some(temperature) = options.temperature {
        ours.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(tokens) = options.max_tokens {
        ours.insert("num_predict".to_owned(), tokens.into());
    }
    if let Some(stop) = options.stop.as_ref().filter(|stop| !stop.is_empty()) {
        ours.insert("stop".to_owned(), stop.clone().into());
    }
    ours
}

/// The tools to offer: the only way to choose one is not to offer the others.
fn offered(request: ModelRequest<'_>) -> Option<ToolDefinitions> {
    match request.options.tool_choice.as_ref() {
        _ if request.tools.is_empty() => None,
        Some(ToolChoice::None) => None,
        Some(ToolChoice::Named(name)) => {
            let named = request.tools.iter().filter(|definition| definition.name() == name);
            Some(ToolDefinitions::new(named.cloned().collect())).filter(|named| !named.is_empty())
        }
        Some(ToolChoice::Required) => {
            tracing::debug!(target: "opentool::chat", "ollama has no way to demand a tool call");
            Some(request.tools.clone())
        }
        _ => Some(request.tools.clone()),
    }
}

fn messages(messages: &[Message]) -> Result<Vec<OllamaRequestMessage<'_>>, ChatError> {
    let mut wire = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::System(system) => wire.push(text_message("system", &*system.text)),
            Message::User(user) => wire.push(user_message(user)?),
            Message::Assistant(assistant) => wire.push(assistant_message(assistant)),
            Message::Tool(tool) => wire.extend(tool.answers.iter().map(answer)),
        }
    }
    Ok(wire)
}

fn text_message<'a>(role: &'static str, content: impl Into<Cow<'a, str>>) -> OllamaRequestMessage<'a> {
    OllamaRequestMessage { role, content: content.into(), ..OllamaRequestMessage::default() }
}

/// A message has one text, and its images beside it.
fn user_message(user: &UserMessage) -> Result<OllamaRequestMessage<'_>, ChatError> {
    let mut message = text_message("user", &*user.text);
    let append = |content: &mut Cow<'_, str>, text: &str| {
        if !content.is_empty() {
            content.to_mut().push_str("\n\n");
        }
        content.to_mut().push_str(text);
    };
    for part in &user.parts {
        match part {
            UserPart::Text(text) => append(&mut message.content, text),
            UserPart::Media(media) => match (media.base64(), inlined_text(media)) {
                (Some(data), _) if is_common_image(media) => message.images.push(data),
                (_, Some(text)) => append(&mut message.content, &text),
                _ => {
                    return Err(refused_media(
                        "ollama",
                        media,
                        "images (PNG, JPEG, GIF, WebP) as bytes, and text files",
                    ));
                }
            },
        }
    }
    Ok(message)
}

fn assistant_message(message: &AssistantMessage) -> OllamaRequestMessage<'_> {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = object_or_none(call.arguments.as_str()).unwrap_or_else(|| empty_object());
        OllamaRequestCall { id: &call.id, function: OllamaRequestFunction { name: &call.name, arguments } }
    });
    let tool_calls: Vec<_> = calls.collect();
    // Between calls a model needs its reasoning; afterwards that only costs tokens.
    let thinking = if tool_calls.is_empty() { "" } else { &*message.reasoning };
    OllamaRequestMessage { thinking, tool_calls, ..text_message("assistant", &*message.text) }
}

fn answer(answer: &ToolAnswer) -> OllamaRequestMessage<'_> {
    let (tool_name, tool_call_id) = (Some(&*answer.tool), Some(&*answer.call_id));
    OllamaRequestMessage { tool_name, tool_call_id, ..text_message("tool", &*answer.text) }
}
