//! What reaches the terminal: colour where it is wanted, and never a control character of somebody else's text.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, IsTerminal as _, Write},
};

use anstyle::{AnsiColor, Style};

/// The style of the word `error`.
pub(crate) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
/// The style of the word `warning`.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of what went well.
pub(crate) const GOOD: Style = AnsiColor::BrightGreen.on_default().bold();

/// Says on standard error what went wrong. Nothing can be done if even that fails.
pub(crate) fn complain(what: &dyn Display) {
    let _ = writeln!(anstream::stderr().lock(), "{ERROR}error{ERROR:#}: {what}");
}

/// Says on standard error what the user should know.
pub(crate) fn warn(what: &dyn Display) {
    let _ = writeln!(anstream::stderr().lock(), "{WARNING}warning{WARNING:#}: {what}");
}

/// Says on standard error what was done.
pub(crate) fn tell(what: &dyn Display) {
    let _ = writeln!(anstream::stderr().lock(), "{what}");
}

/// Writes a text to standard output as it is, unless a terminal would take parts of it for commands.
pub(crate) fn write_data(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        for line in text.split_inclusive('\n') {
            let line = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            write!(stdout, "{}{}", visible(line.0), line.1)?;
        }
    } else {
        stdout.write_all(text.as_bytes())?;
    }
    stdout.flush()
}

/// A text whose control and direction-changing characters stand as `�`; tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|char| if is_invisible(char) { char::REPLACEMENT_CHARACTER } else { char }).collect())
}

/// JSON text in which such characters are escaped. They can only stand in its strings.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    let is_hidden = |char: char| char != '\n' && is_invisible(char);
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        if is_hidden(char) {
            // All of them are in the basic plane.
            text.push_str(&format!("\\u{:04x}", u32::from(char)));
        } else {
            text.push(char);
        }
    }
    Cow::Owned(text)
}

fn is_invisible(char: char) -> bool {
    (char.is_control() && char != '\t')
        || matches!(char,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_are_replaced_and_other_text_is_not() {
        assert_eq!(visible("a\tb é 漢字 👍"), "a\tb é 漢字 👍");
        assert_eq!(visible("\u{1b}[31mred\r\u{7f}\u{9b}\u{202e}\u{feff}"), "�[31mred�����");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({ "key\u{9b}": "a\u{7f}\u{202e}b" });
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        let escaped = visible_json(&text);
        assert!(!escaped.contains(is_invisible_on_a_line));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).ok(), Some(value));
    }

    fn is_invisible_on_a_line(char: char) -> bool {
        char != '\n' && is_invisible(char)
    }
}
