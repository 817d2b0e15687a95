//! How one argument is read from the text.

use opentool_core::check::text::{Cursor, MAX_DEPTH, Malformed, Quantity, Quoted};

use super::words::{name_of, scalar};
use crate::encoding::Encoding;
use crate::frame::Slot;
use crate::plan::{Machine, Passing, Seen, Value};

/// The largest double up to which every integer is one.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The most characters that the token of a handle may have.
const LONGEST_TOKEN: usize = 512;

/// Why an argument was not read.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is not JSON.
    Syntax(Malformed),
    /// It does not fit; `path` leads to the place within it.
    Value { path: String, message: String },
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Refusal::Syntax(malformed)
    }
}

type Read<T = ()> = Result<T, Refusal>;

#[cold]
fn refuse<T>(message: impl Into<String>) -> Read<T> {
    Err(Refusal::Value { path: String::new(), message: message.into() })
}

/// Says what was expected instead of the value that begins at `start`.
#[cold]
fn expected<T>(what: &str, cursor: &mut Cursor<'_>, start: usize) -> Read<T> {
    if cursor.at() == start {
        skip_value(cursor)?;
    }
    refuse(format!("expected {what}, got {}", name_of(cursor.since(start))))
}

/// Reads the value of a parameter into its slot.
#[inline]
pub(super) fn read_value(passing: &Passing, cursor: &mut Cursor<'_>, slot: &mut Slot) -> Read {
    match passing {
        Passing::Value(value) | Passing::Cell { value, .. } => {
            slot.word = read_scalar(*value, cursor)?;
            Ok(())
        }
        Passing::Text { encoding, count } => read_text(*encoding, count.is_some(), cursor, slot),
        Passing::Array { element, .. } => read_array(*element, cursor, slot),
        Passing::Handle { .. } => read_handle(cursor, slot),
        Passing::TextOut { .. } | Passing::ArrayOut { .. } | Passing::HandleOut { .. } => {
            // As with an unknown argument: it is none, and whatever stands there means nothing.
            skip_value(cursor)?;
            Ok(())
        }
    }
}

#[inline]
pub(super) fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The word of an integer of a few digits that is all there is up to a comma or brace, and where it ends. None says
/// nothing: whoever looks closely has the last word.
#[inline]
pub(super) fn short_integer(value: Value, bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    if value.seen != Seen::Number || matches!(value.machine, Machine::Bool | Machine::F32 | Machine::F64) {
        return None;
    }
    let negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let (mut at, mut magnitude) = (first, 0_u64);
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    // Eighteen digits do not overflow; a zero in front is for the closer look.
    let digits = at - first;
    let is_whole = matches!(bytes.get(at), Some(b',' | b'}'));
    if !is_whole || !(1..=18).contains(&digits) || (digits > 1 && bytes[first] == b'0') {
        return None;
    }
    let (least, most) = value.machine.bounds();
    let bits = if negative {
        let integer = 0_i64.checked_sub_unsigned(magnitude).filter(|integer| *integer >= least)?;
        integer.cast_unsigned()
    } else if magnitude <= most {
        magnitude
    } else {
        return None;
    };
    Some((value.machine.word_of_integer(bits), at))
}

/// Reads a scalar as the word that is passed.
#[inline]
fn read_scalar(value: Value, cursor: &mut Cursor<'_>) -> Read<u64> {
    match cursor.peek() {
        Some(b'-' | b'0'..=b'9') => read_number(value, cursor),
        Some(b'"') => read_quoted(value, cursor),
        Some(first @ (b't' | b'f')) if value.seen == Seen::Boolean || value.machine == Machine::Bool => {
            cursor.literal(if first == b't' { "true" } else { "false" })?;
            Ok(value.machine.word_of_integer(u64::from(first == b't')))
        }
        _ => expected(scalar(value), cursor, cursor.at()),
    }
}

