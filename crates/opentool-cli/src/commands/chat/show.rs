//! The lines about calls while they run.

use anstyle::Style;
use opentool::Outcome;

use crate::terminal::{ERROR, visible, visible_json};
use opentool_spec::json::canonical;

/// The style of lines that are not part of the conversation.
const ASIDE: Style = Style::new().dimmed();

/// How many characters of an argument list or an answer are shown.
const SHOWN: usize = 300;

/// `→ add {"a":1,"b":2}`.
pub(super) fn request(tool: &str, arguments: &str) -> String {
    let arguments = canonical(arguments);
    format!("{ASIDE}→ {} {}{ASIDE:#}", visible(tool), cut(&visible_json(&arguments)))
}

/// `recorded as run r…`.
pub(super) fn run(id: &str) -> String {
    format!("{ASIDE}recorded as run {}{ASIDE:#}", visible(id))
}

/// `← add 3`.
pub(super) fn outcome(outcome: &Outcome) -> String {
    let tool = visible(&outcome.tool);
    match &outcome.result {
        Ok(output) if output.is_empty() => format!("{ASIDE}← {tool} done{ASIDE:#}"),
        Ok(output) => format!("{ASIDE}← {tool} {}{ASIDE:#}", cut(&on_a_line(&output.to_text()))),
        Err(error) => {
            format!("{ASIDE}← {tool}{ASIDE:#} {ERROR}error{ERROR:#}: {}", cut(&on_a_line(error.message())))
        }
    }
}

/// A text on one line, its breaks as spaces.
fn on_a_line(text: &str) -> String {
    let text: Vec<_> = text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()).collect();
    visible(&text.join(" ")).into_owned()
}

/// The beginning of a text, and how much more there is.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_cut_and_says_how_long_it_is() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        assert_eq!(cut(&"é".repeat(400)), format!("{}… (400 characters)", "é".repeat(SHOWN)));
    }

    #[test]
    fn escape_sequences_in_a_call_do_not_reach_the_terminal() {
        let line = anstream::adapter::strip_str(&request("a\u{1b}[2Jb", "{\"x\":\"\u{9b}1m\"}")).to_string();
        assert_eq!(line, r#"→ a�[2Jb {"x":"\u009b1m"}"#);
        assert_eq!(on_a_line("one\r\n\ntwo\u{1b}[2J"), "one two�[2J");
    }
}
