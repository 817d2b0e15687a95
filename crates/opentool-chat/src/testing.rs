//! A test kit: models that do what a test tells them to, and a guard against asking real ones.
//!
//! [`ScriptedModel`] gives prepared replies, [`FunctionModel`] asks a function. Both stream as well as they answer in one
//! piece. [`forbid_requests`] makes a forgotten real model fail at once.

mod guard;
mod model;
mod reply;

pub(crate) use self::guard::requests_are_forbidden;
pub use self::guard::{RequestsForbidden, forbid_requests};
pub use self::model::{FunctionModel, ScriptedModel, SentRequest};
pub use self::reply::Reply;
