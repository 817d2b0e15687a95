//! The streaming checker: one pass over the text, no allocation, no tree.
//!
//! It serves the schemas that most tools have: objects and lists of scalars, nested or not. What it accepts is accepted.
//! What it does not accept goes to the validator: it may still be right, because something has to be dropped or decoded
//! first, and where it is wrong the validator explains it.
//!
//! The benchmark `check` of this crate shows what it saves ("check, streaming" beside "check, by the validator"), the
//! benchmark `calls` what that is of a whole call.

mod compile;
mod rules;

pub(super) use compile::compile;
pub(super) use rules::ObjectRule;
