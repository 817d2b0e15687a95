//! A cursor over JSON text: the tokens that both engines read, byte by byte.

use std::borrow::Cow;

use super::number::{Number, Quantity};

/// How deep objects and arrays may nest, counted as `serde_json` does, so that what passes here
/// can be parsed by the tool.
pub const MAX_DEPTH: usize = 127;

/// Text that is not JSON: where, and what is wrong there.
#[derive(Debug, Clone, Copy)]
pub struct Malformed {
    /// The byte at which it goes wrong.
    pub at: usize,
    /// What should be there.
    pub what: &'static str,
}

/// The inside of a JSON string, its escapes proven sound but not yet decoded.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'t> {
    /// The text between the quotes.
    pub raw: &'t str,
    /// Whether some of it is an escape.
    pub escaped: bool,
}

/// A position in a JSON text.
#[derive(Debug, Clone)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Starts at the beginning.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Starts at a byte that begins a character.
    #[inline]
    pub fn starting(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns how many bytes are behind.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the byte that comes next.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over the byte that comes next.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
    }

    /// Steps over `byte` if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over whitespace.
    #[inline]
    pub fn skip_whitespace(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Steps over whitespace and then `byte`, which must be there.
    #[inline]
    pub fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Malformed> {
        self.skip_whitespace();
        if self.eat(byte) { Ok(()) } else { Err(self.malformed(what)) }
    }

    /// Steps over whitespace to the end of the text, which must be there.
    #[inline]
    pub fn expect_end(&mut self) -> Result<(), Malformed> {
        self.skip_whitespace();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.malformed("expected nothing after the value")),
        }
    }

    /// Says what should come next and does not.
    #[cold]
    pub fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    /// Reads `true`, `false` or `null`, whose first letter comes next.
    #[inline]
    pub fn literal(&mut self, word: &'static str) -> Result<(), Malformed> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.malformed("expected a value"))
        }
    }

    /// Reads a number, whose first digit or sign comes next.
    #[inline]
    pub fn number(&mut self) -> Result<Number<'t>, Malformed> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.at;
        let mut magnitude = Some(0_u64);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            magnitude = magnitude
                .and_then(|magnitude| magnitude.checked_mul(10))
                .and_then(|magnitude| magnitude.checked_add(u64::from(digit - b'0')));
            self.at += 1;
        }
        if self.at == first {
            return Err(self.malformed("expected a digit"));
        }
        if self.at > first + 1 && self.text.as_bytes().get(first) == Some(&b'0') {
            return Err(Malformed { at: first, what: "expected a number without leading zeros" });
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            self.fraction_and_exponent()?;
            magnitude = None;
        }
        let text = self.since(start);
        magnitude
            .and_then(|magnitude| Quantity::from_digits(negative, magnitude))
            .or_else(|| Quantity::from_text(text))
            .map(|quantity| Number { text, quantity })
            .ok_or(Malformed { at: start, what: "expected a number of at most 1.8e308" })
    }

    fn fraction_and_exponent(&mut self) -> Result<(), Malformed> {
        if self.eat(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.malformed("expected a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a string, whose opening quote comes next.
    #[inline]
    pub fn string(&mut self) -> Result<Quoted<'t>, Malformed> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at = plain_run(self.text.as_bytes(), self.at);
            match self.peek() {
                Some(b'"') => {
                    let raw = self.since(start);
                    self.at += 1;
                    return Ok(Quoted { raw, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => {
                    return Err(self.malformed("expected control characters in a string to be escaped"));
                }
                None => return Err(self.malformed("expected the closing quote of a string")),
            }
        }
    }

    /// Reads one escape, or the two of a surrogate pair, whose backslash comes next.
    fn escape(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                return Ok(());
            }
            Some(b'u') => {}
            _ => {
                return Err(Malformed { at: start, what: "expected an escape that JSON has" });
            }
        }
        self.at += 1;
        let paired = match self.four_hex_digits()? {
            0xD800..=0xDBFF if self.eat(b'\\') && self.eat(b'u') => {
                matches!(self.four_hex_digits()?, 0xDC00..=0xDFFF)
            }
            0xD800..=0xDFFF => false,
            _ => true,
        };
        if paired { Ok(()) } else { Err(Malformed { at: start, what: "expected surrogates to come in pairs" }) }
    }

    fn four_hex_digits(&mut self) -> Result<u32, Malformed> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.malformed("expected four hexadecimal digits"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The text from `start` up to here; both lie next to ASCII, hence on character boundaries.
    #[inline]
    pub fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}

impl<'t> Quoted<'t> {
    /// The string that is meant.
    pub fn decode(self) -> Cow<'t, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut decoded = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some((plain, escape)) = rest.split_once('\\') {
            decoded.push_str(plain);
            let (meant, length) = decode_escape(escape);
            decoded.push(meant);
            rest = escape.get(length..).unwrap_or_default();
        }
        decoded.push_str(rest);
        Cow::Owned(decoded)
    }
}

/// The character that an escape means and the escape's length, both without the backslash.
fn decode_escape(escape: &str) -> (char, usize) {
    let unit = |range| escape.get(range).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match escape.as_bytes().first() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => match (unit(1..5), unit(7..11)) {
            (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
                let scalar = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 11)
            }
            (first, _) => {
                let meant = first.and_then(char::from_u32);
                (meant.unwrap_or(char::REPLACEMENT_CHARACTER), 5)
            }
        },
        Some(&byte) => (char::from(byte), 1),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

/// The end of the run of bytes from `at` that are neither quote, backslash nor control character.
#[inline]
pub(super) fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    // Eight bytes at a time. The high bit of a byte of `word.wrapping_sub(ONES * n) & !word` is set
    // where that byte is below `n`; a borrow may set it above such a byte too, never without one.
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
