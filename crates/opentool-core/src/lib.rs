//! Tools, toolboxes and the one executor: the hall of opentool.
//!
//! Everything that can be called becomes a [`Tool`]; every way of calling goes through one executor.

mod arguments;
mod cancellation;
mod check;
mod context;
mod definition;
mod error;
mod event;
mod metadata;
mod output;
mod tool;

pub use arguments::Arguments;
pub use cancellation::Cancellation;
pub use check::{ArgumentChecker, ArgumentError, Problem, SchemaError, Strictness};
pub use context::ToolContext;
pub use definition::{DefinitionError, ToolDefinition, ToolDefinitionBuilder, is_tool_name};
pub use error::{ErrorKind, Failure, Severity, ToolError};
pub use event::{CallRef, Progress, ToolEvent};
pub use futures_core::future::BoxFuture;
pub use metadata::{Concurrency, ToolMetadata};
pub use output::{Part, ResultConverter, ToolOutput};
pub use tool::{Invocation, Tool};
