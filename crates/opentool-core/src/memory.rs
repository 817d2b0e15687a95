//! A bound for bytes that are held over all calls: [`MemoryBudget`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many bytes are held over all calls, and how many may be; a clone is the same budget.
///
/// A server reserves the bodies of its requests in one. Put into the [context](crate::ToolContext::with_typed) of a call, the memory
/// that the check of long arguments takes is reserved there too, as it grows; where the budget does not have it, the call
/// fails as [`Unavailable`](crate::ErrorKind::Unavailable).
///
/// ```
/// use opentool_core::{MemoryBudget, MemoryReservation};
///
/// let budget = MemoryBudget::new(100);
/// let mut reservation = MemoryReservation::default();
/// assert!(reservation.grow(&budget, 80).is_ok());
/// assert!(reservation.grow(&budget, 80).is_err());
/// drop(reservation);
/// assert_eq!(budget.held(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    held: AtomicUsize,
    limit: usize,
}

/// A budget has not enough bytes left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory budget of all calls is used up")]
pub struct OverBudget;

impl MemoryBudget {
    /// Makes a budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetState { held: AtomicUsize::new(0), limit }))
    }

    /// Returns how many bytes are held now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Relaxed)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.0.limit);
        self.0.held.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }
}

/// Bytes of a budget, given back when this is dropped.
#[derive(Debug, Default)]
pub struct MemoryReservation {
    budget: Option<MemoryBudget>,
    bytes: usize,
}

impl MemoryReservation {
    /// Reserves more bytes of the budget, which is the same one for every call.
    ///
    /// # Errors
    ///
    /// Where the budget does not have them; what was reserved before stays reserved.
    pub fn grow(&mut self, budget: &MemoryBudget, bytes: usize) -> Result<(), OverBudget> {
        if !budget.try_take(bytes) {
            return Err(OverBudget);
        }
        self.budget.get_or_insert_with(|| budget.clone());
        self.bytes += bytes;
        Ok(())
    }

    /// Gives bytes back.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if let Some(budget) = &self.budget {
            budget.0.held.fetch_sub(bytes, Relaxed);
        }
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_given_back_when_it_is_dropped() {
        let budget = MemoryBudget::new(10);
        let (mut first, mut second) = (MemoryReservation::default(), MemoryReservation::default());
        assert_eq!(first.grow(&budget, 4), Ok(()));
        assert_eq!(first.grow(&budget, 6), Ok(()), "up to the limit itself");
        assert_eq!(second.grow(&budget, 1), Err(OverBudget));
        assert_eq!(budget.held(), 10, "what was refused is not held");
        drop(second);
        assert_eq!(budget.held(), 10);
        first.shrink(3);
        assert_eq!(budget.held(), 7);
        first.shrink(100);
        assert_eq!(budget.held(), 0, "no more than was reserved");
        drop(first);
        assert_eq!(budget.held(), 0);
    }
}
