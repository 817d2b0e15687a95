//! The parent's side of worker processes: [`Supervisor`] starts them, sends calls to them, and reports how they exit.
//!
//! There is one worker that takes calls, and a spare that is ready to replace it. A call that may have begun when its worker
//! exited has failed, unless the document says that it only reads: then it runs again, at last in a worker of its own, which no
//! other call can end. One that cannot have begun goes to the next worker. Workers that exit again and again are started with
//! a growing delay, and after that the function that ended them is refused for a while, with the reason.

mod backoff;
mod breakers;
mod child;
mod connection;
mod exit;
mod monitor;
mod output;
mod owner;
mod reader;
mod settings;
mod spawn;
mod state;
mod ticket;
mod usage;

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use opentool_core::ToolError;
use tokio::sync::{Semaphore, oneshot};

use self::breakers::Admitted;
use self::connection::Answer;
use self::exit::ExitCause;
use self::monitor::Monitor;
pub(crate) use self::settings::Settings;
pub use self::settings::WorkerSharing;
use self::spawn::Launcher;
use self::state::{Inner, closed, next_worker};
use self::ticket::Ticket;
use crate::denial::Denial;
use crate::engine::Notes;
use crate::plan::Plan;
use crate::protocol::{LONGEST_REQUEST, ReplyKind};
use crate::sandbox::Confinement;
use crate::{LoadError, OpenError};

/// How long an idle worker may take to exit by itself once its library is closed.
const RETIRING: Duration = Duration::from_millis(250);

/// How often a call that may run again does so after it was lost with its worker, where others may well have been the cause.
const MOST_LOST: u32 = 4;

/// The same for one that can run in a worker of its own after that.
const LOST_BEFORE_ALONE: u32 = 2;

/// How many calls have workers of their own at the same time.
const ALONE: usize = 4;

/// How long after its first call a library gets a spare worker: a program that calls once needs none.
const SPARE_AFTER: Duration = Duration::from_millis(100);

/// Starts workers, sends calls to them, and reports how they exit.
#[derive(Debug)]
pub(crate) struct Supervisor {
    inner: Arc<Inner>,
}

/// A call that was admitted. The one that probes whether a function works again makes way for the next when it ends.
struct Admission<'a> {
    inner: &'a Inner,
    function: usize,
    admitted: Option<Admitted>,
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.filter(|admitted| admitted.has_failed) {
            self.inner.lock().breakers.release(self.function, admitted);
        }
    }
}

/// What became of an attempt to send a call.
enum Submitted {
    Sent(Ticket),
    /// No worker has capacity yet.
    Queued(QueuedCall),
}

/// A call in the queue for a worker. One that is dropped after it was woken wakes the next.
struct QueuedCall {
    inner: Weak<Inner>,
    woken: oneshot::Receiver<Result<(), ToolError>>,
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        if matches!(self.woken.try_recv(), Ok(Ok(())))
            && let Some(inner) = self.inner.upgrade()
        {
            inner.lock().wake_waiting();
        }
    }
}

impl Supervisor {
    /// Prepares the start of workers, the first of which starts with the first call.
    pub(crate) fn new(plan: Arc<Plan>, settings: Settings, has_spare: bool) -> Result<Supervisor, OpenError> {
        let fail = |message: String| LoadError::new(&settings.library, message);
        let launcher = Launcher::new(&settings).map_err(fail)?;
        let monitor = Monitor::get().map_err(|error| fail(format!("its worker cannot be monitored: {error}")))?;
        let inner = Arc::new_cyclic(|weak| Inner {
            plan,
            settings: settings.clone(),
            launcher,
            monitor,
            weak: weak.clone(),
            has_spare,
            alone: Semaphore::new(ALONE),
            state: Mutex::default(),
        });
        Ok(Supervisor { inner })
    }

    /// Starts the first worker, waits until it has loaded the library, and says what the system enforces on that.
    pub(crate) fn start(&self) -> Result<Confinement, OpenError> {
        let (sender, receiver) = sync_channel(1);
        self.inner.lock().starting = true;
        self.inner.monitor.start(self.inner.as_owner(), next_worker(), Some(sender));
        let never = || LoadError::new(&self.inner.settings.library, "its worker was never started");
        Ok(receiver.recv().map_err(|_| never())??)
    }

    /// Calls a function in a worker; the arguments are checked already. The result is the text of a JSON object.
    pub(crate) async fn call(&self, function: usize, arguments: &str) -> Result<(Notes, String), ToolError> {
        let name = self.inner.name(function);
        if arguments.len() > LONGEST_REQUEST {
            return Err(ToolError::invalid_arguments(
                "",
                format!("`{name}` gets {} bytes, which is too much", arguments.len()),
            ));
        }
        let mut admission = Admission { inner: &self.inner, function, admitted: None };
        let mut lost = 0;
        // Answers and refusals may be ready at once, again and again: a loop of calls still lets other tasks run, and a
        // runtime shut down.
        tokio::task::coop::consume_budget().await;
        loop {
            match self.attempt(function, arguments, &mut admission).await? {
                Answer::Retry | Answer::ReaderStopped => {}
                Answer::WorkerExited { exit, is_cause, is_one_of_many } => {
                    if is_cause || exit.is_retired() || !self.inner.may_repeat(function) {
                        return Err(exit.error(name, is_cause, is_one_of_many));
                    }
                    // Other calls or a thread that they left may have been the cause.
                    let may_be_others = is_one_of_many || exit.is_damage();
                    let may_run_alone = self.inner.may_run_alone(function);
                    let most = match (may_be_others, may_run_alone) {
                        (true, true) => LOST_BEFORE_ALONE,
                        (true, false) => MOST_LOST,
                        (false, _) => u32::from(!may_run_alone),
                    };
                    lost += 1;
                    if lost > most && may_run_alone {
                        // Boxed, since few calls run alone, and every call has this future (`benches/isolated.rs many`).
                        return Box::pin(self.call_alone(function, arguments)).await;
                    }
                    if lost > most {
                        return Err(exit.error(name, is_cause, is_one_of_many));
                    }
                }
                Answer::Reply { kind, notes, text, denial } => return result(name, kind, notes, text, denial),
            }
        }
    }

