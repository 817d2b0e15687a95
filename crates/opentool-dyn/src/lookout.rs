//! Whether to look for what comes next for a moment before sleeping until it comes: [`Lookout`].

use std::time::{Duration, Instant};

/// Learns whether it is worth looking for a moment before sleeping, and how.
///
/// A processor that falls asleep between two calls takes longer to wake than both calls take. Who called a moment ago is likely
/// to call again in a moment, and a short function soon returns. Where the other side has a processor of its own, whoever looks
/// stays awake; where both share one, it gives way to the other. Where looking was in vain, because nobody calls, the function is
/// long, or others want the processor too, it is left off ever longer.
#[derive(Debug, Default)]
pub(crate) struct Lookout {
    awake: Record,
    giving_way: Record,
}

/// What came of looking in one way.
#[derive(Debug, Default)]
struct Record {
    /// How often it was in vain in a row.
    misses: u32,
    /// How many times to leave it off before looking again.
    left_off: u32,
}

/// One look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    until: Instant,
    gives_way: bool,
}

impl Lookout {
    /// How long to look: what falling asleep and waking up cost.
    const LONGEST: Duration = Duration::from_micros(20);

    /// Begins to look, if it is worthwhile; what comes may be alone, or one of many.
    ///
    /// Nobody gives way for many: the system remembers it, and would then wake the other side for every single one.
    pub(crate) fn begin(&mut self, alone: bool) -> Option<Look> {
        let awake = self.awake.is_due();
        let wanted = awake || (alone && self.giving_way.is_due());
        wanted.then(|| Look { until: Instant::now() + Self::LONGEST, gives_way: !awake })
    }

    /// Learns from a look that is over, whether it found anything.
    ///
    /// What is found only after others have had the processor for long would have been found without looking.
    pub(crate) fn learn(&mut self, look: Look, found: bool) {
        if look.gives_way {
            self.giving_way.note(found && Instant::now() < look.until + Self::LONGEST);
        } else {
            self.awake.note(found);
        }
    }
}

impl Record {
    /// One look in 256 at the least, so that somebody who begins to call often is noticed, and nobody else notices.
    const MOST_MISSES: u32 = 8;

    fn is_due(&mut self) -> bool {
        let due = self.left_off == 0;
        self.left_off = self.left_off.saturating_sub(1);
        due
    }

    fn note(&mut self, found: bool) {
        self.misses = if found { 0 } else { (self.misses + 1).min(Self::MOST_MISSES) };
        self.left_off = (1 << self.misses) - 1;
    }
}

impl Look {
    /// Looks again and again until something is found or the moment is over; says whether it was found.
    pub(crate) fn find(self, mut found: impl FnMut() -> bool) -> bool {
        loop {
            if self.gives_way {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            if found() {
                return true;
            }
            if Instant::now() >= self.until {
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many looks there are in so many waits that find nothing, or at once what they look for.
    fn looks(lookout: &mut Lookout, alone: bool, waits: usize, finds: bool) -> usize {
        let mut looks = 0;
        for _ in 0..waits {
            if let Some(look) = lookout.begin(alone) {
                looks += 1;
                let found = look.find(|| finds);
                lookout.learn(look, found);
            }
        }
        looks
    }

    #[test]
    fn looks_in_vain_become_rare_and_one_that_finds_something_is_followed_by_others() {
        for (alone, ways) in [(false, 1), (true, 2)] {
            let mut lookout = Lookout::default();
            assert_eq!(looks(&mut lookout, alone, 100, true), 100);
            assert!(looks(&mut lookout, alone, 2560, false) <= ways * (8 + 10));
            assert!(looks(&mut lookout, alone, 356, true) >= 100);
        }
    }

    #[test]
    fn whoever_looked_in_vain_gives_way_but_not_for_many() {
        for (alone, gives_way) in [(true, Some(true)), (false, None)] {
            let mut lookout = Lookout::default();
            assert_eq!(looks(&mut lookout, alone, 1, false), 1);
            assert_eq!(lookout.begin(alone).map(|look| look.gives_way), gives_way);
        }
    }
}