#[inline]
fn read_number(value: Value, cursor: &mut Cursor<'_>) -> Read<u64> {
    let start = cursor.at();
    let number = cursor.number()?;
    match value.machine {
        Machine::F64 => Ok(match number.quantity {
            Quantity::Double(double) => double,
            // To the nearest, as every other number.
            Quantity::Unsigned(integer) => integer as f64,
            Quantity::Signed(integer) => integer as f64,
        }
        .to_bits()),
        // From the text: by way of a double it could be rounded twice.
        Machine::F32 => match number.text.parse::<f32>() {
            Ok(float) if float.is_finite() => Ok(Machine::word_of_f32(float)),
            _ => refuse(format!("expected a number that fits `float`, at most 3.4028235e38, got {}", number.text)),
        },
        machine => {
            let (least, most) = if value.seen == Seen::Boolean { (0, 1) } else { machine.bounds() };
            let within = match number.quantity {
                Quantity::Unsigned(integer) if integer <= most => Some(integer),
                Quantity::Signed(integer) if integer >= least => Some(integer.cast_unsigned()),
                Quantity::Double(double) => integral(double, least, most),
                _ => None,
            };
            match within {
                Some(bits) => Ok(machine.word_of_integer(bits)),
                None => out_of_range(value, cursor, start),
            }
        }
    }
}

/// The integer that a double is, in two's complement; none where it is no integer, may have been rounded, or does not fit.
fn integral(double: f64, least: i64, most: u64) -> Option<u64> {
    if double.fract() != 0.0 || double.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of at most 2^53")]
    let integer = double as i64;
    let fits = integer >= least && u64::try_from(integer).map_or(true, |integer| integer <= most);
    fits.then_some(integer.cast_unsigned())
}

#[cold]
fn out_of_range<T>(value: Value, cursor: &mut Cursor<'_>, start: usize) -> Read<T> {
    let got = cursor.since(start);
    if value.seen == Seen::Boolean || value.machine == Machine::Bool {
        return refuse(format!("expected a boolean or 0 or 1, got {got}"));
    }
    let (least, most) = value.machine.bounds();
    let written_as_float = got.contains(['.', 'e', 'E']);
    match got.parse::<f64>() {
        Ok(double) if double.fract() != 0.0 => refuse(format!("expected integer, got number {got}")),
        Ok(double) if written_as_float && double.abs() > EXACT => refuse(format!(
            "expected an integer without fraction and exponent, which beyond 2^53 may be rounded, got {got}"
        )),
        _ => refuse(format!("expected an integer from {least} to {most} (`{}`), got {got}", value.scalar.name())),
    }
}

/// A number as text: a character, an integer of 64 bits, or what JSON has no number for.
#[cold]
fn read_quoted(value: Value, cursor: &mut Cursor<'_>) -> Read<u64> {
    let start = cursor.at();
    let text = cursor.string()?.decode();
    if value.scalar.is_char()
        && let [character] = *text.as_bytes()
        && !(value.seen == Seen::Digits)
    {
        return Ok(value.machine.word_of_integer(u64::from(character)));
    }
    match value.machine {
        Machine::F32 | Machine::F64 => {
            let double = match &*text {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => return expected("number", cursor, start),
            };
            #[expect(clippy::cast_possible_truncation, reason = "it is not finite, and stays what it is")]
            let word =
                if value.machine == Machine::F32 { Machine::word_of_f32(double as f32) } else { double.to_bits() };
            Ok(word)
        }
        machine if value.seen == Seen::Digits || (value.seen == Seen::Number && machine.size() == 8) => {
            let (least, most) = machine.bounds();
            let canonical = text.strip_prefix('-').unwrap_or(&text);
            let digits = !canonical.is_empty() && canonical.bytes().all(|byte| byte.is_ascii_digit());
            let integer = text.parse::<i128>().ok().filter(|_| digits);
            let bits = integer.and_then(|integer| match u64::try_from(integer) {
                Ok(integer) => Some(integer).filter(|integer| *integer <= most),
                Err(_) => i64::try_from(integer).ok().filter(|integer| *integer >= least).map(i64::cast_unsigned),
            });
            match (bits, digits) {
                (Some(bits), _) => Ok(machine.word_of_integer(bits)),
                (None, true) => refuse(format!(
                    "expected an integer from {least} to {most} (`{}`), got {}",
                    value.scalar.name(),
                    name_of(cursor.since(start))
                )),
                (None, false) => expected("integer", cursor, start),
            }
        }
        _ => expected(scalar(value), cursor, start),
    }
}

fn text_of<'t>(cursor: &mut Cursor<'t>, what: &str) -> Read<Quoted<'t>> {
    match cursor.peek() {
        Some(b'"') => Ok(cursor.string()?),
        _ => expected(what, cursor, cursor.at()),
    }
}

