//! Why a text is not JSON.

/// A text that is not JSON: where, and what is wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {at}", .kind.expected())]
pub struct JsonError {
    /// The byte at which it goes wrong.
    pub at: usize,
    /// What is wrong there.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text that is not JSON.
// As wide as a length: the result of reading a string holds either, and where they differ in width the compiler puts the
// length together from its bytes, which costs more than reading a short name (the benchmark `calls` of opentool-core).
#[repr(usize)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// No value begins here.
    Value,
    /// No name in double quotes begins here.
    Name,
    /// A name is not followed by a colon.
    Colon,
    /// A member is followed by neither a comma nor the closing brace.
    CommaOrBrace,
    /// An element is followed by neither a comma nor the closing bracket.
    CommaOrBracket,
    /// Something follows the value that is the whole text.
    End,
    /// Objects and arrays nest deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// A number has no digit before its point or exponent.
    Digit,
    /// A number has no digit after its point.
    FractionDigit,
    /// A number has no digit in its exponent.
    ExponentDigit,
    /// A number starts with a zero that does not belong there.
    LeadingZero,
    /// A number is beyond the doubles.
    NumberRange,
    /// A string has a control character that is not escaped.
    ControlCharacter,
    /// A string has no closing quote.
    ClosingQuote,
    /// A backslash is followed by a letter that is no escape.
    Escape,
    /// `\u` is not followed by four hexadecimal digits.
    HexDigits,
    /// Half of a surrogate pair stands alone.
    Surrogate,
}

impl JsonErrorKind {
    /// What should have been there, for a message: `expected a digit`.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Value => "expected a value",
            Self::Name => "expected a name in double quotes",
            Self::Colon => "expected `:`",
            Self::CommaOrBrace => "expected `,` or `}`",
            Self::CommaOrBracket => "expected `,` or `]`",
            Self::End => "expected nothing after the value",
            Self::Depth => "expected at most 127 levels of nesting",
            Self::Digit | Self::FractionDigit | Self::ExponentDigit => "expected a digit",
            Self::LeadingZero => "expected a number without leading zeros",
            Self::NumberRange => "expected a number of at most 1.8e308",
            Self::ControlCharacter => "expected control characters in a string to be escaped",
            Self::ClosingQuote => "expected the closing quote of a string",
            Self::Escape => "expected an escape that JSON has",
            Self::HexDigits => "expected four hexadecimal digits",
            Self::Surrogate => "expected surrogates to come in pairs",
        }
    }
}

impl JsonError {
    /// Says where the text goes wrong and how, for a person or a model: `line 1, column 8: expected a digit, found '}'`.
    #[must_use]
    pub fn describe(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let found = match text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(character) => format!("{character:?}"),
            None => "the end".to_owned(),
        };
        format!("line {line}, column {column}: {}, found {found}", self.kind.expected())
    }
}
