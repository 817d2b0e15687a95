//! One turn: the prompt, the calls of the model, its answer.

use std::time::Duration;

use opentool::{Cancellation, ToolEvent};
use opentool_chat::{Cause, ChatError, ChatEvent, ChatRequest, ChatResponse, Exchange, FinishReason, TurnEnd};
use tokio::time::sleep;

use super::{
    super::console::Console,
    interrupt::Interrupt,
    progress::Progress,
    report::{CallReport, Report, raw},
    show,
};
use crate::{failure::Failure, terminal::warn};

/// The result of a turn.
#[derive(Debug)]
pub(super) struct TurnResult {
    text: String,
    exchange: Exchange,
    calls: Vec<CallReport>,
    model: Option<String>,
    finish_reason: Option<FinishReason>,
    reasoning: String,
    /// Whether the text is JSON that follows a schema.
    is_typed: bool,
    /// The run that the turn is recorded in.
    pub(super) run: Option<String>,
    pub(super) end: TurnEnd,
    pub(super) error: Option<ChatError>,
    /// Why not all of it could be written.
    pub(super) unwritten: Option<Failure>,
}

impl TurnResult {
    fn without_answer(error: ChatError, calls: Vec<CallReport>, unwritten: Option<Failure>) -> Self {
        let partial = error.exchange().partial.clone().unwrap_or_default();
        TurnResult {
            text: partial.text.to_string(),
            exchange: error.exchange().clone(),
            calls,
            model: None,
            finish_reason: None,
            reasoning: partial.reasoning.to_string(),
            is_typed: false,
            run: error.run_id().map(str::to_owned),
            end: error.end(),
            error: Some(error),
            unwritten,
        }
    }

    fn answered(response: &ChatResponse, calls: Vec<CallReport>, is_typed: bool, unwritten: Option<Failure>) -> Self {
        TurnResult {
            text: response.text(),
            exchange: response.exchange().clone(),
            calls,
            model: response.model.clone(),
            finish_reason: response.finish_reason().cloned(),
            reasoning: response.message().map(|message| message.reasoning.to_string()).unwrap_or_default(),
            is_typed,
            run: response.run_id().map(str::to_owned),
            end: response.end(),
            error: None,
            unwritten,
        }
    }

    /// Whether the user cancelled the turn.
    pub(super) fn was_cancelled(&self) -> bool {
        self.end == TurnEnd::Cancelled
    }

    /// Prints it all as one JSON object.
    pub(super) fn print(&self, conversation: Option<&str>) -> Result<(), Failure> {
        let report = Report {
            text: &self.text,
            model: self.model.as_deref(),
            finish_reason: self.finish_reason.as_ref().map(FinishReason::as_str),
            end: self.end,
            reasoning: &self.reasoning,
            refusal: (self.end == TurnEnd::Refused).then_some(&self.text),
            answer: self.is_typed.then(|| raw(&self.text)),
            messages: self.exchange.messages(),
            tool_calls: &self.calls,
            usage: self.exchange.usage,
            cost: self.exchange.cost,
            conversation,
            run: self.run.as_deref(),
            error: self.error.as_ref().map(ToString::to_string),
        };
        report.print()
    }
}

/// Where a turn is written to, and how.
#[derive(Clone, Copy)]
pub(super) struct TurnOutput<'a> {
    pub(super) console: &'a Console,
    /// Whether nothing is written while it runs.
    pub(super) quiet: bool,
    /// Whether the answer is JSON, which is written when it was checked.
    pub(super) is_typed: bool,
}

/// How long a cancelled turn may take to end before the user gets a hint.
const HINT_AFTER: Duration = Duration::from_secs(1);

/// The warning for a turn that could not be kept.
pub(super) const NOT_KEPT: &str = "nothing of this turn is remembered";

/// Runs a turn and, unless it is quiet, writes what happens to the console.
pub(super) async fn run(
    request: ChatRequest,
    output: TurnOutput<'_>,
    interrupt: &Interrupt,
) -> Result<TurnResult, Failure> {
    let TurnOutput { console, quiet, is_typed } = output;
    let cancellation = Cancellation::new();
    let mut events = request.cancellation(cancellation.clone()).stream();
    let mut printer = Printer { console, quiet, unwritten: None };
    let mut calls = Vec::new();
    let mut is_hinted = false;
    let mut progress = Progress::new(!quiet && console.is_terminal());
    loop {
        let event = tokio::select! {
            // Ctrl-C goes first, so that a turn that was cancelled before it began asks no question.
            biased;
            () = interrupt.given() => {
                if cancellation.is_cancelled() {
                    console.clear_progress();
                    warn(&NOT_KEPT);
                    return Ok(TurnResult::without_answer(Cause::Cancelled.into(), calls, printer.unwritten));
                }
                // The running calls are cancelled, and their results are still shown.
                cancellation.cancel();
                continue;
            }
            event = events.next() => event,
            () = progress.tick() => {
                console.show_progress(progress.line());
                continue;
            }
            () = sleep(HINT_AFTER), if cancellation.is_cancelled() && !is_hinted => {
                console.clear_progress();
                // Most likely another process holds the memory.
                warn(&"the turn takes a while to end; press Ctrl-C again to end it at once");
                is_hinted = true;
                continue;
            }
        };
        if let Some(Ok(event)) = &event {
            progress.record(event);
        }
        match event {
            Some(Ok(ChatEvent::Run(run))) => printer.print(|console| console.note(show::run(&run))),
            Some(Ok(ChatEvent::Text(_))) if is_typed => {}
            Some(Ok(ChatEvent::Text(text))) => printer.print(|console| console.say(&text)),
            Some(Ok(ChatEvent::Tool(event))) => {
                CallReport::record(&mut calls, &event);
                printer.print(|console| print_event(console, &event));
            }
            Some(Ok(ChatEvent::Done(response))) => {
                if is_typed && response.run_state().is_none() {
                    printer.print(|console| console.say(&response.text()));
                }
                printer.print(Console::end_line);
                console.clear_progress();
                if let Some(why) = incomplete(response.end()) {
                    warn(&why);
                } else if response.text().trim().is_empty() && response.run_state().is_none() {
                    warn(&"the answer is empty: the model said nothing");
                }
                return Ok(TurnResult::answered(&response, calls, is_typed, printer.unwritten));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                printer.print(Console::end_line);
                console.clear_progress();
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
fn incomplete(end: TurnEnd) -> Option<&'static str> {
    match end {
        TurnEnd::CutOff => Some("the answer is cut off: the model ran out of tokens"),
        TurnEnd::Filtered => Some("the answer is cut off: its provider withheld the rest"),
        TurnEnd::Refused => Some("the model refused to answer"),
        TurnEnd::Paused => Some("the answer is cut off: its provider paused it again and again"),
        TurnEnd::AnsweredAtLimit => {
            Some("the turn reached its limit of tool calls: the answer is what the model knew by then")
        }
        _ => None,
    }
}
