//! Calls that are recorded, so that a crash repeats none of them: [`Journal`].

mod canonical;
mod in_memory;
mod key;
mod origin;
mod reconcile;
mod record;

pub use self::in_memory::MemoryJournal;
pub use self::key::CallKey;
pub use self::origin::IdempotencyKey;
pub(crate) use self::origin::{CallOrigin, Recording};
pub use self::reconcile::{Reconcile, Reconciled};
pub use self::record::{Begun, CallEffect, CallEnd, CallStart, Journal, RecordedResult, UncertainDecision};
