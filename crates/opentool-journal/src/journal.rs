//! The journal: [`SqliteJournal`], and what can be set about it.

mod begin;
mod decide;
mod end;
mod sqlite;

pub use self::sqlite::{JournalOptions, SqliteJournal};
