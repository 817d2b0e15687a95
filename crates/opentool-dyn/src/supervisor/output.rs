//! What a library prints: the last of it, for whoever asks why it died.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// How many bytes are kept.
const KEPT: usize = 16 << 10;

/// How much is read at a time; a library that prints without end must not keep its warden from others.
const CHUNK: usize = 16 << 10;
const CHUNKS: usize = 64;

/// How many lines are told, and how much of each.
const LINES: usize = 4;
const LINE: usize = 200;

/// The last bytes of an endless text.
#[derive(Debug, Default)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
}

impl Ring {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + bytes.len()).saturating_sub(KEPT);
        self.bytes.drain(..excess);
        self.bytes.extend(bytes);
    }

    /// Takes what a pipe holds, up to as much as any pipe can; says whether more can come.
    pub(super) fn fill(&mut self, pipe: &OwnedFd) -> bool {
        let mut chunk = [0_u8; CHUNK];
        for _ in 0..CHUNKS {
            // SAFETY: the kernel writes at most as many bytes as the chunk has.
            let read = unsafe { libc::read(pipe.as_raw_fd(), chunk.as_mut_ptr().cast(), chunk.len()) };
            match usize::try_from(read) {
                Ok(0) => return false,
                Ok(read) => self.push(&chunk[..read]),
                Err(_) => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => {}
                    kind => return kind == io::ErrorKind::WouldBlock,
                },
            }
        }
        true
    }

    /// The last lines, without what a terminal would obey.
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
    fn what_never_ends_is_left_for_the_next_round() {
        let endless = std::fs::File::open("/dev/zero").unwrap();
        let mut ring = Ring::default();
        assert!(ring.fill(&endless.into()));
        assert_eq!(ring.bytes.len(), KEPT);
    }

    #[test]
    fn only_the_last_lines_are_kept_and_without_what_a_terminal_would_obey() {
        let mut ring = Ring::default();
        for number in 0..100_000 {
            ring.push(format!("line {number}\n").as_bytes());
        }
        assert!(ring.bytes.len() <= KEPT);
        assert_eq!(ring.last_lines(), ["line 99996", "line 99997", "line 99998", "line 99999"]);
        ring.push(&vec![b'x'; 10 << 20]);
        assert!(ring.bytes.len() <= KEPT);
        ring.push(b"\n\x1b[31mred\xff\n\n");
        assert_eq!(ring.last_lines().last().map(String::as_str), Some("[31mred\u{fffd}"));
    }
}
