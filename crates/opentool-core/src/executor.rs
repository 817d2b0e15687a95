//! The one place where calls are run: [`Executor`].

mod batch;
mod builder;
mod host;
mod interrupt;
mod settle;
mod span;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::batch::Batch;
pub use self::builder::ExecutorBuilder;
pub use self::host::Host;
use crate::blocking::BlockingPool;
use crate::{
    ApprovalPolicy, ErrorPolicy, IntoToolSource, LimitPolicy, Middleware, Resolver, ResultConverter, Source,
    Strictness, ToolCall, ToolContext, Toolbox, Turn, UnknownToolPolicy,
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
pub struct Executor(Arc<Policies>);

/// Everything an executor was told.
pub(crate) struct Policies {
    unknown_tool: Arc<dyn UnknownToolPolicy>,
    errors: Option<Arc<dyn ErrorPolicy>>,
    all_errors_fatal: bool,
    limits: Arc<dyn LimitPolicy>,
    /// Whether the limits can matter to a call that is a turn of its own.
    limits_hosts: bool,
    timeout: Option<Duration>,
    concurrency: usize,
    approval: Option<Arc<dyn ApprovalPolicy>>,
    strictness: Strictness,
    max_result_size: usize,
    converter: Option<Arc<dyn ResultConverter>>,
    middleware: Vec<Arc<dyn Middleware>>,
    resolver: Option<Arc<dyn Resolver>>,
    record_content: bool,
    /// None for the pool that all executors share.
    pool: Option<BlockingPool>,
}

impl Executor {
    /// Makes an executor with the default policies.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts an executor with other policies.
    pub fn builder() -> ExecutorBuilder {
        ExecutorBuilder::new()
    }

    /// Runs the calls of one round concurrently and answers each exactly once.
    ///
    /// Nothing happens until the batch is polled; dropping it cancels its calls and records nothing
    /// in the turn. Only the given tools may run.
    pub fn run<'a>(
        &'a self,
        tools: &'a Toolbox,
        calls: Vec<ToolCall>,
        turn: &'a mut Turn,
        context: &'a ToolContext,
    ) -> Batch<'a> {
        Batch::new(&self.0, tools, calls, turn, context)
    }

    /// Runs the calls that wait in a turn, by the [decisions](Turn::decide) made about them.
    ///
    /// A call without a decision goes through the approval policy again. The outcomes are those of
    /// the whole round: the calls that ran before the suspension are among them.
    pub fn resume<'a>(&'a self, tools: &'a Toolbox, turn: &'a mut Turn, context: &'a ToolContext) -> Batch<'a> {
        Batch::resume(&self.0, tools, turn, context)
    }

    /// Pairs the executor with a source of tools, for callers whose every call is a turn of its own.
    ///
    /// Where the source cannot be used, for instance because two tools have the same name, each call
    /// answers with that error.
    pub fn host<M>(&self, source: impl IntoToolSource<M>) -> Host {
        Host::new(self.clone(), Source::new(source))
    }

    /// Returns how many threads of the executor's pool run blocking tools now, those of calls already given up included.
    #[must_use]
    pub fn blocking_threads(&self) -> usize {
        self.0.pool.as_ref().unwrap_or_else(|| BlockingPool::shared()).busy()
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::new()
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
