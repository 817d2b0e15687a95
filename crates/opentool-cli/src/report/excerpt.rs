//! The piece of a text that a finding is about, short enough for one line of a terminal.

use std::{borrow::Cow, ops::Range};

use crate::terminal::visible;

/// A line up to this many characters is shown whole.
const WIDTH: usize = 100;
/// Of a longer line, so many characters are shown before the place of the finding.
const BEFORE: usize = 60;
/// What stands where a line was cut.
const CUT: &str = "…";

/// A line, or a part of one, and the range in it that a finding is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) line: String,
    pub(super) span: Range<usize>,
}

impl Excerpt {
    /// Cuts the excerpt out. Its cost depends on [`WIDTH`], not on the length of the line: a minified document of
    /// thousands of findings is a single line.
    pub(super) fn new(text: &str, span: Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start);
        let end = text.ceil_char_boundary(span.end.max(start));
        let (mut before, mut cut_before) = tail(&text[..start], WIDTH);
        let (rest, mut cut_after) = head(&text[start..], WIDTH);
        let mut inside = &rest[..rest.len().min(end - start)];
        let mut after = &rest[inside.len()..];
        if cut_before || cut_after || before.chars().count() + rest.chars().count() > WIDTH {
            let (shorter, cut) = tail(before, BEFORE);
            (before, cut_before) = (shorter, cut_before || cut);
            let left = WIDTH - before.chars().count();
            let (shorter, cut) = head(inside, left);
            (inside, cut_after) = (shorter, cut_after || cut);
            let (shorter, cut) = if cut { ("", true) } else { head(after, left - inside.chars().count()) };
            (after, cut_after) = (shorter, cut_after || cut);
        }
        let mut line = String::with_capacity(before.len() + inside.len() + after.len() + 8);
        line.push_str(if cut_before { CUT } else { "" });
        line.push_str(&on_a_terminal(before));
        let start = line.len();
        line.push_str(&on_a_terminal(inside));
        let span = start..line.len();
        line.push_str(&on_a_terminal(after));
        line.push_str(if cut_after { CUT } else { "" });
        Excerpt { line, span }
    }
}

/// A text whose characters all have a known width.
fn on_a_terminal(text: &str) -> String {
    visible(text).replace('\t', "    ")
}

/// The end of a text back to the line's start, at most `most` characters of it; and whether there was more.
fn tail(text: &str, most: usize) -> (&str, bool) {
    let mut at = text.len();
    for (count, (index, char)) in text.char_indices().rev().enumerate() {
        if char == '\n' {
            return (&text[at..], false);
        }
        if count == most {
            return (&text[at..], true);
        }
        at = index;
    }
    (text, false)
}

/// The start of a text up to the line's end, at most `most` characters of it; and whether there was more.
fn head(text: &str, most: usize) -> (&str, bool) {
    for (count, (index, char)) in text.char_indices().enumerate() {
        if char == '\n' {
            return (text[..index].trim_end_matches('\r'), false);
        }
        if count == most {
            return (&text[..index], true);
        }
    }
    (text, false)
}

/// A pointer for people: the middle of a long one is left out.
pub(super) fn short_pointer(pointer: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    if pointer.chars().nth(LONGEST).is_none() {
        return visible(pointer);
    }
    let (end, _) = tail(pointer, LONGEST / 2);
    let (start, _) = head(pointer, LONGEST / 2);
    visible(&format!("{start}{CUT}{end}")).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> (String, String) {
        let excerpt = Excerpt::new(text, span);
        (excerpt.line[excerpt.span].to_owned(), excerpt.line)
    }

    #[test]
    fn a_short_line_is_shown_whole() {
        let text = "first\n  \"a\": 1,\r\nthird";
        assert_eq!(shown(text, 8..11), ("\"a\"".to_owned(), "  \"a\": 1,".to_owned()));
        assert_eq!(shown(text, 0..5), ("first".to_owned(), "first".to_owned()));
        assert_eq!(shown("", 0..0), (String::new(), String::new()));
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides() {
        let text = format!("{}\"here\"{}", "é".repeat(5_000), "x".repeat(5_000));
        let (inside, line) = shown(&text, 10_000..10_006);
        assert_eq!(inside, "\"here\"");
        assert_eq!(line.chars().count(), WIDTH + 2);
        assert!(line.starts_with('…') && line.ends_with('…'));
    }

    #[test]
    fn a_long_span_is_cut_and_one_over_several_lines_ends_with_the_first() {
        let (inside, line) = shown(&"y".repeat(5_000), 10..4_000);
        assert!(line.contains(&inside) && inside.len() < WIDTH);
        assert_eq!(shown("ab\ncd", 1..5).0, "b");
    }

    #[test]
    fn control_characters_do_not_move_the_caret() {
        assert_eq!(shown("\u{1b}[31m \"x\" \u{7}", 6..9), ("\"x\"".to_owned(), "�[31m \"x\" �".to_owned()));
    }

    #[test]
    fn the_middle_of_a_long_pointer_is_left_out() {
        let pointer = format!("/functions/1/{}/type", "very".repeat(1_000));
        let short = short_pointer(&pointer);
        assert!(short.starts_with("/functions/1/") && short.ends_with("/type") && short.chars().count() < 90);
    }
}
