//! What must not stand in a record that leaves the machine: [`Redaction`].

mod export;
mod restore;
mod rules;
mod schema;
mod scrub;
mod walk;

pub use self::restore::restore_arguments;
pub use self::rules::{REDACTED, Redaction};
