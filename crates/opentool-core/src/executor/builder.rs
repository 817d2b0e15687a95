//! [`ExecutorBuilder`]: every setting of an executor, with its default.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::policies::{Executor, Policies};
use crate::blocking::BlockingPool;
use crate::{
    ApprovalPolicy, ErrorPolicy, LimitPolicy, Limits, Middleware, Resolver, ResultConverter, Strictness, UnknownTool,
    UnknownToolPolicy,
};

/// Builds an [`Executor`] with other policies than the default.
///
/// ```
/// use std::time::Duration;
/// use opentool_core::{Executor, Limits, Strictness, UnknownTool};
///
/// let executor = Executor::builder()
///     .timeout(Duration::from_secs(5))
///     .strictness(Strictness::Strict)
///     .unknown_tool(UnknownTool::Fail)
///     .limits(Limits::default().with_per_tool(10))
///     .all_errors_fatal(true)
///     .build();
/// # let _ = executor;
/// ```
#[must_use = "an executor is made by `build`"]
pub struct ExecutorBuilder(Policies);

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

    /// Starts another executor with the policies of this one; both share the threads for sync tools.
    pub fn to_builder(&self) -> ExecutorBuilder {
        ExecutorBuilder((*self.0).clone())
    }
}

impl Default for Executor {
    fn default() -> Self {
        Self::new()
    }
}

impl ExecutorBuilder {
    fn new() -> Self {
        Self(Policies {
            unknown_tool: Arc::new(UnknownTool::TellModel),
            errors: None,
            all_errors_fatal: false,
            limits: Arc::new(Limits::default()),
            has_own_limits: false,
            timeout: Some(Duration::from_secs(30)),
            concurrency: 8,
            approval: None,
            strictness: Strictness::Lenient,
            assert_formats: false,
            max_result_size: 1024 * 1024,
            converter: None,
            check_results: false,
            middleware: Vec::new(),
            resolver: None,
            record_content: false,
            pool: BlockingPool::shared().clone(),
        })
    }

    /// Sets what answers a call of an unknown tool, instead of an error for the model.
    pub fn unknown_tool(mut self, policy: impl UnknownToolPolicy) -> Self {
        self.0.unknown_tool = Arc::new(policy);
        self
    }

    /// Sets the policy that decides last about errors.
    pub fn errors(mut self, policy: impl ErrorPolicy) -> Self {
        self.0.errors = Some(Arc::new(policy));
        self
    }

    /// Sets whether every error reaches the caller instead of the model: false.
    ///
    /// The [error policy](Self::errors) is asked after this.
    pub fn all_errors_fatal(mut self, fatal: bool) -> Self {
        self.0.all_errors_fatal = fatal;
        self
    }

    /// Sets the limits of a turn, instead of the default [`Limits`].
    pub fn limits(mut self, policy: impl LimitPolicy) -> Self {
        self.0.limits = Arc::new(policy);
        self.0.has_own_limits = true;
        self
    }

    /// Sets how long a call may run where its tool does not say: 30 seconds; with `None` without a deadline.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.0.timeout = timeout.into();
        self
    }

    /// Sets how many calls of one batch run at once, at least one: 8.
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.0.concurrency = calls.clamp(1, u32::MAX as usize);
        self
    }

    /// Sets the policy that approves calls; without one, a tool that needs approval is denied.
    pub fn approval(mut self, policy: impl ApprovalPolicy) -> Self {
        self.0.approval = Some(Arc::new(policy));
        self
    }

    /// Puts a policy around the one that was set, if one was, for instance to ask a person first.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use opentool_core::{ApprovalPolicy, ApprovalRequest, Ask, BoxFuture, Decision, Executor};
    ///
    /// /// Approves nothing at night.
    /// struct ByDay(Option<Arc<dyn ApprovalPolicy>>);
    ///
    /// impl ApprovalPolicy for ByDay {
    ///     fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
    ///         match &self.0 {
    ///             Some(policy) if is_day() => policy.decide(request),
    ///             _ => Box::pin(async { Decision::Deny("ask again in the morning".to_owned()) }),
    ///         }
    ///     }
    /// }
    /// # fn is_day() -> bool { false }
    ///
    /// let executor = Executor::builder().approval(Ask::later()).build();
    /// let by_day = executor.to_builder().map_approval(ByDay).build();
    /// # let _ = by_day;
    /// ```
    pub fn map_approval<P: ApprovalPolicy>(
        mut self,
        around: impl FnOnce(Option<Arc<dyn ApprovalPolicy>>) -> P,
    ) -> Self {
        self.0.approval = Some(Arc::new(around(self.0.approval.take())));
        self
    }

    /// Sets what happens to root arguments that a closed schema does not name: they are dropped.
    ///
    /// Where the schema itself is open, which it is unless its `additionalProperties` is `false`, they stay.
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.0.strictness = strictness;
        self
    }

    /// Sets whether arguments must have the formats (`date-time`, `email`, `uri` and so on) that input schemas state: false.
    ///
    /// JSON Schema has `format` as an annotation: the tool's own type decides what it can read. Where a tool trusts its
    /// arguments, as those of other servers may, this refuses what has another format before it is called. Formats that JSON
    /// Schema does not know are ignored.
    pub fn assert_formats(mut self, assert: bool) -> Self {
        self.0.assert_formats = assert;
        self
    }

    /// Sets how many bytes a result may have where its tool does not say: 1 MiB.
    pub fn max_result_size(mut self, bytes: usize) -> Self {
        self.0.max_result_size = bytes;
        self
    }

    /// Sets what converts the results of tools that have no converter of their own.
    pub fn converter(mut self, converter: impl ResultConverter) -> Self {
        self.0.converter = Some(Arc::new(converter));
        self
    }

    /// Sets whether results are checked against the output schema of their tool, where it has one: false.
    ///
    /// A result that breaks it is an error of kind [`InvalidResult`](crate::ErrorKind::InvalidResult). What a
    /// [definition](crate::ToolDefinitionBuilder::check_results) asks for is checked in any case.
    pub fn check_results(mut self, check: bool) -> Self {
        self.0.check_results = check;
        self
    }

    /// Adds middleware; the first one added is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.0.middleware.push(Arc::new(middleware));
        self
    }

    /// Lets tools run that are not attached to the request, where this resolver finds them.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.0.resolver = Some(Arc::new(resolver));
        self
    }

    /// Sets whether spans record arguments and results, which may hold personal data: false.
    pub fn record_content(mut self, record: bool) -> Self {
        self.0.record_content = record;
        self
    }

    /// Gives the executor a pool of its own for sync tools, with so many threads.
    ///
    /// Executors without one share a pool of 64. A call waits for a free thread as long as it may run, at most 30 seconds where it has no
    /// timeout, and then fails with an error that names the tools which have the threads. Its deadline counts from
    /// when its code starts on the thread.
    pub fn blocking_threads(mut self, threads: usize) -> Self {
        self.0.pool = BlockingPool::new(threads);
        self
    }

    /// Makes the executor.
    #[must_use]
    pub fn build(self) -> Executor {
        Executor(Arc::new(self.0))
    }
}

impl fmt::Debug for ExecutorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorBuilder").finish_non_exhaustive()
    }
}
