//! One turn: what the user says, what the model does about it, and what it answers.

use std::time::Duration;

use futures_util::StreamExt as _;
use opentool::{Cancellation, ToolEvent};
use opentool_chat::{Cause, ChatClient, ChatError, ChatEvent, Exchange, FinishReason};
use tokio::time::sleep;

use super::{
    console::Console,
    interrupt::Interrupt,
    report::{CallReport, Report},
    show,
};
use crate::{failure::Failure, terminal::warn};

/// What became of a turn.
#[derive(Debug)]
pub(super) struct Told {
    text: String,
    exchange: Exchange,
    calls: Vec<CallReport>,
    pub(super) error: Option<ChatError>,
    /// Why not all of it could be told.
    pub(super) unheard: Option<Failure>,
}

impl Told {
    fn without_answer(error: ChatError, calls: Vec<CallReport>, unheard: Option<Failure>) -> Self {
        Told { text: String::new(), exchange: error.exchange().clone(), calls, error: Some(error), unheard }
    }

    /// Whether the user gave the turn up.
    pub(super) fn was_cancelled(&self) -> bool {
        self.error.as_ref().is_some_and(|error| matches!(error.cause(), Cause::Cancelled))
    }

    /// What was said in this turn.
    pub(super) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Prints it all as one JSON object.
    pub(super) fn print(&self, conversation: Option<&str>) -> Result<(), Failure> {
        let report = Report {
            text: &self.text,
            messages: self.exchange.messages(),
            tool_calls: &self.calls,
            usage: self.exchange.usage,
            conversation,
            error: self.error.as_ref().map(ToString::to_string),
        };
        report.print()
    }
}

/// How long a turn that was given up may take to end before its user is told how to wait no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is said where a turn could not be kept.
pub(super) const NOT_KEPT: &str = "nothing of this turn is remembered";

/// Runs a turn and, unless it is to be quiet, tells what happens on the console.
pub(super) async fn run(
    client: &ChatClient,
    prompt: &str,
    console: &Console,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<Told, Failure> {
    let cancellation = Cancellation::new();
    let mut events = client.prompt(prompt).cancellation(cancellation.clone()).stream();
    let mut teller = Teller { console, quiet, unheard: None };
    let mut calls = Vec::new();
    let mut is_hinted = false;
    loop {
        let event = tokio::select! {
            // Whoever wants the turn to end before it begins is not asked about.
            biased;
            () = interrupt.given() => {
                if cancellation.is_cancelled() {
                    warn(&NOT_KEPT);
                    return Ok(Told::without_answer(Cause::Cancelled.into(), calls, teller.unheard));
                }
                // The calls in flight learn of it, and their answers are still told.
                cancellation.cancel();
                continue;
            }
            event = events.next() => event,
            () = sleep(PATIENCE), if cancellation.is_cancelled() && !is_hinted => {
                // Most likely somebody else holds the memory.
                warn(&"the turn takes a while to end; Ctrl-C again gives it up at once");
                is_hinted = true;
                continue;
            }
        };
        match event {
            Some(Ok(ChatEvent::Text(text))) => teller.tell(|console| console.say(&text)),
            Some(Ok(ChatEvent::Tool(event))) => {
                CallReport::record(&mut calls, &event);
                teller.tell(|console| tell(console, &event));
            }
            Some(Ok(ChatEvent::Done(response))) => {
                teller.tell(Console::end_line);
                if let Some(why) = response.finish_reason().and_then(incomplete) {
                    warn(&why);
                }
                let (text, exchange) = (response.text(), response.exchange().clone());
                return Ok(Told { text, exchange, calls, error: None, unheard: teller.unheard });
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                teller.tell(Console::end_line);
                return Ok(Told::without_answer(error, calls, teller.unheard));
            }
            // The last item was an answer or an error.
            None => return Err(Failure::usage("the turn ended without an answer")),
        }
    }
}

/// Tells what happens as long as somebody listens.
struct Teller<'a> {
    console: &'a Console,
    quiet: bool,
    unheard: Option<Failure>,
}

impl Teller<'_> {
    /// Tells something; what cannot be told ends no turn, in which tools have acted or will.
    fn tell(&mut self, tell: impl FnOnce(&Console) -> Result<(), Failure>) {
        if !self.quiet && self.unheard.is_none() {
            self.unheard = tell(self.console).err();
        }
    }
}

fn tell(console: &Console, event: &ToolEvent) -> Result<(), Failure> {
    match event {
        ToolEvent::Requested(call, arguments) => console.note(show::request(&call.tool, arguments.as_str())),
        ToolEvent::Finished(_, outcome) | ToolEvent::Failed(_, outcome) => console.note(show::outcome(outcome)),
        _ => Ok(()),
    }
}

/// Why an answer is not all that the model had to say.
fn incomplete(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Length => Some("the answer is cut off: the model ran out of tokens"),
        FinishReason::ContentFilter => Some("the answer is cut off: its provider withheld the rest"),
        _ => None,
    }
}
