//! A turn that runs: [`TurnTask`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use opentool_chat::{ChatError, ChatEvent, ChatRequest, ChatResponse, ChatStream, ToolAnswer};
use opentool_core::{Cancellation, ToolError, ToolEvent};
use opentool_server::{ClientGone, RequestBody, TooManyCalls};
use tokio::sync::mpsc;

use super::approver::AskedCall;
use super::turn_calls::TurnCalls;
use super::turn_line::{TurnErrorForm, TurnLine};
use crate::lines::LineSender;
use crate::outcome::ErrorForm;
use crate::parts::{self, raw_arguments};
use crate::turns::{OpenApprovals, TurnEntry};

/// A turn that runs.
pub(super) struct TurnTask {
    pub(super) turn: ChatRequest,
    pub(super) queued: mpsc::Receiver<Vec<u8>>,
    pub(super) asked: mpsc::Receiver<AskedCall>,
    /// The calls that wait for the person; none where they cannot wait in a journal.
    pub(super) approvals: Option<Arc<OpenApprovals>>,
    pub(super) lines: LineSender,
    pub(super) calls: TurnCalls,
    pub(super) cancellation: Cancellation,
    pub(super) cut_off: Cancellation,
    /// Kept until the turn is over: its place among those that run, and what the message counts against the server's budget.
    pub(super) _kept: (TurnEntry, RequestBody),
}

/// Why a turn is not shown to its end.
enum TurnStop {
    Gone,
    TooManyCalls(TooManyCalls),
}

impl From<ClientGone> for TurnStop {
    fn from(ClientGone: ClientGone) -> Self {
        Self::Gone
    }
}

