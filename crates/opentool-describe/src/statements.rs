//! Preprocessed text, cut into its declarations.

use std::ops::Range;

/// The pieces of a text between which a parser may be stopped, and how deep each of them nests.
pub(crate) fn statements(text: &str) -> Vec<(Range<usize>, usize)> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut depth, mut deepest, mut at) = (0, 0_usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'#' if at == 0 || bytes[at - 1] == b'\n' => {
                at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                continue;
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' => depth = depth.saturating_sub(1),
            byte @ (b'}' | b';') => {
                if byte == b'}' {
                    depth = depth.saturating_sub(1);
                }
                // A body ends a definition; the brace of a struct is followed by a name or a semicolon.
                let ends = byte == b';' || starts_declaration(&bytes[at + 1..]);
                if depth == 0 && ends {
                    pieces.push((start..at + 1, deepest));
                    start = at + 1;
                    deepest = 0;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if start < bytes.len() {
        pieces.push((start..bytes.len(), deepest));
    }
    pieces
}

fn starts_declaration(rest: &[u8]) -> bool {
    let mut rest = rest.trim_ascii_start();
    while rest.starts_with(b"# ") {
        rest = memchr::memchr(b'\n', rest).map_or(&rest[..0], |end| &rest[end..]).trim_ascii_start();
    }
    [&b"extern"[..], b"typedef", b"static", b"struct", b"enum", b"inline", b"int ", b"void "]
        .iter()
        .any(|word| rest.starts_with(word))
}

/// Replaces a piece of a text by spaces, but for its lines and line markers.
pub(crate) fn blank(text: &mut String, range: Range<usize>) {
    let mut blanked = String::with_capacity(range.len());
    for line in text[range.clone()].split_inclusive('\n') {
        if line.starts_with("# ") {
            blanked.push_str(line);
        } else {
            blanked.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        }
    }
    text.replace_range(range, &blanked);
}
