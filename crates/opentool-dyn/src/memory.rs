//! What the memory of a library holds: scalars, texts, structs, and their text in a result.

use std::ffi::c_char;

use crate::encoding::{Encoding, push_json_string};
use crate::plan::{Element, FieldContent, JsonForm, Loaded, StructLayout, Value};

/// The most bytes of a text that are part of a result.
pub(crate) const LONGEST_TEXT: usize = 1 << 20;

/// Why memory cannot be part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemoryError {
    /// A text is not in UTF-8, from this byte on.
    NotUtf8 { at: usize, byte: u8 },
    /// A text is longer than a result may have.
    TooLong,
}

impl std::fmt::Display for MemoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemoryError::NotUtf8 { at, byte } => write!(
                f,
                "is not UTF-8: byte {at} is 0x{byte:02x}; say in the document what it is: `x-encoding`: `latin1` for text, `base64` or `hex` for bytes"
            ),
            MemoryError::TooLong => write!(f, "is longer than the {LONGEST_TEXT} bytes that a result may have"),
        }
    }
}

/// How values are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Options {
    /// Whether integers of 64 bits are written as strings.
    pub(crate) big_integers_as_strings: bool,
}

/// A word that begins with these bytes, of which there are eight at most.
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_ne_bytes(word)
}

/// The pointer that is in memory.
pub(crate) fn pointer_in(bytes: &[u8]) -> *const u8 {
    let mut address = [0; size_of::<usize>()];
    for (to, from) in address.iter_mut().zip(bytes) {
        *to = *from;
    }
    // The library made this address, or it was exposed when it was written; what is read from it is the library's own.
    std::ptr::with_exposed_provenance(usize::from_ne_bytes(address))
}

/// Appends a text or bytes.
pub(crate) fn push_text(bytes: &[u8], encoding: Encoding, out: &mut Vec<u8>) -> Result<(), MemoryError> {
    encoding.encode(bytes, out).map_err(|at| MemoryError::NotUtf8 { at, byte: bytes.get(at).copied().unwrap_or(0) })
}

/// Appends the text that a pointer points to, or null.
///
/// # Safety
///
/// The pointer is null, or all bytes up to a NUL, or up to `count`, can be read.
pub(crate) unsafe fn push_text_at(
    text: *const u8,
    count: Option<usize>,
    encoding: Encoding,
    out: &mut Vec<u8>,
) -> Result<(), MemoryError> {
    if text.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let length = match count {
        Some(count) => count,
        // SAFETY: as the caller promises; one byte more than is allowed, so that what is too long is seen.
        None => unsafe { string_length(text.cast(), LONGEST_TEXT + 1) },
    };
    if length > LONGEST_TEXT {
        return Err(MemoryError::TooLong);
    }
    // SAFETY: as the caller promises, so many bytes can be read.
    push_text(unsafe { std::slice::from_raw_parts(text, length) }, encoding, out)
}

/// The length of a text that ends with a NUL; `most` where it does not end before.
///
/// # Safety
///
/// All bytes up to the NUL, or up to `most`, can be read.
pub(crate) unsafe fn string_length(text: *const c_char, most: usize) -> usize {
    #[cfg(unix)]
    // SAFETY: as the caller promises.
    return unsafe { libc::strnlen(text, most) };
    #[cfg(not(unix))]
    // SAFETY: as the caller promises; every byte is looked at only after the one before it was no NUL.
    return (0..most).find(|at| unsafe { *text.add(*at) } == 0).unwrap_or(most);
}

/// Appends elements, one after another, as an array.
///
/// # Safety
///
/// As [`push_struct`], for structs among them.
pub(crate) unsafe fn push_elements(
    element: &Element,
    bytes: &[u8],
    options: Options,
    out: &mut Vec<u8>,
) -> Result<(), MemoryError> {
    out.push(b'[');
    for (index, bytes) in bytes.chunks_exact(element.size()).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match element {
            Element::Scalar(value) => push_value(*value, word_of(bytes), options, out),
            // SAFETY: as the caller promises.
            Element::Struct(layout) => unsafe { push_struct(layout, bytes, options, out)? },
        }
    }
    out.push(b']');
    Ok(())
}

