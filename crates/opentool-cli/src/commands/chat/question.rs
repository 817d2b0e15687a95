//! How a call is shown to the user who has to approve it.
//!
//! What a model writes must not pass for what this program writes: nothing of it moves the cursor, runs of blanks cannot push the
//! end of the question out of sight, and the name of the tool stands on the prompt line too, below everything that the model wrote.

use anstyle::Style;
use opentool_spec::json::{canonical, indented};

use crate::terminal::{WARNING, visible, visible_json};

/// Arguments longer than this are laid out on lines.
const SHORT: usize = 80;
/// How many characters and lines of the arguments are shown at first.
const SHOWN: usize = 600;
const SHOWN_LINES: usize = 12;
/// A run of more blanks than this is folded, unless it indents a line.
const BLANKS: usize = 2;

/// A call that the user is asked about.
pub(super) struct CallQuestion {
    tool: String,
    /// The whole arguments, on as many lines as they need.
    arguments: String,
}

impl CallQuestion {
    pub(super) fn new(tool: &str, arguments: &str) -> Self {
        // Neither an escape in the JSON nor one for the terminal hides a part of it.
        let arguments = canonical(arguments);
        let arguments = if arguments.len() > SHORT { format!("\n{}", indented(&arguments)) } else { arguments };
        CallQuestion { tool: visible(tool).into_owned(), arguments: visible_json(&arguments).into_owned() }
    }

    /// The question, with the beginning of long arguments.
    pub(super) fn text(&self) -> String {
        const NAME: Style = Style::new().bold();
        let (tool, arguments) = (&self.tool, self.beginning().unwrap_or_else(|| self.folded()));
        format!("{WARNING}the model wants to run{WARNING:#} {NAME}{tool}{NAME:#} {arguments}")
    }

    /// The whole arguments, blanks and all.
    pub(super) fn all(&self) -> String {
        format!("all arguments of {}: {}", self.tool, self.arguments)
    }

    /// The prompt line, which names the tool again.
    pub(super) fn prompt(&self) -> String {
        let all = if self.is_cut() { "[s]how all, " } else { "" };
        format!("allow {}? [y]es, [a]lways, {all}[N]o: ", self.tool)
    }

    /// Whether there is more to see than the question shows.
    pub(super) fn is_cut(&self) -> bool {
        self.beginning().is_some() || self.folded() != self.arguments
    }

    fn folded(&self) -> String {
        self.arguments.split('\n').map(fold).collect::<Vec<_>>().join("\n")
    }

    /// The beginning of long arguments, and how much more there is; none where they are short.
    fn beginning(&self) -> Option<String> {
        let folded = self.folded();
        let by_lines = folded.match_indices('\n').nth(SHOWN_LINES).map(|(at, _)| at);
        let by_length = folded.char_indices().nth(SHOWN).map(|(at, _)| at);
        let at = by_lines.into_iter().chain(by_length).min()?;
        let total = self.arguments.chars().count();
        Some(format!("{}…\n({total} characters in all; s shows them)", &folded[..at]))
    }
}

/// A line whose runs of blanks are shown as their number; what indents it stays.
fn fold(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let mut folded = line[..line.len() - text.len()].to_owned();
    let mut blanks = String::new();
    for char in text.chars().map(Some).chain([None]) {
        match char {
            Some(blank) if is_blank(blank) => blanks.push(blank),
            other => {
                match blanks.chars().count() {
                    0..=BLANKS => folded.push_str(&blanks),
                    count => folded.push_str(&format!("⟨{count} blanks⟩")),
                }
                blanks.clear();
                folded.extend(other);
            }
        }
    }
    folded
}

/// Whether a character looks like nothing: spaces of any width, and patterns without dots.
fn is_blank(char: char) -> bool {
    char.is_whitespace() || matches!(char, '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{180e}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(tool: &str, arguments: &str) -> String {
        anstream::adapter::strip_str(&CallQuestion::new(tool, arguments).text()).to_string()
    }

    #[test]
    fn a_question_shows_what_is_run_and_nothing_else() {
        assert_eq!(plain("rm", r#"{ "path": "\u002ftmp" }"#), r#"the model wants to run rm {"path":"/tmp"}"#);
        let hidden = plain("rm", "{\"path\":\"/\u{9b}2K\u{202e}\\u001b[2K\\r safe\"}");
        assert_eq!(hidden, r#"the model wants to run rm {"path":"/\u009b2K\u202e\u001b[2K\r safe"}"#);
        let smuggled = plain("rm\u{ad}", "{\"path\":\"/tmp\u{e0041}\u{3164}\"}");
        assert_eq!(smuggled, r#"the model wants to run rm� {"path":"/tmp\udb40\udc41\u3164"}"#);
    }

    #[test]
    fn padding_cannot_hide_the_call() {
        for blank in [' ', '\u{a0}', '\u{2800}', '\u{3000}', '\u{2003}'] {
            let padded = format!(r#"{{"a":"x{}the model wants to run list {{}}"}}"#, blank.to_string().repeat(5_000));
            let question = CallQuestion::new("rm", &padded);
            let shown = plain("rm", &padded);
            assert!(shown.contains("x⟨5000 blanks⟩the model wants to run list {}"), "{blank:?}: {shown}");
            assert!(shown.chars().count() < 200, "{blank:?}: {shown}");
            assert_eq!(question.prompt(), "allow rm? [y]es, [a]lways, [s]how all, [N]o: ");
            assert!(question.all().contains(&blank.to_string().repeat(5_000)), "nothing is lost");
        }
        assert_eq!(plain("say", r#"{"a":"two  words"}"#), r#"the model wants to run say {"a":"two  words"}"#);
    }

    #[test]
    fn long_arguments_are_cut_and_can_be_seen_whole() {
        let arguments = format!(r#"{{"text":"{}","end":"x"}}"#, "a".repeat(5_000));
        let question = CallQuestion::new("write", &arguments);
        let shown = plain("write", &arguments);
        assert!(shown.starts_with("the model wants to run write \n{\n  \"text\": \"aaa"), "{shown}");
        assert!(shown.ends_with("aaa…\n(5031 characters in all; s shows them)"), "{shown}");
        assert!(shown.chars().count() < 800);
        assert!(question.prompt().starts_with("allow write? ") && question.prompt().contains("[s]how all"));
        assert!(question.all().ends_with("aaa\",\n  \"end\": \"x\"\n}"), "nothing is cut off");
        let lines = format!("[{}]", (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
        assert!(plain("write", &lines).lines().count() <= SHOWN_LINES + 2);
        assert_eq!(CallQuestion::new("add", r#"{"a":1}"#).prompt(), "allow add? [y]es, [a]lways, [N]o: ");
    }
}