fn read_text(encoding: Encoding, counted: bool, cursor: &mut Cursor<'_>, slot: &mut Slot) -> Read {
    let quoted = text_of(cursor, "string")?;
    let block = &mut slot.block;
    block.clear();
    block.reserve(quoted.raw.len() + 1);
    if encoding == Encoding::Utf8 && !quoted.escaped {
        block.extend(quoted.raw.as_bytes());
    } else if encoding.decode(&quoted.decode(), |byte| block.push(byte)).is_none() {
        return refuse(match encoding {
            Encoding::Utf8 => "expected text".to_owned(),
            Encoding::Latin1 => "expected text of characters up to U+00FF (latin1)".to_owned(),
            Encoding::Base64 => "expected bytes in base64".to_owned(),
            Encoding::Hex => "expected bytes in pairs of hexadecimal digits".to_owned(),
        });
    }
    if encoding.is_text()
        && !counted
        && let Some(at) = memchr::memchr(0, block.as_bytes())
    {
        return refuse(format!(
            "expected text without the character U+0000, which ends a C string, found one at byte {at}"
        ));
    }
    slot.count = block.len();
    block.push(0);
    Ok(())
}

fn read_array(element: Value, cursor: &mut Cursor<'_>, slot: &mut Slot) -> Read {
    slot.block.clear();
    slot.count = 0;
    if cursor.peek() != Some(b'[') {
        return expected("array", cursor, cursor.at());
    }
    cursor.advance();
    cursor.skip_whitespace();
    if cursor.eat(b']') {
        // A pointer to no elements is still a pointer.
        slot.block.reserve(8);
        return Ok(());
    }
    let size = element.machine.size();
    loop {
        cursor.skip_whitespace();
        let word = match read_scalar(element, cursor) {
            Ok(word) => word,
            Err(Refusal::Value { path, message }) => {
                return Err(Refusal::Value { path: format!("/{}{path}", slot.count), message });
            }
            Err(syntax) => return Err(syntax),
        };
        slot.block.extend(&word.to_ne_bytes()[..size]);
        slot.count += 1;
        cursor.skip_whitespace();
        if !cursor.eat(b',') {
            return Ok(cursor.expect(b']', "expected a comma or the closing bracket")?);
        }
    }
}

fn read_handle(cursor: &mut Cursor<'_>, slot: &mut Slot) -> Read {
    let start = cursor.at();
    let token = text_of(cursor, "a handle, as another function has given it")?.decode();
    if token.len() > LONGEST_TOKEN {
        return expected("a handle, as another function has given it", cursor, start);
    }
    slot.block.clear();
    slot.block.extend(token.as_bytes());
    Ok(())
}

/// Steps over any value, which must be JSON.
#[cold]
pub(super) fn skip_value(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    // One bit for each level: whether it is an object.
    let mut objects: Vec<bool> = Vec::new();
    loop {
        cursor.skip_whitespace();
        match cursor.peek() {
            Some(open @ (b'{' | b'[')) => {
                if objects.len() == MAX_DEPTH {
                    return Err(cursor.malformed("expected at most 127 levels"));
                }
                cursor.advance();
                cursor.skip_whitespace();
                let is_object = open == b'{';
                if !cursor.eat(if is_object { b'}' } else { b']' }) {
                    objects.push(is_object);
                    if is_object {
                        skip_name(cursor)?;
                    }
                    continue;
                }
            }
            Some(b'"') => {
                cursor.string()?;
            }
            Some(b'-' | b'0'..=b'9') => {
                cursor.number()?;
            }
            Some(b't') => cursor.literal("true")?,
            Some(b'f') => cursor.literal("false")?,
            _ => cursor.literal("null")?,
        }
        // After a value: the next one, or the end of as many levels as end here.
        loop {
            let Some(is_object) = objects.last().copied() else { return Ok(()) };
            cursor.skip_whitespace();
            if cursor.eat(b',') {
                if is_object {
                    skip_name(cursor)?;
                }
                break;
            }
            let (close, what) = if is_object {
                (b'}', "expected a comma or the closing brace")
            } else {
                (b']', "expected a comma or the closing bracket")
            };
            cursor.expect(close, what)?;
            objects.pop();
        }
    }
}

fn skip_name(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    cursor.skip_whitespace();
    if cursor.peek() != Some(b'"') {
        return Err(cursor.malformed("expected a name in quotes"));
    }
    cursor.string()?;
    cursor.expect(b':', "expected a colon")
}
