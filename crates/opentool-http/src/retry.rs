//! When a request is sent again: [`RetryPolicy`].

use std::fmt::Display;
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often and after which waits a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How many attempts may follow the first.
    pub retries: u32,
    /// The wait before the first retry, which doubles with every further one.
    pub backoff: Duration,
    /// The longest wait that doubling leads to.
    pub max_backoff: Duration,
    /// The longest wait that a server may ask for; one that asks for more gets no retry.
    pub max_retry_after: Duration,
    /// How many attempts may follow the first where the server limits the rate of requests: it works, and time helps.
    pub rate_limit_retries: u32,
    /// How long after the first attempt the last may begin.
    pub max_total: Duration,
}

impl Default for RetryPolicy {
    /// Two retries, after 500 ms and 1 s; five where the server limits the rate, after 1, 2, 4, 8 and 16 s; waits of at most a
    /// minute, and of two minutes in all.
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            retries: 2,
            backoff: Duration::from_millis(500),
            max_backoff: minute,
            max_retry_after: minute,
            rate_limit_retries: 5,
            max_total: 2 * minute,
        }
    }
}

/// An attempt that failed.
#[derive(Debug)]
pub struct FailedAttempt<E> {
    /// The error, in the words of the caller.
    pub error: E,
    /// Whether another attempt may succeed.
    pub retryable: bool,
    /// Whether the server works and only limits the rate of requests.
    pub rate_limited: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl<E> FailedAttempt<E> {
    /// An attempt after which no other makes sense.
    pub fn last(error: E) -> Self {
        Self { error, retryable: false, rate_limited: false, retry_after: None }
    }
}

impl RetryPolicy {
    /// Makes attempts until one succeeds, or no other makes sense; the last error is returned.
    ///
    /// The policy does not end an attempt at the deadline: that is for a timeout around all of them. It only ends the
    /// waiting early when a server asks for more time than there is, because the server's own error says more than a timeout.
    ///
    /// # Errors
    ///
    /// When the last attempt failed.
    pub async fn run<T, E, F>(self, deadline: Option<Instant>, mut attempt: impl FnMut() -> F) -> Result<T, E>
    where
        E: Display,
        F: Future<Output = Result<T, FailedAttempt<E>>>,
    {
        let mut failures = 0;
        let begun = Instant::now();
        loop {
            let failed = match attempt().await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            failures += 1;
            let Some(wait) = self.wait_after(failures, &failed) else { return Err(failed.error) };
            let is_late = |deadline| Instant::now().checked_add(wait).is_none_or(|then| then >= deadline);
            if failed.retry_after.is_some() && deadline.is_some_and(is_late) {
                return Err(failed.error);
            }
            if begun.elapsed().saturating_add(wait) > self.max_total {
                return Err(failed.error);
            }
            tracing::debug!(target: "opentool::http", error = %failed.error, ?wait, "the request failed and is sent again");
            sleep(wait).await;
        }
    }

    /// How long to wait before the next attempt; none when there is no other.
    fn wait_after<E>(&self, failures: u32, failed: &FailedAttempt<E>) -> Option<Duration> {
        let (retries, first) = match failed.rate_limited {
            true => (self.rate_limit_retries, self.backoff.saturating_mul(2)),
            false => (self.retries, self.backoff),
        };
        if failures > retries || !failed.retryable {
            return None;
        }
        let doubled = first.saturating_mul(1 << (failures - 1).min(16));
        let backoff = jittered(doubled.min(self.max_backoff));
        match failed.retry_after {
            Some(asked) if asked > self.max_retry_after => None,
            Some(asked) => Some(asked.max(backoff)),
            None => Some(backoff),
        }
    }
}

/// Between half and all of a wait, so that clients that failed together do not come back together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.5 + random_fraction() / 2.0)
}

