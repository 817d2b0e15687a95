//! A test kit: models with prepared replies, recorded turns, and a guard against requests to real models.
//!
//! [`ScriptedModel`] gives prepared replies, [`FunctionModel`] calls a function for each. Both can stream. [`Recorder`] records the turns of a
//! real model and the calls of its tools to a file, and [`Replay`] answers from it. [`forbid_requests`] makes a forgotten real model fail at once.

mod cassette;
mod model;
mod recorder;
mod replay;
mod reply;

pub use self::model::{FunctionModel, ScriptedModel, SentRequest};
pub use self::recorder::{RecordError, Recorder};
pub use self::replay::{Replay, ReplayError, ReplayMiss};
pub use self::reply::Reply;
pub use crate::guard::{RequestsForbidden, forbid_requests};
pub use opentool_journal::{Difference, REDACTED, Redaction, RunExport};
