//! Which calls need approval, and who decides about them: [`ApprovalPolicy`].

use std::fmt;

use futures_core::future::BoxFuture;

use crate::{Arguments, Decision, Tool, ToolContext};

/// A call that needs approval.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ApprovalRequest<'a> {
    /// The id of the call; empty where the caller gave none.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The arguments, checked.
    pub arguments: &'a Arguments,
    /// What the application passes to tools.
    pub context: &'a ToolContext,
}

impl fmt::Debug for ApprovalRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("call_id", &self.call_id)
            .field("tool", &self.tool.definition().name())
            .finish_non_exhaustive()
    }
}

impl<'a> ApprovalRequest<'a> {
    pub(crate) fn new(
        call_id: &'a str,
        tool: &'a dyn Tool,
        arguments: &'a Arguments,
        context: &'a ToolContext,
    ) -> Self {
        Self { call_id, tool, arguments, context }
    }
}

/// Decides which calls need approval, and about those that do.
///
/// Without such a policy a tool that needs approval is denied.
pub trait ApprovalPolicy: Send + Sync + 'static {
    /// Says whether a call needs approval; by default the tool's own metadata say so.
    fn needed(&self, tool: &dyn Tool, arguments: &Arguments) -> bool {
        let _ = arguments;
        tool.metadata().needs_approval()
    }

    /// Decides about a call that needs approval; the call's clock does not run meanwhile.
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision>;
}

/// Asks a closure about every tool that needs approval and, if wanted, about every destructive one.
///
/// ```
/// use opentool_core::{Ask, Decision, Executor};
///
/// let careful = Executor::builder()
///     .approval(Ask::with(|request| {
///         let harmless = request.tool.metadata().is_read_only();
///         async move { if harmless { Decision::Approve } else { Decision::Suspend } }
///     }))
///     .build();
/// # let _ = careful;
/// ```
pub struct Ask {
    destructive: bool,
    decide: Box<Decider>,
}

type Decider = dyn Fn(ApprovalRequest<'_>) -> BoxFuture<'static, Decision> + Send + Sync;

impl Ask {
    /// Asks a closure.
    pub fn with<F, D>(decide: F) -> Self
    where
        F: Fn(ApprovalRequest<'_>) -> D + Send + Sync + 'static,
        D: Future<Output = Decision> + Send + 'static,
    {
        Self { destructive: false, decide: Box::new(move |request| Box::pin(decide(request))) }
    }

    /// Suspends every call that needs approval, so that the caller decides later.
    #[must_use]
    pub fn later() -> Self {
        Self::with(|_| async { Decision::Suspend })
    }

    /// Sets whether destructive tools need approval even where they do not say so.
    #[must_use]
    pub fn for_destructive(mut self, destructive: bool) -> Self {
        self.destructive = destructive;
        self
    }
}

impl ApprovalPolicy for Ask {
    fn needed(&self, tool: &dyn Tool, _: &Arguments) -> bool {
        let metadata = tool.metadata();
        // The calls that a composite tool makes are approved one by one.
        metadata.needs_approval() || (self.destructive && metadata.is_destructive() && !metadata.is_composite())
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        (self.decide)(request)
    }
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("destructive", &self.destructive).finish_non_exhaustive()
    }
}
