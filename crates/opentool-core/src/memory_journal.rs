//! A journal that lives as long as its process: [`MemoryJournal`].

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::future::BoxFuture;
use tokio::sync::Notify;

use crate::call_clock::now;
use crate::{
    Begun, CallEnd, CallKey, CallStart, ErrorKind, Journal, MemoryBudget, MemoryReservation, RecordedResult, ToolError,
    ToolOutput, UncertainDecision,
};

/// How long outcomes are kept.
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// What an entry takes besides its texts.
const ENTRY: usize = 512;

/// A journal that lives as long as its process: for calls with keys, of which it keeps the outcomes for 24 hours.
///
/// What it holds is reserved in a [`MemoryBudget`]. While that is used up, a call with a new key is refused and does not run.
///
/// ```
/// use std::sync::Arc;
/// use opentool_core::{Executor, FnTool, IdempotencyKey, MemoryBudget, MemoryJournal, ToolCall, ToolContext};
/// # use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Nothing {}
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # static COUNT: AtomicU32 = AtomicU32::new(1);
/// let host = Executor::new().host(FnTool::new("count", |_: Nothing| COUNT.fetch_add(1, Relaxed)));
/// let journal = Arc::new(MemoryJournal::new(MemoryBudget::new(1 << 20)));
/// let key = IdempotencyKey::parse("order-17").unwrap();
/// let context = ToolContext::new().with_idempotency_key(journal, key);
/// for id in ["1", "2"] {
///     let outcome = host.run(ToolCall::new(id, "count", "{}"), &context).await;
///     assert_eq!(outcome.output().unwrap().to_text(), "1");
/// }
/// # });
/// ```
pub struct MemoryJournal {
    budget: MemoryBudget,
    retention: Duration,
    state: Mutex<KeptCalls>,
}

#[derive(Default)]
struct KeptCalls {
    calls: HashMap<CallPlace, KeptCall>,
    /// The calls that are over, in that order, with when they are forgotten, unless they are kept until later.
    over: VecDeque<(Instant, CallPlace)>,
}

type CallPlace = (Arc<str>, Arc<str>);

struct KeptCall {
    tool: Arc<str>,
    arguments_hash: Arc<str>,
    is_repeatable: bool,
    attempt: u32,
    state: KeptState,
    /// When the call is forgotten; `None` while it runs, and where it never is.
    kept_until: Option<Instant>,
    reservation: MemoryReservation,
}

enum KeptState {
    Running(Arc<Notify>),
    /// It has no outcome and does not run.
    Abandoned {
        /// Whether it was decided that it runs again.
        run_again: bool,
    },
    Done(RecordedResult),
    /// It is over, and there was no memory to keep its outcome.
    NotKept,
}

impl MemoryJournal {
    /// Makes a journal whose memory is reserved in a budget.
    #[must_use]
    pub fn new(budget: MemoryBudget) -> Self {
        Self { budget, retention: RETENTION, state: Mutex::default() }
    }

    /// Sets how long outcomes are kept: 24 hours.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    fn entries(&self) -> MutexGuard<'_, KeptCalls> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, call: &CallStart<'_>) -> Result<Begun, ToolError> {
        let mut entries = self.entries();
        entries.forget(now());
        let place = place(call.key);
        if let Some(entry) = entries.calls.get_mut(&place) {
            if !call.key.is_same_call(&entry.tool, &entry.arguments_hash) {
                return Err(ToolError::key_reused());
            }
            return Ok(match &entry.state {
                KeptState::Running(_) => Begun::InFlight,
                KeptState::Done(recorded) => Begun::Answer(recorded.clone()),
                KeptState::NotKept => return Err(not_kept()),
                KeptState::Abandoned { run_again } if *run_again || entry.is_repeatable => {
                    entry.attempt += 1;
                    entry.state = KeptState::Running(Arc::default());
                    entry.kept_until = None;
                    Begun::Run { attempt: entry.attempt }
                }
                KeptState::Abandoned { .. } => Begun::Uncertain,
            });
        }
        let key = call.key;
        let mut reservation = MemoryReservation::default();
        let size = ENTRY + key.run.len() + key.place.len() + key.tool.len() + key.arguments_hash.len();
        reservation.grow(&self.budget, size).map_err(|_| no_memory())?;
        let entry = KeptCall {
            tool: key.tool.clone(),
            arguments_hash: key.arguments_hash.clone(),
            is_repeatable: call.effect.is_repeatable(),
            attempt: 1,
            state: KeptState::Running(Arc::default()),
            kept_until: None,
            reservation,
        };
        entries.calls.insert(place, entry);
        Ok(Begun::Run { attempt: 1 })
    }

    /// Changes the state of an attempt that runs, and wakes those that wait for it.
    fn settle(&self, key: &CallKey, attempt: u32, state: impl FnOnce(&mut KeptCall) -> KeptState) {
        let mut entries = self.entries();
        let place = place(key);
        let Some(entry) = entries.calls.get_mut(&place).filter(|entry| entry.attempt == attempt) else { return };
        let KeptState::Running(waiting) = &entry.state else { return };
        let waiting = waiting.clone();
        entry.state = state(entry);
        entries.keep(place, now().checked_add(self.retention));
        drop(entries);
        waiting.notify_waiters();
    }

    fn keep(&self, entry: &mut KeptCall, call: &CallEnd<'_>) -> KeptState {
        if entry.reservation.grow(&self.budget, size_of(call.result)).is_err() {
            return KeptState::NotKept;
        }
        KeptState::Done(RecordedResult { result: call.result.clone(), return_direct: call.return_direct })
    }
}

