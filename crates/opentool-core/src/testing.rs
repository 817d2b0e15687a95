//! A test kit: call tools as the executor would and assert on the answer, or put a fake in a tool's place.
//!
//! ```
//! # use opentool_core::{ErrorKind, testing::{FakeTool, Probe}};
//! # use serde_json::json;
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let tool = FakeTool::new("now").answers("noon");
//! let probe = Probe::new(tool);
//! probe.call("now", json!({})).await.assert_text("noon");
//! # probe.call("then", json!({})).await.assert_error(ErrorKind::UnknownTool);
//! # probe.assert_schema("now", json!({"type": "object"}));
//! # }
//! ```
#![allow(clippy::panic, reason = "a failed assertion panics")]

mod fake;
mod probe;
mod spans;

pub use self::fake::{CallLog, FakeTool};
pub use self::probe::{Answer, Probe};
pub use self::spans::{RecordedSpan, SpanRecorder};
