//! The tokens of JSON: strings and numbers.

/// What is wrong with a token, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenFault {
    pub(super) at: usize,
    pub(super) message: &'static str,
}

/// Finds the end of the string that opens at `start`: the offset after its closing quote, and whether it has escapes.
pub(super) fn string(bytes: &[u8], start: usize) -> Result<(usize, bool), TokenFault> {
    let mut at = start + 1;
    let mut escaped = false;
    loop {
        at = skip_plain(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape(bytes, at)?;
            }
            Some(b'\n' | b'\r') | None => {
                return Err(TokenFault { at: start, message: "this string has no closing quote on its line" });
            }
            Some(_) => {
                return Err(TokenFault {
                    at,
                    message: "a control character must be written as an escape such as `\\t`",
                });
            }
        }
    }
}

/// The first offset from `at` whose byte is a quote, a backslash or a control character.
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // Eight bytes at a time: a byte below n borrows into its high bit when n is subtracted. A byte after the first
    // hit may be flagged wrongly, which the loop below does not mind.
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| <[u8; 8]>::try_from(chunk).ok()) {
        let word = u64::from_le_bytes(chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let hits = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hits = hits & HIGHS;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            break;
        }
        at += 1;
    }
    at
}

/// Checks the escape at `at` and returns the offset after it.
fn escape(bytes: &[u8], at: usize) -> Result<usize, TokenFault> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let Some(unit) = hex4(bytes, at + 2) else {
                return Err(TokenFault { at, message: "`\\u` must be followed by four hexadecimal digits" });
            };
            match unit {
                0xd800..=0xdbff => match (bytes.get(at + 6), bytes.get(at + 7), hex4(bytes, at + 8)) {
                    (Some(b'\\'), Some(b'u'), Some(0xdc00..=0xdfff)) => Ok(at + 12),
                    _ => Err(TokenFault { at, message: "this is half of a surrogate pair" }),
                },
                0xdc00..=0xdfff => Err(TokenFault { at, message: "this is half of a surrogate pair" }),
                _ => Ok(at + 6),
            }
        }
        _ => Err(TokenFault { at, message: "JSON has no such escape" }),
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |unit, byte| Some(unit * 16 + char::from(*byte).to_digit(16)?))
}

/// Decodes the inside of a string that [`string`] has accepted.
pub(super) fn unescape(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut decoded = String::with_capacity(raw.len());
    let mut at = 0;
    while let Some(offset) = memchr::memchr(b'\\', &bytes[at..]) {
        decoded.push_str(&raw[at..at + offset]);
        at += offset;
        let (char, length) = match bytes.get(at + 1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => {
                let high = hex4(bytes, at + 2).unwrap_or(0xfffd);
                match (high, hex4(bytes, at + 8)) {
                    (0xd800..=0xdbff, Some(low)) => {
                        let point = 0x10000 + ((high - 0xd800) << 10) + low.wrapping_sub(0xdc00);
                        (char::from_u32(point).unwrap_or('\u{fffd}'), 12)
                    }
                    _ => (char::from_u32(high).unwrap_or('\u{fffd}'), 6),
                }
            }
            Some(byte) => (char::from(*byte), 2),
            None => ('\\', 1),
        };
        decoded.push(char);
        at += length;
    }
    decoded.push_str(&raw[at..]);
    decoded
}

/// What a number can lose when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Magnitude {
    /// A reader with 64-bit integers and floats holds it.
    Fits,
    /// An integer beyond 64 bits: readers round it.
    Rounded,
    /// Beyond a 64-bit float.
    TooLarge,
}

/// Finds the end of the number that starts at `start`.
pub(super) fn number(text: &str, start: usize) -> Result<(usize, Magnitude), TokenFault> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut at = start + usize::from(bytes[start] == b'-');
    let first = at;
    at = digits(at);
    if at == first {
        return Err(TokenFault { at: start, message: "a number needs a digit here" });
    }
    if bytes[first] == b'0' && at > first + 1 {
        return Err(TokenFault { at: start, message: "a number must not start with 0" });
    }
    let mut integer = true;
    let mut exponent = false;
    if bytes.get(at) == Some(&b'.') {
        integer = false;
        let end = digits(at + 1);
        if end == at + 1 {
            return Err(TokenFault { at: start, message: "a number needs a digit after its point" });
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        integer = false;
        exponent = true;
        let sign = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(sign);
        if end == sign {
            return Err(TokenFault { at: start, message: "a number needs a digit in its exponent" });
        }
        at = end;
    }
    let token = &text[start..at];
    let in_64_bits = || token.len() <= 18 || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
    let magnitude = if integer && in_64_bits() {
        Magnitude::Fits
    } else if (exponent || token.len() > 300) && token.parse::<f64>().is_ok_and(f64::is_infinite) {
        Magnitude::TooLarge
    } else if integer {
        Magnitude::Rounded
    } else {
        Magnitude::Fits
    };
    Ok((at, magnitude))
}
