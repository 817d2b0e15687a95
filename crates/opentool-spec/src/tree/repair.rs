//! What people write by hand and JSON does not have: how it is read on, and what it means.

use super::node::Kind;
use crate::json::{JsonString, quoted};

/// A word for true, false or null in another language: the word, its kind, and what JSON writes.
pub(super) fn literal_of_another_language(text: &str) -> Option<(&str, Kind, &'static str)> {
    let word = leading_word(text);
    let (kind, meant) = match word {
        "True" | "TRUE" => (Kind::Bool, "true"),
        "False" | "FALSE" => (Kind::Bool, "false"),
        "None" | "Null" | "NULL" | "nil" | "undefined" => (Kind::Null, "null"),
        _ => return None,
    };
    Some((word, kind, meant))
}

/// A key without quotes.
pub(super) fn bare_key(text: &str) -> Option<&str> {
    let word = leading_word(text);
    let begins = word.starts_with(|first: char| !first.is_ascii_digit());
    (begins && text[word.len()..].trim_start().starts_with(':')).then_some(word)
}

fn leading_word(text: &str) -> &str {
    let end =
        text.find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '_' | '$'))).unwrap_or(text.len());
    &text[..end]
}

/// A string in single quotes that begins at `start`: its end, and what it means; none where that is not sure.
pub(super) fn single_quoted(text: &str, start: usize) -> Option<(usize, String)> {
    let mut escaped = false;
    let mut chars = text[start + 1..].char_indices();
    while let Some((offset, char)) = chars.next() {
        match char {
            '\'' => {
                let raw = &text[start + 1..start + 1 + offset];
                return Some((start + offset + 2, JsonString { raw, escaped }.decode().into_owned()));
            }
            '\\' => {
                escaped = true;
                chars.next().filter(|(_, char)| "\'\"\\/bfnrt".contains(*char))?;
            }
            '\n' | '\r' => return None,
            _ => {}
        }
    }
    None
}

/// A string in double quotes, of one line, that begins at `start` and has control characters: its end, and the same
/// string with escapes for them.
pub(super) fn with_controls(text: &str, start: usize) -> Option<(usize, String)> {
    let mut repaired = String::from("\"");
    let mut chars = text[start + 1..].char_indices();
    while let Some((offset, char)) = chars.next() {
        match char {
            '"' => {
                repaired.push('"');
                let end = start + offset + 2;
                // Whatever else is wrong with it is for the reader to say.
                return serde_json::from_str::<String>(&repaired).is_ok().then_some((end, repaired));
            }
            '\\' => {
                repaired.push('\\');
                repaired.push(chars.next().map(|(_, char)| char).filter(|char| !char.is_control())?);
            }
            '\n' | '\r' => return None,
            char if char.is_ascii_control() && char != '\u{7f}' => {
                let escape = quoted(char.encode_utf8(&mut [0; 4]));
                repaired.push_str(escape.trim_matches('"'));
            }
            char => repaired.push(char),
        }
    }
    None
}
