//! Who decides whether a tool that destroys something may run.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    console::{Console, Line},
    interrupt::Interrupt,
};
use crate::{
    json_text::{canonical, indented},
    terminal::{WARNING, visible, visible_json},
};
use anstyle::Style;
use opentool::{Ask, Decision};

/// What a model is told where nobody can be asked.
const NOBODY: &str = "the call was not approved: nobody is there to ask, since only `--yes` approves such calls here";
/// What a model is told where the user said no.
const DENIED: &str = "the user did not approve the call";

const PROMPT: &str = "allow it? [y]es, [a]lways, [N]o: ";

/// Arguments longer than this are laid out on lines.
const SHORT: usize = 80;

/// Approves everything.
pub(super) fn yes() -> Ask {
    Ask::with(|_| async { Decision::Approve }).for_destructive(true)
}

/// Approves nothing that needs approval.
pub(super) fn nobody() -> Ask {
    Ask::with(|_| async { Decision::Deny(NOBODY.to_owned()) }).for_destructive(true)
}

/// Asks the user; Ctrl-C instead of an answer gives the turn up.
pub(super) fn user(console: &Arc<Console>, interrupt: &Arc<Interrupt>) -> Ask {
    let (console, interrupt) = (console.clone(), interrupt.clone());
    let always: Arc<Mutex<HashSet<String>>> = Arc::default();
    Ask::with(move |request| {
        let (console, interrupt, always) = (console.clone(), interrupt.clone(), always.clone());
        let tool = request.tool.definition().name().to_owned();
        let question = question(&tool, request.arguments.as_str());
        let turn = request.context.cancellation().clone();
        async move {
            let known = || always.lock().unwrap_or_else(PoisonError::into_inner);
            if known().contains(&tool) {
                return Decision::Approve;
            }
            match console.ask(question, PROMPT).await {
                Ok(Line::Text(answer)) => match answer.trim().to_lowercase().as_str() {
                    "y" | "yes" => Decision::Approve,
                    "a" | "always" => {
                        known().insert(tool);
                        Decision::Approve
                    }
                    _ => Decision::Deny(DENIED.to_owned()),
                },
                Ok(Line::Interrupted) => {
                    interrupt.give();
                    // An answer now would reach the model before the turn has ended.
                    turn.cancelled().await;
                    Decision::Deny(DENIED.to_owned())
                }
                // No answer is no approval.
                Ok(Line::End) | Err(_) => Decision::Deny(DENIED.to_owned()),
            }
        }
    })
    .for_destructive(true)
}

/// All of what is to be run, as it reads: neither an escape in the JSON nor one for the terminal hides a part of it.
fn question(tool: &str, arguments: &str) -> String {
    const NAME: Style = Style::new().bold();
    let arguments = canonical(arguments);
    let arguments = if arguments.len() > SHORT { format!("\n{}", indented(&arguments)) } else { arguments };
    let arguments = visible_json(&arguments);
    format!("{WARNING}the model wants to run{WARNING:#} {NAME}{}{NAME:#} {arguments}", visible(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_all_of_what_is_run_and_nothing_else() {
        let plain = |tool, arguments| anstream::adapter::strip_str(&question(tool, arguments)).to_string();
        assert_eq!(plain("rm", r#"{ "path": "\u002ftmp" }"#), r#"the model wants to run rm {"path":"/tmp"}"#);
        let hidden = plain("rm", "{\"path\":\"/\u{9b}2K\u{202e}\\u001b[2K\\r safe\"}");
        assert_eq!(hidden, r#"the model wants to run rm {"path":"/\u009b2K\u202e\u001b[2K\r safe"}"#);
        let long = plain("write", &format!(r#"{{"text":"{}","end":"x"}}"#, "a".repeat(5_000)));
        assert!(long.starts_with("the model wants to run write \n{\n  \"text\": \"aaa"), "{long}");
        assert!(long.ends_with("aaa\",\n  \"end\": \"x\"\n}"), "nothing is cut off");
    }
}
