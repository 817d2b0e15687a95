//! How long a call may take: [`CallClock`].

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The time of one call. The time in which a person answers a question counts for nothing.
pub(crate) struct CallClock {
    total: Duration,
    /// How long the server may be silent, where progress extends the time.
    silence: Option<Duration>,
    started: Instant,
    state: Mutex<ClockState>,
}

struct ClockState {
    last_sign: Instant,
    /// How long questions were open that are answered.
    waited: Duration,
    open: usize,
    open_since: Instant,
}

/// A question that waits for its answer.
pub(crate) struct StoppedClock<'a>(&'a CallClock);

impl CallClock {
    pub(crate) fn start(total: Duration, silence: Option<Duration>) -> Self {
        let now = Instant::now();
        let state = ClockState { last_sign: now, waited: Duration::ZERO, open: 0, open_since: now };
        Self { total, silence, started: now, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether progress extends the time.
    pub(crate) fn counts_progress(&self) -> bool {
        self.silence.is_some()
    }

    /// Notes that the server is still at it.
    pub(crate) fn note_progress(&self) {
        self.state().last_sign = Instant::now();
    }

    /// Stops the clock while a question is open.
    pub(crate) fn stop(&self) -> StoppedClock<'_> {
        let mut state = self.state();
        if state.open == 0 {
            state.open_since = Instant::now();
        }
        state.open += 1;
        StoppedClock(self)
    }

    /// Waits until the time is over, and returns which time that is.
    pub(crate) async fn expired(&self) -> Duration {
        loop {
            let (left, limit) = self.left();
            if left.is_zero() {
                return limit;
            }
            sleep(left).await;
        }
    }

    /// How much time is left, and of which.
    fn left(&self) -> (Duration, Duration) {
        let (state, now) = (self.state(), Instant::now());
        let open = if state.open > 0 { now - state.open_since } else { Duration::ZERO };
        let left = (self.total + state.waited + open).saturating_sub(now - self.started);
        match self.silence {
            Some(silence) => {
                let silent = if state.open > 0 { Duration::ZERO } else { now - state.last_sign };
                let may_be_silent = silence.saturating_sub(silent);
                if may_be_silent < left { (may_be_silent, silence) } else { (left, self.total) }
            }
            None => (left, self.total),
        }
    }
}

impl Drop for StoppedClock<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        if state.open == 0 {
            let now = Instant::now();
            let open = now - state.open_since;
            state.waited += open;
            state.last_sign = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn progress_extends_the_time_up_to_the_total() {
        let clock = CallClock::start(10 * SECOND, Some(3 * SECOND));
        let started = Instant::now();
        let signs = async {
            loop {
                sleep(2 * SECOND).await;
                clock.note_progress();
            }
        };
        let limit = tokio::select! {
            limit = clock.expired() => limit,
            () = signs => Duration::ZERO,
        };
        assert_eq!((limit, started.elapsed()), (10 * SECOND, 10 * SECOND));
        let silent = CallClock::start(10 * SECOND, Some(3 * SECOND));
        let started = Instant::now();
        assert_eq!((silent.expired().await, started.elapsed()), (3 * SECOND, 3 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_question_stops_the_clock() {
        for silence in [None, Some(2 * SECOND)] {
            let clock = CallClock::start(3 * SECOND, silence);
            let started = Instant::now();
            let asked = async {
                let first = clock.stop();
                let second = clock.stop();
                sleep(60 * SECOND).await;
                drop(first);
                sleep(60 * SECOND).await;
                drop(second);
            };
            let (limit, ()) = tokio::join!(clock.expired(), asked);
            let limit_after = silence.unwrap_or(3 * SECOND);
            assert_eq!((limit, started.elapsed()), (limit_after, 120 * SECOND + limit_after));
        }
    }
}
