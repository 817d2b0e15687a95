//! One turn: the prompt, the calls of the model, its answer.

use std::time::Duration;

use futures_util::StreamExt as _;
use opentool::{Cancellation, ToolEvent};
use opentool_chat::{Cause, ChatClient, ChatError, ChatEvent, Exchange, FinishReason, UserMessage};
use tokio::time::sleep;

use super::{
    super::console::Console,
    interrupt::Interrupt,
    report::{CallReport, Report},
    show,
};
use crate::{failure::Failure, terminal::warn};

/// The result of a turn.
#[derive(Debug)]
pub(super) struct TurnResult {
    text: String,
    exchange: Exchange,
    calls: Vec<CallReport>,
    pub(super) error: Option<ChatError>,
    /// Why not all of it could be written.
    pub(super) unwritten: Option<Failure>,
}

impl TurnResult {
    fn without_answer(error: ChatError, calls: Vec<CallReport>, unwritten: Option<Failure>) -> Self {
        TurnResult { text: String::new(), exchange: error.exchange().clone(), calls, error: Some(error), unwritten }
    }

    /// Whether the user cancelled the turn.
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

/// How long a cancelled turn may take to end before the user gets a hint.
const HINT_AFTER: Duration = Duration::from_secs(1);

/// The warning for a turn that could not be kept.
pub(super) const NOT_KEPT: &str = "nothing of this turn is remembered";

/// Runs a turn and, unless it is quiet, writes what happens to the console.
pub(super) async fn run(
    client: &ChatClient,
    prompt: UserMessage,
    console: &Console,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<TurnResult, Failure> {
    let cancellation = Cancellation::new();
    let mut events = client.prompt(prompt).cancellation(cancellation.clone()).stream();
    let mut printer = Printer { console, quiet, unwritten: None };
    let mut calls = Vec::new();
    let mut is_hinted = false;
    loop {
        let event = tokio::select! {
            // Ctrl-C goes first, so that a turn that was cancelled before it began asks no question.
            biased;
            () = interrupt.given() => {
                if cancellation.is_cancelled() {
                    warn(&NOT_KEPT);
                    return Ok(TurnResult::without_answer(Cause::Cancelled.into(), calls, printer.unwritten));
                }
                // The running calls are cancelled, and their results are still shown.
                cancellation.cancel();
                continue;
            }
            event = events.next() => event,
            () = sleep(HINT_AFTER), if cancellation.is_cancelled() && !is_hinted => {
                // Most likely another process holds the memory.
                warn(&"the turn takes a while to end; press Ctrl-C again to end it at once");
                is_hinted = true;
                continue;
            }
        };
        match event {
            Some(Ok(ChatEvent::Text(text))) => printer.print(|console| console.say(&text)),
            Some(Ok(ChatEvent::Tool(event))) => {
                CallReport::record(&mut calls, &event);
                printer.print(|console| print_event(console, &event));
            }
            Some(Ok(ChatEvent::Done(response))) => {
                printer.print(Console::end_line);
                if let Some(why) = response.finish_reason().and_then(incomplete) {
                    warn(&why);
                }
                let (text, exchange) = (response.text(), response.exchange().clone());
                return Ok(TurnResult { text, exchange, calls, error: None, unwritten: printer.unwritten });
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                printer.print(Console::end_line);
                return Ok(TurnResult::without_answer(error, calls, printer.unwritten));
            }
            // The last item was an answer or an error.
            None => return Err(Failure::usage("the turn ended without an answer")),
        }
    }
}

/// Writes what happens, until writing fails.
struct Printer<'a> {
    console: &'a Console,
    quiet: bool,
    unwritten: Option<Failure>,
}

impl Printer<'_> {
    /// Writes something. A failure does not end the turn, since its tools have effects.
    fn print(&mut self, write: impl FnOnce(&Console) -> Result<(), Failure>) {
        if !self.quiet && self.unwritten.is_none() {
            self.unwritten = write(self.console).err();
        }
    }
}

fn print_event(console: &Console, event: &ToolEvent) -> Result<(), Failure> {
    match event {
        ToolEvent::Requested(call, arguments) => console.note(show::request(&call.tool, arguments.as_str())),
        ToolEvent::Finished(_, outcome) | ToolEvent::Failed(_, outcome) => console.note(show::outcome(outcome)),
        _ => Ok(()),
    }
}

/// Why an answer is not complete.
fn incomplete(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Length => Some("the answer is cut off: the model ran out of tokens"),
        FinishReason::ContentFilter => Some("the answer is cut off: its provider withheld the rest"),
        _ => None,
    }
}