    /// Sends a call once, where a worker has capacity for it.
    async fn attempt(
        &self,
        function: usize,
        arguments: &str,
        admission: &mut Admission<'_>,
    ) -> Result<Answer, ToolError> {
        match self.submit(function, arguments, admission)? {
            Submitted::Sent(ticket) => ticket.wait(self.inner.settings.timeout).await,
            Submitted::Queued(mut queued) => {
                (&mut queued.woken).await.map_err(|_| closed(self.inner.name(function)))??;
                Ok(Answer::Retry)
            }
        }
    }

    /// Calls a function in a new worker that gets no other call, so that it is the cause where that exits.
    async fn call_alone(&self, function: usize, arguments: &str) -> Result<(Notes, String), ToolError> {
        let name = self.inner.name(function);
        let _permit = self.inner.alone.acquire().await.map_err(|_| closed(name))?;
        let alone = Supervisor::new(self.inner.plan.clone(), self.inner.settings.clone(), false)
            .map_err(|error| ToolError::unavailable(error.to_string()))?;
        let mut admission = Admission { inner: &alone.inner, function, admitted: None };
        loop {
            match alone.attempt(function, arguments, &mut admission).await? {
                Answer::Retry | Answer::ReaderStopped => {}
                Answer::WorkerExited { exit, is_cause, is_one_of_many } => {
                    let (now, reason) = (Instant::now(), exit.reason());
                    self.inner.lock().breakers.record_failure(&[function], now, &reason);
                    return Err(exit.error(name, is_cause, is_one_of_many));
                }
                Answer::Reply { kind, notes, text, denial } => {
                    self.inner.lock().breakers.record_success(function);
                    return result(name, kind, notes, text, denial);
                }
            }
        }
    }

    /// Sends a call to the worker, or queues for one.
    fn submit(&self, function: usize, arguments: &str, admission: &mut Admission<'_>) -> Result<Submitted, ToolError> {
        let inner = &self.inner;
        let mut state = inner.lock();
        if state.closed {
            return Err(closed(inner.name(function)));
        }
        let now = Instant::now();
        // Once for a call, however often it has to ask for a worker.
        if admission.admitted.is_none() {
            let admitted = state.breakers.admit(function, now).map_err(|reason| {
                ToolError::unavailable(format!("`{}` cannot be called: {reason}", inner.name(function)))
            })?;
            admission.admitted = Some(admitted);
        }
        if let Some(connection) = state.serving.as_mut().filter(|connection| connection.capacity() > 0) {
            reader::ensure_reader(inner, connection)?;
            if let Some((id, answer)) = connection.send(function, arguments, now) {
                let ticket = Ticket::new(inner.weak.clone(), connection.worker, id, answer);
                if !state.called {
                    state.called = true;
                    inner.run_later(SPARE_AFTER, |inner| inner.ensure_workers(&mut inner.lock()));
                }
                return Ok(Submitted::Sent(ticket));
            }
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.push_back(sender);
        inner.ensure_workers(&mut state);
        Ok(Submitted::Queued(QueuedCall { inner: inner.weak.clone(), woken: receiver }))
    }
}

/// Runs something later, on the thread that monitors workers: it must not block.
pub(crate) fn run_later(delay: Duration, work: impl FnOnce() + Send + 'static) {
    // There is a monitor since there is a supervisor.
    if let Ok(monitor) = Monitor::get() {
        monitor.after(delay, work);
    }
}

/// The result of a call, from a reply.
fn result(
    name: &str,
    kind: ReplyKind,
    notes: Notes,
    text: Vec<u8>,
    denial: Option<Denial>,
) -> Result<(Notes, String), ToolError> {
    if let Some(denial) = denial {
        tracing::warn!(function = name, "the library was refused something: {}", denial.hint());
    }
    let malformed = || ToolError::invalid_result(format!("`{name}`: the worker's answer makes no sense"));
    match kind {
        ReplyKind::Result => Ok((notes, String::from_utf8(text).map_err(|_| malformed())?)),
        ReplyKind::Error => Err(serde_json::from_slice(&text).unwrap_or_else(|_| malformed())),
        _ => Err(malformed()),
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.closed = true;
        state.waiting.clear();
        let connections: Vec<_> = [state.serving.take(), state.spare.take()].into_iter().flatten().collect();
        drop(state);
        for connection in connections {
            let grace = if connection.is_idle() { RETIRING } else { Duration::ZERO };
            self.inner.monitor.end(connection.worker, ExitCause::Retired, grace);
            if let Some(reader) = &connection.reader {
                reader.abort();
            }
        }
        // Those that are only just starting have no connection yet.
        let monitor = self.inner.monitor;
        monitor.after(Duration::ZERO, move || monitor.end_orphans());
    }
}
