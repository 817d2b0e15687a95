//! Messages in the shape that OpenTelemetry's conventions have for spans.

use serde_json::{Value, json};

use crate::generation::Generation;
use crate::message::{AssistantMessage, Message};

/// The messages that a model is sent.
pub(super) fn messages(messages: &[Message]) -> String {
    messages.iter().map(message).collect::<Value>().to_string()
}

/// What a model answers.
pub(super) fn answers(generations: &[Generation]) -> String {
    let answer = |generation: &Generation| {
        let (parts, reason) = (parts(&generation.message), generation.finish_reason.as_str());
        json!({ "role": "assistant", "parts": parts, "finish_reason": reason })
    };
    generations.iter().map(answer).collect::<Value>().to_string()
}

fn message(message: &Message) -> Value {
    let parts = match message {
        Message::System(_) | Message::User(_) => vec![text("text", message.text())],
        Message::Assistant(message) => parts(message),
        Message::Tool(message) => {
            let answers = message.answers.iter();
            let part = |id: &str, text: &str| json!({ "type": "tool_call_response", "id": id, "response": text });
            answers.map(|answer| part(&answer.call_id, &answer.text)).collect()
        }
    };
    json!({ "role": message.role(), "parts": parts })
}

fn parts(message: &AssistantMessage) -> Vec<Value> {
    let texts = [("reasoning", &message.reasoning), ("text", &message.text)];
    let texts = texts.into_iter().filter(|(_, content)| !content.is_empty()).map(|(kind, content)| text(kind, content));
    let calls = message.tool_calls.iter().map(|call| {
        // Arguments are a value where a model wrote one, else what it wrote.
        let written = call.arguments.as_str();
        let arguments: Value = serde_json::from_str(written).unwrap_or_else(|_| written.into());
        json!({ "type": "tool_call", "id": *call.id, "name": *call.name, "arguments": arguments })
    });
    texts.chain(calls).collect()
}

fn text(kind: &str, content: &str) -> Value {
    json!({ "type": kind, "content": content })
}
