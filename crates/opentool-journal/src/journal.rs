//! The journal: [`SqliteJournal`], and what can be set about it.

mod begin;
mod end;
mod sqlite;

pub use self::sqlite::{JournalOptions, SqliteJournal};
