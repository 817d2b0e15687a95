//! The calls of one round while they run: [`Batch`].

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::job::{BatchPart, Job};
use super::permits::BatchGate;
use super::policies::{Executor, Policies};
use super::settle::settle;
use crate::panics::guarded;
use crate::sink::{EventReceiver, EventSink, event_channel};
use crate::turn::{Slot, SlotState};
use crate::{
    Arguments, CallRef, Cancellation, Decision, Outcome, Outcomes, Resolver, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError, ToolEvent, ToolOutput, Toolbox, Turn,
};

/// The calls of one round while they run.
///
/// It is a stream of what happens, as it happens. [`finish`](Self::finish) gives the outcomes, in
/// call order, whether or not the stream was read. No task is spawned: the calls run while the
/// batch is polled, and dropping it drops them.
#[must_use = "calls run only while the batch is polled"]
pub struct Batch<'a> {
    policies: &'a Arc<Policies>,
    tools: Toolbox,
    context: Arc<ToolContext>,
    cancellation: Cancellation,
    /// Why none of the calls may run: the source of the tools has none to offer.
    refusal: Option<ToolError>,
    /// None for a host's call, whose turn is not kept.
    turn: Option<&'a mut Turn>,
    /// The turn as it will be when every call is settled.
    draft: Turn,
    entries: Vec<Entry>,
    running: FuturesUnordered<BoxFuture<'a, Settlement>>,
    events: VecDeque<ToolEvent>,
    /// Whether the round of the calls was counted before.
    continues: bool,
    /// Where the events of the calls arrive, if the batch is watched.
    receiver: Option<EventReceiver>,
    phase: Phase,
}

/// A call of the batch that is settled; one without an answer is suspended.
struct Settlement {
    index: usize,
    answer: Option<Result<ToolOutput, ToolError>>,
    return_direct: bool,
    arguments: Arguments,
    edited: bool,
    definition: Option<ToolDefinition>,
}

#[derive(PartialEq, Eq)]
enum Phase {
    New,
    Running,
    Over,
}

struct Entry {
    call: ToolCall,
    /// The definition of its tool, for the events; none until it is looked up, and where no tool is found.
    definition: Option<ToolDefinition>,
    state: State,
}

enum State {
    /// The limits were not applied yet.
    New,
    Waiting {
        decision: Option<Decision>,
    },
    Running,
    Answered(Outcome),
    Suspended,
}

impl Executor {
    /// Runs the calls of one round concurrently and answers each exactly once.
    ///
    /// Nothing happens until the batch is polled; dropping it cancels its calls and records nothing
    /// in the turn. Only the given tools may run.
    pub fn run<'a>(
        &'a self,
        tools: &'a Toolbox,
        calls: Vec<ToolCall>,
        turn: &'a mut Turn,
        context: &'a ToolContext,
    ) -> Batch<'a> {
        Batch::new(&self.0, tools, calls, turn, context)
    }

    /// Runs the calls that wait in a turn, by the [decisions](Turn::decide) made about them.
    ///
    /// A call without a decision goes through the approval policy again. The outcomes are those of
    /// the whole round: the calls that ran before the suspension are among them.
    pub fn resume<'a>(&'a self, tools: &'a Toolbox, turn: &'a mut Turn, context: &'a ToolContext) -> Batch<'a> {
        Batch::resume(&self.0, tools, turn, context)
    }
}

impl<'a> Batch<'a> {
    fn new(
        policies: &'a Arc<Policies>,
        tools: &Toolbox,
        calls: Vec<ToolCall>,
        turn: &'a mut Turn,
        context: &ToolContext,
    ) -> Self {
        let draft = turn.clone();
        Self::start(policies, tools.clone(), new_entries(calls), Some(turn), draft, context)
    }

    fn resume(policies: &'a Arc<Policies>, tools: &Toolbox, turn: &'a mut Turn, context: &ToolContext) -> Self {
        let mut draft = turn.clone();
        let entries = draft
            .take_slots()
            .into_iter()
            .map(|Slot { call, state }| {
                let definition = definition_of(tools, &call.name);
                let state = match state {
                    // A turn is stored without definitions.
                    SlotState::Answered(outcome) => {
                        let definition = outcome.definition.clone().or_else(|| definition.clone());
                        State::Answered(Outcome { definition, ..outcome })
                    }
                    // The limits admitted it before it was suspended.
                    SlotState::Pending(decision) => State::Waiting { decision },
                    SlotState::New => State::New,
                };
                Entry { call, definition, state }
            })
            .collect();
        Self { continues: true, ..Self::start(policies, tools.clone(), entries, Some(turn), draft, context) }
    }

    pub(super) fn for_host(
        policies: &'a Arc<Policies>,
        tools: Result<Toolbox, ToolError>,
        call: ToolCall,
        context: &ToolContext,
    ) -> Self {
        let (tools, refusal) = match tools {
            Ok(tools) => (tools, None),
            Err(error) => (Toolbox::new(), Some(error)),
        };
        Self { refusal, ..Self::start(policies, tools, new_entries(vec![call]), None, Turn::new(), context) }
    }

    fn start(
        policies: &'a Arc<Policies>,
        tools: Toolbox,
        entries: Vec<Entry>,
        turn: Option<&'a mut Turn>,
        draft: Turn,
        context: &ToolContext,
    ) -> Self {
        let cancellation = context.cancellation().child();
        let context = Arc::new(context.clone().with_cancellation(cancellation.clone()));
        Self {
            policies,
            tools,
            refusal: None,
            context,
            cancellation,
            turn,
            draft,
            entries,
            running: FuturesUnordered::new(),
            events: VecDeque::new(),
            continues: false,
            receiver: None,
            phase: Phase::New,
        }
    }

