//! The workers of a library, for all callers together or for each apart: [`Workers`].

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use opentool_core::{ToolContext, ToolError};

use crate::OpenError;
use crate::plan::Plan;
use crate::sandbox::Confinement;
use crate::supervisor::{Settings, Supervisor, WorkerSharing, run_later};

/// For how many callers there may be workers at the same time.
const CALLERS: usize = 16;

/// The workers of a library.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Those of all callers, or of those that cannot be distinguished.
    shared: Supervisor,
    confinement: Confinement,
    /// Where each caller has its own.
    callers: Option<Arc<Callers>>,
}

/// The workers of one caller at a time, while it may use them.
#[derive(Debug)]
pub(crate) enum WorkersOfCaller<'a> {
    Shared(&'a Supervisor),
    Own(CallerLease),
}

/// Keeps the workers of a caller from being ended while a call runs.
#[derive(Debug)]
pub(crate) struct CallerLease {
    callers: Arc<Callers>,
    caller: Arc<str>,
    supervisor: Arc<Supervisor>,
}

#[derive(Debug)]
struct Callers {
    plan: Arc<Plan>,
    settings: Settings,
    entries: Mutex<HashMap<Arc<str>, CallerEntry>>,
}

#[derive(Debug)]
struct CallerEntry {
    supervisor: Arc<Supervisor>,
    /// How many calls run.
    running: usize,
    last_used: Instant,
}

impl Workers {
    /// Starts the first worker, and waits until it has loaded the library.
    pub(crate) fn start(plan: Arc<Plan>, settings: Settings) -> Result<Workers, OpenError> {
        let shared = Supervisor::new(plan.clone(), settings.clone(), true)?;
        let confinement = shared.start()?;
        let callers = (settings.sharing == WorkerSharing::PerCaller)
            .then(|| Arc::new(Callers { plan, settings, entries: Mutex::default() }));
        Ok(Workers { shared, confinement, callers })
    }

    /// What the system enforces on the library.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The workers that a call goes to.
    ///
    /// # Errors
    ///
    /// Where each caller has its own, and too many have calls that run.
    #[inline]
    pub(crate) fn of_caller(&self, context: &ToolContext) -> Result<WorkersOfCaller<'_>, ToolError> {
        match (&self.callers, context.caller()) {
            (Some(callers), Some(caller)) => callers.lease(caller).map(WorkersOfCaller::Own),
            _ => Ok(WorkersOfCaller::Shared(&self.shared)),
        }
    }
}

impl Deref for WorkersOfCaller<'_> {
    type Target = Supervisor;

    fn deref(&self) -> &Supervisor {
        match self {
            WorkersOfCaller::Shared(supervisor) => supervisor,
            WorkersOfCaller::Own(lease) => &lease.supervisor,
        }
    }
}

impl Callers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, CallerEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(self: &Arc<Self>, caller: &str) -> Result<CallerLease, ToolError> {
        let mut entries = self.lock();
        // Dropped when the lock is released.
        let mut ended = None;
        let caller: Arc<str> = match entries.get_key_value(caller) {
            Some((known, _)) => known.clone(),
            None => {
                if entries.len() >= CALLERS {
                    ended = remove_idle(&mut entries);
                    if ended.is_none() {
                        let message = format!("{CALLERS} callers have calls in this library already: try again later");
                        return Err(ToolError::unavailable(message));
                    }
                }
                let supervisor = Supervisor::new(self.plan.clone(), self.settings.clone(), false)
                    .map_err(|error| ToolError::unavailable(error.to_string()))?;
                let caller: Arc<str> = caller.into();
                let entry = CallerEntry { supervisor: Arc::new(supervisor), running: 0, last_used: Instant::now() };
                entries.insert(caller.clone(), entry);
                self.end_when_idle(&caller, self.settings.idle_timeout);
                caller
            }
        };
        let Some(entry) = entries.get_mut(&caller) else {
            return Err(ToolError::unavailable("the workers of this caller have ended: try again"));
        };
        entry.running += 1;
        let supervisor = entry.supervisor.clone();
        drop(entries);
        drop(ended);
        Ok(CallerLease { callers: self.clone(), caller, supervisor })
    }

    /// Looks later whether a caller has been idle for long enough, and again where it has not.
    fn end_when_idle(self: &Arc<Self>, caller: &Arc<str>, after: Duration) {
        let (callers, caller): (Weak<Self>, Arc<str>) = (Arc::downgrade(self), caller.clone());
        run_later(after, move || {
            let Some(callers) = callers.upgrade() else { return };
            let mut entries = callers.lock();
            let Some(entry) = entries.get(&caller) else { return };
            let timeout = callers.settings.idle_timeout;
            let left = if entry.running > 0 { timeout } else { timeout.saturating_sub(entry.last_used.elapsed()) };
            let ended = if left.is_zero() { entries.remove(&caller) } else { None };
            drop(entries);
            if ended.is_none() {
                callers.end_when_idle(&caller, left);
            }
        });
    }
}

/// Removes the caller without a call that was not there for the longest time.
fn remove_idle(entries: &mut HashMap<Arc<str>, CallerEntry>) -> Option<CallerEntry> {
    let idle = entries.iter().filter(|(_, entry)| entry.running == 0);
    let (caller, _) = idle.min_by_key(|(_, entry)| entry.last_used)?;
    let caller = caller.clone();
    entries.remove(&caller)
}

impl Drop for CallerLease {
    fn drop(&mut self) {
        if let Some(entry) = self.callers.lock().get_mut(&self.caller) {
            entry.running = entry.running.saturating_sub(1);
            entry.last_used = Instant::now();
        }
    }
}
