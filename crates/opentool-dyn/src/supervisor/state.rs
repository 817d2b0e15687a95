//! The workers of one library, and the calls that wait for one: [`Inner`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use opentool_core::ToolError;
use tokio::sync::{Semaphore, oneshot};

use super::backoff::Backoff;
use super::breakers::Breakers;
use super::connection::{Answer, Closed, Connection};
use super::exit::{ExitCause, WorkerExit};
use super::monitor::Monitor;
use super::owner::Owner;
use super::settings::Settings;
use super::spawn::Launcher;
use super::usage::Activity;
use crate::LoadError;
use crate::plan::{Effect, Plan};

/// How long a worker may take to load its library, where calls have no timeout of their own.
const LOADING: Duration = Duration::from_secs(10);

/// The least that it gets.
const LOADING_AT_LEAST: Duration = Duration::from_secs(1);

/// What the supervisor shares with the monitor, the reader tasks and the calls in flight.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) plan: Arc<Plan>,
    pub(super) settings: Settings,
    pub(super) launcher: Launcher,
    pub(super) monitor: &'static Monitor,
    /// A reference to itself, to pass on.
    pub(super) weak: Weak<Inner>,
    /// Whether there is to be a spare.
    pub(super) has_spare: bool,
    /// How many calls may run in workers of their own at the same time.
    pub(super) alone: Semaphore,
    pub(super) state: Mutex<State>,
}

/// What changes.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The worker that takes calls.
    pub(super) serving: Option<Connection>,
    /// The one that replaces it when it exits.
    pub(super) spare: Option<Connection>,
    /// Those that are to end.
    ending: Vec<Connection>,
    /// Whether one is being started, or will be.
    pub(super) starting: bool,
    /// Whether a spare could not be started; it is tried again after the next exit.
    without_spare: bool,
    /// Whether there was a call, so that a spare is worth its memory.
    pub(super) called: bool,
    /// The calls that wait for a worker with capacity, in order.
    pub(super) waiting: VecDeque<oneshot::Sender<Result<(), ToolError>>>,
    pub(super) backoff: Backoff,
    pub(super) breakers: Breakers,
    /// Answers of workers that exited, whose callers are restarting a reader.
    pub(super) kept: Vec<(u64, u64, Answer)>,
    pub(super) closed: bool,
}

/// The error of a call to a library that was closed.
pub(super) fn closed(name: &str) -> ToolError {
    ToolError::unavailable(format!("`{name}` cannot be called: its library was closed"))
}

/// The number of a new worker.
pub(super) fn next_worker() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

impl Inner {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn name(&self, function: usize) -> &str {
        self.plan.functions.get(function).map_or("?", |function| &function.name)
    }

    /// Whether a call of a function may run again: the document says that it changes nothing, or no more than the first time.
    pub(super) fn may_repeat(&self, function: usize) -> bool {
        let function = self.plan.functions.get(function);
        function.is_some_and(|function| function.effect == Effect::Read || function.idempotent)
    }

    /// Whether a call of a function can run in a worker of its own: it leaves nothing in memory that other calls need.
    pub(super) fn may_run_alone(&self, function: usize) -> bool {
        let function = self.plan.functions.get(function);
        function.is_some_and(|function| function.effect == Effect::Read && function.handle_types().next().is_none())
    }

    /// The functions whose calls may have ended a worker; those aside whose calls will run alone, which then shows whether they did.
    fn suspects(&self, exit: &WorkerExit, running: &[(usize, u64)]) -> Vec<usize> {
        let cause: Vec<_> = running.iter().filter(|(_, id)| exit.is_caused_by(*id)).collect();
        let suspected = match cause.is_empty() {
            true => running.iter().filter(|(function, _)| !self.may_run_alone(*function)).collect(),
            false => cause,
        };
        let mut functions: Vec<_> = suspected.into_iter().map(|(function, _)| *function).collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }

    /// A reference for the monitor.
    pub(super) fn as_owner(&self) -> Weak<dyn Owner> {
        self.weak.clone()
    }

    /// Starts a worker or a spare, where one is missing.
    pub(super) fn ensure_workers(&self, state: &mut State) {
        if state.closed {
            return;
        }
        if state.serving.is_none()
            && let Some(spare) = state.spare.take()
        {
            state.serving = Some(spare);
            state.wake_waiting();
        }
        let needs_spare = self.has_spare && state.called && !state.without_spare && state.spare.is_none();
        if state.starting || (state.serving.is_some() && !needs_spare) {
            return;
        }
        state.starting = true;
        let delay = state.backoff.delay(Instant::now());
        if delay.is_zero() {
            self.monitor.start(self.as_owner(), next_worker(), None);
        } else {
            self.run_later(delay, |inner| inner.monitor.start(inner.as_owner(), next_worker(), None));
        }
    }