    /// Returns the signal that cancels the batch: every call that has no result by then ends as `Cancelled`.
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
                State::Suspended | State::New | State::Waiting { .. } | State::Running => pending.push(entry.call),
            }
        }
        Outcomes::new(outcomes, pending)
    }

    /// Makes the futures of the calls; `watched` says whether the caller reads events.
    fn launch(&mut self, watched: bool) {
        self.phase = Phase::Running;
        let sender = watched.then(|| {
            let (sender, receiver) = event_channel();
            self.receiver = Some(receiver);
            sender
        });
        let waiting =
            self.entries.iter().filter(|entry| matches!(entry.state, State::New | State::Waiting { .. })).count();
        // A call that is alone in its batch waits for no other.
        let gate = (waiting > 1)
            .then(|| Arc::new(BatchGate::new(u32::try_from(self.policies.concurrency).unwrap_or(u32::MAX))));
        if !self.continues && self.entries.iter().any(|entry| matches!(entry.state, State::New)) {
            self.draft.start_round();
        }
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let (mut refusal, mut unlisted, mut decision) = (None, None, None);
            match &mut entry.state {
                State::New if self.refusal.is_some() => refusal.clone_from(&self.refusal),
                State::New => {
                    let lookup = find(self.policies, &self.tools, &self.draft, &entry.call);
                    entry.definition = lookup.definition;
                    unlisted = lookup.unlisted;
                    refusal = lookup.refusal;
                    if refusal.is_none() {
                        self.draft.count(&entry.call);
                    }
                }
                State::Waiting { decision: decided } => decision = decided.take(),
                _ => continue,
            }
            entry.state = State::Running;
            if watched {
                self.events.push_back(ToolEvent::Requested(call_ref(index, entry), entry.call.arguments.clone()));
            }
            let call = entry.call.clone();
            let part = Box::new(BatchPart {
                refusal,
                place: (self.draft.rounds(), index),
                decision,
                gate: gate.clone(),
                unlisted,
                sink: sender.clone().map(|sender| Arc::new(EventSink::new(call_ref(index, entry), sender))),
            });
            let (policies, tools, context) = (self.policies, self.tools.clone(), self.context.clone());
            let resumable = self.turn.is_some();
            self.running.push(Box::pin(async move {
                let ToolCall { id, name, mut arguments } = call;
                let mut job = Job::new(policies, &tools, &name, &mut arguments, &context);
                job.call_id = Some(&id);
                job.batch = Some(part);
                job.resumable = resumable;
                settle(&mut job).await;
                let Job { answer, return_direct, edited, definition, .. } = job;
                Settlement { index, answer, return_direct, arguments, edited, definition }
            }));
        }
    }

    /// Records the answer of a call.
    fn settled(&mut self, settlement: Settlement) {
        let Settlement { index, answer, return_direct, arguments, edited, definition } = settlement;
        let watched = self.receiver.is_some();
        if let Some(receiver) = &mut self.receiver {
            // What the call streamed comes before its end.
            while let Some(event) = receiver.try_next() {
                self.events.push_back(event);
            }
        }
        let entry = &mut self.entries[index];
        entry.state = match answer {
            Some(result) => {
                let (call_id, tool) = (entry.call.id.clone(), entry.call.name.clone());
                State::Answered(Outcome { call_id, tool, arguments, result, return_direct, edited, definition })
            }
            None => State::Suspended,
        };
        if watched {
            let call = call_ref(index, entry);
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
        let Some(turn) = &mut self.turn else { return };
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

/// The entries of calls that are new to their turn.
fn new_entries(calls: Vec<ToolCall>) -> Vec<Entry> {
    calls.into_iter().map(|call| Entry { call, definition: None, state: State::New }).collect()
}

/// What is known about a call before it runs.
struct Lookup {
    definition: Option<ToolDefinition>,
    /// The tool, where a resolver found it and the toolbox does not list it.
    unlisted: Option<Arc<dyn Tool>>,
    /// Why the call may not run.
    refusal: Option<ToolError>,
}

/// Finds the tool of a call and checks the limits of the turn.
fn find(policies: &Policies, tools: &Toolbox, turn: &Turn, call: &ToolCall) -> Lookup {
    let mut lookup = Lookup { definition: None, unlisted: None, refusal: None };
    let admitted = guarded(|| {
        let listed = tools.get(&call.name);
        if listed.is_none() {
            lookup.unlisted = tools.resolve(&call.name).or_else(|| policies.resolver.as_ref()?.resolve(&call.name));
        }
        let tool = listed.or(lookup.unlisted.as_ref());
        lookup.definition = tool.map(|tool| tool.definition().clone());
        policies.limits.admit(turn, call, tool.map(|tool| &**tool))
    });
    lookup.refusal = admitted.err();
    lookup
}

/// Returns the definition of a listed tool.
fn definition_of(tools: &Toolbox, name: &str) -> Option<ToolDefinition> {
    guarded(|| Ok(tools.get(name).map(|tool| tool.definition().clone()))).ok().flatten()
}

fn call_ref(index: usize, entry: &Entry) -> CallRef {
    let Entry { call, definition, .. } = entry;
    CallRef { index, id: call.id.clone(), tool: call.name.clone(), definition: definition.clone() }
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
                Poll::Ready(Some(settlement)) => batch.settled(settlement),
                Poll::Ready(None) => batch.record(),
                Poll::Pending => {
                    let Some(receiver) = &mut batch.receiver else { return Poll::Pending };
                    // It is closed while the last outcomes are recorded: their calls have nothing more to say.
                    return match receiver.poll_next(cx) {
                        Poll::Ready(None) => Poll::Pending,
                        polled => polled,
                    };
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
