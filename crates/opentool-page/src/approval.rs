//! Which calls the person at the page is asked about, and how their answer counts: [`PageApproval`].

use std::sync::Arc;

use opentool_core::{
    ApprovalPolicy, ApprovalRequest, Arguments, BoxFuture, Decision, Executor, Question, Tool, ToolError, UserAnswer,
};
use serde_json::{Map, Value};

/// Says whether the person confirms a call of a tool before it is made: it needs approval, or may destroy something.
pub(crate) fn is_confirmed_first(tool: &dyn Tool) -> bool {
    let metadata = tool.metadata();
    // The calls of a workflow are asked about one by one.
    metadata.needs_approval() || (metadata.is_destructive() && !metadata.is_composite())
}

/// Says whether the person is asked about a call that a model makes: of every tool that is not known to only read.
pub(crate) fn is_asked_about(tool: &dyn Tool) -> bool {
    let metadata = tool.metadata();
    let only_reads = metadata.is_read_only() && metadata.destructive() != Some(true);
    metadata.needs_approval() || !(only_reads || metadata.is_composite())
}

/// What the model gets where the person said no.
#[cfg(any(feature = "chat", feature = "journal"))]
const DENIED: &str = "the user did not approve the call";

/// The decision of a person who said no, and perhaps why.
#[cfg(any(feature = "chat", feature = "journal"))]
pub(crate) fn denied(reason: Option<&str>) -> Decision {
    Decision::Deny(match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{DENIED}: {reason}"),
        None => DENIED.to_owned(),
    })
}

/// Who makes a call, in its context.
#[derive(Clone)]
pub(crate) enum CallOrigin {
    /// The person, who has confirmed it or not.
    Person { confirmed: bool },
    /// A model, whose calls a person approves.
    #[cfg_attr(not(feature = "chat"), expect(dead_code, reason = "only a chat has a model"))]
    Model(Arc<dyn Approver>),
}

/// Asks a person about calls.
pub(crate) trait Approver: Send + Sync {
    /// Asks; the answer is `Approve` or `Deny`.
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision>;
}

/// Returns the executor of the server, which also asks the person at the page.
pub(crate) fn with_person(executor: &Executor) -> Executor {
    executor.to_builder().map_approval(PageApproval).build()
}

/// Asks the person at the page, and then the policy of the server, which decides last.
struct PageApproval(Option<Arc<dyn ApprovalPolicy>>);

impl PageApproval {
    /// Says whether the server itself wants a decision.
    fn is_needed_by_server(&self, tool: &dyn Tool, arguments: &Arguments) -> bool {
        match &self.0 {
            Some(policy) => policy.needed(tool, arguments),
            None => tool.metadata().needs_approval(),
        }
    }

    /// Decides as the server does. Its question to the caller, if it has one, was answered by the person already.
    async fn decide_as_server(&self, mut request: ApprovalRequest<'_>, confirmed: bool) -> Decision {
        if !self.is_needed_by_server(request.tool, request.arguments) {
            return Decision::Approve;
        }
        match &self.0 {
            None if confirmed => Decision::Approve,
            None => Decision::Deny("the call needs approval, which was not given".to_owned()),
            Some(policy) if confirmed => {
                let approved = request.context.clone().with_respondent(approve);
                request.context = &approved;
                policy.decide(request).await
            }
            Some(policy) => policy.decide(request).await,
        }
    }
}

/// Answers the question whether a call may run.
async fn approve(_: Question) -> Result<UserAnswer, ToolError> {
    Ok(UserAnswer::Accepted(Map::from_iter([("approve".to_owned(), Value::Bool(true))])))
}

impl ApprovalPolicy for PageApproval {
    fn needed(&self, tool: &dyn Tool, arguments: &Arguments) -> bool {
        is_confirmed_first(tool) || is_asked_about(tool) || self.is_needed_by_server(tool, arguments)
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            // A call that another one makes, such as a step of a workflow, was not confirmed with it.
            let is_outermost = request.context.tool_name().is_empty();
            let confirmed = match request.context.typed::<CallOrigin>() {
                Some(CallOrigin::Person { confirmed }) if is_outermost => {
                    if !*confirmed && is_confirmed_first(request.tool) {
                        return Decision::Deny("the call was not confirmed".to_owned());
                    }
                    *confirmed
                }
                Some(CallOrigin::Model(approver))
                    if is_asked_about(request.tool) || self.is_needed_by_server(request.tool, request.arguments) =>
                {
                    match approver.ask(request).await {
                        Decision::Approve => true,
                        other => return other,
                    }
                }
                _ => false,
            };
            self.decide_as_server(request, confirmed).await
        })
    }
}
