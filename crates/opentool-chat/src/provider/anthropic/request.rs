//! Writing requests.

use std::borrow::Cow;

use bytes::Bytes;
use opentool_core::spec::schema::Target;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::block_order::{MessagePart, parts};

use crate::provider::wire::{JsonBody, WireRequest, empty_object, object_or_none};
use crate::{ChatError, ChatOptions, Message, ToolAnswer, ToolChoice};

/// How many tokens an answer may have by default: every model can do that.
const MAX_TOKENS: u32 = 4096;

#[derive(Serialize)]
struct AnthropicTurn<'a> {
    role: &'static str,
    content: Vec<RequestBlock<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RequestBlock<'a> {
    /// A block of thinking, exactly as it came.
    Thinking(&'a Value),
    Text {
        r#type: &'static str,
        text: &'a str,
    },
    ToolUse {
        r#type: &'static str,
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        r#type: &'static str,
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

pub(super) fn write_body(wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
    let WireRequest { model, request, stream, .. } = wire;
    let options = request.options;
    let mut body = JsonBody::new(&options.extra);
    body.put("model", model)?;
    body.put("max_tokens", &options.max_tokens.unwrap_or(MAX_TOKENS))?;
    body.put_some("system", system(request.messages))?;
    body.put("messages", &messages(request.messages))?;
    if !request.tools.is_empty() {
        body.put("tools", request.tools.wire(Target::Anthropic))?;
        body.put_some("tool_choice", tool_choice(options))?;
    }
    body.put_some("temperature", options.temperature)?;
    body.put_some("stop_sequences", options.stop.as_ref().filter(|stop| !stop.is_empty()))?;
    if stream {
        body.put("stream", &true)?;
    }
    body.finish()
}

fn tool_choice(options: &ChatOptions) -> Option<Value> {
    let parallel = options.parallel_tool_calls;
    if options.tool_choice.is_none() && parallel.is_none() {
        return None;
    }
    let mut choice = match options.tool_choice.as_ref().unwrap_or(&ToolChoice::Auto) {
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Named(name) => json!({ "type": "tool", "name": name }),
        ToolChoice::None => return Some(json!({ "type": "none" })),
    };
    if let Some(parallel) = parallel {
        choice["disable_parallel_tool_use"] = json!(!parallel);
    }
    Some(choice)
}

/// The system prompt: the texts of all system messages, in order.
fn system(messages: &[Message]) -> Option<String> {
    let texts: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System(system) if !system.text.trim().is_empty() => Some(&*system.text),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The conversation in turns: the user's messages and the answers of tools have the same role.
fn messages(messages: &[Message]) -> Vec<AnthropicTurn<'_>> {
    let mut turns: Vec<AnthropicTurn<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, blocks) = match message {
            Message::System(_) => continue,
            Message::User(user) => ("user", vec![text(&user.text)]),
            Message::Assistant(assistant) => ("assistant", parts(assistant).into_iter().map(assistant_block).collect()),
            Message::Tool(tool) => ("user", tool.answers.iter().map(result).collect()),
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            // A message without content would be refused.
            _ if blocks.is_empty() => {}
            _ => turns.push(AnthropicTurn { role, content: blocks }),
        }
    }
    turns
}

fn text(text: &str) -> RequestBlock<'_> {
    RequestBlock::Text { r#type: "text", text }
}

fn assistant_block(part: MessagePart<'_>) -> RequestBlock<'_> {
    match part {
        MessagePart::Thought(thought) => RequestBlock::Thinking(thought),
        MessagePart::Text(part) => text(part),
        MessagePart::Call(call) => RequestBlock::ToolUse {
            r#type: "tool_use",
            id: fitting(&call.id),
            name: &call.name,
            input: object_or_none(call.arguments.as_str()).unwrap_or_else(|| empty_object()),
        },
    }
}

fn result(answer: &ToolAnswer) -> RequestBlock<'_> {
    RequestBlock::ToolResult {
        r#type: "tool_result",
        tool_use_id: fitting(&answer.call_id),
        content: &answer.text,
        is_error: answer.is_error(),
    }
}

/// An id of the letters that Anthropic takes; a conversation may have begun with another provider.
fn fitting(id: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    match id.chars().all(fits) {
        true => id.into(),
        false => id.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect(),
    }
}
