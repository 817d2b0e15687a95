//! When to start the next worker of a library whose workers keep exiting, and when to refuse calls: [`Backoff`],
//! [`CircuitBreaker`].

use std::time::{Duration, Instant};

/// How many workers in a row may exit before the next start is delayed.
const QUICK: u32 = 3;

/// How many may exit before calls are refused.
const ENOUGH: u32 = 8;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(2);
const FIRST_REFUSAL: Duration = Duration::from_secs(5);
const LONGEST_REFUSAL: Duration = Duration::from_secs(60);

/// How long to wait before the next worker is started.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// How many workers exited in a row without answering a call.
    failures: u32,
    /// When the next one may be started.
    not_before: Option<Instant>,
}

impl Backoff {
    /// A call was answered: workers run.
    pub(super) fn record_success(&mut self) {
        if self.failures > 0 {
            *self = Backoff::default();
        }
    }

    /// A worker has exited.
    pub(super) fn record_failure(&mut self, now: Instant) {
        self.failures += 1;
        if self.failures >= QUICK {
            self.not_before = Some(now + growing(FIRST_DELAY, self.failures - QUICK, LONGEST_DELAY));
        }
    }

    /// How long to wait before a worker is started.
    pub(super) fn delay(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }
}

/// Refuses calls that ended their workers again and again: those of one function, or of all where no function is known to
/// be the cause.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    /// How often in a row a worker exited.
    failures: u32,
    /// Why the last one did.
    reason: String,
    /// Until when calls are refused.
    refusing_until: Option<Instant>,
    /// Whether one call is running to find out whether it works again.
    probing: bool,
}

impl CircuitBreaker {
    /// How often in a row a worker exited.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Admits a call, and says whether it is the one that probes; or says why calls are refused.
    pub(super) fn admit(&mut self, now: Instant) -> Result<bool, String> {
        let Some(until) = self.refusing_until else { return Ok(false) };
        if now >= until && !self.probing {
            self.probing = true;
            return Ok(true);
        }
        let CircuitBreaker { failures, reason, .. } = self;
        let left = until.saturating_duration_since(now).as_secs() + 1;
        let next = if self.probing { "one call finds out now".to_owned() } else { format!("next try in {left} s") };
        Err(format!("its worker has ended {failures} times in a row ({next}); the last time, {reason}"))
    }

    /// A worker has exited.
    pub(super) fn record_failure(&mut self, now: Instant, reason: &str) {
        self.failures += 1;
        self.probing = false;
        reason.clone_into(&mut self.reason);
        if self.failures >= ENOUGH {
            self.refusing_until = Some(now + growing(FIRST_REFUSAL, self.failures - ENOUGH, LONGEST_REFUSAL));
        }
    }

    /// The probing call has ended, whether it was answered or not.
    pub(super) fn stop_probing(&mut self) {
        self.probing = false;
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
    fn failures_delay_starts_until_a_success() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        for failures in 1..ENOUGH {
            backoff.record_failure(now);
            assert_eq!(backoff.delay(now).is_zero(), failures < QUICK, "{failures}");
        }
        backoff.record_success();
        assert!(backoff.delay(now).is_zero());
    }

    #[test]
    fn failures_refuse_calls_until_a_probe() {
        let now = Instant::now();
        let mut breaker = CircuitBreaker::default();
        for _ in 1..ENOUGH {
            breaker.record_failure(now, "it crashed");
            assert_eq!(breaker.admit(now), Ok(false));
        }
        breaker.record_failure(now, "it crashed again");
        let refused = breaker.admit(now).unwrap_err();
        assert!(refused.contains("8 times in a row (next try in 6 s); the last time, it crashed again"), "{refused}");
        let later = now + FIRST_REFUSAL;
        assert_eq!(breaker.admit(later), Ok(true));
        assert!(breaker.admit(later).unwrap_err().contains("one call finds out now"));
        breaker.stop_probing();
        assert_eq!(breaker.admit(later), Ok(true), "a probe that was not answered makes way for the next");
        breaker.record_failure(later, "it crashed");
        assert!(breaker.admit(later + FIRST_REFUSAL).is_err(), "the second time is longer");
        assert_eq!(breaker.admit(later + 2 * FIRST_REFUSAL), Ok(true));
    }
}
