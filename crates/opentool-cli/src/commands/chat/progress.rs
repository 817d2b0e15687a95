//! What the user sees while nothing else happens: how long it takes, and which tool runs.

use std::time::Duration;

use opentool::ToolEvent;
use opentool_chat::ChatEvent;
use tokio::time::{Instant, sleep_until};

use crate::terminal::visible;

/// How long nothing may happen before the user gets to see that.
const SILENCE: Duration = Duration::from_secs(2);
/// How often the line is written again.
const EVERY: Duration = Duration::from_secs(1);

/// The progress of a turn.
pub(super) struct Progress {
    is_shown: bool,
    /// When the last thing happened.
    since: Instant,
    next: Instant,
    /// The calls that run: id and tool.
    running: Vec<(String, String)>,
    /// The tool whose call the model is writing.
    writing: Option<String>,
}

impl Progress {
    pub(super) fn new(is_shown: bool) -> Self {
        let now = Instant::now();
        Progress { is_shown, since: now, next: now + SILENCE, running: Vec::new(), writing: None }
    }

    /// Waits until the line is to be written; for ever where it is not shown.
    pub(super) async fn tick(&mut self) {
        if !self.is_shown {
            return std::future::pending().await;
        }
        sleep_until(self.next).await;
        self.next += EVERY;
    }

    /// Something happened.
    pub(super) fn record(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::Tool(ToolEvent::Started(call)) => {
                self.running.push((call.id.to_string(), call.tool.to_string()));
            }
            ChatEvent::Tool(ToolEvent::Finished(call, _) | ToolEvent::Failed(call, _)) => {
                self.running.retain(|(id, _)| **id != *call.id);
            }
            // Pieces of a call are nothing that the user sees.
            ChatEvent::ToolCall(piece) => {
                self.writing = piece.name.clone();
                return;
            }
            ChatEvent::Usage(_) => self.writing = None,
            _ => {}
        }
        self.since = Instant::now();
        self.next = self.since + SILENCE;
    }

    /// `waiting for the model, 5 s`, or `running delete_note, 3 s`.
    pub(super) fn line(&self) -> String {
        let seconds = self.since.elapsed().as_secs();
        let what = match (&self.writing, self.running.as_slice()) {
            (_, [(_, tool)]) => format!("running {tool}"),
            (_, [(_, tool), rest @ ..]) => format!("running {tool} and {} more", rest.len()),
            (Some(tool), []) => format!("the model writes a call of {tool}"),
            (None, []) => "waiting for the model".to_owned(),
        };
        format!("{}, {seconds} s", visible(&what))
    }
}