/// A number from 0 to 1 that is another one each time: every `RandomState` has keys of its own. For jitter only.
fn random_fraction() -> f64 {
    f64::from(RandomState::new().hash_one(()) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> FailedAttempt<&'static str> {
        let retry_after = retry_after.map(Duration::from_secs);
        FailedAttempt { error: "busy", retryable: true, rate_limited: false, retry_after }
    }

    fn limited() -> FailedAttempt<&'static str> {
        FailedAttempt { rate_limited: true, ..busy(None) }
    }

    #[test]
    fn a_wait_is_between_half_and_all_and_not_always_the_same() {
        let wait = Duration::from_millis(100);
        let waits: Vec<_> = std::iter::repeat_with(|| jittered(wait)).take(100).collect();
        assert!(waits.iter().all(|jittered| (wait / 2..=wait).contains(jittered)), "{waits:?}");
        // Spread over the whole range: that all 100 miss a fifth of it has a probability of 10^-10.
        assert!(waits.iter().any(|jittered| *jittered < wait * 6 / 10), "{waits:?}");
        assert!(waits.iter().any(|jittered| *jittered > wait * 9 / 10), "{waits:?}");
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let policy = RetryPolicy { retries: 40, ..RetryPolicy::default() };
        for (failures, longest) in [(1, 500), (2, 1000), (3, 2000), (40, 60_000)] {
            let wait = policy.wait_after(failures, &busy(None)).map_or(0, |wait| wait.as_millis());
            assert!((longest / 2..=longest).contains(&wait), "{failures}: {wait}");
        }
        assert_eq!(policy.wait_after(41, &busy(None)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_limit_without_a_wait_is_not_given_up_within_seconds() {
        let (start, attempts) = (Instant::now(), std::cell::Cell::new(0));
        let run = RetryPolicy::default().run::<(), _, _>(None, || {
            attempts.set(attempts.get() + 1);
            std::future::ready(Err(limited()))
        });
        assert_eq!((run.await, attempts.get()), (Err("busy"), 6));
        let waited = start.elapsed().as_secs_f64();
        assert!((15.0..=31.1).contains(&waited), "{waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_the_total_time() {
        let policy = RetryPolicy { retries: 1000, max_total: Duration::from_secs(10), ..RetryPolicy::default() };
        let start = Instant::now();
        let run = policy.run::<(), _, _>(None, || std::future::ready(Err(busy(Some(3)))));
        assert_eq!((run.await, start.elapsed()), (Err("busy"), Duration::from_secs(9)));
    }

    #[test]
    fn a_server_may_ask_for_a_wait_up_to_the_longest() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.wait_after(1, &busy(Some(60))), Some(Duration::from_secs(60)));
        assert_eq!(policy.wait_after(1, &busy(Some(61))), None);
        let wait = policy.wait_after(1, &busy(Some(0)));
        assert!(wait >= Some(policy.backoff / 2), "a server that asks for no wait does not shorten the backoff");
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_success_or_with_the_last_error() {
        let policy = RetryPolicy { retries: 3, ..RetryPolicy::default() };
        let attempts = std::cell::Cell::new(0);
        let run = policy.run(None, || {
            attempts.set(attempts.get() + 1);
            std::future::ready(if attempts.get() < 3 { Err(busy(None)) } else { Ok(attempts.get()) })
        });
        assert_eq!(run.await, Ok(3));
        attempts.set(0);
        let run = policy.run::<(), _, _>(None, || {
            attempts.set(attempts.get() + 1);
            std::future::ready(Err(busy(None)))
        });
        assert_eq!((run.await, attempts.get()), (Err("busy"), 4));
        attempts.set(0);
        let run = policy.run::<(), _, _>(None, || {
            attempts.set(attempts.get() + 1);
            std::future::ready(Err(FailedAttempt::last("no")))
        });
        assert_eq!((run.await, attempts.get()), (Err("no"), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_ends_after_the_deadline_is_not_waited_for() {
        let policy = RetryPolicy::default();
        let start = Instant::now();
        let run =
            policy.run::<(), _, _>(Some(start + Duration::from_secs(9)), || std::future::ready(Err(busy(Some(9)))));
        assert_eq!((run.await, start.elapsed()), (Err("busy"), Duration::ZERO));
        let run =
            policy.run::<(), _, _>(Some(start + Duration::from_secs(9)), || std::future::ready(Err(busy(Some(3)))));
        assert_eq!((run.await, start.elapsed()), (Err("busy"), Duration::from_secs(6)));
    }
}
