//! The errors of providers, in all the shapes in which they are sent: [`WireError`].

use std::time::Duration;

use serde_json::Value;

use super::lenient::text_of;

/// How many characters of an unreadable text are repeated in an error.
const MAX_EXCERPT: usize = 200;
/// How many characters of a provider's message are repeated in an error.
const MAX_MESSAGE: usize = 2000;

/// Why a body is no answer.
#[derive(Debug, PartialEq)]
pub enum WireError {
    /// The provider reports an error.
    Reported {
        /// The provider's own code.
        code: Option<String>,
        /// The provider's message.
        message: String,
    },
    /// The body cannot be read.
    Unreadable {
        /// What is wrong with it.
        problem: String,
        /// The body.
        text: String,
    },
}

impl WireError {
    /// The error in a body that should be an answer: the one it reports, or that it cannot be read.
    pub(crate) fn from_body(text: &str) -> Self {
        Self::reported_in(text).unwrap_or_else(|| Self::unreadable(text))
    }

    /// The error in the body of a response with an error status.
    pub(crate) fn from_error_body(text: &str) -> Self {
        match Self::reported_in(text) {
            Some(error) => error,
            None if text.trim().is_empty() => Self::reported(None, ""),
            None => Self::reported(None, &excerpt(text)),
        }
    }

    /// The error that a JSON text reports, if it does.
    pub(crate) fn reported_in(text: &str) -> Option<Self> {
        let Value::Object(members) = serde_json::from_str(text).ok()? else { return None };
        match members.get("error") {
            // OpenAI, Anthropic and most others.
            Some(error @ Value::Object(_)) => Some(Self::from_value(error)),
            // Ollama.
            Some(Value::String(message)) => Some(Self::reported(None, message)),
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
                message.map(|message| Self::reported(error_code(&whole).filter(|code| code != "error"), &message))
            }
            Some(other) => Some(Self::reported(None, &other.to_string())),
        }
    }

    /// The error in a value that is one.
    pub(crate) fn from_value(error: &Value) -> Self {
        let message = error.get("message").and_then(text_of).unwrap_or_else(|| error.to_string());
        Self::reported(error_code(error), &message)
    }

    pub(crate) fn reported(code: Option<String>, message: &str) -> Self {
        let message = match message.trim() {
            "" => "no reason was given",
            message => message,
        };
        Self::Reported { code, message: message.to_owned() }
    }

    /// A body is JSON, but lacks the member that makes it an answer.
    pub(crate) fn missing(field: &str, text: &str) -> Self {
        Self::Unreadable { problem: format!("it has no `{field}` and is"), text: text.to_owned() }
    }

    pub(crate) fn unreadable(text: &str) -> Self {
        Self::Unreadable { problem: "it should be JSON and is".to_owned(), text: text.to_owned() }
    }
}

fn error_code(error: &Value) -> Option<String> {
    ["code", "type", "status"].iter().find_map(|key| text_of(error.get(key)?))
}

/// How long to wait, where the body of an error says so: Google has no header for it.
pub(crate) fn retry_delay(text: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(text).ok()?;
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// The beginning of a message that may be long; secrets must be redacted before, or half of one may remain.
pub(crate) fn shortened(message: &str) -> &str {
    let end = message.char_indices().nth(MAX_MESSAGE).map_or(message.len(), |(end, _)| end);
    &message[..end]
}

/// The beginning of an unexpected text, as far as it helps; secrets must be redacted before.
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
    let is_binary = |letter: char| letter == '\u{fffd}' || (letter.is_control() && !letter.is_whitespace());
    if text.chars().take(MAX_EXCERPT).filter(|letter| is_binary(*letter)).count() > 3 {
        return "no text".to_owned();
    }
    let end = text.char_indices().nth(MAX_EXCERPT).map_or(text.len(), |(end, _)| end);
    format!("{:?}{}", &text[..end], if end < text.len() { " and so on" } else { "" })
}

fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let begin = lower.find("<title>")? + "<title>".len();
    let end = begin + lower[begin..].find("</title>")?;
    let title = page[begin..end].trim();
    (!title.is_empty() && title.len() <= MAX_EXCERPT).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(code: Option<&str>, message: &str) -> WireError {
        WireError::Reported { code: code.map(ToOwned::to_owned), message: message.to_owned() }
    }

    #[test]
    fn every_provider_s_shape_of_an_error_is_read() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}"#,
                reported(Some("model_not_found"), "no such model"),
            ),
            (r#"{"error":{"code":500,"message":"busy","type":"server_error"}}"#, reported(Some("500"), "busy")),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                reported(Some("overloaded_error"), "Overloaded"),
            ),
            (r#"{"error":"model \"x\" not found"}"#, reported(None, "model \"x\" not found")),
            (r#"{"detail":"Not Found"}"#, reported(None, "Not Found")),
            (r#"{"detail":[{"msg":"field required"}]}"#, reported(None, r#"[{"msg":"field required"}]"#)),
            (
                r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#,
                reported(Some("400"), "too long"),
            ),
            (r#"{"error":{"reason":"x"}}"#, reported(None, r#"{"reason":"x"}"#)),
            (
                "<html><head><TITLE> 502 Bad Gateway </TITLE>",
                reported(None, "an HTML page with the title \"502 Bad Gateway\""),
            ),
            ("upstream connect error", reported(None, "\"upstream connect error\"")),
            (r#"{"error":""}"#, reported(None, "no reason was given")),
            (r#"{"error":{"message":" ","code":7}}"#, reported(Some("7"), "no reason was given")),
            ("", reported(None, "no reason was given")),
            ("\u{1f}\u{fffd}\u{8}\0\0\0\0\u{3}\u{fffd}V*I", reported(None, "no text")),
        ] {
            assert_eq!(WireError::from_error_body(body), expected, "{body}");
        }
    }

    #[test]
    fn the_wait_in_the_body_of_an_error_is_read() {
        let body =
            |delay| format!(r#"{{"error":{{"code":429,"details":[{{"@type":"x"}},{{"retryDelay":{delay}}}]}}}}"#);
        assert_eq!(retry_delay(&body(r#""34.5s""#)), Some(Duration::from_millis(34_500)));
        for delay in [r#""34""#, r#""-1s""#, "34", r#""s""#] {
            assert_eq!(retry_delay(&body(delay)), None, "{delay}");
        }
        assert_eq!(retry_delay("busy"), None);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(5000)).chars().count(), MAX_MESSAGE);
        assert_eq!(shortened("short"), "short");
    }
}
