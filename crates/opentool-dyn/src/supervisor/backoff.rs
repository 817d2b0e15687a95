//! When to start the next worker of a library whose workers keep exiting: [`Backoff`].

use std::time::{Duration, Instant};

/// How many workers in a row may exit before the next start is delayed.
const QUICK: u32 = 3;

/// How many may exit before calls are refused.
const ENOUGH: u32 = 8;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(2);
const FIRST_REFUSAL: Duration = Duration::from_secs(5);
const LONGEST_REFUSAL: Duration = Duration::from_secs(60);

/// A backoff for starts, and a circuit breaker for calls.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// How many workers exited in a row without answering a call.
    failures: u32,
    /// Why the last one did.
    reason: String,
    /// When the next one may be started.
    not_before: Option<Instant>,
    /// Until when calls are refused.
    refusing_until: Option<Instant>,
    /// Whether one call is running to find out whether the library works again.
    probing: bool,
}

impl Backoff {
    /// Admits a call, and says whether it is the one that probes the library; or says why calls are refused.
    pub(super) fn admit(&mut self, now: Instant) -> Result<bool, String> {
        let Some(until) = self.refusing_until else { return Ok(false) };
        if now >= until && !self.probing {
            self.probing = true;
            return Ok(true);
        }
        let Backoff { failures, reason, .. } = self;
        let left = until.saturating_duration_since(now).as_secs() + 1;
        let next = if self.probing { "one call finds out now".to_owned() } else { format!("next try in {left} s") };
        Err(format!("its worker has ended {failures} times in a row ({next}); the last time, {reason}"))
    }

    /// A call was answered: the library works.
    pub(super) fn record_success(&mut self) {
        if self.failures > 0 || self.probing {
            *self = Backoff::default();
        }
    }

    /// A worker has exited.
    pub(super) fn record_failure(&mut self, now: Instant, reason: &str) {
        self.failures += 1;
        self.probing = false;
        reason.clone_into(&mut self.reason);
        if self.failures >= QUICK {
            self.not_before = Some(now + growing(FIRST_DELAY, self.failures - QUICK, LONGEST_DELAY));
        }
        if self.failures >= ENOUGH {
            self.refusing_until = Some(now + growing(FIRST_REFUSAL, self.failures - ENOUGH, LONGEST_REFUSAL));
        }
    }

    /// The probing call has ended, whether it was answered or not.
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
    fn failures_delay_starts_and_then_refuse_calls_until_a_probe() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        for failures in 1..ENOUGH {
            backoff.record_failure(now, "it crashed");
            assert_eq!(backoff.delay(now).is_zero(), failures < QUICK, "{failures}");
            assert_eq!(backoff.admit(now), Ok(false));
        }
        backoff.record_failure(now, "it crashed again");
        let refused = backoff.admit(now).unwrap_err();
        assert!(refused.contains("8 times in a row (next try in 6 s); the last time, it crashed again"), "{refused}");
        let later = now + FIRST_REFUSAL;
        assert_eq!(backoff.admit(later), Ok(true));
        assert!(backoff.admit(later).unwrap_err().contains("one call finds out now"));
        backoff.stop_probing();
        assert_eq!(backoff.admit(later), Ok(true), "a probe that was not answered makes way for the next");
        backoff.record_failure(later, "it crashed");
        assert!(backoff.admit(later + FIRST_REFUSAL).is_err(), "the second time is longer");
        assert_eq!(backoff.admit(later + 2 * FIRST_REFUSAL), Ok(true));
        backoff.record_success();
        assert_eq!((backoff.admit(later), backoff.delay(later)), (Ok(false), Duration::ZERO));
    }
}
