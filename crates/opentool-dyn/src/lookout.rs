//! Whether to look for what comes next for a moment before sleeping until it comes: [`Lookout`].

use std::time::{Duration, Instant};

/// Learns whether it is worth looking for a moment before sleeping.
///
/// A processor that falls asleep between two calls takes longer to wake than both calls take. Who called a moment ago is likely
/// to call again in a moment, and a short function soon returns. Where looking was in vain, because nobody calls, the function
/// is long, or both sides share one processor and whoever looks keeps the other from it, it is left off ever longer.
#[derive(Debug, Default)]
pub(crate) struct Lookout {
    /// How often it was in vain in a row.
    misses: u32,
    /// How many times to sleep at once before looking again.
    left_off: u32,
}

/// One look.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// None where there is to be none.
    until: Option<Instant>,
}

impl Lookout {
    /// How long to look: what falling asleep and waking up cost.
    const LONGEST: Duration = Duration::from_micros(20);

    /// One look in 256 at the least, so that somebody who begins to call often is noticed, and nobody else notices.
    const MOST_MISSES: u32 = 8;

    /// Begins to look, if it is worthwhile.
    pub(crate) fn begin(&mut self) -> Look {
        if self.left_off > 0 {
            self.left_off -= 1;
            return Look::default();
        }
        Look { until: Some(Instant::now() + Self::LONGEST) }
    }

    /// Learns from a look that is over, whether it found anything.
    pub(crate) fn learn(&mut self, look: Look, found: bool) {
        if look.until.is_none() {
            return;
        }
        self.misses = if found { 0 } else { (self.misses + 1).min(Self::MOST_MISSES) };
        self.left_off = (1 << self.misses) - 1;
    }
}

impl Look {
    /// Whether to look at all.
    pub(crate) fn is_wanted(self) -> bool {
        self.until.is_some()
    }

    /// How much longer to look; none where that is over.
    pub(crate) fn left(self) -> Option<Duration> {
        self.until?.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many looks there are in so many waits that find nothing, or at once what they look for.
    fn looks(lookout: &mut Lookout, waits: usize, finds: bool) -> usize {
        let mut looks = 0;
        for _ in 0..waits {
            let look = lookout.begin();
            looks += usize::from(look.is_wanted());
            while !finds && look.left().is_some() {}
            lookout.learn(look, finds);
        }
        looks
    }

    #[test]
    fn looks_in_vain_become_rare_and_one_that_finds_something_is_followed_by_others() {
        let mut lookout = Lookout::default();
        assert_eq!(looks(&mut lookout, 100, true), 100);
        assert!(looks(&mut lookout, 2560, false) <= 8 + 10);
        assert!(looks(&mut lookout, 356, true) >= 100);
    }
}