/// Appends a struct as an object.
///
/// # Safety
///
/// Its fields that are pointers to text are null or point to text that ends with a NUL.
pub(crate) unsafe fn push_struct(
    layout: &StructLayout,
    bytes: &[u8],
    options: Options,
    out: &mut Vec<u8>,
) -> Result<(), MemoryError> {
    out.push(b'{');
    for (index, field) in layout.fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&field.key);
        // The plan has made sure that every field lies within the struct.
        let bytes = bytes.get(field.offset..field.offset + field.content.size()).unwrap_or_default();
        match &field.content {
            FieldContent::Scalar(value) => push_value(*value, word_of(bytes), options, out),
            FieldContent::Text { encoding, .. } if encoding.is_text() => {
                let length = memchr::memchr(0, bytes).unwrap_or(bytes.len());
                push_text(&bytes[..length], *encoding, out)?;
            }
            FieldContent::Text { encoding, .. } => push_text(bytes, *encoding, out)?,
            // SAFETY: as the caller promises.
            FieldContent::TextPointer { encoding } => unsafe {
                push_text_at(pointer_in(bytes), None, *encoding, out)?;
            },
            // SAFETY: as the caller promises.
            FieldContent::Array { element, .. } => unsafe { push_elements(element, bytes, options, out)? },
            // SAFETY: as the caller promises.
            FieldContent::Struct(layout) => unsafe { push_struct(layout, bytes, options, out)? },
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends a value as JSON.
#[inline]
pub(crate) fn push_value(value: Value, word: u64, options: Options, out: &mut Vec<u8>) {
    let loaded = value.machine.load(word);
    match value.form {
        JsonForm::Number => {}
        JsonForm::Boolean => {
            let truth = match loaded {
                Loaded::Bool(truth) => truth,
                Loaded::Signed(integer) => integer != 0,
                Loaded::Unsigned(integer) => integer != 0,
                Loaded::Float(float) => float != 0.0,
                Loaded::Double(double) => double != 0.0,
            };
            out.extend_from_slice(if truth { b"true" } else { b"false" });
            return;
        }
        JsonForm::Character => {
            let [byte, ..] = word.to_ne_bytes();
            push_json_string(char::from(byte).encode_utf8(&mut [0; 4]), out);
            return;
        }
        JsonForm::Digits => {
            push_quoted(loaded, out);
            return;
        }
    }
    match loaded {
        Loaded::Bool(truth) => out.push(if truth { b'1' } else { b'0' }),
        Loaded::Signed(_) | Loaded::Unsigned(_) if options.big_integers_as_strings && value.machine.size() == 8 => {
            push_quoted(loaded, out);
        }
        Loaded::Signed(integer) => out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes()),
        Loaded::Unsigned(integer) => out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes()),
        Loaded::Float(float) if float.is_finite() => {
            out.extend_from_slice(zmij::Buffer::new().format_finite(float).as_bytes());
        }
        Loaded::Double(double) if double.is_finite() => {
            out.extend_from_slice(zmij::Buffer::new().format_finite(double).as_bytes());
        }
        Loaded::Float(float) => push_not_finite(f64::from(float), out),
        Loaded::Double(double) => push_not_finite(double, out),
    }
}

fn push_quoted(loaded: Loaded, out: &mut Vec<u8>) {
    out.push(b'"');
    if let Some(integer) = loaded.code() {
        out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    }
    out.push(b'"');
}

/// What JSON has no number for.
fn push_not_finite(double: f64, out: &mut Vec<u8>) {
    let name: &[u8] = if double.is_nan() {
        b"\"NaN\""
    } else if double > 0.0 {
        b"\"Infinity\""
    } else {
        b"\"-Infinity\""
    };
    out.extend_from_slice(name);
}
