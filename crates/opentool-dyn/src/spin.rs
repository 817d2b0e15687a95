//! A short wait without sleep: [`Spinner`].

use std::thread;
use std::time::{Duration, Instant};

/// How long to poll before sleeping: about what it costs to fall asleep and to be woken.
const SPIN: Duration = Duration::from_micros(20);

/// How many waits go without a spin after one that found nothing in time.
const SKIPPED: u32 = 255;

/// Polls for a moment before its owner sleeps, as long as that helps.
///
/// A pipe's reader that sleeps takes longer to wake than a short C function takes to run, so both sides of a worker's
/// pipes spin before they sleep: `cargo bench -p opentool-dyn --bench isolated -- one` shows what that buys. The processor is
/// offered to others between two polls, so that the other side can run where both share one. On a busy machine such an
/// offer takes milliseconds, and for a long function the spin is in vain: then the next waits go without.
#[derive(Debug, Default)]
pub(crate) struct Spinner {
    skip: u32,
}

impl Spinner {
    /// Whether this wait should spin.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        due
    }

    /// Learns whether a spin found something in time.
    pub(crate) fn record(&mut self, in_time: bool) {
        self.skip = if in_time { 0 } else { SKIPPED };
    }
}

/// Polls until something is ready, for about [`SPIN`]; says whether it was in time.
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + SPIN;
    loop {
        let is_ready = ready();
        let now = Instant::now();
        if is_ready {
            // Something found only after others had the processor for long would have been found without a spin.
            return now < until + SPIN;
        }
        if now >= until {
            return false;
        }
        thread::yield_now();
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
    fn a_spin_in_vain_is_left_off_for_the_next_waits() {
        let mut spinner = Spinner::default();
        assert!(spinner.is_due() && spinner.is_due());
        spinner.record(false);
        assert_eq!((0..SKIPPED).filter(|_| spinner.is_due()).count(), 0);
        assert!(spinner.is_due());
        spinner.record(true);
        assert!(spinner.is_due());
    }
}
