//! The parent's side of worker processes: starts them, hands calls to them, and says what became of them.
//!
//! There is one worker that takes calls, and a spare that is ready to follow it. A call that had begun when its worker
//! ended has failed and is never repeated; one that had not goes to the next worker. Workers that end again and again are
//! started ever later, and at last calls are refused for a while, with the reason.

mod charge;
mod death;
mod link;
mod output;
mod patience;
mod pump;
mod settings;
mod spawn;
mod ticket;
mod warden;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use opentool_core::{ToolContext, ToolError};
use tokio::sync::oneshot;

use self::charge::CLOSING;
use self::death::{Cause, Death};
use self::link::{Answer, Link};
use self::patience::Patience;
pub(crate) use self::settings::Settings;
use self::spawn::Launch;
use self::ticket::Ticket;
use self::warden::Warden;
use crate::engine::Notes;
use crate::plan::Plan;
use crate::sandbox::Confinement;
use crate::worker::{Kind, LONGEST};
use crate::{LoadError, OpenError};

/// How long a worker may take to load its library, where nobody gives calls another time.
const LOADING: Duration = Duration::from_secs(10);

/// The least that it gets.
const LOADING_AT_LEAST: Duration = Duration::from_secs(1);

/// How long a call that was given up may go on before its worker is killed, and with it what the library keeps in memory.
const GIVEN_UP: Duration = Duration::from_millis(100);

/// The same where others would lose their calls or their handles with the worker, and nobody gives calls a time.
const GIVEN_UP_AT_MOST: Duration = Duration::from_secs(10);

/// How long a worker that nobody needs may take to end by itself.
const RETIRING: Duration = Duration::from_millis(250);

/// How long after its first call a library gets a spare worker: who calls once needs none.
const SPARE_AFTER: Duration = Duration::from_millis(100);

/// Starts workers, hands calls to them, and says what became of them.
#[derive(Debug)]
pub(crate) struct Supervisor {
    inner: Arc<Inner>,
    confinement: Confinement,
}

/// What the supervisor shares with those who watch over its workers.
#[derive(Debug)]
struct Inner {
    plan: Arc<Plan>,
    settings: Settings,
    launch: Launch,
    warden: &'static Warden,
    /// To hand itself to others.
    itself: Weak<Inner>,
    state: Mutex<State>,
}

/// What changes.
#[derive(Debug, Default)]
struct State {
    /// The worker that takes calls.
    serving: Option<Link>,
    /// The one that follows it.
    spare: Option<Link>,
    /// Those that are to end.
    ending: Vec<Link>,
    /// Whether one is being started, or will be.
    starting: bool,
    /// Whether a spare could not be started; another death says that one is needed after all.
    without_spare: bool,
    /// Whether somebody has called, so that a spare is worth its memory.
    called: bool,
    /// Those who wait for a worker or for room at one, in the order in which they came.
    waiting: VecDeque<oneshot::Sender<Result<(), ToolError>>>,
    patience: Patience,
    /// Answers of workers that ended, whose callers are not back yet.
    kept: Vec<(u64, u64, Answer)>,
    closed: bool,
}

/// That a call was let in; the one that finds out whether a library works again makes room for the next when it ends.
struct Admission<'a> {
    inner: &'a Inner,
    admitted: bool,
    finds_out: bool,
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if self.finds_out {
            self.inner.lock().patience.stop_probing();
        }
    }
}

/// What became of a wish to call.
enum Submitted {
    Sent(Ticket),
    /// There is no worker with room yet; whoever waits is told when to ask again.
    Queued(Place),
}

/// A place in the queue for a worker. Whoever leaves after having been told to ask again tells the next.
struct Place {
    inner: Weak<Inner>,
    told: oneshot::Receiver<Result<(), ToolError>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if matches!(self.told.try_recv(), Ok(Ok(())))
            && let Some(inner) = self.inner.upgrade()
        {
            wake(&mut inner.lock());
        }
    }
}

impl Supervisor {
    /// Starts the first worker, and waits until it has loaded the library.
    pub(crate) fn start(plan: Arc<Plan>, settings: Settings) -> Result<Supervisor, OpenError> {
        let fail = |message: String| LoadError::new(&settings.library, message);
        let launch = Launch::new(&settings).map_err(fail)?;
        let warden = Warden::get().map_err(|error| fail(format!("its worker cannot be watched over: {error}")))?;
        let inner = Arc::new_cyclic(|itself| Inner {
            plan,
            settings: settings.clone(),
            launch,
            warden,
            itself: itself.clone(),
            state: Mutex::default(),
        });
        let (told, heard) = sync_channel(1);
        inner.lock().starting = true;
        warden.start(inner.itself.clone(), next_worker(), Some(told));
        let confinement = heard.recv().map_err(|_| fail("its worker was never started".to_owned()))??;
        Ok(Supervisor { inner, confinement })
    }

