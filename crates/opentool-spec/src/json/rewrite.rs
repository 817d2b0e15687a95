//! A JSON text laid out or written differently, digit by digit as it came.
//!
//! A detour over values would round large numbers and merge equal names. A text that is not JSON comes out with its
//! tokens in order, so that it can still be shown.

use std::borrow::Cow;

use super::{
    lexer::Lexer,
    number::plain_integer,
    string::{quoted, string_end},
};

/// How many levels of objects and arrays are put on lines of their own; what is deeper stays on one line.
///
/// So a line has at most this much indentation, and the laid-out text is at most a constant factor longer than the text.
pub const MAX_INDENTED: usize = 32;

/// Puts the members and elements of a JSON text on lines of their own, as `serde_json`'s pretty printer does, down to
/// [`MAX_INDENTED`] levels.
#[must_use]
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut tokens = Tokens::new(json).peekable();
    let mut after_word = false;
    while let Some(token) = tokens.next() {
        let is_word = !matches!(token, "{" | "[" | "}" | "]" | "," | ":");
        if is_word && after_word {
            out.push(' ');
        }
        after_word = is_word;
        match token {
            "{" | "[" => {
                out.push_str(token);
                if let Some(close) = tokens.next_if(|next| matches!(*next, "}" | "]")) {
                    out.push_str(close);
                } else {
                    depth += 1;
                    break_line(&mut out, depth, "");
                }
            }
            "}" | "]" => {
                if depth <= MAX_INDENTED {
                    break_line(&mut out, depth.saturating_sub(1), "");
                }
                depth = depth.saturating_sub(1);
                out.push_str(token);
            }
            "," => {
                out.push(',');
                break_line(&mut out, depth, " ");
            }
            ":" => out.push_str(": "),
            other => out.push_str(other),
        }
    }
    out
}

/// Begins a line, or where it would be too deep, goes on with `inline`.
fn break_line(out: &mut String, depth: usize, inline: &str) {
    if depth > MAX_INDENTED {
        out.push_str(inline);
        return;
    }
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// A JSON text without layout in which every string stands in the plainest way that means the same.
///
/// What a person is asked about must read as what is run: `"\u0072m"` is `"rm"`. Digits and equal names stay.
#[must_use]
pub fn canonical(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut after_word = false;
    for token in Tokens::new(json) {
        let is_word = !matches!(token, "{" | "[" | "}" | "]" | "," | ":");
        if is_word && after_word {
            out.push(' ');
        }
        after_word = is_word;
        match Lexer::new(token).string() {
            Ok(string) if token.starts_with('"') => out.push_str(&quoted(&string.decode())),
            _ => out.push_str(token),
        }
    }
    out
}

/// A JSON text in which every integer that is written with a fraction or an exponent is written without: `1` for `1.0`,
/// `1000` for `1e3`. Borrowed where there is none.
///
/// JSON Schema counts these as integers, while serde reads them as floats only.
#[must_use]
pub fn plain_integers(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut tokens = Tokens::new(json);
    while let Some(token) = tokens.next() {
        let is_number = token.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number || !(token == "-0" || token.contains(['.', 'e', 'E'])) {
            continue;
        }
        let Some(integer) = plain_integer(token) else { continue };
        out.push_str(&json[copied..tokens.at - token.len()]);
        // serde reads a negative zero as a float too.
        out.push_str(if integer == "-0" { "0" } else { &integer });
        copied = tokens.at;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[copied..]);
    Cow::Owned(out)
}

/// The tokens of a text, however wrong it is: brackets, commas, colons, strings, and runs of anything else.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let is_space = |byte: u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let start = self.at + bytes.get(self.at..)?.iter().position(|byte| !is_space(*byte))?;
        self.at = match bytes.get(start)? {
            b'{' | b'[' | b'}' | b']' | b',' | b':' => start + 1,
            b'"' => string_end(bytes, start),
            _ => {
                let ends = |byte: u8| is_space(byte) || matches!(byte, b'{' | b'[' | b'}' | b']' | b',' | b':' | b'"');
                bytes.iter().skip(start).position(|byte| ends(*byte)).map_or(bytes.len(), |length| start + length)
            }
        };
        self.text.get(start..self.at)
    }
}
