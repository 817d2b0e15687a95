//! What reaches the terminal: colour where it is wanted, and never a control character of foreign text.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, BufRead as _, IsTerminal as _, Write},
    panic,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

#[cfg(unix)]
use std::fs::File;

use anstyle::{AnsiColor, Style};
use serde_json::json;

/// The style of the word `error`.
pub(crate) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
/// The style of the word `warning`.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of what went well.
pub(crate) const GOOD: Style = AnsiColor::BrightGreen.on_default().bold();

/// Whether every line on standard error is a JSON object.
static JSON_LINES: AtomicBool = AtomicBool::new(false);

/// Makes every line on standard error a JSON object, also that of a panic.
pub(crate) fn write_json_lines() {
    JSON_LINES.store(true, Relaxed);
    panic::set_hook(Box::new(|panic| drop(write_json_line("ERROR", &panic))));
}

/// Says on standard error what went wrong. Nothing can be done if even that fails.
pub(crate) fn complain(what: &dyn Display) {
    say("ERROR", what, |stderr| writeln!(stderr, "{ERROR}error{ERROR:#}: {what}"));
}

/// Says on standard error what to do about what went wrong, on a line that begins with `try:`.
pub(crate) fn advise(step: &str) {
    let step = visible(step);
    say("INFO", &format_args!("try: {step}"), |stderr| writeln!(stderr, "{GOOD}try{GOOD:#}: {step}"));
}

/// Says on standard error what the user should know.
pub(crate) fn warn(what: &dyn Display) {
    say("WARN", what, |stderr| writeln!(stderr, "{WARNING}warning{WARNING:#}: {what}"));
}

/// Says on standard error what was done.
pub(crate) fn note(what: &dyn Display) {
    say("INFO", what, |stderr| writeln!(stderr, "{what}"));
}

/// The same, for one who has to know whether it was written.
pub(crate) fn write_note(what: &dyn Display) -> io::Result<()> {
    if JSON_LINES.load(Relaxed) {
        return write_json_line("INFO", what);
    }
    writeln!(anstream::stderr().lock(), "{what}")
}

/// Writes a line to standard error, in place of the one that the cursor is on and without an end; it is cut where the terminal
/// would wrap it, since what is wrapped could not be replaced.
pub(crate) fn replace_line(line: &str) -> io::Result<()> {
    const WIDTH: usize = 72;
    let line: String = line.chars().take(WIDTH).collect();
    let mut stderr = io::stderr().lock();
    write!(stderr, "\r\u{1b}[K{line}")?;
    stderr.flush()
}

fn say(level: &str, what: &dyn Display, as_text: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let _ =
        if JSON_LINES.load(Relaxed) { write_json_line(level, what) } else { as_text(&mut anstream::stderr().lock()) };
}

/// Writes a line as logs have it.
fn write_json_line(level: &str, message: &dyn Display) -> io::Result<()> {
    let (timestamp, message) = (jiff::Timestamp::now().to_string(), message.to_string());
    let message = anstream::adapter::strip_str(&message).to_string();
    let line = json!({ "timestamp": timestamp, "level": level, "message": message, "target": "opentool::cli" });
    writeln!(io::stderr().lock(), "{line}")
}

/// Asks the user at the terminal; only `y` and `yes` are a yes, and what was typed before the question is none.
pub(crate) fn confirm(question: &str) -> io::Result<bool> {
    drop_typed()?;
    let mut stderr = anstream::stderr().lock();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    drop(stderr);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Drops what was typed at the terminal and not read yet.
#[cfg(unix)]
pub(crate) fn drop_typed() -> io::Result<()> {
    use rustix::termios::{QueueSelector::IFlush, tcflush};

    match File::open("/dev/tty") {
        Ok(terminal) => tcflush(terminal, IFlush)?,
        Err(_) => tcflush(io::stdin(), IFlush)?,
    }
    Ok(())
}

/// On other systems there is no way to do so without unsafe code.
#[cfg(not(unix))]
pub(crate) fn drop_typed() -> io::Result<()> {
    Ok(())
}

/// Writes a text to standard output as it is, unless a terminal would take parts of it for commands.
pub(crate) fn write_data(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            // The terminal's own CR comes with the LF.
            let line = line.strip_suffix('\r').filter(|_| !end.is_empty()).unwrap_or(line);
            write!(stdout, "{}{end}", visible(line))?;
        }
    } else {
        stdout.write_all(text.as_bytes())?;
    }
    stdout.flush()
}

