//! Lines of a stream, of bounded length: [`LineReader`].

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Reads lines of which at most so many bytes are kept. A read that is dropped halfway loses nothing.
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is still to be skipped.
    skipping: bool,
}

/// A line, or as much of it as may be kept.
pub(crate) enum BoundedLine {
    Whole(Vec<u8>),
    /// There is more, which is skipped.
    #[cfg_attr(
        not(any(test, feature = "client")),
        expect(dead_code, reason = "only the client shows a line that is cut off")
    )]
    Beginning(Vec<u8>),
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self { reader: BufReader::new(reader), limit, line: Vec::new(), skipping: false }
    }

    /// Reads the next line; none at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(BoundedLine::Whole(rest)));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let read = piece.len() + usize::from(end.is_some());
            let is_kept = !self.skipping;
            let mut is_too_long = false;
            if is_kept {
                let room = self.limit - self.line.len();
                is_too_long = piece.len() > room;
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            self.reader.consume(read);
            self.skipping = (self.skipping || is_too_long) && end.is_none();
            if is_too_long {
                return Ok(Some(BoundedLine::Beginning(std::mem::take(&mut self.line))));
            }
            if is_kept && end.is_some() {
                return Ok(Some(BoundedLine::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn the_beginning_of_a_long_line_is_kept_and_the_rest_is_skipped() {
        let input = format!("one\n{}\n\ntwo", "x".repeat(100_000));
        let mut reader = LineReader::new(input.as_bytes(), 10);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(match line {
                BoundedLine::Whole(line) => String::from_utf8(line).unwrap(),
                BoundedLine::Beginning(line) => String::from_utf8(line).unwrap() + "…",
            });
        }
        assert_eq!(lines, ["one", "xxxxxxxxxx…", "", "two"]);
    }
}
