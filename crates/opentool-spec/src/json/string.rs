//! Strings: finding their end, and what they mean.

use std::borrow::Cow;

use super::error::JsonErrorKind;

/// The inside of a JSON string whose escapes are known to be sound, not yet decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonString<'t> {
    /// The text between the quotes.
    pub raw: &'t str,
    /// Whether some of it is an escape.
    pub escaped: bool,
}

impl<'t> JsonString<'t> {
    /// The string that is meant, borrowed where nothing is escaped.
    #[inline]
    #[must_use]
    pub fn decode(self) -> Cow<'t, str> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }
}

fn unescape(raw: &str) -> String {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        decoded.push_str(plain);
        let (meant, length) = decode_escape(escape);
        decoded.push(meant);
        rest = escape.get(length..).unwrap_or_default();
    }
    decoded.push_str(rest);
    decoded
}

/// The character that an escape means and the escape's length, both without the backslash.
fn decode_escape(escape: &str) -> (char, usize) {
    let unit = |start| hex_unit(escape.as_bytes(), start).ok();
    match escape.as_bytes().first() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => match (unit(1), unit(7)) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                let scalar = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
            }
            (first, _) => (first.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), 5),
        },
        Some(&byte) => (char::from(byte), 1),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

/// The end of the escape, or of the two of a surrogate pair, whose backslash stands at `start`.
pub(super) fn escape_end(bytes: &[u8], start: usize) -> Result<usize, (usize, JsonErrorKind)> {
    match bytes.get(start + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(start + 2),
        Some(b'u') => {}
        _ => return Err((start, JsonErrorKind::Escape)),
    }
    let hex = |at| hex_unit(bytes, at).map_err(|at| (at, JsonErrorKind::HexDigits));
    match hex(start + 2)? {
        0xD800..=0xDBFF if bytes.get(start + 6..start + 8) == Some(br"\u") => match hex(start + 8)? {
            0xDC00..=0xDFFF => Ok(start + 12),
            _ => Err((start, JsonErrorKind::Surrogate)),
        },
        0xD800..=0xDFFF => Err((start, JsonErrorKind::Surrogate)),
        _ => Ok(start + 6),
    }
}

/// The number that four hexadecimal digits from `start` are, or where one is missing.
fn hex_unit(bytes: &[u8], start: usize) -> Result<u32, usize> {
    (start..start + 4).try_fold(0, |unit, at| {
        let digit = bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16)).ok_or(at)?;
        Ok(unit * 16 + digit)
    })
}

/// The end of the run of bytes from `at` that are neither quote, backslash nor control character.
///
/// Eight bytes at a time: long texts are most of what is read (the benchmark `check` of opentool-core, "a text of 100
/// kB", and `documents` of this crate).
#[inline]
pub(super) fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    // The high bit of a byte of `word.wrapping_sub(ONES * n) & !word` is set where that byte is below `n`; a borrow may
    // set it above such a byte too, never without one. So the lowest bit that is set is right.
    while let Some(&chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let special = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        let special = special & HIGHS;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        at += 1;
    }
    at
}

/// The end of the string that opens at `start`, whatever it holds: after its closing quote, else the end of the text.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        at = plain_run(bytes, at);
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// How far the inside of a string from `start` is sound: up to its closing quote, a control character, an escape that is damaged or
/// not whole, or the end of the text.
pub(super) fn sound_end(bytes: &[u8], start: usize) -> usize {
    let mut at = plain_run(bytes, start);
    while bytes.get(at) == Some(&b'\\')
        && let Ok(end) = escape_end(bytes, at)
    {
        at = plain_run(bytes, end);
    }
    at
}

/// A text as a JSON string, with its quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
