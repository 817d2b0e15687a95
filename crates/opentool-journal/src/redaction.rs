//! What must not stand in a record that leaves the machine: [`Redaction`].

mod apply;
mod export;
mod mark;
mod restore;
mod rules;
mod schema;
mod scrub;
mod walk;

pub use self::mark::REDACTED;
pub use self::restore::restore_arguments;
pub use self::rules::Redaction;
