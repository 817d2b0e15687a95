//! Approval of tools that destroy something.

use std::{collections::HashSet, sync::Arc};

use anstyle::Style;
use opentool::{ApprovalPolicy, ApprovalRequest, Arguments, Ask, BoxFuture, Cancellation, Decision, Tool};
use tokio::sync::Mutex;

use super::{
    super::console::{Console, Line},
    interrupt::Interrupt,
};
use crate::terminal::{WARNING, visible, visible_json};
use opentool_spec::json::{canonical, indented};

/// What the model gets if the user cannot be asked.
const CANNOT_ASK: &str = "the call was not approved: the user cannot be asked here, and `--yes` was not given";
/// What the model gets if the user said no.
const DENIED: &str = "the user did not approve the call";

const PROMPT: &str = "allow it? [y]es, [a]lways, [N]o: ";

/// Arguments longer than this are laid out on lines.
const SHORT: usize = 80;

/// Asks about tools that are marked as destructive, and about those that ask for approval themselves.
pub(super) struct Approval(Ask);

impl ApprovalPolicy for Approval {
    fn needed(&self, tool: &dyn Tool, _: &Arguments) -> bool {
        let metadata = tool.metadata();
        // A tool that says nothing about itself runs without a question, and the calls of a workflow are asked about one by one.
        metadata.needs_approval() || (metadata.destructive() == Some(true) && !metadata.is_composite())
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        self.0.decide(request)
    }
}

/// Approves everything.
pub(super) fn yes() -> Approval {
    Approval(Ask::with(|_| async { Decision::Approve }))
}

/// Approves nothing that needs approval.
pub(super) fn no() -> Approval {
    Approval(Ask::with(|_| async { Decision::Deny(CANNOT_ASK.to_owned()) }))
}

/// Asks the user, one question at a time; Ctrl-C instead of an answer cancels the turn.
pub(super) fn user(console: &Arc<Console>, interrupt: &Arc<Interrupt>) -> Approval {
    let user = Arc::new(User { console: console.clone(), interrupt: interrupt.clone(), always: Mutex::default() });
    Approval(Ask::with(move |request| {
        let tool = request.tool.definition().name().to_owned();
        let question = question(&tool, request.arguments.as_str());
        let turn = request.context.cancellation().clone();
        let user = user.clone();
        async move { user.decide(tool, question, &turn).await }
    }))
}

/// The user at the terminal.
struct User {
    console: Arc<Console>,
    interrupt: Arc<Interrupt>,
    /// The tools that may always run. The lock is held while a question is open, so questions come one at a time, in call order.
    always: Mutex<HashSet<String>>,
}

impl User {
    async fn decide(&self, tool: String, question: String, turn: &Cancellation) -> Decision {
        let denied = || Decision::Deny(DENIED.to_owned());
        let mut always = self.always.lock().await;
        if always.contains(&tool) {
            return Decision::Approve;
        }
        if !self.interrupt.is_given() && !turn.is_cancelled() {
            match self.console.ask(question, PROMPT).await {
                Ok(Line::Text(answer)) => match answer.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Decision::Approve,
                    "a" | "always" => {
                        always.insert(tool);
                        return Decision::Approve;
                    }
                    _ => return denied(),
                },
                Ok(Line::Interrupted) => self.interrupt.give(),
                // No answer is no approval.
                Ok(Line::End) | Err(_) => return denied(),
            }
        }
        drop(always);
        // An answer now would reach the model before the turn has ended.
        turn.cancelled().await;
        denied()
    }
}

/// The question with the whole call: neither an escape in the JSON nor one for the terminal hides a part of it.
fn question(tool: &str, arguments: &str) -> String {
    const NAME: Style = Style::new().bold();
    let arguments = canonical(arguments);
    let arguments = if arguments.len() > SHORT { format!("\n{}", indented(&arguments)) } else { arguments };
    let arguments = visible_json(&arguments);
    format!("{WARNING}the model wants to run{WARNING:#} {NAME}{}{NAME:#} {arguments}", visible(tool))
}

#[cfg(test)]
mod tests {
    use opentool::FnTool;

    use super::*;

    #[test]
    fn only_tools_that_are_marked_need_approval() {
        let is_needed = |tool: FnTool| tool.build().is_ok_and(|tool| no().needed(&*tool, &Arguments::none()));
        assert!(!is_needed(FnTool::new("unknown", || ())));
        assert!(is_needed(FnTool::new("delete", || ()).destructive()));
    }

    #[test]
    fn a_question_shows_all_of_what_is_run_and_nothing_else() {
        let plain = |tool, arguments| anstream::adapter::strip_str(&question(tool, arguments)).to_string();
        assert_eq!(plain("rm", r#"{ "path": "\u002ftmp" }"#), r#"the model wants to run rm {"path":"/tmp"}"#);
        let hidden = plain("rm", "{\"path\":\"/\u{9b}2K\u{202e}\\u001b[2K\\r safe\"}");
        assert_eq!(hidden, r#"the model wants to run rm {"path":"/\u009b2K\u202e\u001b[2K\r safe"}"#);
        let smuggled = plain("rm\u{ad}", "{\"path\":\"/tmp\u{e0041}\u{3164}\"}");
        assert_eq!(smuggled, r#"the model wants to run rm� {"path":"/tmp\udb40\udc41\u3164"}"#);
        let long = plain("write", &format!(r#"{{"text":"{}","end":"x"}}"#, "a".repeat(5_000)));
        assert!(long.starts_with("the model wants to run write \n{\n  \"text\": \"aaa"), "{long}");
        assert!(long.ends_with("aaa\",\n  \"end\": \"x\"\n}"), "nothing is cut off");
    }
}
