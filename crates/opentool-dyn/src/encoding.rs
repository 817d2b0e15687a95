//! How the bytes of a C string and the text of a JSON string stand for each other (`x-encoding`).

/// What the bytes behind a `char *` are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Text in UTF-8.
    #[default]
    Utf8,
    /// Text of one byte per character, ISO 8859-1.
    Latin1,
    /// Any bytes, seen in base 64.
    Base64,
    /// Any bytes, seen in hexadecimal digits.
    Hex,
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Encoding {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "utf8" => Encoding::Utf8,
            "latin1" => Encoding::Latin1,
            "base64" => Encoding::Base64,
            "hex" => Encoding::Hex,
            _ => return None,
        })
    }

    /// Whether the bytes are text, which a NUL ends.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Encoding::Utf8 | Encoding::Latin1)
    }

    /// Appends the bytes that a text stands for; none where it stands for nothing in this encoding.
    pub(crate) fn decode(self, text: &str, mut push: impl FnMut(u8)) -> Option<()> {
        match self {
            Encoding::Utf8 => text.bytes().for_each(push),
            Encoding::Latin1 => {
                for character in text.chars() {
                    push(u8::try_from(character).ok()?);
                }
            }
            Encoding::Hex => {
                let (pairs, rest) = text.as_bytes().as_chunks::<2>();
                if !rest.is_empty() {
                    return None;
                }
                for [high, low] in pairs {
                    push(nibble(*high)? << 4 | nibble(*low)?);
                }
            }
            Encoding::Base64 => return decode_base64(text, push),
        }
        Some(())
    }

    /// Appends the text that bytes stand for, as a JSON string.
    ///
    /// # Errors
    ///
    /// Where they stand for none: the first byte that does not.
    pub(crate) fn encode(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
        match self {
            Encoding::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => push_json_string(text, out),
                Err(error) => return Err(error.valid_up_to()),
            },
            Encoding::Latin1 if bytes.is_ascii() => return Encoding::Utf8.encode(bytes, out),
            Encoding::Latin1 => push_json_string(&bytes.iter().copied().map(char::from).collect::<String>(), out),
            Encoding::Hex => {
                out.push(b'"');
                for byte in bytes {
                    out.extend(
                        [byte >> 4, byte & 15]
                            .map(|nibble| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }),
                    );
                }
                out.push(b'"');
            }
            Encoding::Base64 => {
                out.push(b'"');
                encode_base64(bytes, out);
                out.push(b'"');
            }
        }
        Ok(())
    }
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn encode_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |shift: u32| ALPHABET[(word >> shift) as usize & 63];
        out.extend([
            digit(18),
            digit(12),
            if chunk.len() > 1 { digit(6) } else { b'=' },
            if chunk.len() > 2 { digit(0) } else { b'=' },
        ]);
    }
}

/// Padding may be left out; bits that stand for nothing must be zero.
fn decode_base64(text: &str, mut push: impl FnMut(u8)) -> Option<()> {
    let digits = text.trim_end_matches('=').as_bytes();
    if text.len() - digits.len() > 2 || (text.len() != digits.len() && !text.len().is_multiple_of(4)) {
        return None;
    }
    let sextet = |digit: u8| {
        Some(match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    for chunk in digits.chunks(4) {
        let mut word = 0_u32;
        for index in 0..4 {
            word = word << 6 | u32::from(chunk.get(index).map_or(Some(0), |digit| sextet(*digit))?);
        }
        let [_, bytes @ ..] = word.to_be_bytes();
        let whole = match chunk.len() {
            1 => return None,
            length => length - 1,
        };
        if bytes[whole..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes[..whole].iter().for_each(|byte| push(*byte));
    }
    Some(())
}

/// Appends a JSON string.
pub(crate) fn push_json_string(text: &str, out: &mut Vec<u8>) {
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests;
