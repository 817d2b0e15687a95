//! A position in a JSON text, and the tokens that begin there.

use super::{
    error::{JsonError, JsonErrorKind},
    number::{Number, NumberLiteral},
    string::{JsonString, escape_end, plain_run, string_end},
};

/// How deep objects and arrays may nest, counted as `serde_json` does, so that what passes here can be parsed there.
pub const MAX_DEPTH: usize = 127;

/// A reader of JSON tokens.
///
/// It keeps no state but its position, so a clone of it is a bookmark, and it can start at any character.
#[derive(Debug, Clone)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    /// Starts at the beginning.
    #[inline]
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Starts at a byte that begins a character.
    #[inline]
    #[must_use]
    pub fn starting_at(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    /// How many bytes have been read.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The byte that comes next.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over the byte that comes next, which is ASCII.
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
    ///
    /// # Errors
    ///
    /// An error of this kind where it is not.
    #[inline]
    pub fn expect(&mut self, byte: u8, kind: JsonErrorKind) -> Result<(), JsonError> {
        self.skip_whitespace();
        if self.eat(byte) { Ok(()) } else { Err(self.error(kind)) }
    }

    /// Steps over whitespace to the end of the text, which must be there.
    ///
    /// # Errors
    ///
    /// Where something else follows.
    #[inline]
    pub fn expect_end(&mut self) -> Result<(), JsonError> {
        self.skip_whitespace();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(JsonErrorKind::End)),
        }
    }

    /// An error at this position.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { at: self.at, kind }
    }

    /// Reads `true`, `false` or `null`.
    ///
    /// # Errors
    ///
    /// Where another word comes next.
    #[inline]
    pub fn literal(&mut self, word: &'static str) -> Result<(), JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.error(JsonErrorKind::Value))
        }
    }

    /// Reads a number, whose first digit or sign comes next.
    ///
    /// # Errors
    ///
    /// Where it is none, or beyond the doubles.
    #[inline]
    pub fn number(&mut self) -> Result<Number<'t>, JsonError> {
        let start = self.at;
        let literal = self.number_literal()?;
        literal
            .quantity()
            .map(|quantity| Number { text: literal.text, quantity })
            .ok_or(JsonError { at: start, kind: JsonErrorKind::NumberRange })
    }

    /// Reads a number, whose first digit or sign comes next, without asking how large it is.
    ///
    /// # Errors
    ///
    /// Where it is none.
    #[inline]
    pub fn number_literal(&mut self) -> Result<NumberLiteral<'t>, JsonError> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.at;
        let mut digits = Some(0_u64);
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            digits = digits.and_then(|digits| digits.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
            self.at += 1;
        }
        if self.at == first {
            return Err(self.error(JsonErrorKind::Digit));
        }
        if self.at > first + 1 && self.text.as_bytes().get(first) == Some(&b'0') {
            return Err(JsonError { at: first, kind: JsonErrorKind::LeadingZero });
        }
        let is_integer = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if !is_integer {
            self.fraction_and_exponent()?;
            digits = None;
        }
        Ok(NumberLiteral { text: self.since(start), negative, digits, is_integer })
    }

    fn fraction_and_exponent(&mut self) -> Result<(), JsonError> {
        if self.eat(b'.') {
            self.digits(JsonErrorKind::FractionDigit)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(JsonErrorKind::ExponentDigit)?;
        }
        Ok(())
    }

    fn digits(&mut self, kind: JsonErrorKind) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error(kind)) } else { Ok(()) }
    }

    /// Reads a string, whose opening quote comes next.
    ///
    /// # Errors
    ///
    /// Where it does not end, or holds a control character or an escape that JSON does not have.
    #[inline]
    pub fn string(&mut self) -> Result<JsonString<'t>, JsonError> {
        let start = self.at + 1;
        self.at = plain_run(self.text.as_bytes(), start);
        if self.peek() == Some(b'"') {
            let raw = self.since(start);
            self.at += 1;
            return Ok(JsonString { raw, escaped: false });
        }
        self.escaped_string(start)
    }

    /// Reads the rest of a string that began at `start` and in which something else than plain characters comes next. Apart from the
    /// others, which are nearly all: so they take half as many instructions (`scripts/bench http`).
    #[cold]
    fn escaped_string(&mut self, start: usize) -> Result<JsonString<'t>, JsonError> {
        let bytes = self.text.as_bytes();
        loop {
            match self.peek() {
                Some(b'"') => {
                    let raw = self.since(start);
                    self.at += 1;
                    return Ok(JsonString { raw, escaped: true });
                }
                Some(b'\\') => {
                    self.at = escape_end(bytes, self.at).map_err(|(at, kind)| JsonError { at, kind })?;
                    self.at = plain_run(bytes, self.at);
                }
                Some(_) => return Err(self.error(JsonErrorKind::ControlCharacter)),
                None => return Err(self.error(JsonErrorKind::ClosingQuote)),
            }
        }
    }

    /// Reads the name of a member and its colon, up to the value.
    ///
    /// # Errors
    ///
    /// Where there is none.
    #[inline]
    pub fn name(&mut self) -> Result<JsonString<'t>, JsonError> {
        self.skip_whitespace();
        if self.peek() != Some(b'"') {
            return Err(self.error(JsonErrorKind::Name));
        }
        let name = self.string()?;
        self.expect(b':', JsonErrorKind::Colon)?;
        self.skip_whitespace();
        Ok(name)
    }

    /// Steps over a value that is no object and no array.
    ///
    /// # Errors
    ///
    /// Where no such value begins here.
    #[inline]
    pub fn skip_scalar(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            _ => self.skip_text_or_word(),
        }
    }

    #[inline]
    fn skip_text_or_word(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            _ => self.literal("null"),
        }
    }

    /// Reads the name of a member, whose opening quote comes next, and its colon, up to the value, where the text is known to
    /// be JSON.
    #[inline]
    pub fn known_name(&mut self) -> JsonString<'t> {
        let (bytes, start) = (self.text.as_bytes(), self.at + 1);
        let plain = plain_run(bytes, start);
        let escaped = bytes.get(plain) == Some(&b'\\');
        let end = if escaped { string_end(bytes, self.at) } else { plain + 1 };
        let raw = self.text.get(start..end - 1).unwrap_or_default();
        self.at = end;
        self.skip_whitespace();
        // The colon.
        self.at += 1;
        self.skip_whitespace();
        JsonString { raw, escaped }
    }

    /// Steps over a value that is no object and no array, where the text is known to be JSON: it looks for the end only.
    #[inline]
    pub fn skip_known_scalar(&mut self) {
        let bytes = self.text.as_bytes();
        let end = match self.peek() {
            Some(b'"') => string_end(bytes, self.at),
            Some(b'f') => self.at + "false".len(),
            Some(b't' | b'n') => self.at + "true".len(),
            _ => {
                let rest = bytes.get(self.at..).unwrap_or_default();
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                self.at + rest.iter().take_while(|byte| is_of_number(byte)).count()
            }
        };
        self.at = end.min(bytes.len());
    }

    /// Steps over any value, nested at most [`MAX_DEPTH`] levels deep, without recursion.
    ///
    /// # Errors
    ///
    /// Where it is not JSON.
    pub fn skip_value(&mut self) -> Result<(), JsonError> {
        self.skip_nested(MAX_DEPTH, Self::skip_scalar)
    }

    /// Steps over any value as [`skip_value`](Self::skip_value) does, however deep it nests and however large its numbers are.
    ///
    /// # Errors
    ///
    /// Where it is not JSON.
    pub fn skip_unlimited_value(&mut self) -> Result<(), JsonError> {
        self.skip_nested(usize::MAX, |lexer| match lexer.peek() {
            Some(b'-' | b'0'..=b'9') => lexer.number_literal().map(drop),
            _ => lexer.skip_text_or_word(),
        })
    }

    #[inline]
    fn skip_nested(
        &mut self,
        max_depth: usize,
        skip_scalar: impl Fn(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        let mut levels = OpenLevels::default();
        loop {
            self.skip_whitespace();
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if levels.depth == max_depth {
                        return Err(self.error(JsonErrorKind::Depth));
                    }
                    self.advance();
                    self.skip_whitespace();
                    let is_object = open == b'{';
                    if !self.eat(if is_object { b'}' } else { b']' }) {
                        levels.push(is_object);
                        if is_object {
                            self.name()?;
                        }
                        continue;
                    }
                }
                _ => skip_scalar(self)?,
            }
            // After a value: the next one, or the end of as many levels as end here.
            loop {
                let Some(is_object) = levels.last() else { return Ok(()) };
                if !self.closes(is_object)? {
                    if is_object {
                        self.name()?;
                    }
                    break;
                }
                levels.pop();
            }
        }
    }

    /// Steps over what follows a member or element: says whether it is the closing bracket and not a comma.
    ///
    /// # Errors
    ///
    /// Where it is neither.
    #[inline]
    pub fn closes(&mut self, is_object: bool) -> Result<bool, JsonError> {
        self.skip_whitespace();
        if self.eat(b',') {
            return Ok(false);
        }
        let (close, kind) =
            if is_object { (b'}', JsonErrorKind::CommaOrBrace) } else { (b']', JsonErrorKind::CommaOrBracket) };
        self.expect(close, kind).map(|()| true)
    }

    /// The text from `start` up to here; both stand next to ASCII, so on character boundaries.
    #[inline]
    #[must_use]
    pub fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}

/// For each open level of a value whether it is an object, a bit each: most values need no memory for it.
#[derive(Debug, Default)]
pub(super) struct OpenLevels {
    depth: usize,
    /// The innermost levels, the last one in the lowest bit.
    inner: u64,
    /// The others, 64 a word.
    outer: Vec<u64>,
}

impl OpenLevels {
    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the innermost level is an object.
    #[inline]
    pub(super) fn last(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.inner & 1 == 1)
    }

    #[inline]
    pub(super) fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
        }
        self.inner = self.inner << 1 | u64::from(is_object);
        self.depth += 1;
    }

    /// Leaves the innermost level, which there must be.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.inner >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }
}
