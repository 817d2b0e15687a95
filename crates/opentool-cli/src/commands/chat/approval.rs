//! Which calls the user is asked about, and the asking.

use std::{collections::HashSet, sync::Arc};

use clap::ValueEnum;
use opentool::{
    ApprovalPolicy, ApprovalRequest, Arguments, Ask, BoxFuture, Cancellation, Decision, Tool, ToolDefinition,
};
use tokio::sync::Mutex;

use super::{
    super::console::{Console, Line},
    interrupt::Interrupt,
    question::CallQuestion,
};

/// What the model gets if the user cannot be asked.
const CANNOT_ASK: &str = "the call was not approved: the user cannot be asked here, and `--yes` was not given";
/// What the model gets if the user said no.
const DENIED: &str = "the user did not approve the call";

/// Which calls the user is asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Approve {
    /// Every tool that is not known to only read
    #[default]
    Writes,
    /// Tools that are known to destroy something, and those that ask for approval themselves
    Destructive,
    /// Every tool
    All,
    /// None: every tool runs unasked
    None,
}

impl Approve {
    /// Whether the user is asked about the calls of a tool.
    pub(super) fn asks_about(self, tool: &dyn Tool) -> bool {
        let metadata = tool.metadata();
        match self {
            Approve::All => true,
            Approve::None => false,
            // The calls of a workflow are asked about one by one.
            _ if metadata.is_composite() => metadata.needs_approval(),
            Approve::Destructive => metadata.needs_approval() || metadata.destructive() == Some(true),
            // A tool that says nothing about itself may do anything.
            Approve::Writes => {
                let only_reads = metadata.read_only() == Some(true) && metadata.destructive() != Some(true);
                metadata.needs_approval() || !only_reads
            }
        }
    }
}

/// Asks about the calls of some tools.
pub(super) struct Approval {
    which: Approve,
    ask: Ask,
}

impl ApprovalPolicy for Approval {
    fn needed(&self, tool: &dyn Tool, _: &Arguments) -> bool {
        // What asks for approval itself needs a decision even where the user wants no question; it is then approved.
        self.which.asks_about(tool) || tool.metadata().needs_approval()
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        self.ask.decide(request)
    }
}

impl Approval {
    /// Asks the user, one question at a time; Ctrl-C instead of an answer cancels the turn.
    ///
    /// Where the user cannot be asked, what would need an answer waits in the journal, and without one is denied.
    pub(super) fn new(which: Approve, console: &Arc<Console>, interrupt: &Arc<Interrupt>, has_journal: bool) -> Self {
        let ask = match which {
            Approve::None => Ask::with(|_| async { Decision::Approve }),
            _ if !console.is_interactive() && has_journal => Ask::later(),
            _ if !console.is_interactive() => Ask::with(|_| async { Decision::Deny(CANNOT_ASK.to_owned()) }),
            _ => ask_user(console, interrupt),
        };
        Approval { which, ask }
    }
}

fn ask_user(console: &Arc<Console>, interrupt: &Arc<Interrupt>) -> Ask {
    let user = Arc::new(User { console: console.clone(), interrupt: interrupt.clone(), always: Mutex::default() });
    Ask::with(move |request| {
        let definition = request.tool.definition();
        let question = CallQuestion::new(definition.name(), request.arguments.as_str());
        let (tool, turn) = (ApprovedTool::new(definition), request.context.cancellation().clone());
        let user = user.clone();
        async move { user.decide(tool, question, &turn).await }
    })
}

/// A tool as it was when the user approved all of its calls: a server that replaces it has to be asked about again.
#[derive(PartialEq, Eq, Hash)]
struct ApprovedTool {
    name: String,
    description: String,
    schema: String,
}

impl ApprovedTool {
    fn new(definition: &ToolDefinition) -> Self {
        ApprovedTool {
            name: definition.name().to_owned(),
            description: definition.description().to_owned(),
            schema: definition.input_schema().to_string(),
        }
    }
}

/// The user at the terminal.
struct User {
    console: Arc<Console>,
    interrupt: Arc<Interrupt>,
    /// The tools that may always run. The lock is held while a question is open, so questions come one at a time, in call order.
    always: Mutex<HashSet<ApprovedTool>>,
}

impl User {
    async fn decide(&self, tool: ApprovedTool, question: CallQuestion, turn: &Cancellation) -> Decision {
        let denied = || Decision::Deny(DENIED.to_owned());
        let mut always = self.always.lock().await;
        if always.contains(&tool) {
            return Decision::Approve;
        }
        let mut text = question.text();
        while !self.interrupt.is_given() && !turn.is_cancelled() {
            match self.console.ask(text, question.prompt()).await {
                Ok(Line::Text(answer)) => match answer.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Decision::Approve,
                    "a" | "always" => {
                        always.insert(tool);
                        return Decision::Approve;
                    }
                    "s" | "show" | "show all" if question.is_cut() => text = question.all(),
                    _ => return denied(),
                },
                Ok(Line::Interrupted) => {
                    self.interrupt.give();
                    break;
                }
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

#[cfg(test)]
mod tests {
    use opentool::FnTool;

    use super::*;

    #[test]
    fn by_default_only_tools_that_are_known_to_read_run_unasked() {
        let asked = |tool: FnTool| {
            let tool = tool.build().ok();
            [Approve::Writes, Approve::Destructive, Approve::All, Approve::None]
                .map(|which| tool.as_ref().is_some_and(|tool| which.asks_about(&**tool)))
        };
        assert_eq!(asked(FnTool::new("unknown", || ())), [true, false, true, false]);
        assert_eq!(asked(FnTool::new("read", || ()).read_only()), [false, false, true, false]);
        assert_eq!(asked(FnTool::new("delete", || ()).destructive()), [true, true, true, false]);
    }

    #[test]
    fn always_is_for_one_definition_of_a_tool() {
        let tool = |description: &str, schema: serde_json::Value| {
            let tool = FnTool::new("send", |_: serde_json::Map<String, serde_json::Value>| ());
            let tool = tool.description(description).input_schema(schema).build().ok();
            tool.map(|tool| ApprovedTool::new(tool.definition()))
        };
        let object = || serde_json::json!({ "type": "object", "properties": { "to": { "type": "string" } } });
        let wider = serde_json::json!({ "type": "object" });
        assert!(tool("Send a mail.", object()) == tool("Send a mail.", object()));
        assert!(tool("Send a mail.", object()) != tool("Send money.", object()));
        assert!(tool("Send a mail.", object()) != tool("Send a mail.", wider));
    }
}
