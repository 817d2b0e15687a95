//! What the executor lets its user decide: small traits with good defaults.

mod approval;
mod errors;
mod limits;
mod unknown_tool;

pub use self::approval::{ApprovalPolicy, ApprovalRequest, Ask, Decision};
pub use self::errors::ErrorPolicy;
pub use self::limits::{LimitPolicy, Limits};
pub use self::unknown_tool::{UnknownTool, UnknownToolPolicy};
