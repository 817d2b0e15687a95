//! Values, from the memory of a call to the text of its result.

use crate::encoding::push_json_string;
use crate::plan::{Loaded, Seen, Value};

/// Appends a value as JSON.
#[inline]
pub(crate) fn push_value(value: Value, word: u64, big_integers_as_strings: bool, out: &mut Vec<u8>) {
    let loaded = value.machine.load(word);
    match value.seen {
        Seen::Number => {}
        Seen::Boolean => {
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
        Seen::Character => {
            let [byte, ..] = word.to_ne_bytes();
            push_json_string(char::from(byte).encode_utf8(&mut [0; 4]), out);
            return;
        }
        Seen::Digits => {
            push_quoted(loaded, out);
            return;
        }
    }
    match loaded {
        Loaded::Bool(truth) => out.push(if truth { b'1' } else { b'0' }),
        Loaded::Signed(_) | Loaded::Unsigned(_) if big_integers_as_strings && value.machine.size() == 8 => {
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
