//! Lines and columns of byte offsets.

/// A position that only moves forward through a text, so that all lines and columns cost one pass.
#[derive(Debug)]
pub(super) struct TextPosition<'a> {
    text: &'a str,
    at: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl<'a> TextPosition<'a> {
    pub(super) fn start(text: &'a str) -> Self {
        TextPosition { text, at: 0, line: 1, column: 1 }
    }

    pub(super) fn advance_to(&mut self, at: usize) {
        let passed = &self.text[self.at..at];
        self.line += memchr::memchr_iter(b'\n', passed.as_bytes()).count();
        match passed.rfind('\n') {
            Some(newline) => self.column = passed[newline + 1..].chars().count() + 1,
            None => self.column += passed.chars().count(),
        }
        if self.at == 0 && passed.starts_with('\u{feff}') && self.line == 1 {
            self.column -= 1; // editors do not count the mark
        }
        self.at = at;
    }
}
