//! What is said in a conversation: what the person sends, and messages as the page shows them.

use opentool_chat::{Media, Message, UserMessage, UserPart};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::ApiError;

/// How many files a message may have.
const MAX_ATTACHMENTS: usize = 16;

/// What the page sends to start a turn.
#[derive(Deserialize)]
pub(super) struct TurnBody {
    pub(super) conversation: String,
    pub(super) turn: String,
    text: String,
    #[serde(default)]
    attachments: Vec<Attachment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment {
    name: Option<String>,
    mime_type: String,
    data: String,
}

/// Makes what the model reads of what the person said.
pub(super) fn message(given: &TurnBody) -> Result<UserMessage, ApiError> {
    if given.text.trim().is_empty() && given.attachments.is_empty() {
        return Err(ApiError::invalid_request("the message is empty: write something, or attach a file"));
    }
    if given.attachments.len() > MAX_ATTACHMENTS {
        let message = format!("a message has at most {MAX_ATTACHMENTS} files");
        return Err(ApiError::invalid_request(message));
    }
    given.attachments.iter().try_fold(UserMessage::new(given.text.as_str()), |message, attachment| {
        let media = Media::from_base64(&attachment.mime_type, &attachment.data)
            .map_err(|error| ApiError::invalid_request(format!("a file cannot be attached: {error}")))?;
        Ok(message.with_media(match &attachment.name {
            Some(name) => media.with_name(name.as_str()),
            None => media,
        }))
    })
}

/// A message as the page shows it; none for what the application asks of the model.
pub(super) fn message_form(message: &Message) -> Option<Value> {
    Some(match message {
        Message::User(user) => {
            let attachments = user
                .media()
                .map(|media| json!({ "name": media.name(), "mimeType": media.media_type(), "data": media.base64() }));
            let more = user.parts.iter().filter_map(|part| match part {
                UserPart::Text(text) => Some(&**text),
                _ => None,
            });
            let text = std::iter::once(&*user.text).chain(more).collect::<Vec<_>>().join("\n");
            json!({ "role": "user", "text": text, "attachments": attachments.collect::<Vec<_>>() })
        }
        Message::Assistant(assistant) => {
            let calls = assistant.tool_calls.iter().map(
                |call| json!({ "id": &*call.id, "tool": &*call.name, "arguments": arguments(call.arguments.as_str()) }),
            );
            json!({
                "role": "assistant", "text": &*assistant.text, "reasoning": &*assistant.reasoning,
                "calls": calls.collect::<Vec<_>>(), "failure": assistant.failure.as_deref(),
            })
        }
        Message::Tool(tool) => {
            let answers = tool.answers.iter().map(|answer| {
                json!({ "id": &*answer.call_id, "tool": &*answer.tool, "ok": !answer.is_error(), "text": &*answer.text })
            });
            json!({ "role": "tool", "answers": answers.collect::<Vec<_>>() })
        }
        _ => return None,
    })
}

/// The arguments of a call as JSON, or as a text where they are none.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
