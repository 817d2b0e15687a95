//! A limit for bytes that are held over all requests: [`Budget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many bytes are held, and how many may be.
#[derive(Debug)]
pub(crate) struct Budget {
    held: AtomicUsize,
    limit: usize,
}

/// A budget has not enough bytes left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OverBudget;

impl Budget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), limit })
    }

    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.limit);
        self.held.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    budget: Option<Arc<Budget>>,
    bytes: usize,
}

impl Reservation {
    /// Reserves more bytes of the budget.
    pub(crate) fn grow(&mut self, budget: &Arc<Budget>, bytes: usize) -> Result<(), OverBudget> {
        if !budget.try_take(bytes) {
            return Err(OverBudget);
        }
        self.budget.get_or_insert_with(|| budget.clone());
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.held.fetch_sub(self.bytes, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_given_back_when_it_is_dropped() {
        let budget = Budget::new(10);
        let (mut first, mut second) = (Reservation::default(), Reservation::default());
        assert_eq!(first.grow(&budget, 4), Ok(()));
        assert_eq!(first.grow(&budget, 6), Ok(()), "up to the limit itself");
        assert_eq!(second.grow(&budget, 1), Err(OverBudget));
        assert_eq!(budget.held(), 10, "what was refused is not held");
        drop(second);
        assert_eq!(budget.held(), 10);
        drop(first);
        assert_eq!(budget.held(), 0);
    }
}
