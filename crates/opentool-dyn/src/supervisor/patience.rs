//! How long to go on with a library whose workers keep ending: [`Patience`].

use std::time::{Duration, Instant};

/// How many workers in a row may end before the next one has to wait.
const QUICK: u32 = 3;

/// How many may end before calls are refused.
const ENOUGH: u32 = 8;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(2);
const FIRST_REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// What is known about a library's latest workers.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// How many ended in a row without answering a call.
    lost: u32,
    /// Why the last one did.
    reason: String,
    /// When the next one may be started.
    not_before: Option<Instant>,
    /// Until when calls are refused.
    rest: Option<Instant>,
    /// Whether one call is on its way to find out.
    probing: bool,
}

impl Patience {
    /// Lets a call through, and says whether it is the one that finds out; or says why not.
    pub(super) fn admit(&mut self, now: Instant) -> Result<bool, String> {
        let Some(until) = self.rest else { return Ok(false) };
        if now >= until && !self.probing {
            self.probing = true;
            return Ok(true);
        }
        let Patience { lost, reason, .. } = self;
        let left = until.saturating_duration_since(now).as_secs() + 1;
        let next = if self.probing { "one call finds out now".to_owned() } else { format!("next try in {left} s") };
        Err(format!("its worker has ended {lost} times in a row ({next}); the last time, {reason}"))
    }

    /// A call was answered: all is well.
    pub(super) fn win(&mut self) {
        if self.lost > 0 || self.probing {
            *self = Patience::default();
        }
    }

    /// A worker has ended.
    pub(super) fn lose(&mut self, now: Instant, reason: &str) {
        self.lost += 1;
        self.probing = false;
        reason.clone_into(&mut self.reason);
        if self.lost >= QUICK {
            self.not_before = Some(now + growing(FIRST_DELAY, self.lost - QUICK, LONGEST_DELAY));
        }
        if self.lost >= ENOUGH {
            self.rest = Some(now + growing(FIRST_REST, self.lost - ENOUGH, LONGEST_REST));
        }
    }

    /// The call that was to find out has ended, whether it did or not.
    pub(super) fn stop_probing(&mut self) {
        self.probing = false;
    }

    /// How long to wait before a worker is started.
    pub(super) fn delay(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }
}

fn growing(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(1 << times.min(16)).min(most)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_worker_that_keeps_ending_is_started_ever_later_and_at_last_refused_until_one_call_finds_out() {
        let now = Instant::now();
        let mut patience = Patience::default();
        for lost in 1..ENOUGH {
            patience.lose(now, "it crashed");
            assert_eq!(patience.delay(now).is_zero(), lost < QUICK, "{lost}");
            assert_eq!(patience.admit(now), Ok(false));
        }
        patience.lose(now, "it crashed again");
        let refused = patience.admit(now).unwrap_err();
        assert!(refused.contains("8 times in a row (next try in 6 s); the last time, it crashed again"), "{refused}");
        let later = now + FIRST_REST;
        assert_eq!(patience.admit(later), Ok(true));
        assert!(patience.admit(later).unwrap_err().contains("one call finds out now"));
        patience.stop_probing();
        assert_eq!(patience.admit(later), Ok(true), "whoever was to find out and did not makes room for the next");
        patience.lose(later, "it crashed");
        assert!(patience.admit(later + FIRST_REST).is_err(), "the second rest is longer");
        assert_eq!(patience.admit(later + 2 * FIRST_REST), Ok(true));
        patience.win();
        assert_eq!((patience.admit(later), patience.delay(later)), (Ok(false), Duration::ZERO));
    }
}
