//! What the user says, in parts.

use serde::Serialize;
use serde_json::{Value, json};

use crate::provider::wire::{audio_format, file_name, inlined_text, is_common_image, refused_media};
use crate::{ChatError, Media, MediaKind, UserMessage, UserPart};

/// The content of a message: a text, or parts.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OpenAiContent<'a> {
    Text(&'a str),
    Parts(Vec<Value>),
}

/// What a provider takes, and where only OpenAI itself is known to refuse the rest.
pub(super) fn user_content<'a>(
    user: &'a UserMessage,
    provider: &str,
    is_openai: bool,
) -> Result<OpenAiContent<'a>, ChatError> {
    if user.parts.is_empty() {
        return Ok(OpenAiContent::Text(&user.text));
    }
    let text = |text: &str| json!({ "type": "text", "text": text });
    let mut parts = Vec::with_capacity(1 + user.parts.len());
    if !user.text.is_empty() {
        parts.push(text(&user.text));
    }
    for part in &user.parts {
        parts.push(match part {
            UserPart::Text(part) => text(part),
            UserPart::Media(media) => media_part(media, is_openai).ok_or_else(|| {
                let takes = "images (PNG, JPEG, GIF, WebP; also by URL), WAV and MP3 audio, PDF and text files";
                refused_media(provider, media, takes)
            })?,
        });
    }
    Ok(OpenAiContent::Parts(parts))
}

fn media_part(media: &Media, is_openai: bool) -> Option<Value> {
    match media.kind() {
        // Other servers may know more kinds of images.
        MediaKind::Image if is_common_image(media) || !is_openai => {
            Some(json!({ "type": "image_url", "image_url": { "url": media.to_url() } }))
        }
        MediaKind::Audio => {
            let input = json!({ "data": media.base64()?, "format": audio_format(media)? });
            Some(json!({ "type": "input_audio", "input_audio": input }))
        }
        MediaKind::File if media.media_type() == "application/pdf" => {
            media.base64()?;
            let file = json!({ "filename": file_name(media), "file_data": media.to_url() });
            Some(json!({ "type": "file", "file": file }))
        }
        _ => inlined_text(media).map(|text| json!({ "type": "text", "text": text })),
    }
}
