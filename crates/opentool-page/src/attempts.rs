//! How often a wrong token or key may be tried: [`Attempts`].

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many attempts may fail within [`WINDOW`].
const MAX_FAILED: u32 = 10;

/// After how much time failed attempts are forgotten.
const WINDOW: Duration = Duration::from_secs(60);

/// The sign-ins that failed lately, of all callers together: an address on a shared machine says little about who calls.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<FailedSignIns>);

#[derive(Debug, Default)]
struct FailedSignIns {
    since: Option<Instant>,
    count: u32,
}

impl Attempts {
    /// Says how long a caller has to wait before the next attempt; not at all where few have failed.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = failed.since?;
        let left = WINDOW.saturating_sub(since.elapsed());
        if left.is_zero() {
            *failed = FailedSignIns::default();
            return None;
        }
        (failed.count >= MAX_FAILED).then_some(left)
    }

    pub(crate) fn fail(&self) {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.since.get_or_insert_with(Instant::now);
        failed.count = failed.count.saturating_add(1);
    }
}
