//! How one argument is read from the text.

use opentool_spec::json::{JsonError, JsonString, Lexer, Quantity};

use super::describe::{name_of, scalar};
use crate::encoding::Encoding;
use crate::frame::{Block, Slot};
use crate::plan::{JsonForm, Machine, Value};

/// The most characters that the token of a handle may have.
const LONGEST_TOKEN: usize = 512;

/// Why an argument was not read.
#[derive(Debug)]
pub(super) enum ValueError {
    /// It is not JSON.
    Syntax(JsonError),
    /// It does not fit; `path` leads to the place within it.
    Value { path: String, message: String },
}

impl From<JsonError> for ValueError {
    fn from(error: JsonError) -> Self {
        ValueError::Syntax(error)
    }
}

pub(super) type Read<T = ()> = Result<T, ValueError>;

#[cold]
pub(super) fn refuse<T>(message: impl Into<String>) -> Read<T> {
    Err(ValueError::Value { path: String::new(), message: message.into() })
}

/// Says what was expected instead of the value that begins at `start`.
#[cold]
pub(super) fn expected<T>(what: &str, lexer: &mut Lexer<'_>, start: usize) -> Read<T> {
    if lexer.position() == start {
        lexer.skip_value()?;
    }
    refuse(format!("expected {what}, got {}", name_of(lexer.since(start))))
}

#[inline]
pub(super) fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The fast path for an integer of a few digits that ends at a comma or brace: its word, and where it ends. None says
/// nothing: [`read_value`] then decides.
///
/// The benchmark `calls` of this crate shows what it buys.
#[inline]
pub(super) fn short_integer(value: Value, bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    if value.form != JsonForm::Number || matches!(value.machine, Machine::Bool | Machine::F32 | Machine::F64) {
        return None;
    }
    let negative = bytes.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let (mut at, mut magnitude) = (first, 0_u64);
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    // Eighteen digits do not overflow; a zero in front is for the slow path.
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
pub(super) fn read_scalar(value: Value, lexer: &mut Lexer<'_>) -> Read<u64> {
    match lexer.peek() {
        Some(b'-' | b'0'..=b'9') => read_number(value, lexer),
        Some(b'"') => read_quoted(value, lexer),
        Some(first @ (b't' | b'f')) if value.form == JsonForm::Boolean || value.machine == Machine::Bool => {
            lexer.literal(if first == b't' { "true" } else { "false" })?;
            Ok(value.machine.word_of_integer(u64::from(first == b't')))
        }
        _ => expected(scalar(value), lexer, lexer.position()),
    }
}

#[inline]
fn read_number(value: Value, lexer: &mut Lexer<'_>) -> Read<u64> {
    let start = lexer.position();
    let number = lexer.number()?;
    match value.machine {
        Machine::F64 => Ok(number.quantity.to_f64().to_bits()),
        // From the text: by way of a double it could be rounded twice.
        Machine::F32 => match number.text.parse::<f32>() {
            Ok(float) if float.is_finite() => Ok(Machine::word_of_f32(float)),
            _ => refuse(format!("expected a number that fits `float`, at most 3.4028235e38, got {}", number.text)),
        },
        machine => {
            let (least, most) = if value.form == JsonForm::Boolean { (0, 1) } else { machine.bounds() };
            let within = match number.quantity {
                Quantity::Unsigned(integer) if integer <= most => Some(integer),
                Quantity::Signed(integer) if integer >= least => Some(integer.cast_unsigned()),
                // `-0`, which has no integer of its own. Other integers within reach are never doubles.
                Quantity::Double(0.0) => Some(0),
                _ => None,
            };
            match within {
                Some(bits) => Ok(machine.word_of_integer(bits)),
                None => out_of_range(value, lexer, start),
            }
        }
    }
}

#[cold]
fn out_of_range<T>(value: Value, lexer: &mut Lexer<'_>, start: usize) -> Read<T> {
    let got = lexer.since(start);
    if value.form == JsonForm::Boolean || value.machine == Machine::Bool {
        return refuse(format!("expected a boolean or 0 or 1, got {got}"));
    }
    let (least, most) = value.machine.bounds();
    match got.parse::<f64>() {
        Ok(double) if double.fract() != 0.0 => refuse(format!("expected integer, got number {got}")),
        _ => refuse(format!("expected an integer from {least} to {most} (`{}`), got {got}", value.scalar.name())),
    }
}

/// A number as text: a character, an integer of 64 bits, or what JSON has no number for.
#[cold]
fn read_quoted(value: Value, lexer: &mut Lexer<'_>) -> Read<u64> {
    let start = lexer.position();
    let text = lexer.string()?.decode();
    if value.scalar.is_char()
        && let [character] = *text.as_bytes()
        && !(value.form == JsonForm::Digits)
    {
        return Ok(value.machine.word_of_integer(u64::from(character)));
    }
    match value.machine {
        Machine::F32 | Machine::F64 => {
            let double = match &*text {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => return expected("number", lexer, start),
            };
            #[expect(clippy::cast_possible_truncation, reason = "it is not finite, and stays what it is")]
            let word =
                if value.machine == Machine::F32 { Machine::word_of_f32(double as f32) } else { double.to_bits() };
            Ok(word)
        }
        machine if value.form == JsonForm::Digits || (value.form == JsonForm::Number && machine.size() == 8) => {
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
                    name_of(lexer.since(start))
                )),
                (None, false) => expected("integer", lexer, start),
            }
        }
        _ => expected(scalar(value), lexer, start),
    }
}

pub(super) fn text_of<'t>(lexer: &mut Lexer<'t>, what: &str) -> Read<JsonString<'t>> {
    match lexer.peek() {
        Some(b'"') => Ok(lexer.string()?),
        _ => expected(what, lexer, lexer.position()),
    }
}

/// Reads a text or bytes into a block, with a NUL behind them; gives back how many they are.
pub(super) fn read_text(encoding: Encoding, counted: bool, lexer: &mut Lexer<'_>, block: &mut Block) -> Read<usize> {
    let quoted = text_of(lexer, "string")?;
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
    let count = block.len();
    block.push(0);
    Ok(count)
}

pub(super) fn read_handle(lexer: &mut Lexer<'_>, slot: &mut Slot) -> Read {
    let start = lexer.position();
    let token = text_of(lexer, "a handle, as another function has given it")?.decode();
    if token.len() > LONGEST_TOKEN {
        return expected("a handle, as another function has given it", lexer, start);
    }
    slot.block.clear();
    slot.block.extend(token.as_bytes());
    Ok(())
}
