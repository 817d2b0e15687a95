//! The memory that a check takes, reserved in a budget as it grows: [`CheckMemory`].

use crate::memory::{MemoryBudget, MemoryReservation};

/// The memory of one check.
#[derive(Debug, Default)]
pub(super) struct CheckMemory {
    budget: Option<MemoryBudget>,
    reservation: MemoryReservation,
}

/// There is not enough memory for the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfMemory;

impl CheckMemory {
    /// Memory of a budget; without one it is not bounded.
    pub(super) fn new(budget: Option<&MemoryBudget>) -> Self {
        Self { budget: budget.cloned(), reservation: MemoryReservation::default() }
    }

    #[inline]
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        match &self.budget {
            None => Ok(()),
            Some(budget) => self.reservation.grow(budget, bytes).map_err(|_| OutOfMemory),
        }
    }
}
