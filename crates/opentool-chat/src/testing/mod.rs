//! A test kit: models that do what a test tells them to, and a guard against asking real ones.

mod guard;

pub(crate) use self::guard::requests_are_forbidden;
pub use self::guard::{RequestsForbidden, forbid_requests};
