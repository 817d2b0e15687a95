//! Media that a provider takes in another form, or not at all.

use crate::{ChatError, Media};

/// The error for media in a user message that the provider cannot take.
pub(crate) fn refused_media(provider: &str, media: &Media, takes: &str) -> ChatError {
    let what = match media.name() {
        Some(name) => format!("`{name}` {media}"),
        None => media.to_string(),
    };
    ChatError::setup(format!("{provider} cannot take {what}: it takes {takes}; nothing was sent"))
}

/// A file that is text as a text, for a provider that has no other form for it: its name and what is in it.
pub(crate) fn inlined_text(media: &Media) -> Option<String> {
    let media_type = media.media_type();
    let is_text = media_type.starts_with("text/")
        || matches!(media_type, "application/json" | "application/xml" | "application/yaml" | "application/toml")
        || media_type.ends_with("+json")
        || media_type.ends_with("+xml") && !media_type.starts_with("image/");
    let text = String::from_utf8(is_text.then(|| media.to_bytes())??).ok()?;
    let fence = if text.contains("```") { "~~~~" } else { "```" };
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{}:\n{fence}\n{text}{line_end}{fence}", media.name().unwrap_or(media_type)))
}

/// Says whether every provider takes images of this type.
pub(crate) fn is_common_image(media: &Media) -> bool {
    matches!(media.media_type(), "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

/// The format of a sound as OpenAI names it.
pub(crate) fn audio_format(media: &Media) -> Option<&'static str> {
    match media.media_type() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

/// The name of a file, or one of its type.
pub(crate) fn file_name(media: &Media) -> String {
    match media.name() {
        Some(name) => name.to_owned(),
        None => format!("file.{}", media.media_type().rsplit(['/', '.', '+']).next().unwrap_or("bin")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn text_files_become_texts() {
        let notes = Media::from_bytes("text/markdown", "# Hi").unwrap().with_name("notes.md");
        assert_eq!(inlined_text(&notes).unwrap(), "notes.md:\n```\n# Hi\n```");
        let fenced = Media::from_bytes("application/json", "\"```\"\n").unwrap();
        assert_eq!(inlined_text(&fenced).unwrap(), "application/json:\n~~~~\n\"```\"\n~~~~");
        assert_eq!(inlined_text(&Media::from_bytes("text/plain", [0xff]).unwrap()), None);
        assert_eq!(inlined_text(&Media::from_bytes("image/svg+xml", "<svg/>").unwrap()), None);
        assert_eq!(inlined_text(&Media::from_url("text/plain", "https://a.example/b").unwrap()), None);
    }

    #[test]
    fn a_file_without_a_name_gets_one_of_its_type() {
        assert_eq!(file_name(&Media::from_bytes("application/pdf", "x").unwrap()), "file.pdf");
        assert_eq!(file_name(&Media::from_bytes("text/plain", "x").unwrap().with_name("a.txt")), "a.txt");
    }
}
