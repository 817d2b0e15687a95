//! What the user of an executor can decide: small traits with good defaults.

mod approval;
mod caller;
mod errors;
mod limits;
mod unknown_tool;

pub use self::approval::{ApprovalPolicy, ApprovalRequest, Ask};
pub use self::caller::AskCaller;
pub use self::errors::ErrorPolicy;
pub use self::limits::{LimitPolicy, Limits};
pub use self::unknown_tool::{UnknownTool, UnknownToolPolicy};
