//! Tools, toolboxes and the one executor: the hall of opentool.
//!
//! Everything that can be called becomes a [`Tool`]; every way of calling goes through one executor.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod arguments;
mod blocking;
mod call;
mod cancellation;
pub mod check;
mod context;
mod definition;
mod error;
mod event;
mod executor;
mod function;
mod handler;
mod metadata;
mod middleware;
mod output;
mod policy;
mod resolver;
mod returns;
mod schema;
mod source;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;
mod toolbox;
mod turn;

pub use arguments::Arguments;
pub use call::{Outcome, Outcomes, ToolCall};
pub use cancellation::Cancellation;
pub use check::{ArgumentChecker, ArgumentError, Problem, SchemaError, Strictness};
pub use context::ToolContext;
pub use definition::{DefinitionError, ToolDefinition, ToolDefinitionBuilder, is_tool_name};
pub use error::{ErrorKind, Failure, Severity, ToolError};
pub use event::{CallRef, Progress, ToolEvent};
pub use executor::{Batch, Executor, ExecutorBuilder, Host};
pub use function::{DeclaredTools, FallibleToolFunction, FnTool, IntoTool, ToolFunction, ToolInput};
pub use futures_core::future::BoxFuture;
pub use handler::ToolHandler;
pub use metadata::{Concurrency, ToolMetadata};
pub use middleware::{Middleware, Next};
pub use output::{Part, ResultConverter, ToolOutput};
pub use policy::{
    ApprovalPolicy, ApprovalRequest, Ask, Decision, ErrorPolicy, LimitPolicy, Limits, UnknownTool, UnknownToolPolicy,
};
pub use resolver::{Chain, Resolver};
pub use returns::{IntoToolError, Text};
pub use schema::{input_schema, output_schema};
pub use source::{IntoToolSource, Source, ToolSource, kind};
pub use tool::{Invocation, Tool};
pub use toolbox::{Toolbox, ToolboxDocument, ToolboxError};
pub use turn::{NotPending, Turn};

#[cfg(feature = "macros")]
pub use opentool_macros::{tool, toolbox};
/// The documents and schemas this crate works on.
pub use opentool_spec as spec;
