//! The calls of one round while they run: [`Batch`].

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use super::Policies;
use super::host::nobody_to_resume;
use super::settle::{Gate, Job, Round, settle};
use crate::event::{CallRef, EventSink};
use crate::policy::Decision;
use crate::turn::{Slot, SlotState};
use crate::{
    Cancellation, Outcome, Outcomes, Resolver, ToolCall, ToolContext, ToolError, ToolEvent, ToolOutput, Toolbox, Turn,
};

/// How many events of one batch may wait for somebody to read them before `emit` waits.
const BACKLOG: usize = 64;

/// The calls of one round while they run.
///
/// It is a stream of what happens, as it happens. [`finish`](Self::finish) gives the outcomes, in
/// call order, whether or not the stream was read. No task is spawned: the calls run while the
/// batch is polled, and dropping it drops them.
#[must_use = "calls run only while the batch is polled"]
pub struct Batch<'a> {
    policies: &'a Policies,
    tools: Toolbox,
    context: Arc<ToolContext>,
    cancellation: Cancellation,
    turn: Owner<'a>,
    /// The turn as it will be when every call is settled.
    draft: Turn,
    entries: Vec<Entry>,
    running: FuturesUnordered<BoxFuture<'a, Settlement>>,
    events: VecDeque<ToolEvent>,
    inbox: Option<mpsc::Receiver<ToolEvent>>,
    phase: Phase,
}

/// What became of the call at a place of the batch; a call without an answer is suspended.
struct Settlement {
    index: usize,
    answer: Option<Result<ToolOutput, ToolError>>,
    return_direct: bool,
}

/// Whose the turn is: a caller's, or nobody's but this call's.
enum Owner<'a> {
    Caller(&'a mut Turn),
    Host,
}

#[derive(PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Over,
}

struct Entry {
    call: ToolCall,
    state: State,
}

