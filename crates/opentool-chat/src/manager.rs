//! Finding the tools of a request and running the calls of an answer: [`ToolCallingManager`].

mod calling;
mod default;
mod execution;
mod result;

pub use self::calling::ToolCallingManager;
pub use self::default::DefaultToolCallingManager;
pub use self::execution::{Execution, ToolEvents};
pub use self::result::ToolExecutionResult;