    /// What the system enforces upon the library.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Calls a function in a worker; the arguments are checked already. The result is the text of a JSON object.
    pub(crate) async fn call(
        &self,
        function: usize,
        arguments: &str,
        _context: &ToolContext,
    ) -> Result<(Notes, String), ToolError> {
        let name = self.inner.name(function);
        if arguments.len() > LONGEST {
            return Err(ToolError::invalid_arguments(
                "",
                format!("`{name}` gets {} bytes, which is too much", arguments.len()),
            ));
        }
        let mut admission = Admission { inner: &self.inner, admitted: false, finds_out: false };
        // An answer or a refusal may be there at once, again and again: whoever calls in a loop still lets others run, and
        // lets a runtime end that is shutting down.
        tokio::task::coop::consume_budget().await;
        loop {
            match self.inner.submit(function, arguments, &mut admission)? {
                Submitted::Queued(mut place) => (&mut place.told).await.map_err(|_| closed(name))??,
                Submitted::Sent(ticket) => match ticket.wait(self.inner.settings.timeout).await? {
                    Answer::Again | Answer::Unread => {}
                    Answer::Died { death, guilty } => return Err(death.error(name, guilty)),
                    Answer::Reply { kind, notes, text, refusal } => {
                        if let Some(refusal) = refusal {
                            tracing::warn!(function = name, "the library was refused something: {}", refusal.hint());
                        }
                        return outcome(name, kind, notes, text);
                    }
                },
            }
        }
    }
}

/// What a reply means to whoever called.
fn outcome(name: &str, kind: Kind, notes: Notes, text: Vec<u8>) -> Result<(Notes, String), ToolError> {
    let nonsense = || ToolError::invalid_result(format!("`{name}`: the worker's answer makes no sense"));
    match kind {
        Kind::Result => Ok((notes, String::from_utf8(text).map_err(|_| nonsense())?)),
        Kind::Error => Err(serde_json::from_slice(&text).unwrap_or_else(|_| nonsense())),
        _ => Err(nonsense()),
    }
}

fn closed(name: &str) -> ToolError {
    ToolError::unavailable(format!("`{name}` cannot be called: its library was closed"))
}

