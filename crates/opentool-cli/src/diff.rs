//! The difference between two texts.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use crate::terminal::visible;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Shows on standard output what changes, as a unified diff that `patch` takes.
pub(crate) fn show(name: &str, before: &str, after: &str) -> io::Result<()> {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.header(name, name);
    let stdout = anstream::stdout();
    if !stdout.is_terminal() {
        // For a program: byte for byte, which a stream that takes out colours would not promise.
        let mut out = io::stdout().lock();
        write!(out, "{unified}")?;
        return out.flush();
    }
    let mut out = stdout.lock();
    for (index, hunk) in unified.iter_hunks().enumerate() {
        if index == 0 {
            let name = visible(name);
            writeln!(out, "{REMOVED}--- {name}{REMOVED:#}\n{ADDED}+++ {name}{ADDED:#}")?;
        }
        writeln!(out, "{PLACE}{}{PLACE:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', REMOVED),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            writeln!(out, "{style}{sign}{}{style:#}", visible(line))?;
        }
    }
    out.flush()
}
