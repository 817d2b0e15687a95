//! The calls of one round while they run: [`Batch`].

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::Policies;
use super::settle::{Gate, Job, Round, guarded, settle};
use crate::event::CallRef;
use crate::policy::Decision;
use crate::sink::{EventSink, Inbox, mailbox};
use crate::turn::{Slot, SlotState};
use crate::{
    Arguments, Cancellation, Outcome, Outcomes, Resolver, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolEvent, ToolOutput, Toolbox, Turn,
};

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
    inbox: Option<Inbox>,
    phase: Phase,
}

/// What became of the call at a place of the batch; a call without an answer is suspended.
struct Settlement {
    index: usize,
    answer: Option<Result<ToolOutput, ToolError>>,
    return_direct: bool,
    arguments: Arguments,
    edited: bool,
    definition: Option<ToolDefinition>,
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
    /// The definition of its tool, for the events; none until it is looked up, and where no tool is found.
    definition: Option<ToolDefinition>,
    state: State,
}

enum State {
    /// Not yet held to the limits.
    Asked,
    Waiting {
        decision: Option<Decision>,
    },
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
        let draft = turn.clone();
        Self::start(policies, tools.clone(), asked(calls), Owner::Caller(turn), draft, context)
    }

    pub(super) fn resume(policies: &'a Policies, tools: &Toolbox, turn: &'a mut Turn, context: &ToolContext) -> Self {
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
                };
                Entry { call, definition, state }
            })
            .collect();
        Self::start(policies, tools.clone(), entries, Owner::Caller(turn), draft, context)
    }

    pub(super) fn of_host(policies: &'a Policies, tools: Toolbox, call: ToolCall, context: &ToolContext) -> Self {
        Self::start(policies, tools, asked(vec![call]), Owner::Host, Turn::new(), context)
    }

    fn start(
        policies: &'a Policies,
        tools: Toolbox,
        entries: Vec<Entry>,
        turn: Owner<'a>,
        draft: Turn,
        context: &ToolContext,
    ) -> Self {
        let cancellation = context.cancellation().child();
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
                State::Suspended | State::Asked | State::Waiting { .. } | State::Running => pending.push(entry.call),
            }
        }
        Outcomes::new(outcomes, pending)
    }

    /// Makes the futures of the calls; `watched` says whether anybody reads events.
    fn launch(&mut self, watched: bool) {
        self.phase = Phase::Running;
        let outbox = watched.then(|| {
            let (outbox, inbox) = mailbox();
            self.inbox = Some(inbox);
            outbox
        });
        let waiting =
            self.entries.iter().filter(|entry| matches!(entry.state, State::Asked | State::Waiting { .. })).count();
        // A call that is alone in its batch has nobody to wait for.
        let gate =
            (waiting > 1).then(|| Arc::new(Gate::new(u32::try_from(self.policies.concurrency).unwrap_or(u32::MAX))));
        if self.entries.iter().any(|entry| matches!(entry.state, State::Asked)) {
            self.draft.start_round();
        }
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let (mut refusal, mut resolved, mut decided) = (None, None, None);
            match &mut entry.state {
                State::Asked => {
                    let found = find(self.policies, &self.tools, &self.draft, &entry.call);
                    entry.definition = found.definition;
                    resolved = found.unlisted;
                    refusal = found.refusal;
                    if refusal.is_none() {
                        self.draft.count(&entry.call);
                    }
                }
                State::Waiting { decision } => decided = decision.take(),
                _ => continue,
            }
            entry.state = State::Running;
            if watched {
                self.events.push_back(ToolEvent::Requested(call_ref(index, entry), entry.call.arguments.clone()));
            }
            let call = entry.call.clone();
            let round = Box::new(Round {
                refusal,
                decision: decided,
                gate: gate.clone(),
                resolved,
                sink: outbox.clone().map(|outbox| Arc::new(EventSink::new(call_ref(index, entry), outbox))),
            });
            let (policies, tools, context) = (self.policies, self.tools.clone(), self.context.clone());
            let resumable = matches!(self.turn, Owner::Caller(_));
            self.running.push(Box::pin(async move {
                let ToolCall { id, name, mut arguments } = call;
                let mut job = Job {
                    policies,
                    tools: &tools,
                    call_id: Some(&id),
                    name: &name,
                    arguments: &mut arguments,
                    context: &context,
                    round: Some(round),
                    definition: None,
                    edited: false,
                    answer: None,
                    return_direct: false,
                    resumable,
                };
                settle(&mut job).await;
                let Job { answer, return_direct, edited, definition, .. } = job;
                Settlement { index, answer, return_direct, arguments, edited, definition }
            }));
        }
    }

    /// Notes what became of a call.
    fn note(&mut self, settlement: Settlement) {
        let Settlement { index, answer, return_direct, arguments, edited, definition } = settlement;
        let watched = self.inbox.is_some();
        if let Some(inbox) = &mut self.inbox {
            // What the call streamed comes before its end.
            while let Some(event) = inbox.take() {
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

/// Calls that are new to their turn.
fn asked(calls: Vec<ToolCall>) -> Vec<Entry> {
    calls.into_iter().map(|call| Entry { call, definition: None, state: State::Asked }).collect()
}

/// What is known about a call before it runs.
struct Found {
    definition: Option<ToolDefinition>,
    /// The tool, where a resolver found it and the toolbox does not list it.
    unlisted: Option<Arc<dyn Tool>>,
    /// Why the call may not run.
    refusal: Option<ToolError>,
}

/// Finds the tool of a call and checks the limits of the turn.
fn find(policies: &Policies, tools: &Toolbox, turn: &Turn, call: &ToolCall) -> Found {
    let mut found = Found { definition: None, unlisted: None, refusal: None };
    let admitted = guarded(|| {
        let listed = tools.get(&call.name);
        if listed.is_none() {
            found.unlisted = tools.resolve(&call.name).or_else(|| policies.resolver.as_ref()?.resolve(&call.name));
        }
        let tool = listed.or(found.unlisted.as_ref());
        found.definition = tool.map(|tool| tool.definition().clone());
        policies.limits.admit(turn, call, tool.map(|tool| &**tool))
    });
    found.refusal = admitted.err();
    found
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
                Poll::Ready(Some(settlement)) => batch.note(settlement),
                Poll::Ready(None) => batch.record(),
                Poll::Pending => {
                    let Some(inbox) = &mut batch.inbox else { return Poll::Pending };
                    // The batch holds no way in, but its calls do, and they are not all over.
                    return inbox.poll(cx);
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
