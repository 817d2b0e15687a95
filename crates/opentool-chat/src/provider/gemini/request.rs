//! Writing requests.

use bytes::Bytes;
use opentool_core::ToolCall;
use opentool_core::spec::schema::{Dialect, Target};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::data::{CALL_SIGNATURES, NAME, TEXT_SIGNATURE};
use crate::provider::wire::{JsonBody, WireRequest, empty_object, object_or_none};
use crate::{
    AssistantMessage, ChatError, ChatOptions, Media, Message, ReasoningEffort, ToolAnswer, ToolChoice, UserMessage,
    UserPart,
};

#[derive(Serialize)]
struct GeminiTurn<'a> {
    role: &'static str,
    parts: Vec<GeminiRequestPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GeminiRequestPart<'a> {
    Value(Value),
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: GeminiRequestCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a Value>,
    },
}

#[derive(Serialize)]
struct GeminiRequestCall<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a RawValue,
}

pub(super) fn write_body(wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
    let WireRequest { model, request, .. } = wire;
    let options = request.options;
    let mut extra = options.extra.clone();
    // The model is in the URL and so is whether the answer is streamed.
    extra.remove("model");
    extra.remove("stream");
    // What the user sets there is added to what the options say, and wins.
    let mut config = generation_config(options, model);
    if let Some(Value::Object(theirs)) = extra.get("generationConfig") {
        config.extend(theirs.clone());
        extra.remove("generationConfig");
    }
    let mut body = JsonBody::new(&extra);
    body.put_some("systemInstruction", system(request.messages))?;
    body.put("contents", &contents(request.messages, model))?;
    if !request.tools.is_empty() {
        body.put("tools", request.tools.wire(Target::Gemini))?;
        body.put_some("toolConfig", options.tool_choice.as_ref().map(tool_config))?;
        if options.parallel_tool_calls.is_some() {
            tracing::debug!(target: "opentool::chat", "gemini has no word on parallel calls");
        }
    }
    if !config.is_empty() {
        body.put("generationConfig", &config)?;
    }
    body.finish()
}

fn generation_config(options: &ChatOptions, model: &str) -> Map<String, Value> {
    let mut config = Map::new();
    let mut put = |name: &str, value: Value| config.insert(name.to_owned(), value);
    if let Some(temperature) = options.temperature {
        put("temperature", temperature.into());
    }
    if let Some(tokens) = options.max_tokens {
        put("maxOutputTokens", tokens.into());
    }
    if let Some(stop) = options.stop.as_ref().filter(|stop| !stop.is_empty()) {
        put("stopSequences", stop.clone().into());
    }
    if let Some(format) = &options.response_format {
        put("responseMimeType", "application/json".into());
        put("responseJsonSchema", format.adapted(Dialect::Gemini).schema);
    }
    if let Some(thinking) = thinking(options, model) {
        put("thinkingConfig", thinking);
    }
    config
}

/// Whether and how much the model thinks: the second generation counts tokens, later ones have levels.
fn thinking(options: &ChatOptions, model: &str) -> Option<Value> {
    let config = |budget: i64| json!({ "thinkingBudget": budget, "includeThoughts": budget != 0 });
    if let Some(budget) = options.reasoning_budget {
        return Some(config(budget.into()));
    }
    let effort = options.reasoning_effort?;
    if has_thinking_budgets(model) {
        return Some(config(match effort {
            ReasoningEffort::None => 0,
            ReasoningEffort::Minimal => 512,
            ReasoningEffort::Low => 2048,
            ReasoningEffort::Medium => 8192,
            _ => 24_576,
        }));
    }
    let level = match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal => "MINIMAL",
        ReasoningEffort::Low => "LOW",
        ReasoningEffort::Medium => "MEDIUM",
        _ => "HIGH",
    };
    Some(json!({ "thinkingLevel": level, "includeThoughts": effort != ReasoningEffort::None }))
}

/// Says whether a model is of the first two generations.
fn has_thinking_budgets(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    ["gemini-1", "gemini-2"].iter().any(|prefix| name.starts_with(prefix))
}

fn tool_config(choice: &ToolChoice) -> Value {
    let mode = |mode: &str| json!({ "functionCallingConfig": { "mode": mode } });
    match choice {
        ToolChoice::Auto => mode("AUTO"),
        ToolChoice::None => mode("NONE"),
        ToolChoice::Required => mode("ANY"),
        ToolChoice::Named(name) => {
            json!({ "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": [name] } })
        }
    }
}

