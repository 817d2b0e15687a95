//! One turn: what the user says, what the model does about it, and what it answers.

use futures_util::StreamExt as _;
use opentool::{Cancellation, ToolEvent};
use opentool_chat::{Cause, ChatClient, ChatError, ChatEvent, Exchange, FinishReason};

use super::{
    console::Console,
    interrupt::Interrupt,
    report::{Call, Report},
    show,
};
use crate::{failure::Failure, terminal::warn};

/// What became of a turn.
#[derive(Debug)]
pub(super) struct Told {
    text: String,
    exchange: Exchange,
    calls: Vec<Call>,
    pub(super) error: Option<ChatError>,
}

impl Told {
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
    let mut calls = Vec::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupt.given() => {
                // The calls in flight learn of it, and their answers are still told.
                cancellation.cancel();
                continue;
            }
        };
        match event {
            Some(Ok(ChatEvent::Text(text))) if !quiet => console.say(&text)?,
            Some(Ok(ChatEvent::Tool(event))) => {
                Call::record(&mut calls, &event);
                if !quiet {
                    tell(console, &event)?;
                }
            }
            Some(Ok(ChatEvent::Done(response))) => {
                if !quiet {
                    console.end_line()?;
                }
                if let Some(why) = response.finish_reason().and_then(incomplete) {
                    warn(&why);
                }
                let text = response.text();
                return Ok(Told { text, exchange: response.exchange().clone(), calls, error: None });
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                if !quiet {
                    console.end_line()?;
                }
                let exchange = error.exchange().clone();
                return Ok(Told { text: String::new(), exchange, calls, error: Some(error) });
            }
            // The last item was an answer or an error.
            None => return Err(Failure::usage("the turn ended without an answer")),
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