    /// Runs something later on the thread of the monitor, if the library is still open.
    pub(super) fn run_later(&self, delay: Duration, work: impl FnOnce(&Inner) + Send + 'static) {
        let weak = self.weak.clone();
        self.monitor.after(delay, move || {
            if let Some(inner) = weak.upgrade() {
                work(&inner);
            }
        });
    }

    /// Takes a worker out of service, and ends it.
    pub(super) fn retire(&self, state: &mut State, worker: u64, cause: ExitCause, grace: Duration) {
        if let Some(connection) = state.take(worker) {
            state.ending.push(connection);
        }
        self.monitor.end(worker, cause, grace);
        self.ensure_workers(state);
    }
}

impl Owner for Inner {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    fn start_timeout(&self) -> Duration {
        self.settings.timeout.unwrap_or(LOADING).max(LOADING_AT_LEAST)
    }

    fn max_concurrency(&self) -> usize {
        self.plan.max_concurrency()
    }

    fn started(&self, connection: Connection) {
        let mut state = self.lock();
        state.starting = false;
        if state.closed {
            drop(state);
            return self.monitor.end(connection.worker, ExitCause::Retired, Duration::ZERO);
        }
        if state.serving.is_none() {
            state.serving = Some(connection);
            state.wake_waiting();
            self.ensure_workers(&mut state);
        } else {
            state.spare = Some(connection);
        }
    }

    fn not_started(&self, error: &LoadError) {
        tracing::warn!(library = %self.settings.library.display(), %error, "a worker could not be started");
        let mut state = self.lock();
        state.starting = false;
        if state.serving.is_some() {
            // It was to be the spare, which is not needed as long as the worker runs.
            state.without_spare = true;
            return;
        }
        let now = Instant::now();
        state.backoff.record_failure(now);
        state.breakers.record_library_failure(now, &error.to_string());
        let unavailable = ToolError::unavailable(error.to_string());
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(Err(unavailable.clone()));
        }
    }

    fn activity(&self, worker: u64) -> Option<Activity> {
        let mut state = self.lock();
        state.connection(worker).map(|connection| connection.activity())
    }

    fn end_overuse(&self, worker: u64, activity: Activity, cause: ExitCause) {
        let mut state = self.lock();
        let Some(connection) = state.connection(worker) else { return };
        if cause != ExitCause::BurningThreads || connection.activity() == activity {
            self.retire(&mut state, worker, cause, Duration::ZERO);
        }
    }

    fn exited(&self, worker: u64, mut exit: WorkerExit) {
        let mut state = self.lock();
        let Some(mut connection) = state.take(worker) else { return };
        // On a busy machine the exit of a worker is noticed before its last answers are read.
        let before = connection.answers;
        connection.wants_answered = true;
        if let Some(damage) = connection.receive_rest().filter(|_| exit.is_natural()) {
            exit.cause = damage.into();
        }
        if connection.answers > before {
            state.backoff.record_success();
        }
        for function in connection.answered.drain(..) {
            state.breakers.record_success(function);
        }
        let crashed = matches!(exit.cause, ExitCause::Signal(_) | ExitCause::Exit(_));
        exit.denial = if crashed { connection.last_denial() } else { None };
        let reason = exit.reason();
        let exit = Arc::new(exit);
        let Closed { kept, running } = connection.close(&exit);
        state.kept.extend(kept);
        if exit.is_unexpected() {
            tracing::warn!(library = %self.settings.library.display(), %reason, "a worker has ended");
            let now = Instant::now();
            state.backoff.record_failure(now);
            if running.is_empty() {
                state.breakers.record_library_failure(now, &reason);
            }
            state.breakers.record_failure(&self.suspects(&exit, &running), now, &reason);
        } else {
            tracing::info!(library = %self.settings.library.display(), %reason, "a worker was ended");
        }
        state.without_spare = false;
        self.ensure_workers(&mut state);
    }
}

impl State {
    /// The connection of a worker, in whatever state that is.
    pub(super) fn connection(&mut self, worker: u64) -> Option<&mut Connection> {
        let connections = [&mut self.serving, &mut self.spare].into_iter().flatten().chain(&mut self.ending);
        connections.into_iter().find(|connection| connection.worker == worker)
    }

    fn take(&mut self, worker: u64) -> Option<Connection> {
        let is_it = |connection: &mut Connection| connection.worker == worker;
        if let Some(connection) = self.serving.take_if(is_it).or_else(|| self.spare.take_if(is_it)) {
            return Some(connection);
        }
        let index = self.ending.iter().position(|connection| connection.worker == worker)?;
        Some(self.ending.swap_remove(index))
    }

    /// Wakes as many waiting calls as the worker has capacity for.
    pub(super) fn wake_waiting(&mut self) {
        let mut capacity = self.serving.as_ref().map_or(0, Connection::capacity);
        while capacity > 0
            && let Some(waiting) = self.waiting.pop_front()
        {
            // Some calls no longer wait.
            capacity -= usize::from(waiting.send(Ok(())).is_ok());
        }
    }
}
