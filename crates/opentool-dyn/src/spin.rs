//! A short wait without sleep: [`spin_until`].

use std::thread;
use std::time::{Duration, Instant};

/// How long to poll before sleeping: about what it costs to fall asleep and to be woken.
const SPIN: Duration = Duration::from_micros(20);

/// Polls until something is ready, for at most [`SPIN`]; says whether it is.
///
/// A pipe's reader that sleeps takes longer to wake than a short C function takes to run, so both sides of a worker's
/// pipes spin before they sleep: `cargo bench -p opentool-dyn --bench isolated -- one` shows what that buys. The processor is
/// offered to others between two polls, so that the other side can run where both have to share one.
pub(crate) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + SPIN;
    loop {
        if ready() {
            return true;
        }
        if Instant::now() >= until {
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
}
