//! Writing requests.

use bytes::Bytes;
use opentool_core::ToolCall;
use opentool_core::spec::schema::Dialect;
use serde_json::{Map, Value, json};

use super::data::NAME;
use crate::provider::wire::{
    JsonBody, MessagePart, WireRequest, file_name, inlined_text, is_common_image, message_parts, object_or_none,
    refused_media,
};
use crate::{
    AssistantMessage, ChatError, ChatOptions, Media, MediaKind, Message, ToolAnswer, ToolChoice, UserMessage, UserPart,
};

/// Writes the body of a request.
pub(super) struct ResponsesBody {
    pub(super) strict: bool,
    /// Whether OpenAI itself is asked, and not a server with the same interface.
    pub(super) is_openai: bool,
}

impl ResponsesBody {
    pub(super) fn write(&self, wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
        let WireRequest { model, request, stream, .. } = wire;
        let options = request.options;
        let mut body = JsonBody::new(&options.extra);
        body.put("model", model)?;
        body.put("input", &input(request.messages)?)?;
        // The conversation is ours: nothing needs to be kept elsewhere.
        body.put("store", &false)?;
        if self.is_openai && is_reasoning_model(model) {
            // What is not stored must come along, or the model forgets its thoughts between two calls.
            body.put("include", &json!(["reasoning.encrypted_content"]))?;
        }
        if !request.tools.is_empty() {
            body.put("tools", request.tools.flat_wire(self.strict))?;
            body.put_some("tool_choice", options.tool_choice.as_ref().map(tool_choice))?;
            body.put_some("parallel_tool_calls", options.parallel_tool_calls)?;
        }
        body.put_some("text", text_format(options))?;
        body.put_some("reasoning", reasoning(options))?;
        body.put_some("temperature", options.temperature)?;
        body.put_some("max_output_tokens", options.max_tokens)?;
        if options.stop.as_ref().is_some_and(|stop| !stop.is_empty()) {
            tracing::debug!(target: "opentool::chat", "the Responses API has no stop sequences");
        }
        if stream {
            body.put("stream", &true)?;
        }
        body.finish()
    }
}

/// Says whether a model of OpenAI thinks before it answers; the others refuse to be asked for encrypted reasoning.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let is_older = ["gpt-3", "gpt-4", "chatgpt", "ft:gpt-3", "ft:gpt-4"].iter().any(|prefix| model.starts_with(prefix));
    !is_older && !model.contains("-chat")
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({ "type": "function", "name": name }),
    }
}

fn text_format(options: &ChatOptions) -> Option<Value> {
    let format = options.response_format.as_ref()?;
    let adapted = format.adapted(if format.strict { Dialect::OpenAiStrict } else { Dialect::OpenAi });
    let mut written =
        json!({ "type": "json_schema", "name": format.name, "schema": adapted.schema, "strict": adapted.strict });
    if let Some(description) = &format.description {
        written["description"] = json!(description);
    }
    Some(json!({ "format": written }))
}

fn reasoning(options: &ChatOptions) -> Option<Value> {
    match (options.reasoning_effort, options.reasoning_budget) {
        (Some(effort), _) => Some(json!({ "effort": effort })),
        (None, Some(0)) => Some(json!({ "effort": "none" })),
        (None, Some(_)) => {
            tracing::debug!(target: "opentool::chat", "the Responses API has no reasoning budget");
            None
        }
        (None, None) => None,
    }
}

/// The conversation as a list of items: messages, calls, their outputs, and the model's reasoning.
fn input(messages: &[Message]) -> Result<Vec<Value>, ChatError> {
    let mut items = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::System(system) => items.push(json!({ "role": "system", "content": &*system.text })),
            Message::User(user) => items.push(json!({ "role": "user", "content": user_content(user)? })),
            Message::Assistant(assistant) => items.extend(assistant_items(assistant)),
            Message::Tool(tool) => items.extend(tool.answers.iter().map(output)),
        }
    }
    Ok(items)
}

fn assistant_items(message: &AssistantMessage) -> impl Iterator<Item = Value> {
    message_parts(message, NAME).into_iter().map(|part| match part {
        MessagePart::Thought(item) => item.clone(),
        MessagePart::Text(text) => json!({ "role": "assistant", "content": text }),
        MessagePart::Call(call) => call_item(call),
    })
}

fn call_item(call: &ToolCall) -> Value {
    let arguments = object_or_none(call.arguments.as_str()).map_or("{}", |object| object.get());
    json!({ "type": "function_call", "call_id": &*call.id, "name": &*call.name, "arguments": arguments })
}

fn output(answer: &ToolAnswer) -> Value {
    // What cannot be taken is named in the text.
    let media: Vec<Value> = answer.media.iter().filter_map(media_part).collect();
    let output = match media.is_empty() {
        true => json!(&*answer.text),
        false => std::iter::once(text_part(&answer.text)).chain(media).collect(),
    };
    json!({ "type": "function_call_output", "call_id": &*answer.call_id, "output": output })
}

fn user_content(user: &UserMessage) -> Result<Value, ChatError> {
    if user.parts.is_empty() {
        return Ok(json!(&*user.text));
    }
    let mut parts = Vec::with_capacity(1 + user.parts.len());
    if !user.text.is_empty() {
        parts.push(text_part(&user.text));
    }
    for part in &user.parts {
        parts.push(match part {
            UserPart::Text(text) => text_part(text),
            UserPart::Media(media) => media_part(media).ok_or_else(|| {
                let takes = "images (PNG, JPEG, GIF, WebP) and files (PDF, texts, office documents)";
                refused_media(NAME, media, takes)
            })?,
        });
    }
    Ok(parts.into())
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn media_part(media: &Media) -> Option<Value> {
    match media.kind() {
        MediaKind::Image if is_common_image(media) => {
            Some(json!({ "type": "input_image", "image_url": media.to_url(), "detail": "auto" }))
        }
        // Sounds are for the other interface.
        MediaKind::Image | MediaKind::Audio => None,
        MediaKind::File if media.media_type().starts_with("video/") => None,
        MediaKind::File => {
            if let Some(text) = inlined_text(media) {
                return Some(text_part(&text));
            }
            let mut file = Map::from_iter([("type".to_owned(), json!("input_file"))]);
            match media.url() {
                Some(url) => file.insert("file_url".to_owned(), url.into()),
                None => {
                    file.insert("filename".to_owned(), file_name(media).into());
                    file.insert("file_data".to_owned(), media.to_url().into())
                }
            };
            Some(file.into())
        }
    }
}
