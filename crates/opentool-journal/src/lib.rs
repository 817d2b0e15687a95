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
//!
//! What is synced, long, or more than one statement is written by threads of their own. A short write that is not synced is done on the
//! thread of its caller, which costs less than to change threads; it waits for no lock.
//!
//! # Without SQLite
//!
//! [`RunExport`], the lines of an export, [`Redaction`] and [`Difference`] need no database: without the feature `sqlite`, which is on by
//! default, the crate has only these. The test kit of `opentool-chat` records and replays turns with them.

#[cfg(feature = "sqlite")]
mod clock;
mod difference;
#[cfg(feature = "sqlite")]
mod error;
mod export;
#[cfg(feature = "sqlite")]
mod file;
mod form;
#[cfg(feature = "sqlite")]
mod id;
#[cfg(feature = "sqlite")]
mod inline;
#[cfg(feature = "sqlite")]
mod journal;
mod json_text;
#[cfg(feature = "sqlite")]
mod lease;
#[cfg(feature = "sqlite")]
mod owned_run;
mod redaction;
#[cfg(feature = "sqlite")]
mod retention;
mod row;
#[cfg(feature = "sqlite")]
mod run;
#[cfg(feature = "sqlite")]
mod runs;
#[cfg(feature = "sqlite")]
mod store;
#[cfg(all(feature = "testing", feature = "sqlite"))]
pub mod testing;

pub use self::difference::Difference;
#[cfg(feature = "sqlite")]
pub use self::error::JournalError;
pub use self::export::{ExportError, RunExport};
#[cfg(feature = "sqlite")]
pub use self::journal::{JournalOptions, SqliteJournal};
pub use self::redaction::{REDACTED, Redaction, restore_arguments};
pub use self::row::{CallRecord, CallStatus, RunEvent, RunRecord, RunSummary, StepRecord};
#[cfg(feature = "sqlite")]
pub use self::run::Run;
pub use opentool_core::RunStatus;
