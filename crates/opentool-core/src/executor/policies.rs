//! What an executor consists of: [`Policies`], and the [`Executor`] that shares them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::blocking::BlockingPool;
use crate::{
    ApprovalPolicy, ErrorPolicy, LimitPolicy, Middleware, Resolver, ResultConverter, Strictness, ToolDefinition,
    UnknownToolPolicy,
};

/// Runs calls: resolve, check, permit, run, convert, record.
///
/// It holds policies and neither tools nor counters, so one executor serves a whole application. A clone shares the policies.
///
/// ```
/// # use opentool_core::*;
/// # struct Add(ToolDefinition, ToolMetadata);
/// # impl Tool for Add {
/// #     fn definition(&self) -> &ToolDefinition { &self.0 }
/// #     fn metadata(&self) -> &ToolMetadata { &self.1 }
/// #     fn call<'a>(&'a self, i: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
/// #         Box::pin(async move {
/// #             let value = i.arguments.value()?;
/// #             ToolOutput::json(&(value["a"].as_i64().unwrap() + value["b"].as_i64().unwrap()))
/// #         })
/// #     }
/// # }
/// # let definition = ToolDefinition::builder("add")
/// #     .input_schema(serde_json::json!({ "type": "object", "properties": {
/// #         "a": { "type": "integer" }, "b": { "type": "integer" } }, "required": ["a", "b"] }))
/// #     .build()?;
/// # let tools = Toolbox::new().with(Add(definition, ToolMetadata::new()))?;
/// # let executor = Executor::default();
/// # let (mut turn, context) = (Turn::new(), ToolContext::new());
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let calls = vec![
///     ToolCall::new("call_1", "add", r#"{"a":1,"b":2}"#),
///     ToolCall::new("call_2", "ad", r#"{"a":1,"b":2}"#),
///     ToolCall::new("call_3", "add", r#"{"a":1}"#),
/// ];
/// let outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await;
/// assert_eq!(outcomes[0].output().unwrap().to_text(), "3");
/// assert_eq!(outcomes[1].error().unwrap().message(), "there is no tool named `ad`; did you mean `add`?");
/// assert_eq!(outcomes[2].error().unwrap().kind(), ErrorKind::InvalidArguments);
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Executor(pub(super) Arc<Policies>);

/// The settings of an executor.
#[derive(Clone)]
pub(super) struct Policies {
    pub(super) unknown_tool: Arc<dyn UnknownToolPolicy>,
    pub(super) errors: Option<Arc<dyn ErrorPolicy>>,
    pub(super) all_errors_fatal: bool,
    pub(super) limits: Arc<dyn LimitPolicy>,
    /// Whether the user set the limits: the default ones cannot refuse a host's call, which is a turn of its own.
    pub(super) has_own_limits: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) concurrency: usize,
    pub(super) approval: Option<Arc<dyn ApprovalPolicy>>,
    pub(super) strictness: Strictness,
    pub(super) assert_formats: bool,
    pub(super) max_result_size: usize,
    pub(super) converter: Option<Arc<dyn ResultConverter>>,
    pub(super) check_results: bool,
    pub(super) middleware: Vec<Arc<dyn Middleware>>,
    pub(super) resolver: Option<Arc<dyn Resolver>>,
    pub(super) record_content: bool,
    pub(super) pool: BlockingPool,
}

impl Executor {
    /// Says whether a tool's results are checked against its output schema, so that the schema may be published as a promise.
    #[must_use]
    pub fn checks_results(&self, definition: &ToolDefinition) -> bool {
        definition.output_schema().is_some() && (self.0.check_results || definition.checks_results())
    }

    /// Returns how many threads of the executor's pool are in use, those of calls that timed out included.
    #[must_use]
    pub fn busy_threads(&self) -> usize {
        self.0.pool.busy_threads()
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies = &*self.0;
        f.debug_struct("Executor")
            .field("timeout", &policies.timeout)
            .field("concurrency", &policies.concurrency)
            .field("strictness", &policies.strictness)
            .field("max_result_size", &policies.max_result_size)
            .field("all_errors_fatal", &policies.all_errors_fatal)
            .field("asks_for_approval", &policies.approval.is_some())
            .field("middleware", &policies.middleware.len())
            .finish_non_exhaustive()
    }
}