/// The system instruction: the texts of all system messages, in order.
fn system(messages: &[Message]) -> Option<Value> {
    let parts: Vec<Value> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System(system) if !system.text.trim().is_empty() => Some(text_part(&system.text)),
            _ => None,
        })
        .collect();
    (!parts.is_empty()).then(|| json!({ "parts": parts }))
}

/// The conversation in turns: the user's messages and the answers of tools have the same role.
fn contents<'a>(messages: &'a [Message], model: &str) -> Vec<GeminiTurn<'a>> {
    let mut turns: Vec<GeminiTurn<'a>> = Vec::with_capacity(messages.len());
    let mut after_tools = false;
    for message in messages {
        let (role, parts) = match message {
            Message::System(_) => continue,
            Message::User(user) => ("user", user_parts(user)),
            Message::Assistant(assistant) => ("model", assistant_parts(assistant)),
            Message::Tool(tool) => {
                ("user", tool.answers.iter().flat_map(|answer| answer_parts(answer, model)).collect())
            }
        };
        let is_tool = matches!(message, Message::Tool(_));
        match turns.last_mut() {
            // The answers of tools stand in a turn of their own, right after the calls.
            Some(last) if last.role == role && after_tools == is_tool => last.parts.extend(parts),
            _ if parts.is_empty() => {}
            _ => turns.push(GeminiTurn { role, parts }),
        }
        after_tools = is_tool;
    }
    turns
}

fn text_part(text: &str) -> Value {
    json!({ "text": text })
}

fn user_parts(user: &UserMessage) -> Vec<GeminiRequestPart<'_>> {
    let mut parts = Vec::with_capacity(1 + user.parts.len());
    if user.parts.is_empty() || !user.text.is_empty() {
        parts.push(text_part(&user.text));
    }
    parts.extend(user.parts.iter().map(|part| match part {
        UserPart::Text(text) => text_part(text),
        UserPart::Media(media) => media_part(media),
    }));
    parts.into_iter().map(GeminiRequestPart::Value).collect()
}

/// Gemini takes any type; which of them a model understands, it says itself.
fn media_part(media: &Media) -> Value {
    match (media.base64(), media.url()) {
        (Some(data), _) => json!({ "inlineData": { "mimeType": media.media_type(), "data": data } }),
        (None, url) => json!({ "fileData": { "mimeType": media.media_type(), "fileUri": url.unwrap_or_default() } }),
    }
}

fn assistant_parts(message: &AssistantMessage) -> Vec<GeminiRequestPart<'_>> {
    let kept = |name: &str| message.provider_data.get(NAME).and_then(|data| data.get(name));
    let mut parts = Vec::with_capacity(1 + message.tool_calls.len());
    let signature = kept(TEXT_SIGNATURE);
    if !message.text.is_empty() || signature.is_some() {
        let mut part = text_part(&message.text);
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.clone();
        }
        parts.push(GeminiRequestPart::Value(part));
    }
    let signatures = kept(CALL_SIGNATURES);
    parts.extend(message.tool_calls.iter().enumerate().map(|(place, call)| GeminiRequestPart::Call {
        function_call: request_call(call),
        thought_signature: signatures.and_then(|signatures| signatures.get(place.to_string())),
    }));
    parts
}

fn request_call(call: &ToolCall) -> GeminiRequestCall<'_> {
    let args = object_or_none(call.arguments.as_str()).unwrap_or_else(|| empty_object());
    GeminiRequestCall { id: &call.id, name: &call.name, args }
}

/// The answer to a call, and its media: within it where the model knows that, else beside it.
fn answer_parts<'a>(answer: &'a ToolAnswer, model: &str) -> Vec<GeminiRequestPart<'a>> {
    let key = if answer.is_error() { "error" } else { "result" };
    let mut response = json!({ "id": &*answer.call_id, "name": &*answer.tool, "response": { key: &*answer.text } });
    let media: Vec<Value> = answer.media.iter().map(media_part).collect();
    let beside = match has_thinking_budgets(model) {
        _ if media.is_empty() => Vec::new(),
        true => media,
        false => {
            response["parts"] = media.into();
            Vec::new()
        }
    };
    std::iter::once(json!({ "functionResponse": response })).chain(beside).map(GeminiRequestPart::Value).collect()
}
