//! Findings for people: the source line with a caret, and what to do.

use std::fmt;

use anstyle::{AnsiColor, Style};
use opentool_spec::{Finding, Severity};
use unicode_width::UnicodeWidthStr as _;

use super::{
    checked::Checked,
    excerpt::{Excerpt, short_pointer},
};
use crate::terminal::{ERROR, GOOD, WARNING, visible};

/// The style of messages and labels.
const STRONG: Style = Style::new().bold();
/// The style of what frames the source line.
const FRAME: Style = AnsiColor::BrightBlue.on_default().bold();
/// The style of what is for the user to do.
const HELP: Style = AnsiColor::BrightCyan.on_default().bold();

/// A finding as a compiler would show it. Streams that show no colours strip them.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    checked: &'a Checked<'a>,
    finding: &'a Finding,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(checked: &'a Checked<'a>, finding: &'a Finding) -> Self {
        Shown { checked, finding }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { code, severity, line, column, message, pointer, help, span, .. } = self.finding;
        let style = match severity {
            Severity::Error => ERROR,
            Severity::Warning => WARNING,
            Severity::Note => GOOD,
        };
        let margin = " ".repeat(line.to_string().len());
        let message = visible(message);
        writeln!(f, "{style}{severity}[{code}]{style:#}{STRONG}: {message}{STRONG:#}")?;
        writeln!(f, "{margin}{FRAME}-->{FRAME:#} {}:{line}:{column}", visible(self.checked.name))?;

        let Excerpt { line: text, span } = Excerpt::new(self.checked.text, span.clone());
        let indent = text[..span.start].width();
        let carets = "^".repeat(text[span].width().max(1));
        writeln!(f, "{margin} {FRAME}|{FRAME:#}")?;
        writeln!(f, "{FRAME}{line} |{FRAME:#} {text}")?;
        write!(f, "{margin} {FRAME}|{FRAME:#} {:indent$}{style}{carets}", "")?;
        if !pointer.is_empty() {
            write!(f, " {}", short_pointer(pointer))?;
        }
        write!(f, "{style:#}")?;

        if let Some(help) = help {
            // What `opentool fix` does by itself is marked as such.
            let (style, word) = if self.finding.is_fixable() { (GOOD, "fix") } else { (HELP, "help") };
            writeln!(f, "\n{margin} {FRAME}|{FRAME:#}")?;
            write!(f, "{margin} {FRAME}={FRAME:#} {style}{word}{style:#}: {}", visible(help))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shown(text: &str) -> String {
        let report = opentool_spec::check(text);
        let checked = Checked { name: "a.json", text, report: &report };
        let mut findings = report.findings.iter().map(|finding| Shown::new(&checked, finding).to_string());
        anstream::adapter::strip_str(&findings.next().unwrap()).to_string()
    }

    #[test]
    fn the_caret_stands_under_wide_characters_and_behind_tabs() {
        let text =
            "{\"opentool\": \"1.1.0\", \"info\": {\"title\": \"天気\", \"version\": \"1\"}, \"functions\": [\n\t7]}";
        insta::assert_snapshot!(shown(text), @r#"
        error[OT011]: a function must be an object, not a number
         --> a.json:2:2
          |
        2 |     7]}
          |     ^ /functions/0
          |
          = help: replace it by `{"name": "function_1", "description": "What function_1 does.", "parameters": []}`
        "#);
        let text = "{\"opentool\": \"1.1.0\", \"info\": {\"title\": \"天気\", \"version\": 1}, \"functions\": []}";
        insta::assert_snapshot!(shown(text), @r#"
        error[OT011]: `version` must be a string, not a number
         --> a.json:1:58
          |
        1 | {"opentool": "1.1.0", "info": {"title": "天気", "version": 1}, "functions": []}
          |                                                            ^ /info/version
          |
          = fix: replace it by `"1"`
        "#);
    }
}
