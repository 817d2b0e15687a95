//! Calls and runs that survive a crash: the journal of opentool on SQLite.
#![doc = include_str!("../README.md")]
//!
//! # One file, many processes
//!
//! [`SqliteJournal::open`] opens or makes a file that only its owner can read. Any number of processes may use it. Each has a lease of 15
//! seconds, which it renews, by the clock since boot; a run belongs to at most one of them, and what belonged to a process whose
//! lease has ended can be [taken over](SqliteJournal::claim). Every start carries the generation of that ownership, so a process
//! that was stopped and goes on later starts nothing in a run that another one has taken.
//!
//! # What is synced
//!
//! The start of a call that may not be repeated, and every decision, are on the disk before the call goes on. Everything else
//! survives the end of the process, and a power cut may cost the last of it, after which the call is uncertain or runs again.

mod clock;
mod error;
mod export;
mod file;
mod form;
mod id;
mod journal;
mod lease;
mod owned_run;
mod retention;
mod row;
mod run;
mod runs;
mod store;
#[cfg(feature = "testing")]
pub mod testing;

pub use self::error::JournalError;
pub use self::export::{ExportError, RunExport};
pub use self::journal::{JournalOptions, SqliteJournal};
pub use self::row::{CallRecord, CallStatus, RunRecord, RunSummary, StepRecord};
pub use self::run::Run;
pub use opentool_core::RunStatus;
