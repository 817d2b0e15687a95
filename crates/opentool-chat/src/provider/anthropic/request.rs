//! Writing requests.

use std::borrow::Cow;

use bytes::Bytes;
use opentool_core::spec::schema::{Dialect, Target};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::data::NAME;
use crate::provider::wire::{
    JsonBody, MessagePart, WireRequest, empty_object, inlined_text, is_common_image, message_parts, object_or_none,
    refused_media,
};
use crate::{ChatError, ChatOptions, Media, Message, ReasoningEffort, ToolAnswer, ToolChoice, UserMessage, UserPart};

/// How many tokens an answer may have by default: every model can do that.
const MAX_TOKENS: u32 = 4096;
/// The smallest budget for thinking that is accepted.
const MIN_BUDGET: u32 = 1024;

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
    /// An image or a document.
    Media(Value),
    Text {
        r#type: &'static str,
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
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
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<RequestBlock<'a>>),
}

/// What is before the mark, and up to it, is cached.
#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { r#type: "ephemeral" };

/// Writes the body of a request.
pub(super) struct AnthropicBody {
    pub(super) prompt_caching: bool,
}

impl AnthropicBody {
    pub(super) fn write(&self, wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
        let WireRequest { model, request, stream, .. } = wire;
        let options = request.options;
        let schema = answer_schema(options);
        let thinking = thinking(options);
        let mut body = JsonBody::new(&options.extra);
        body.put("model", model)?;
        body.put("max_tokens", &max_tokens(options))?;
        body.put_some("system", self.system(request.messages, schema.as_ref()))?;
        body.put("messages", &messages(request.messages)?)?;
        if !request.tools.is_empty() {
            let tools = request.tools.wire(Target::Anthropic);
            match self.prompt_caching.then(|| marked(tools)).flatten() {
                Some(marked) => body.put("tools", &marked)?,
                None => body.put("tools", tools)?,
            }
            body.put_some("tool_choice", tool_choice(options))?;
        }
        body.put_some("thinking", thinking)?;
        body.put_some("output_config", output_config(options, schema))?;
        body.put_some("temperature", options.temperature)?;
        body.put_some("stop_sequences", options.stop.as_ref().filter(|stop| !stop.is_empty()))?;
        if stream {
            body.put("stream", &true)?;
        }
        body.finish()
    }