fn next_worker() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.closed = true;
        state.waiting.clear();
        let links: Vec<_> = [state.serving.take(), state.spare.take()].into_iter().flatten().collect();
        drop(state);
        for link in links {
            let grace = if link.is_idle() { RETIRING } else { Duration::ZERO };
            self.inner.warden.end(link.worker, Cause::Retired, grace);
            if let Some(pump) = &link.pump {
                pump.abort();
            }
        }
        // Those that are only just starting have no link yet.
        self.inner.warden.after(Duration::ZERO, {
            let warden = self.inner.warden;
            move || warden.look()
        });
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, function: usize) -> &str {
        self.plan.functions.get(function).map_or("?", |function| &function.name)
    }

    /// How long a worker may take to load the library.
    fn patience(&self) -> Duration {
        self.settings.timeout.unwrap_or(LOADING).max(LOADING_AT_LEAST)
    }

    /// Sends a call to the worker, or queues for one.
    fn submit(&self, function: usize, arguments: &str, admission: &mut Admission<'_>) -> Result<Submitted, ToolError> {
        let mut state = self.lock();
        if state.closed {
            return Err(closed(self.name(function)));
        }
        // Once for a call, however often it has to ask for a worker.
        if !admission.admitted {
            admission.finds_out = state.patience.admit(Instant::now()).map_err(|reason| {
                ToolError::unavailable(format!("`{}` cannot be called: {reason}", self.name(function)))
            })?;
            admission.admitted = true;
        }
        if let Some(link) = state.serving.as_mut().filter(|link| link.room() > 0) {
            self.read(link)?;
            if let Some((id, answer, look)) = link.send(function, arguments) {
                let ticket = Ticket::new(self.itself.clone(), link.worker, id, answer, look);
                if !state.called {
                    state.called = true;
                    self.later(SPARE_AFTER, Inner::see_to_workers);
                }
                return Ok(Submitted::Sent(ticket));
            }
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.push_back(sender);
        self.staff(&mut state);
        Ok(Submitted::Queued(Place { inner: self.itself.clone(), told: receiver }))
    }

    /// Sees to it that there is a worker, or will be, and a spare.
    fn staff(&self, state: &mut State) {
        if state.closed {
            return;
        }
        if state.serving.is_none()
            && let Some(spare) = state.spare.take()
        {
            state.serving = Some(spare);
            wake(state);
        }
        let needs_spare = state.called && !state.without_spare && state.spare.is_none();
        if state.starting || (state.serving.is_some() && !needs_spare) {
            return;
        }
        state.starting = true;
        let delay = state.patience.delay(Instant::now());
        if delay.is_zero() {
            self.warden.start(self.itself.clone(), next_worker(), None);
        } else {
            self.later(delay, |inner| inner.warden.start(inner.itself.clone(), next_worker(), None));
        }
    }

    fn see_to_workers(&self) {
        let mut state = self.lock();
        self.staff(&mut state);
    }

    /// Does something later, if anybody still has the library.
    fn later(&self, delay: Duration, work: impl FnOnce(&Inner) + Send + 'static) {
        let itself = self.itself.clone();
        self.warden.after(delay, move || {
            if let Some(inner) = itself.upgrade() {
                work(&inner);
            }
        });
    }

    /// A worker has loaded the library.
    fn started(&self, link: Link) {
        let mut state = self.lock();
        state.starting = false;
        if state.closed {
            drop(state);
            return self.warden.end(link.worker, Cause::Retired, Duration::ZERO);
        }
        if state.serving.is_none() {
            state.serving = Some(link);
            wake(&mut state);
            self.staff(&mut state);
        } else {
            state.spare = Some(link);
        }
    }

    /// A worker could not be started, or could not load the library.
    fn not_started(&self, error: &LoadError) {
        tracing::warn!(library = %self.settings.library.display(), %error, "a worker could not be started");
        let mut state = self.lock();
        state.starting = false;
        if state.serving.is_some() {
            // It was to be the spare: there is somebody else as long as nobody dies.
            state.without_spare = true;
            return;
        }
        state.patience.lose(Instant::now(), &error.to_string());
        let refused = ToolError::unavailable(error.to_string());
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(Err(refused.clone()));
        }
    }

    /// A worker has ended.
    fn died(&self, worker: u64, mut death: Death) {
        let mut state = self.lock();
        let Some(link) = state.take(worker) else { return };
        death.refusal = if matches!(death.cause, Cause::Signal(_) | Cause::Exit(_)) { link.refusal() } else { None };
        let expected = matches!(death.cause, Cause::Retired | Cause::GivenUp { .. });
        let reason = death.reason();
        state.kept.extend(link.end(&Arc::new(death)));
        if expected {
            tracing::info!(library = %self.settings.library.display(), %reason, "a worker was ended");
        } else {
            tracing::warn!(library = %self.settings.library.display(), %reason, "a worker has ended");
            state.patience.lose(Instant::now(), &reason);
        }
        state.without_spare = false;
        self.staff(&mut state);
    }

    /// Takes a worker out of service: it is to end.
    fn dismiss(&self, state: &mut State, worker: u64, cause: Cause, grace: Duration) {
        if let Some(link) = state.take(worker) {
            state.ending.push(link);
        }
        self.warden.end(worker, cause, grace);
        self.staff(state);
    }
}

impl State {
    /// The link of a worker, wherever it is.
    fn link(&mut self, worker: u64) -> Option<&mut Link> {
        let links = [&mut self.serving, &mut self.spare].into_iter().flatten().chain(&mut self.ending);
        links.into_iter().find(|link| link.worker == worker)
    }

    fn take(&mut self, worker: u64) -> Option<Link> {
        let is_it = |link: &mut Link| link.worker == worker;
        if let Some(link) = self.serving.take_if(is_it).or_else(|| self.spare.take_if(is_it)) {
            return Some(link);
        }
        let index = self.ending.iter().position(|link| link.worker == worker)?;
        Some(self.ending.swap_remove(index))
    }
}

/// Tells as many of those who wait for a worker as it has room for.
fn wake(state: &mut State) {
    let mut room = state.serving.as_ref().map_or(0, Link::room);
    while room > 0
        && let Some(waiting) = state.waiting.pop_front()
    {
        // Some no longer wait.
        room -= usize::from(waiting.send(Ok(())).is_ok());
    }
}
