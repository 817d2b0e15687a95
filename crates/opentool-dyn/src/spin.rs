//! A short wait without sleep: [`Spinner`], [`spin_until`].

use std::thread;
use std::time::{Duration, Instant};

/// How long to poll before sleeping: about what it costs to fall asleep and to be woken, twice the time of a ping-pong in
/// `cargo bench -p opentool-dyn --bench isolated -- one`. With `RUSTFLAGS='--cfg opentool_no_spin'` the same shows what a call
/// takes without.
const SPIN: Duration = Duration::from_micros(if cfg!(opentool_no_spin) { 0 } else { 20 });

/// Does something as long as that helps: after an attempt that did not, the next ones are skipped.
#[derive(Debug, Default)]
pub(crate) struct Attempts<const SKIPPED: u32> {
    skip: u32,
}

/// Polls for a moment before its owner sleeps, as long as that helps.
///
/// A pipe's reader that sleeps takes longer to wake than a short C function takes to run, so both sides of a worker's
/// pipes spin before they sleep. The processor is
/// offered to others between two polls, so that the other side can run where both share one. On a busy machine such an
/// offer takes milliseconds, and a long function outlasts the spin: then the next waits go without.
pub(crate) type Spinner = Attempts<255>;

impl<const SKIPPED: u32> Attempts<SKIPPED> {
    /// Whether to attempt it this time.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        due
    }

    /// The attempt did not help.
    pub(crate) fn record_failure(&mut self) {
        self.skip = SKIPPED;
    }
}

/// Polls until something is ready, for about [`SPIN`]; says whether it was in time.
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    // Where both sides share a processor, the other one has often run already: then the clock need not be read.
    if ready() {
        return true;
    }
    let until = Instant::now() + SPIN;
    loop {
        thread::yield_now();
        let is_ready = ready();
        let now = Instant::now();
        if is_ready {
            // Something found only after others had the processor for long would have been found without a spin.
            return now < until + SPIN;
        }
        if now >= until {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_ends_when_it_finds_something_or_its_time_is_over() {
        assert!(spin_until(|| true));
        let begun = Instant::now();
        assert!(!spin_until(|| false));
        assert!(begun.elapsed() >= SPIN);
    }

    #[test]
    fn after_an_attempt_that_failed_the_next_ones_are_skipped() {
        let mut attempts = Attempts::<7>::default();
        assert!(attempts.is_due() && attempts.is_due());
        attempts.record_failure();
        assert_eq!((0..7).filter(|_| attempts.is_due()).count(), 0);
        assert!(attempts.is_due() && attempts.is_due());
    }
}
