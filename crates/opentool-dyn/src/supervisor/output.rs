//! The last lines that a library prints, for the report of why its worker exited.

use std::collections::VecDeque;
use std::io::{self, Read};

/// How many bytes are kept.
const KEPT: usize = 16 << 10;

/// How much is read at a time; a library that prints without end must not keep the monitor from others.
const CHUNK: usize = 16 << 10;
const CHUNKS: usize = 64;

/// How many lines are reported, and how much of each.
const LINES: usize = 4;
const LINE: usize = 200;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct OutputTail {
    bytes: VecDeque<u8>,
}

impl OutputTail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + bytes.len()).saturating_sub(KEPT);
        self.bytes.drain(..excess);
        self.bytes.extend(bytes);
    }

    /// Reads what a pipe holds, at most as much as any pipe can hold; says whether more can come.
    pub(super) fn fill(&mut self, mut pipe: impl Read) -> bool {
        let mut chunk = [0_u8; CHUNK];
        for _ in 0..CHUNKS {
            match pipe.read(&mut chunk) {
                Ok(0) => return false,
                Ok(read) => self.push(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// The last lines, without control characters.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let (first, second) = self.bytes.as_slices();
        let text = [first, second].concat();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
        let mut lines: Vec<String> =
            lines.map(|line| line.chars().filter(|char| !char.is_control()).take(LINE).collect()).collect();
        lines.reverse();
        lines
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_endless_stream_is_left_for_the_next_round() {
        let endless = std::fs::File::open("/dev/zero").unwrap();
        let mut tail = OutputTail::default();
        assert!(tail.fill(&endless));
        assert_eq!(tail.bytes.len(), KEPT);
    }

    #[test]
    fn only_the_last_lines_are_kept_without_control_characters() {
        let mut tail = OutputTail::default();
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        assert!(tail.bytes.len() <= KEPT);
        assert_eq!(tail.last_lines(), ["line 99996", "line 99997", "line 99998", "line 99999"]);
        tail.push(&vec![b'x'; 10 << 20]);
        assert!(tail.bytes.len() <= KEPT);
        tail.push(b"\n\x1b[31mred\xff\n\n");
        assert_eq!(tail.last_lines().last().map(String::as_str), Some("[31mred\u{fffd}"));
    }
}
