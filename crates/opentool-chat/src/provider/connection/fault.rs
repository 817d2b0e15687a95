//! What a provider says is wrong, in all the shapes in which they say it.

use serde_json::Value;

use super::lenient::text_of;

/// How much of a text that is no answer is repeated in an error.
const EXCERPT: usize = 200;
/// How much of a provider's message is repeated in an error.
const LONGEST: usize = 2000;

/// Why an answer is none.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// The provider says that something is wrong.
    Refused { code: Option<String>, message: String },
    /// Nobody can read it: what is wrong, and what came.
    Unreadable { problem: String, text: String },
}

impl Fault {
    /// What is wrong with a text that should be an answer: what it says itself, or that it cannot be read.
    pub(crate) fn of(text: &str) -> Self {
        Self::told(text).unwrap_or_else(|| Self::unreadable(text))
    }

    /// What the body of an answer that is an error says.
    pub(crate) fn of_refusal(text: &str) -> Self {
        match Self::told(text) {
            Some(fault) => fault,
            None if text.trim().is_empty() => Self::refused(None, ""),
            None => Self::refused(None, &excerpt(text)),
        }
    }

    /// The error that a JSON text tells of, if it does.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let Value::Object(members) = serde_json::from_str(text).ok()? else { return None };
        let code = |value: &Value| ["code", "type", "status"].iter().find_map(|key| text_of(value.get(key)?));
        match members.get("error") {
            // OpenAI, Anthropic and most others.
            Some(error @ Value::Object(_)) => {
                let message = error.get("message").and_then(text_of).unwrap_or_else(|| error.to_string());
                Some(Self::refused(code(error), &message))
            }
            // Ollama.
            Some(Value::String(message)) => Some(Self::refused(None, message)),
            Some(Value::Null) | None => {
                // Servers on FastAPI, and vLLM in some releases.
                let whole = Value::Object(members);
                let is_error = whole.get("object").is_some_and(|object| object == "error");
                let message = match whole.get("detail") {
                    Some(detail) => Some(text_of(detail).unwrap_or_else(|| detail.to_string())),
                    None => {
                        whole.get("message").filter(|_| is_error || whole.get("choices").is_none()).and_then(text_of)
                    }
                };
                message.map(|message| Self::refused(code(&whole).filter(|code| code != "error"), &message))
            }
            Some(other) => Some(Self::refused(None, &other.to_string())),
        }
    }

    pub(crate) fn refused(code: Option<String>, message: &str) -> Self {
        let message = match message.trim() {
            "" => "no reason was given",
            message => message,
        };
        Self::Refused { code, message: message.to_owned() }
    }

    /// An answer is JSON, but lacks what it is about.
    pub(crate) fn without(field: &str, text: &str) -> Self {
        Self::Unreadable { problem: format!("it has no `{field}` and is"), text: text.to_owned() }
    }

    pub(crate) fn unreadable(text: &str) -> Self {
        Self::Unreadable { problem: "it should be JSON and is".to_owned(), text: text.to_owned() }
    }
}

/// The beginning of a message that may be long; what is secret in it must be cut out before, or half of it may remain.
pub(crate) fn beginning(message: &str) -> &str {
    let end = message.char_indices().nth(LONGEST).map_or(message.len(), |(end, _)| end);
    &message[..end]
}

/// The beginning of a text that nobody expected, as far as it helps; what is secret in it must be cut out before.
pub(crate) fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "nothing at all".to_owned();
    }
    if text.starts_with('<') {
        return match title(text) {
            Some(title) => format!("an HTML page with the title {title:?}"),
            None => "an HTML page".to_owned(),
        };
    }
    let end = text.char_indices().nth(EXCERPT).map_or(text.len(), |(end, _)| end);
    format!("{:?}{}", &text[..end], if end < text.len() { " and so on" } else { "" })
}

fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let begin = lower.find("<title>")? + "<title>".len();
    let end = begin + lower[begin..].find("</title>")?;
    let title = page[begin..end].trim();
    (!title.is_empty() && title.len() <= EXCERPT).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: Option<&str>, message: &str) -> Fault {
        Fault::Refused { code: code.map(ToOwned::to_owned), message: message.to_owned() }
    }

    #[test]
    fn every_providers_way_to_say_what_is_wrong_is_understood() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}"#,
                refused(Some("model_not_found"), "no such model"),
            ),
            (r#"{"error":{"code":500,"message":"busy","type":"server_error"}}"#, refused(Some("500"), "busy")),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                refused(Some("overloaded_error"), "Overloaded"),
            ),
            (r#"{"error":"model \"x\" not found"}"#, refused(None, "model \"x\" not found")),
            (r#"{"detail":"Not Found"}"#, refused(None, "Not Found")),
            (r#"{"detail":[{"msg":"field required"}]}"#, refused(None, r#"[{"msg":"field required"}]"#)),
            (
                r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#,
                refused(Some("400"), "too long"),
            ),
            (r#"{"error":{"reason":"x"}}"#, refused(None, r#"{"reason":"x"}"#)),
            (
                "<html><head><TITLE> 502 Bad Gateway </TITLE>",
                refused(None, "an HTML page with the title \"502 Bad Gateway\""),
            ),
            ("upstream connect error", refused(None, "\"upstream connect error\"")),
            (r#"{"error":""}"#, refused(None, "no reason was given")),
            (r#"{"error":{"message":" ","code":7}}"#, refused(Some("7"), "no reason was given")),
            ("", refused(None, "no reason was given")),
        ] {
            assert_eq!(Fault::of_refusal(body), expected, "{body}");
        }
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(beginning(&"é".repeat(5000)).chars().count(), LONGEST);
        assert_eq!(beginning("short"), "short");
    }
}