/// A text whose control, direction-changing and invisible characters stand as `�`; tabs are kept.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |_| false, |_, text| text.push(char::REPLACEMENT_CHARACTER))
}

/// JSON text in which such characters are escaped. They can only stand in its strings.
pub(crate) fn visible_json(json: &str) -> Cow<'_, str> {
    let escape = |char: char, text: &mut String| {
        // Outside the basic plane JSON has two escapes for one character.
        for unit in char.encode_utf16(&mut [0; 2]) {
            text.push_str(&format!("\\u{unit:04x}"));
        }
    };
    shown(json, |char| char == '\n', escape)
}

/// A text in which something else is shown for every invisible character, unless it is allowed.
fn shown(text: &str, is_spared: fn(char) -> bool, show: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let mut before = None;
    let mut hidden = text.char_indices().filter(|(_, char)| {
        let before = before.replace(*char);
        !is_spared(*char) && is_hidden(before, *char)
    });
    let Some((mut at, mut char)) = hidden.next() else { return Cow::Borrowed(text) };
    let (mut shown, mut rest) = (String::with_capacity(text.len() + 16), 0);
    loop {
        shown.push_str(&text[rest..at]);
        show(char, &mut shown);
        rest = at + char.len_utf8();
        let Some(next) = hidden.next() else { break };
        (at, char) = next;
    }
    shown.push_str(&text[rest..]);
    Cow::Owned(shown)
}

/// Whether a character is invisible; one that joins or varies its neighbour is not.
fn is_hidden(before: Option<char>, char: char) -> bool {
    match char {
        _ if char.is_ascii() => char.is_ascii_control() && char != '\t',
        ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER => {
            !before.is_some_and(|before| is_seen(before) || before == EMOJI_SELECTOR)
        }
        _ if is_selector(char) => {
            let has_variants = |before| is_seen(before) || matches!(before, '0'..='9' | '#' | '*');
            !before.is_some_and(has_variants)
        }
        _ => is_invisible(char),
    }
}

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// Whether a character is of a script or a set of pictures whose characters are joined or varied.
fn is_seen(char: char) -> bool {
    !char.is_ascii()
        && !is_invisible(char)
        && !is_selector(char)
        && !matches!(char, ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER)
}

/// Whether a character chooses how the one before it looks.
fn is_selector(char: char) -> bool {
    matches!(char, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character beyond ASCII is a control, changes the direction, or is one that Unicode says to show nothing for.
fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{00ad}' | '\u{034f}' | '\u{0600}'..='\u{0605}' | '\u{061c}' | '\u{06dd}' | '\u{070f}' | '\u{0890}'..='\u{0891}'
            | '\u{08e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
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
    fn invisible_characters_are_shown() {
        for hidden in ['\u{ad}', '\u{3164}', '\u{e0041}', '\u{e007f}', '\u{2061}', '\u{115f}', '\u{fff9}', '\u{1d173}']
        {
            assert_eq!(visible(&format!("a{hidden}b é{hidden}")), "a�b é�", "{hidden:?}");
        }
        // Joiners and selectors where they join and select nothing, or nothing any more.
        assert_eq!(visible("rm\u{200d}x \u{200c}y z\u{fe0f} \u{fe01}"), "rm�x �y z� �");
        assert_eq!(visible("é\u{fe00}\u{fe01}\u{e0100}\u{200d}\u{200d}"), "é\u{fe00}����");
        // And where they do.
        for seen in [
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "👩\u{200d}❤\u{fe0f}\u{200d}👨",
            "می\u{200c}خواهم",
            "葛\u{e0100}",
            "क\u{94d}\u{200d}",
        ] {
            assert_eq!(visible(seen), seen);
        }
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({ "key\u{9b}": "a\u{7f}\u{202e}b\u{e0041}\u{1d173}\u{3164}c\u{200d}" });
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        let escaped = visible_json(&text);
        assert_eq!(visible_json(&escaped), escaped, "nothing is left to escape");
        assert!(escaped.contains(r"\u202eb\udb40\udc41\ud834\udd73\u3164c\u200d"), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).ok(), Some(value));
    }
}
