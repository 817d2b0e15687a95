//! What is accepted at a glance: the usual text of the usual call.
//!
//! Members in the order of the schema, written as every serialiser writes them, small integers, booleans, and
//! strings without limits. Anything else, right or wrong, is left to the pass that knows it all. This one lives in the
//! registers, which is what makes a check cost less than the call.

use super::{Flat, Numbers, Property, Rule, Scalar, Strings};
use crate::check::cursor::plain_run;

/// How many digits a small integer has at most, which no `i64` is too narrow for.
const SMALL_DIGITS: usize = 18;

/// Integers up to this size are compared as `i64` with bounds worked out beforehand.
pub(super) const MAX_SMALL: i64 = 10_i64.pow(SMALL_DIGITS as u32) - 1;

impl Flat {
    /// Says whether a text is accepted at a glance; one that is not may still be right.
    #[inline]
    pub(in crate::check) fn accepts_at_a_glance(&self, text: &str) -> bool {
        let Some(mut rest) = text.as_bytes().strip_prefix(b"{") else { return false };
        let mut seen = 0_u64;
        for (index, property) in self.properties.iter().enumerate() {
            let Some(value) = after_name(rest, &property.written) else { continue };
            let Some(after) = property.skip_value(after_space(value)) else { return false };
            seen |= 1 << index;
            match after {
                [b',', next @ ..] => rest = after_space(next),
                b"}" => return seen & self.required == self.required,
                _ => return false,
            }
        }
        false
    }
}

impl Property {
    /// What follows a value that satisfies the property.
    #[inline]
    fn skip_value<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let Rule::Scalar(Scalar { boolean, number, string, .. }) = &self.rule else { return None };
        match (text.first()?, number, string) {
            (b'-' | b'0'..=b'9', Some(numbers), _) => numbers.skip(text),
            (b'"', _, Some(strings)) => strings.skip(text),
            (b't', ..) if *boolean => text.strip_prefix(b"true"),
            (b'f', ..) if *boolean => text.strip_prefix(b"false"),
            _ => None,
        }
    }
}

impl Numbers {
    #[inline]
    fn skip<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let (first @ b'0'..=b'9', mut rest) = digits.split_first()? else { return None };
        let mut magnitude = i64::from(first - b'0');
        if magnitude == 0 {
            // `-0` is not this zero, and a digit after it would be one too many, which the caller sees.
            return (!negative && self.low <= 0 && 0 <= self.high).then_some(rest);
        }
        let mut length = 1;
        while let [digit @ b'0'..=b'9', after @ ..] = rest {
            length += 1;
            if length > SMALL_DIGITS {
                return None;
            }
            magnitude = magnitude * 10 + i64::from(digit - b'0');
            rest = after;
        }
        let integer = if negative { -magnitude } else { magnitude };
        // The caller takes neither a fraction nor an exponent after it.
        (self.low <= integer && integer <= self.high).then_some(rest)
    }
}

impl Strings {
    #[inline]
    fn skip<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        if self.min_length > 0 || self.values.is_some() {
            return None;
        }
        let end = plain_run(text, 1);
        match text.get(end..)? {
            // A string has no more code points than bytes.
            [b'"', after @ ..] if end - 1 <= self.max_length => Some(after),
            _ => None,
        }
    }
}

/// What follows a name in a text that begins with it.
///
/// Byte by byte: names are short, and a wider look at a text that was only just copied would wait for the copy.
#[inline]
fn after_name<'t>(text: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let (start, after) = text.split_at_checked(name.len())?;
    start.iter().zip(name).all(|(a, b)| a == b).then_some(after)
}

/// Most models write a space after a colon and a comma.
#[inline]
fn after_space(text: &[u8]) -> &[u8] {
    match text {
        [b' ', after @ ..] => after,
        _ => text,
    }
}