impl KeptCalls {
    /// Keeps a call that is over until then; without a time, for ever.
    fn keep(&mut self, place: CallPlace, until: Option<Instant>) {
        let Some(until) = until else { return };
        if let Some(entry) = self.calls.get_mut(&place) {
            entry.kept_until = Some(until);
            self.over.push_back((until, place));
        }
    }

    /// Drops what was kept long enough.
    fn forget(&mut self, now: Instant) {
        while let Some((until, _)) = self.over.front()
            && *until <= now
        {
            let Some((_, place)) = self.over.pop_front() else { return };
            // An abandoned call may run again meanwhile, or have an outcome that is kept longer.
            if self.calls.get(&place).is_some_and(|entry| entry.kept_until.is_some_and(|until| until <= now)) {
                self.calls.remove(&place);
            }
        }
    }
}

impl Journal for MemoryJournal {
    fn begin<'a>(&'a self, call: CallStart<'a>) -> BoxFuture<'a, Result<Begun, ToolError>> {
        Box::pin(async move { self.start(&call) })
    }

    fn end<'a>(&'a self, call: CallEnd<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.settle(call.key, call.attempt, |entry| self.keep(entry, &call));
            Ok(())
        })
    }

    fn abandon(&self, key: &CallKey, attempt: u32) {
        self.settle(key, attempt, |_| KeptState::Abandoned { run_again: false });
    }

    fn changed<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, ()> {
        let waiting = match self.entries().calls.get(&place(key)) {
            Some(KeptCall { state: KeptState::Running(waiting), .. }) => Some(waiting.clone().notified_owned()),
            _ => None,
        };
        // Made while the entries were locked, so that no end comes in between.
        Box::pin(async move {
            if let Some(waiting) = waiting {
                waiting.await;
            }
        })
    }

    fn decide<'a>(&'a self, key: &'a CallKey, decision: UncertainDecision) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let mut entries = self.entries();
            let entry = entries.calls.get_mut(&place(key));
            let Some(entry) = entry.filter(|entry| matches!(entry.state, KeptState::Abandoned { .. })) else {
                return Err(ToolError::failed("the call is not uncertain, so there is nothing to decide"));
            };
            let result = match decision {
                UncertainDecision::Happened(output) => Some(Ok(output)),
                UncertainDecision::GiveUp(reason) => Some(Err(ToolError::given_up(&reason))),
                UncertainDecision::RunAgain => None,
            };
            entry.state = match result {
                Some(result) => {
                    entry.reservation.grow(&self.budget, size_of(&result)).map_err(|_| no_memory())?;
                    KeptState::Done(RecordedResult { result, return_direct: false })
                }
                None => KeptState::Abandoned { run_again: true },
            };
            entries.keep(place(key), now().checked_add(self.retention));
            Ok(())
        })
    }
}

fn place(key: &CallKey) -> CallPlace {
    (key.run.clone(), key.place.clone())
}

/// How much memory a result takes.
fn size_of(result: &Result<ToolOutput, ToolError>) -> usize {
    match result {
        Ok(output) => output.size(),
        Err(error) => {
            let data = error.data().map_or(0, |data| data.to_string().len());
            error.message().len() + data + error.output().map_or(0, ToolOutput::size)
        }
    }
}

fn no_memory() -> ToolError {
    ToolError::unavailable("there is no memory left to keep the result of a call with a key: try again later")
}

fn not_kept() -> ToolError {
    let message = "the call has run, and there was no memory to keep its result";
    ToolError::new(ErrorKind::Uncertain, message)
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").field("calls", &self.entries().calls.len()).finish_non_exhaustive()
    }
}
