//! Tools, toolboxes and the one executor: the core of opentool.
//!
//! Everything that can be called becomes a [`Tool`]; every way of calling goes through one [`Executor`]. Checks, limits,
//! deadlines, approval, events and spans live in the executor, once, so that they hold for every tool.
//!
//! ```
//! use opentool_core::{Executor, FnTool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let host = Executor::new().host(FnTool::new("add", |i: Add| i.a + i.b));
//! assert_eq!(host.call("add", r#"{"a":1,"b":2}"#).await?.to_text(), "3");
//! assert!(host.call("add", r#"{"a":1}"#).await.is_err());
//! # Ok::<(), opentool_core::ToolError>(())
//! # }).unwrap();
//! ```
//!
//! # Tools
//!
//! A function becomes a tool with `#[tool]`, a type with methods becomes a [`Toolbox`] with `#[toolbox]`, a closure
//! becomes one with [`FnTool`]. A tool has a [`ToolDefinition`], which a model sees, and [`ToolMetadata`], which it does
//! not. It is given [`Arguments`], which are JSON text until they are read, and a [`ToolContext`], which the model never
//! sees. It answers a [`ToolOutput`] or a [`ToolError`].
//!
//! # Sources
//!
//! Whatever yields tools can be given where tools are wanted ([`IntoToolSource`]): tools, a [`Toolbox`], a
//! [`ToolHandler`] with its own `call` and `load`, a [`ToolSource`] that is asked per request, and tuples of those. A
//! toolbox comes from an OpenTool document and goes back to one.
//!
//! # Running calls
//!
//! [`Executor::run`] runs the [`ToolCall`]s of one round as a [`Batch`] and gives each exactly one [`Outcome`], in call
//! order, whatever happens; [`ToolEvent`]s come as they happen. What must be remembered between rounds is in a [`Turn`]:
//! the counters for the [`Limits`], and the calls that wait for a [`Decision`]. [`Executor::host`] is for callers whose
//! every call is a turn of its own. [`ExecutorBuilder`] has the policies.
//!
//! # Workflows
//!
//! A [`Workflow`] is an OpenWorkflow document as a tool: its steps are calls through the executor that runs it. A
//! [`WorkflowRunner`] is a tool that runs documents which a model writes.
//!
//! # Recording calls
//!
//! A [`Journal`] records the calls of a context that [belongs to a run](ToolContext::with_run) or
//! [has a key](ToolContext::with_idempotency_key): before a call runs, and before its outcome is seen. After a crash a call that
//! began and has no outcome runs again only where its tool is read-only or idempotent; any other is
//! [uncertain](ErrorKind::Uncertain).
//!
//! # Features
//!
//! `macros` (default): `#[tool]` and `#[toolbox]`. `testing`: a test kit, with which a tool is called and its answer
//! asserted in two lines. `signing`: a [`Turn`] as a signed text, for storage that others can write (`StateSigner`).

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod arguments;
mod asking;
mod blocking;
mod call;
mod call_clock;
mod cancellation;
mod changes;
pub mod check;
mod context;
mod converter;
mod decision;
mod definition;
mod error;
mod event;
mod executor;
mod function;
mod gate;
mod handler;
mod hexadecimal;
mod journal;
mod memory;
mod memory_journal;
mod metadata;
mod middleware;
mod output;
mod panics;
mod patterns;
mod policy;
mod question;
mod reconcile;
mod resolver;
mod result_check;
mod returns;
mod schema;
#[cfg(feature = "signing")]
mod signed;
mod sink;
mod source;
#[cfg(feature = "testing")]
pub mod testing;
mod to_json;
mod tool;
mod toolbox;
mod trace;
mod turn;
mod workflow;

pub use arguments::Arguments;
pub use call::{Outcome, Outcomes, ToolCall};
pub use cancellation::Cancellation;
pub use changes::{ChangeSignal, ToolChanges};
pub use check::{ArgumentChecker, ArgumentError, Problem, SchemaError, Strictness};
pub use context::ToolContext;
pub use converter::ResultConverter;
pub use decision::Decision;
pub use definition::{DefinitionError, ToolDefinition, ToolDefinitionBuilder, is_tool_name};
pub use error::{ErrorKind, ErrorSeverity, Failure, ToolError};
pub use event::{CallRef, Progress, ProgressMessage, ToolEvent};
pub use executor::{Batch, Executor, ExecutorBuilder, Host};
pub use function::{DeclaredTools, FallibleToolFunction, FnTool, ToolFunction, ToolInput};
pub use futures_core::future::BoxFuture;
pub use handler::ToolHandler;
pub use journal::{
    ApprovalDecision, Begun, CallEffect, CallEnd, CallKey, CallStart, IdempotencyKey, Journal, OwnedRun,
    RecordedResult, RunCall, RunError, RunJournal, RunLog, RunPlace, RunStatus, RunStep, UncertainDecision,
    WaitingCall, WaitsFor,
};
pub use memory::{MemoryBudget, MemoryReservation, OverBudget};
pub use memory_journal::MemoryJournal;
pub use metadata::{Concurrency, ToolMetadata};
pub use middleware::{Middleware, Next};
pub use output::{Annotations, Link, Part, PartContent, Resource, ResourceContent, RichOutput, ToolOutput};
pub use policy::{
    ApprovalPolicy, ApprovalRequest, Ask, AskCaller, ErrorPolicy, LimitPolicy, Limits, UnknownTool, UnknownToolPolicy,
};
pub use question::{Question, Respondent, UserAnswer};
pub use reconcile::{Reconcile, Reconciled};
pub use resolver::{Chain, Resolver};
pub use returns::{IntoToolError, Text};
pub use schema::{input_schema, output_schema};
#[cfg(feature = "signing")]
pub use signed::{ShortSigningKey, SignableState, SignedStateError, StateSigner};
pub use source::{IntoToolSource, Source, ToolSource, kind};
pub use tool::{IntoTool, Invocation, Tool};
pub use toolbox::{Toolbox, ToolboxDocument, ToolboxError};
pub use trace::TraceContext;
pub use turn::{NotPending, Turn};
pub use workflow::{Workflow, WorkflowError, WorkflowRunner, workflow_faults};

#[cfg(feature = "macros")]
pub use opentool_macros::{tool, toolbox};
/// The documents and schemas this crate works on.
pub use opentool_spec as spec;

/// The sample of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
