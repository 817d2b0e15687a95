//! How much time a call has: [`CallClock`].

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::question::AttachedRespondent;

/// How long a call without a timeout waits for a thread.
const MAX_WAIT_FOR_THREAD: Duration = Duration::from_secs(30);

/// The clock of one call. It starts when the call first waits or asks for it, and that of a sync tool when its code starts on a thread.
#[derive(Clone)]
pub(crate) struct CallClock {
    timeout: Option<Duration>,
    start: OnceLock<Instant>,
    /// Set for a sync tool; the start is then this one.
    thread: OnceLock<Arc<ThreadClock>>,
}

/// The clock of a call that runs on a thread.
pub(crate) struct ThreadClock {
    waiting_since: Instant,
    respondent: Option<Arc<AttachedRespondent>>,
    start: OnceLock<ThreadStart>,
}

/// How the wait for a thread ended. It is decided once, so that code never runs for a call that has given up.
enum ThreadStart {
    Started(Instant),
    GivenUp,
}

/// How much time a call has.
#[derive(Clone, Copy)]
pub(crate) enum TimeLeft {
    /// The call runs until then, if it has a deadline.
    Running { until: Option<Instant>, timeout: Duration },
    /// The call has no thread yet, and waits for one until then.
    WaitingForThread { until: Option<Instant>, limit: Duration },
}

impl CallClock {
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, start: OnceLock::new(), thread: OnceLock::new() }
    }

    pub(crate) fn has_timeout(&self) -> bool {
        self.timeout.is_some()
    }

    /// Returns the deadline of the call, and starts the clock unless the call waits for a thread. The time in which questions wait
    /// for their answers since then does not count.
    pub(crate) fn deadline(&self, respondent: Option<&AttachedRespondent>) -> Option<Instant> {
        let timeout = self.timeout?;
        let start = match self.thread.get() {
            Some(thread) => thread.started()?,
            // The clock is read when the tool asks here, or when the call first waits; most calls do neither.
            None => *self.start.get_or_init(|| start(respondent)),
        };
        let waited = respondent.map_or(Duration::ZERO, |respondent| respondent.waited(now()));
        // A time beyond what the clock can represent is no deadline.
        start.checked_add(timeout)?.checked_add(waited)
    }

    /// Lets the clock start on a thread, unless it is already running.
    pub(crate) fn on_thread(&self, respondent: Option<&Arc<AttachedRespondent>>) -> Option<Arc<ThreadClock>> {
        if self.start.get().is_some() {
            return None;
        }
        let respondent = respondent.cloned();
        let clock = || Arc::new(ThreadClock { waiting_since: now(), respondent, start: OnceLock::new() });
        Some(self.thread.get_or_init(clock).clone())
    }

    /// Returns how much time is left; `deadline` is asked where the call does not wait for a thread.
    pub(crate) fn time_left(&self, deadline: impl FnOnce() -> Option<Instant>) -> TimeLeft {
        match self.thread.get() {
            Some(thread) if thread.started().is_none() => {
                let limit = self.timeout.unwrap_or(MAX_WAIT_FOR_THREAD);
                TimeLeft::WaitingForThread { until: thread.waiting_since.checked_add(limit), limit }
            }
            _ => TimeLeft::Running { until: deadline(), timeout: self.timeout.unwrap_or(Duration::MAX) },
        }
    }

    /// Gives up the wait for a thread. False where the code has started meanwhile; else it never will.
    pub(crate) fn give_up_thread(&self) -> bool {
        self.thread.get().is_none_or(|thread| thread.give_up())
    }
}

impl ThreadClock {
    /// Starts the clock, and says whether the code may run: not where its call has given up.
    pub(crate) fn start(&self) -> bool {
        // Another attempt of the call goes on with the clock of the first.
        matches!(
            self.start.get_or_init(|| ThreadStart::Started(start(self.respondent.as_deref()))),
            ThreadStart::Started(_)
        )
    }

    /// Starts the clock when the wait for a thread ends in any other way, so that code which runs after that has a deadline.
    pub(crate) fn start_after_wait(self: Arc<Self>) -> impl Drop {
        StartOnDrop(self)
    }

    fn give_up(&self) -> bool {
        matches!(self.start.get_or_init(|| ThreadStart::GivenUp), ThreadStart::GivenUp)
    }

    fn started(&self) -> Option<Instant> {
        match self.start.get()? {
            ThreadStart::Started(at) => Some(*at),
            ThreadStart::GivenUp => None,
        }
    }
}

struct StartOnDrop(Arc<ThreadClock>);

impl Drop for StartOnDrop {
    fn drop(&mut self) {
        self.0.start();
    }
}

/// The start of a clock from now on, moved back by how long questions have waited before, since the deadline is put off by all they wait.
fn start(respondent: Option<&AttachedRespondent>) -> Instant {
    let now = now();
    respondent.and_then(|respondent| now.checked_sub(respondent.waited(now))).unwrap_or(now)
}

/// The current time, by tokio's clock, which tests can pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_starts_or_its_call_gives_up_and_never_both() {
        let [given_up, started] = [(); 2].map(|()| CallClock::new(Some(Duration::from_secs(1))));

        let thread = given_up.on_thread(None);
        assert!(given_up.give_up_thread());
        assert!(thread.is_some_and(|thread| !thread.start()));
        assert!(given_up.give_up_thread() && given_up.deadline(None).is_none());

        let thread = started.on_thread(None);
        assert!(thread.as_ref().is_some_and(|thread| thread.start()));
        assert!(!started.give_up_thread());
        assert!(thread.is_some_and(|thread| thread.start()), "another attempt has the same clock");
        assert!(started.deadline(None).is_some());
    }
}