    /// The system prompt: the texts of all system messages, in order, and what the wire has no other place for.
    fn system<'a>(&self, messages: &'a [Message], schema: Option<&AnswerSchema>) -> Option<Vec<RequestBlock<'a>>> {
        let texts = messages.iter().filter_map(|message| match message {
            Message::System(system) if !system.text.trim().is_empty() => Some(Cow::from(&*system.text)),
            _ => None,
        });
        let asked = match schema {
            Some(AnswerSchema::InWords(text)) => Some(Cow::from(text.clone())),
            _ => None,
        };
        let texts: Vec<Cow<'_, str>> = texts.chain(asked).collect();
        let text = match texts.len() {
            0 => return None,
            1 => texts.into_iter().next().unwrap_or_default(),
            _ => texts.join("\n\n").into(),
        };
        let cache_control = self.prompt_caching.then_some(EPHEMERAL);
        Some(vec![RequestBlock::Text { r#type: "text", text, cache_control }])
    }
}

/// How the model is held to the form of the answer.
enum AnswerSchema {
    /// By the wire.
    Enforced(Value),
    /// By words, since the wire takes only closed objects, and no types that contain themselves.
    InWords(String),
}

fn answer_schema(options: &ChatOptions) -> Option<AnswerSchema> {
    let format = options.response_format.as_ref()?;
    let adapted = format.adapted(Dialect::AnthropicStrict);
    Some(match adapted.strict {
        true => AnswerSchema::Enforced(adapted.schema),
        false => AnswerSchema::InWords(format!(
            "Answer with JSON that follows this JSON Schema, and with nothing else:\n{}",
            format.schema
        )),
    })
}

fn output_config(options: &ChatOptions, schema: Option<AnswerSchema>) -> Option<Value> {
    let mut config = Map::new();
    let effort = match options.reasoning_effort {
        None | Some(ReasoningEffort::None) => None,
        Some(ReasoningEffort::Minimal) => Some(ReasoningEffort::Low),
        other => other,
    };
    if let Some(effort) = effort {
        config.insert("effort".to_owned(), effort.as_str().into());
    }
    if let Some(AnswerSchema::Enforced(schema)) = schema {
        config.insert("format".to_owned(), json!({ "type": "json_schema", "schema": schema }));
    }
    (!config.is_empty()).then_some(config.into())
}

/// Whether and how much the model thinks; a budget says more than an effort.
fn thinking(options: &ChatOptions) -> Option<Value> {
    match (options.reasoning_budget, options.reasoning_effort) {
        (Some(0), _) | (None, Some(ReasoningEffort::None)) => Some(json!({ "type": "disabled" })),
        (Some(budget), _) => Some(json!({ "type": "enabled", "budget_tokens": budget.max(MIN_BUDGET) })),
        (None, Some(_)) => Some(json!({ "type": "adaptive" })),
        (None, None) => None,
    }
}

/// The limit of an answer, which must have room for the thinking.
fn max_tokens(options: &ChatOptions) -> u32 {
    let budget = options.reasoning_budget.filter(|budget| *budget > 0).map_or(0, |budget| budget.max(MIN_BUDGET));
    options.max_tokens.unwrap_or(MAX_TOKENS.saturating_add(budget))
}

/// A list of tools whose last has a mark: everything up to it is cached.
fn marked(tools: &RawValue) -> Option<Box<RawValue>> {
    // The list is text already, and is not read again.
    let rest = tools.get().strip_suffix("}]")?;
    RawValue::from_string(format!("{rest},\"cache_control\":{{\"type\":\"ephemeral\"}}}}]")).ok()
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

/// The conversation in turns: the user's messages and the answers of tools have the same role.
fn messages(messages: &[Message]) -> Result<Vec<AnthropicTurn<'_>>, ChatError> {
    let mut turns: Vec<AnthropicTurn<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, blocks) = match message {
            Message::System(_) => continue,
            Message::User(user) => ("user", user_blocks(user)?),
            Message::Assistant(assistant) => {
                ("assistant", message_parts(assistant, NAME).into_iter().map(assistant_block).collect())
            }
            Message::Tool(tool) => ("user", tool.answers.iter().map(result).collect()),
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            // A message without content would be refused.
            _ if blocks.is_empty() => {}
            _ => turns.push(AnthropicTurn { role, content: blocks }),
        }
    }
    Ok(turns)
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> RequestBlock<'a> {
    RequestBlock::Text { r#type: "text", text: text.into(), cache_control: None }
}

fn user_blocks(user: &UserMessage) -> Result<Vec<RequestBlock<'_>>, ChatError> {
    let mut blocks = Vec::with_capacity(1 + user.parts.len());
    // A blank text would be refused beside something else.
    if user.parts.is_empty() || !user.text.trim().is_empty() {
        blocks.push(text(&*user.text));
    }
    for part in &user.parts {
        blocks.push(match part {
            UserPart::Text(part) => text(&**part),
            UserPart::Media(media) => {
                let takes = "images (PNG, JPEG, GIF, WebP), PDF files and text files";
                media_block(media).ok_or_else(|| refused_media(NAME, media, takes))?
            }
        });
    }
    Ok(blocks)
}

/// An image or a document; none if Anthropic cannot take it.
fn media_block(media: &Media) -> Option<RequestBlock<'static>> {
    let source = || match (media.base64(), media.url()) {
        (Some(data), _) => json!({ "type": "base64", "media_type": media.media_type(), "data": data }),
        (None, url) => json!({ "type": "url", "url": url.unwrap_or_default() }),
    };
    if is_common_image(media) {
        return Some(RequestBlock::Media(json!({ "type": "image", "source": source() })));
    }
    let mut document = match media.media_type() {
        "application/pdf" => json!({ "type": "document", "source": source() }),
        "text/plain" => {
            let data = String::from_utf8(media.to_bytes()?).ok()?;
            json!({ "type": "document", "source": { "type": "text", "media_type": "text/plain", "data": data } })
        }
        _ => return inlined_text(media).map(text),
    };
    if let Some(name) = media.name() {
        document["title"] = name.into();
    }
    Some(RequestBlock::Media(document))
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
    // What cannot be taken is named in the text.
    let media: Vec<_> = answer.media.iter().filter_map(media_block).collect();
    let content = match media.is_empty() {
        true => ResultContent::Text(&answer.text),
        false => ResultContent::Blocks(std::iter::once(text(&*answer.text)).chain(media).collect()),
    };
    RequestBlock::ToolResult {
        r#type: "tool_result",
        tool_use_id: fitting(&answer.call_id),
        content,
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
