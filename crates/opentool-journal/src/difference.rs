//! Where two JSON texts differ first: [`Difference`].

use std::fmt;

use opentool_core::spec::json::{pointer, quoted};

use crate::json_text::{Layer, MAX_LAYERS, is_nested, layer};
use crate::redaction::REDACTED;

/// How many characters of a value are shown, and how many before the first that differs.
const SHOWN: usize = 200;
const BEFORE: usize = 30;

/// The first difference between what was recorded and what came.
///
/// The order of members counts for nothing, every digit of a number does, and `[redacted]` in a recorded text stands for any text.
///
/// ```
/// use opentool_journal::Difference;
///
/// let found = Difference::between(r#"{"a":[1,2],"b":"x"}"#, r#"{"b":"x","a":[1,3]}"#).unwrap();
/// assert_eq!(found.to_string(), "at /a/1: expected 2, got 3");
/// assert!(Difference::between(r#"{"key":"[redacted]"}"#, r#"{"key":"hunter2"}"#).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Where it is: a JSON pointer. Where a text is JSON itself, a second one follows after a `#`.
    pub pointer: String,
    /// What was recorded there, as JSON, cut where it is long; none where nothing was.
    pub expected: Option<String>,
    /// What came, as JSON, cut where it is long; none where nothing did.
    pub got: Option<String>,
}

impl Difference {
    /// Compares two JSON texts; none where they mean the same.
    #[must_use]
    pub fn between(expected: &str, got: &str) -> Option<Self> {
        let mut pointer = String::new();
        first(&mut pointer, expected, got, MAX_LAYERS)
    }

    pub(crate) fn at(pointer: &str, expected: Option<&str>, got: Option<&str>) -> Self {
        let cut = |json: &str| excerpt(json, 0);
        Self { pointer: pointer.to_owned(), expected: expected.map(cut), got: got.map(cut) }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(f, "at {pointer}: expected {}, got {}", shown(&self.expected), shown(&self.got))
    }
}

fn first(at: &mut String, expected: &str, got: &str, depth: usize) -> Option<Difference> {
    if expected == got {
        return None;
    }
    let Some(depth) = depth.checked_sub(1) else { return Some(Difference::at(at, Some(expected), Some(got))) };
    let length = at.len();
    match (layer(expected), layer(got)) {
        (Some(Layer::Object(expected)), Some(Layer::Object(got))) => {
            for (name, value) in &expected {
                pointer::push(at, name);
                let other = got.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                let found = match other {
                    Some(other) => first(at, value, other, depth),
                    None => Some(Difference::at(at, Some(value), None)),
                };
                if found.is_some() {
                    return found;
                }
                at.truncate(length);
            }
            let more = got.iter().find(|(name, _)| !expected.iter().any(|(own, _)| own == name));
            more.map(|(name, value)| {
                pointer::push(at, name);
                Difference::at(at, None, Some(value))
            })
        }
        (Some(Layer::Array(expected)), Some(Layer::Array(got))) => {
            for index in 0..expected.len().max(got.len()) {
                pointer::push(at, &index.to_string());
                let found = match (expected.get(index), got.get(index)) {
                    (Some(expected), Some(got)) => first(at, expected, got, depth),
                    (expected, got) => Some(Difference::at(at, expected.copied(), got.copied())),
                };
                if found.is_some() {
                    return found;
                }
                at.truncate(length);
            }
            None
        }
        (Some(Layer::Text(expected)), Some(Layer::Text(got))) => texts(at, &expected, &got, depth),
        (Some(Layer::Word(expected)), Some(Layer::Word(got))) if expected == got => None,
        _ => Some(Difference::at(at, Some(expected), Some(got))),
    }
}

/// Two texts; where both are JSON, what is in them is compared.
fn texts(at: &mut String, expected: &str, got: &str, depth: usize) -> Option<Difference> {
    if expected == got || is_like(expected, got) {
        return None;
    }
    if is_nested(expected) && is_nested(got) {
        let length = at.len();
        at.push('#');
        let found = first(at, expected, got, depth);
        at.truncate(length);
        // Layout and order of what a tool answered are what the model sees: they count.
        return found.or_else(|| Some(differing(at, expected, got)));
    }
    Some(differing(at, expected, got))
}

