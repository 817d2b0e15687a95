//! A test kit: models with prepared replies, and a guard against requests to real ones.
//!
//! [`ScriptedModel`] gives prepared replies, [`FunctionModel`] calls a function for each. Both can stream. [`forbid_requests`] makes a forgotten real model fail at once.

mod model;
mod reply;

pub use self::model::{FunctionModel, ScriptedModel, SentRequest};
pub use self::reply::Reply;
pub use crate::guard::{RequestsForbidden, forbid_requests};
