//! What is wrong with a configuration file, and where: [`ConfigFault`].

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

use crate::{failure::Failure, terminal::visible};

/// The faults of a file, all of which are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<ConfigFault>);

impl Faults {
    pub(crate) fn add(&mut self, fault: ConfigFault) {
        self.0.push(fault);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps the fault of what could not be read.
    pub(crate) fn take<T>(&mut self, read: Result<T, ConfigFault>) -> Option<T> {
        read.map_err(|fault| self.add(fault)).ok()
    }

    /// Fails where there are some, with all of them in the order of the file.
    pub(crate) fn check(mut self, name: &str, text: &str) -> Result<(), Failure> {
        self.0.sort_by_key(|fault| fault.span.start);
        let rendered: Vec<_> = self.0.iter().map(|fault| fault.render(name, text)).collect();
        if rendered.is_empty() {
            Ok(())
        } else {
            Err(Failure::Config { message: rendered.join("\n\nerror: "), next: None })
        }
    }
}

/// A fault with its place.
#[derive(Debug)]
pub(crate) struct ConfigFault {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

impl ConfigFault {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        ConfigFault { span, message: message.into(), help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The fault as a compiler shows one: message, place, line and caret. A value is never shown, since a key may stand in it.
    pub(crate) fn render(&self, file: &str, text: &str) -> String {
        // An editor shows no mark at the beginning, and counts no column for it.
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        let (text, at) = (&text[mark..], self.span.start.saturating_sub(mark));
        let before = text.get(..at).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let (number, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        let (shown, caret, width) = excerpt(line, before.len() - start, self.span.len());
        let margin = " ".repeat(number.to_string().len());
        let message: Vec<_> = self.message.lines().map(visible).collect();
        let (message, file) = (message.join("\n"), visible(file));
        let mut rendered = format!(
            "{message}\n{margin}--> {file}:{number}:{column}\n{margin} |\n{number} | {shown}\n{margin} | {:caret$}{}",
            "",
            "^".repeat(width)
        );
        if let Some(help) = &self.help {
            rendered.push_str(&format!("\n{margin} |\n{margin} = help: {}", visible(help)));
        }
        rendered
    }
}

/// The first line of what the command line parser says, without the word before it.
pub(crate) fn option_problem(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The line without its value, and where the caret stands under it.
fn excerpt(line: &str, at: usize, length: usize) -> (String, usize, usize) {
    let is_header = line.trim_start().starts_with('[');
    let equals = line.find('=').filter(|_| !is_header);
    let (shown, value) = match equals {
        Some(equals) => (format!("{}= …", &line[..equals]), Some(equals)),
        None if is_header => (line.to_owned(), None),
        // The middle of a value.
        None => return ("…".to_owned(), 0, 1),
    };
    let shown = visible(&shown).replace('\t', "    ");
    match value {
        Some(equals) if at > equals => (shown.clone(), shown.width().saturating_sub(1), 1),
        _ => {
            let before = line.get(..at).unwrap_or_default();
            let inside = line.get(at..(at + length).min(line.len())).unwrap_or_default();
            let width = |text: &str| visible(text).replace('\t', "    ").width();
            (shown, width(before), width(inside).max(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let fault = ConfigFault::new(3..7, "no");
        insta::assert_snapshot!(fault.render("opentool.toml", "\u{feff}prot = 1\n"), @r"
        no
         --> opentool.toml:1:1
          |
        1 | prot = …
          | ^^^^
        ");
    }

    #[test]
    fn a_fault_is_shown_with_its_line_and_a_caret_and_no_value() {
        let text = "[sources.a]\nkind = \"mcp\"\n  comand = \"planted\"\n";
        let fault = ConfigFault::new(27..33, "there is no key `comand`").with_help("did you mean `command`?");
        insta::assert_snapshot!(fault.render("opentool.toml", text), @r"
        there is no key `comand`
         --> opentool.toml:3:3
          |
        3 |   comand = …
          |   ^^^^^^
          |
          = help: did you mean `command`?
        ");
        let fault = ConfigFault::new(36..45, "no");
        insta::assert_snapshot!(fault.render("opentool.toml", text), @r"
        no
         --> opentool.toml:3:12
          |
        3 |   comand = …
          |            ^
        ");
        let fault = ConfigFault::new(0..11, "no");
        insta::assert_snapshot!(fault.render("opentool.toml", text), @r"
        no
         --> opentool.toml:1:1
          |
        1 | [sources.a]
          | ^^^^^^^^^^^
        ");
    }
}
