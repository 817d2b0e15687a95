//! Calls that are recorded, so that a crash repeats none of them: [`Journal`].

mod canonical;
mod key;
mod origin;
mod place;
mod record;
mod run;

pub use self::key::CallKey;
pub use self::origin::IdempotencyKey;
pub(crate) use self::origin::{CallOrigin, Recording};
pub use self::place::RunPlace;
pub use self::record::{Begun, CallEffect, CallEnd, CallStart, Journal, RecordedResult, UncertainDecision};
pub use self::run::{
    ApprovalDecision, OwnedRun, RunCall, RunError, RunJournal, RunLog, RunStatus, RunStep, WaitingCall, WaitsFor,
};