impl TurnTask {
    pub(super) async fn run(self) {
        let Self { turn, mut queued, mut asked, approvals, lines, mut calls, cancellation, cut_off, _kept } = self;
        let started = Instant::now();
        let mut stream = turn.stream();
        let forwarded = tokio::select! {
            biased;
            forwarded = forward(&mut stream, &mut queued, &mut asked, &lines, &mut calls, started) => forwarded,
            () = cut_off.cancelled() => {
                let error = TurnErrorForm { kind: "unavailable", message: "the server stopped".to_owned() };
                let _ = lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await;
                return;
            }
            () = lines.closed() => Err(TurnStop::Gone),
        };
        match forwarded {
            Ok(()) => {}
            Err(TurnStop::TooManyCalls(error)) => {
                cancellation.cancel();
                let error = TurnErrorForm { kind: "busy", message: error.to_string() };
                let _ = lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await;
            }
            // A call that waited for the person waits in the journal from now on, which ends the turn.
            Err(TurnStop::Gone) if approvals.is_some_and(|approvals| approvals.disconnect()) => {
                drop((queued, asked));
                tokio::select! {
                    () = finish(&mut stream, &mut calls) => {}
                    () = cut_off.cancelled() => {}
                }
            }
            // Dropping the turn ends the request to the model and cancels the calls.
            Err(TurnStop::Gone) => {}
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs a turn that no page shows any more until it waits for decisions.
async fn finish(stream: &mut ChatStream, calls: &mut TurnCalls) {
    while let Some(Ok(event)) = stream.next().await {
        match event {
            ChatEvent::Tool(ToolEvent::Finished(call, outcome) | ToolEvent::Failed(call, outcome)) => {
                drop(calls.end(&call, Some(&outcome)));
            }
            // Before the end, the model was asked for a page that has disconnected: another process goes on, where one is wanted.
            ChatEvent::Done(_)
            | ChatEvent::Text(_)
            | ChatEvent::Reasoning(_)
            | ChatEvent::Tool(ToolEvent::Requested(..)) => return,
            _ => {}
        }
    }
}

/// Runs a turn and sends what happens.
async fn forward(
    stream: &mut ChatStream,
    queued: &mut mpsc::Receiver<Vec<u8>>,
    asked: &mut mpsc::Receiver<AskedCall>,
    lines: &LineSender,
    calls: &mut TurnCalls,
    started: Instant,
) -> Result<(), TurnStop> {
    loop {
        // What happened comes first, so that a call is known before it is asked about.
        let event = tokio::select! {
            biased;
            event = stream.next() => event,
            Some(call) = asked.recv() => {
                let AskedCall { approval, call_id, tool, arguments, hints } = &call;
                let (call, arguments) = (calls.of_model_id(call_id), arguments.as_deref());
                lines.send(&TurnLine::Approval { id: approval, call, tool, arguments, hints }).await?;
                continue;
            }
            Some(line) = queued.recv() => {
                lines.send_text(line).await?;
                continue;
            }
        };
        match event {
            None => return Ok(()),
            Some(Ok(ChatEvent::Done(response))) => return Ok(send_end(lines, &response, started).await?),
            Some(Err(error)) => return Ok(send_error(lines, &error, started).await?),
            Some(Ok(ChatEvent::Run(id))) => lines.send(&TurnLine::Run { id: &id }).await?,
            Some(Ok(ChatEvent::Text(delta))) => lines.send(&TurnLine::Text { delta: &delta }).await?,
            Some(Ok(ChatEvent::Reasoning(delta))) => lines.send(&TurnLine::Reasoning { delta: &delta }).await?,
            Some(Ok(ChatEvent::Usage(usage))) => lines.send(&TurnLine::Usage((&usage).into())).await?,
            Some(Ok(ChatEvent::Tool(event))) => send_tool_event(lines, calls, event).await?,
            Some(Ok(_)) => {}
        }
    }
}

async fn send_end(lines: &LineSender, response: &ChatResponse, started: Instant) -> Result<(), ClientGone> {
    let line = TurnLine::End {
        reason: response.end().as_str(),
        text: &response.text(),
        usage: (&response.usage).into(),
        cost: response.cost().filter(|cost| cost.is_finite()),
        duration_ms: millis(started.elapsed()),
    };
    lines.send(&line).await
}

async fn send_error(lines: &LineSender, error: &ChatError, started: Instant) -> Result<(), ClientGone> {
    let error = TurnErrorForm { kind: error.cause().as_str(), message: error.to_string() };
    lines.send(&TurnLine::Error { error, duration_ms: millis(started.elapsed()) }).await
}

async fn send_tool_event(lines: &LineSender, calls: &mut TurnCalls, event: ToolEvent) -> Result<(), TurnStop> {
    match event {
        ToolEvent::Requested(call, arguments) => {
            calls.add(&call).map_err(TurnStop::TooManyCalls)?;
            let (id, round) = (calls.id(&call).unwrap_or_default(), calls.round);
            let arguments = raw_arguments(arguments.as_str());
            lines.send(&TurnLine::Call { id, tool: &call.tool, arguments, round }).await?;
        }
        ToolEvent::Progress(call, progress) => {
            if let Some(id) = calls.id(&call) {
                lines.send(&TurnLine::Progress { id, progress: (&progress).into() }).await?;
            }
        }
        ToolEvent::Output(call, output) => {
            if let Some(id) = calls.id(&call) {
                lines.send(&TurnLine::Piece { id, parts: parts::of_output(&output) }).await?;
            }
        }
        ToolEvent::Finished(call, outcome) | ToolEvent::Failed(call, outcome) => {
            let Some((id, time)) = calls.end(&call, Some(&outcome)) else { return Ok(()) };
            let answer = ToolAnswer::from_outcome(&outcome);
            let output = outcome.output().or_else(|| outcome.error().and_then(ToolError::output));
            let line = TurnLine::Result {
                id: &id,
                ok: !outcome.is_error(),
                text: &answer.text,
                parts: output.map(parts::of_output).unwrap_or_default(),
                error: outcome.error().map(ErrorForm::from),
                duration_ms: millis(time),
            };
            lines.send(&line).await?;
        }
        ToolEvent::Suspended(call) => drop(calls.end(&call, None)),
        _ => {}
    }
    Ok(())
}