/// Says whether a text could have been the recorded one before secrets were taken out of it.
fn is_like(expected: &str, got: &str) -> bool {
    let mut parts = expected.split(REDACTED);
    let Some(mut rest) = parts.next().and_then(|first| got.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return false;
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The difference of two texts, each cut around the first character that differs.
fn differing(at: &str, expected: &str, got: &str) -> Difference {
    let same = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| Some(quoted(&excerpt(text, same)));
    Difference { pointer: at.to_owned(), expected: shown(expected), got: shown(got) }
}

/// A text from shortly before a character on, with an ellipsis where it is cut.
fn excerpt(text: &str, around: usize) -> String {
    let start = if text.chars().nth(SHOWN).is_some() { around.saturating_sub(BEFORE) } else { 0 };
    let mut characters = text.chars().skip(start);
    let mut shown: String = if start > 0 { "…".to_owned() } else { String::new() };
    shown.extend(characters.by_ref().take(SHOWN));
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shown(expected: &str, got: &str) -> String {
        Difference::between(expected, got).map_or_else(|| "none".to_owned(), |found| found.to_string())
    }

    #[test]
    fn the_first_difference_has_its_place() {
        assert_eq!(shown(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#), "none");
        assert_eq!(shown(r#"{"a":{"b/c":[1]}}"#, r#"{"a":{"b/c":[2]}}"#), "at /a/b~1c/0: expected 1, got 2");
        assert_eq!(shown("[1]", "[1,2]"), "at /1: expected nothing, got 2");
        assert_eq!(shown(r#"{"a":1}"#, "{}"), "at /a: expected 1, got nothing");
        assert_eq!(shown("{}", r#"{"a":null}"#), "at /a: expected nothing, got null");
        assert_eq!(shown("1", r#""1""#), r#"at the root: expected 1, got "1""#);
        assert_eq!(
            shown("[12345678901234567890123]", "[12345678901234567890124]"),
            "at /0: expected 12345678901234567890123, got 12345678901234567890124"
        );
    }

    #[test]
    fn json_within_a_text_is_looked_into() {
        let expected = r#"{"text":"{\"degrees\":21,\"city\":\"Ulm\"}"}"#;
        let got = r#"{"text":"{\"degrees\":22,\"city\":\"Ulm\"}"}"#;
        assert_eq!(shown(expected, got), "at /text#/degrees: expected 21, got 22");
        let other_order = r#"{"text":"{\"city\":\"Ulm\",\"degrees\":21}"}"#;
        assert!(shown(expected, other_order).starts_with("at /text: expected "));
    }

    #[test]
    fn what_was_redacted_matches_anything_and_nothing_else_does() {
        assert_eq!(shown(r#""key [redacted] and [redacted]!""#, r#""key a b and c!""#), "none");
        assert_eq!(shown(r#""[redacted]""#, r#""""#), "none");
        assert_ne!(shown(r#""key [redacted]""#, r#""no key""#), "none");
        assert_ne!(shown(r#""a [redacted] b""#, r#""a x c""#), "none");
        assert_ne!(shown(r#""plain""#, r#""[redacted]""#), "none");
    }

    #[test]
    fn long_texts_are_cut_around_the_difference() {
        let (a, b) = (format!("{}A{}", "x".repeat(5000), "y".repeat(500)), format!("{}B", "x".repeat(5000)));
        let found = Difference::between(&quoted(&a), &quoted(&b)).unwrap();
        let expected = found.expected.unwrap();
        assert!(
            expected.starts_with("\"…xxx") && expected.contains("xA") && expected.chars().count() < 250,
            "{expected}"
        );
        assert!(found.got.unwrap().ends_with("xB\""));
    }

    #[test]
    fn deep_values_cost_no_stack() {
        let deep = |n: usize, leaf: &str| format!("{}{leaf}{}", "[".repeat(n), "]".repeat(n));
        assert_ne!(shown(&deep(50_000, "1"), &deep(50_000, "2")), "none");
    }
}
