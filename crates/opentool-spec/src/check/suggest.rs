//! "Did you mean", and values in messages.

pub(crate) use crate::json::near::{is_same, misspelt as nearest};
pub(crate) use crate::tree::quote;
