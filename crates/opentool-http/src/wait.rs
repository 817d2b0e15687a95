//! How long to wait before another attempt.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Between half and all of a wait, so that clients that failed together do not come back together.
pub fn jittered(wait: Duration) -> Duration {
    // Every hasher of the standard library starts from other keys, which is as random as a wait needs to be.
    let random = RandomState::new().build_hasher().finish() as u32;
    wait.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_between_half_and_all_and_not_always_the_same() {
        let wait = Duration::from_millis(100);
        let waits: Vec<_> = std::iter::repeat_with(|| jittered(wait)).take(100).collect();
        assert!(waits.iter().all(|jittered| (wait / 2..=wait).contains(jittered)), "{waits:?}");
        assert!(waits.iter().any(|other| *other != waits[0]));
    }
}