enum State {
    Waiting { refusal: Option<ToolError>, decision: Option<Decision> },
    Running,
    Answered(Outcome),
    Suspended,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        policies: &'a Policies,
        tools: &Toolbox,
        calls: Vec<ToolCall>,
        turn: &'a mut Turn,
        context: &ToolContext,
    ) -> Self {
        let mut draft = turn.clone();
        if !calls.is_empty() {
            draft.start_round();
        }
        let entries = calls
            .into_iter()
            .map(|call| {
                let tool = tools.resolve(&call.name).or_else(|| policies.resolver.as_ref()?.resolve(&call.name));
                let refusal = policies.limits.admit(&draft, &call, tool.as_deref()).err();
                if refusal.is_none() {
                    draft.count(&call);
                }
                Entry { call, state: State::Waiting { refusal, decision: None } }
            })
            .collect();
        Self::start(policies, tools.clone(), entries, Owner::Caller(turn), draft, context)
    }

    pub(super) fn resume(policies: &'a Policies, tools: &Toolbox, turn: &'a mut Turn, context: &ToolContext) -> Self {
        let mut draft = turn.clone();
        let entries = draft
            .take_slots()
            .into_iter()
            .map(|Slot { call, state }| {
                let state = match state {
                    SlotState::Answered(outcome) => State::Answered(outcome),
                    // The limits admitted it before it was suspended.
                    SlotState::Pending(decision) => State::Waiting { refusal: None, decision },
                };
                Entry { call, state }
            })
            .collect();
        Self::start(policies, tools.clone(), entries, Owner::Caller(turn), draft, context)
    }

    pub(super) fn of_host(policies: &'a Policies, tools: Toolbox, call: ToolCall, context: &ToolContext) -> Self {
        let entries = vec![Entry { call, state: State::Waiting { refusal: None, decision: None } }];
        Self::start(policies, tools, entries, Owner::Host, Turn::new(), context)
    }

    fn start(
        policies: &'a Policies,
        tools: Toolbox,
        entries: Vec<Entry>,
        turn: Owner<'a>,
        draft: Turn,
        context: &ToolContext,
    ) -> Self {
        let cancellation = match context.given_cancellation() {
            Some(outer) => outer.child(),
            None => Cancellation::new(),
        };
        let context = Arc::new(context.clone().with_cancellation(cancellation.clone()));
        Self {
            policies,
            tools,
            context,
            cancellation,
            turn,
            draft,
            entries,
            running: FuturesUnordered::new(),
            events: VecDeque::new(),
            inbox: None,
            phase: Phase::New,
        }
    }

    /// Returns the signal that cancels the batch: every call without a result then has the outcome `Cancelled`.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }

    /// Runs the calls to their end and returns the outcomes in call order; events not yet read are dropped.
    pub async fn finish(mut self) -> Outcomes {
        if self.phase == Phase::New {
            self.launch(false);
        }
        while self.next().await.is_some() {}
        let mut outcomes = Vec::with_capacity(self.entries.len());
        let mut pending = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            match entry.state {
                State::Answered(outcome) => outcomes.push(outcome),
                State::Suspended | State::Waiting { .. } | State::Running => pending.push(entry.call),
            }
        }
        Outcomes::new(outcomes, pending)
    }

    /// Makes the futures of the calls; `watched` says whether anybody reads events.
    fn launch(&mut self, watched: bool) {
        self.phase = Phase::Running;
        let sender = watched.then(|| {
            let (sender, inbox) = mpsc::channel(BACKLOG);
            self.inbox = Some(inbox);
            sender
        });
        let waiting = self.entries.iter().filter(|entry| matches!(entry.state, State::Waiting { .. })).count();
        // A call that is alone in its batch has nobody to wait for.
        let gate =
            (waiting > 1).then(|| Arc::new(Gate::new(u32::try_from(self.policies.concurrency).unwrap_or(u32::MAX))));
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let State::Waiting { refusal, decision } = &mut entry.state else { continue };
            let (refusal, decision) = (refusal.take(), decision.take());
            entry.state = State::Running;
            if watched {
                self.events.push_back(ToolEvent::Requested(call_ref(index, &entry.call), entry.call.arguments.clone()));
            }
            let call = entry.call.clone();
            let round = Box::new(Round {
                refusal,
                decision,
                gate: gate.clone(),
                sink: sender.clone().map(|sender| Arc::new(EventSink::new(call_ref(index, &call), sender))),
            });
            let (policies, tools, context) = (self.policies, self.tools.clone(), self.context.clone());
            self.running.push(Box::pin(async move {
                let mut job = Job {
                    policies,
                    tools: &tools,
                    call_id: Some(&call.id),
                    name: &call.name,
                    arguments: call.arguments,
                    context: &context,
                    round: Some(round),
                    answer: None,
                    return_direct: false,
                };
                settle(&mut job).await;
                Settlement { index, answer: job.answer, return_direct: job.return_direct }
            }));
        }
    }

    /// Notes what became of a call.
    fn note(&mut self, settlement: Settlement) {
        let Settlement { index, answer, return_direct } = settlement;
        let watched = self.inbox.is_some();
        if let Some(inbox) = &mut self.inbox {
            // What the call streamed comes before its end.
            while let Ok(event) = inbox.try_recv() {
                self.events.push_back(event);
            }
        }
        let entry = &mut self.entries[index];
        let result = match (answer, &self.turn) {
            (None, Owner::Host) => Some(Err(nobody_to_resume())),
            (answer, _) => answer,
        };
        entry.state = match result {
            Some(result) => {
                let (call_id, tool) = (entry.call.id.clone(), entry.call.name.clone());
                State::Answered(Outcome { call_id, tool, result, return_direct })
            }
            None => State::Suspended,
        };
        if watched {
            let call = call_ref(index, &entry.call);
            self.events.push_back(match &entry.state {
                State::Answered(outcome) if outcome.is_error() => ToolEvent::Failed(call, outcome.clone()),
                State::Answered(outcome) => ToolEvent::Finished(call, outcome.clone()),
                _ => ToolEvent::Suspended(call),
            });
        }
    }

    /// Writes the round to the turn, once every call is settled.
    fn record(&mut self) {
        self.phase = Phase::Over;
        let Owner::Caller(turn) = &mut self.turn else { return };
        let mut draft = std::mem::take(&mut self.draft);
        if self.entries.iter().any(|entry| matches!(entry.state, State::Suspended)) {
            draft.keep_slots(self.entries.iter().map(|entry| Slot {
                call: entry.call.clone(),
                state: match &entry.state {
                    State::Answered(outcome) => SlotState::Answered(outcome.clone()),
                    _ => SlotState::Pending(None),
                },
            }));
        }
        **turn = draft;
    }
}

fn call_ref(index: usize, call: &ToolCall) -> CallRef {
    CallRef { index, id: call.id.clone(), tool: call.name.clone() }
}

impl Stream for Batch<'_> {
    type Item = ToolEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        let batch = self.get_mut();
        if batch.phase == Phase::New {
            batch.launch(true);
        }
        loop {
            if let Some(event) = batch.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            if batch.phase == Phase::Over {
                return Poll::Ready(None);
            }
            match batch.running.poll_next_unpin(cx) {
                Poll::Ready(Some(settlement)) => batch.note(settlement),
                Poll::Ready(None) => batch.record(),
                Poll::Pending => {
                    let Some(inbox) = &mut batch.inbox else { return Poll::Pending };
                    // The batch holds no sender, but its calls do, and they are not all over.
                    return inbox.poll_recv(cx);
                }
            }
        }
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("calls", &self.entries.len())
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}
