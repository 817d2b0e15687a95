//! What the operator knows about the tools of other servers, whose own word is not taken for it, and who approves calls.

use std::collections::BTreeMap;

use clap::Args;
use opentool::{
    ApprovalPolicy, ApprovalRequest, Arguments, AskCaller, BoxFuture, Decision, Executor, ExecutorBuilder, Resolver,
    Tool, ToolMetadata,
};

use crate::{
    failure::Failure,
    source_tables::{Approver, SourceApproval},
    sources::{Joined, Names},
};

/// What is known about tools, and who approves their calls.
#[derive(Debug, Default, Args)]
pub(super) struct KnownOptions {
    /// A tool of a source that only reads; a server's own word is not taken for it; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    pub(super) read_only: Vec<String>,
    /// A tool of a source that destroys something; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    pub(super) destructive: Vec<String>,
    /// A tool of a source whose call may run again, with the same key: after a crash, or where its server was in trouble; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    pub(super) idempotent: Vec<String>,
    /// A tool of a source whose calls need approval; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    needs_approval: Vec<String>,
    /// Who approves calls that need it, and with `caller` also those of tools that are known to destroy something [default: deny]
    #[arg(long, value_name = "WHO", value_enum, help_heading = "What is known about tools")]
    approval: Option<Approver>,
}

impl KnownOptions {
    pub(super) fn metadata(&self) -> BTreeMap<&str, ToolMetadata> {
        let KnownOptions { read_only, destructive, idempotent, needs_approval, .. } = self;
        metadata(read_only, destructive, idempotent, needs_approval)
    }

    /// Sets the policy by which calls are approved, where one is needed.
    pub(super) fn approve(&self, executor: ExecutorBuilder, joined: &Joined<'_>) -> ExecutorBuilder {
        let by_default = self.approval.unwrap_or(Approver::Deny);
        let own = joined.parts.iter().map(|part| (part.tools.clone(), part.approver.clone()));
        let of_steps = joined.parts.iter().flat_map(|part| part.step_sources.iter().cloned());
        let sources: Vec<_> = own.chain(of_steps).collect();
        let mut approvals = sources.iter().filter_map(|(_, approval)| approval.as_ref());
        let is_caller = by_default == Approver::Caller || approvals.any(SourceApproval::asks_caller);
        // Without a policy a call has nothing to wait for.
        if is_caller || joined.needs_approval || !self.needs_approval.is_empty() {
            executor.approval(OperatorsChoice { by_default, sources })
        } else {
            executor
        }
    }
}

/// What the model gets where no one is asked.
const NO_APPROVER: &str = "the tool needs approval, and this server asks no one for it";

/// What the model gets where the source of a tool cannot be found out.
const UNKNOWN_APPROVER: &str = "it cannot be found out now who approves calls of the tool: its source does not list it";

/// Lets the caller's side approve calls, where the operator has said so, and denies the others that need it.
struct OperatorsChoice {
    by_default: Approver,
    /// The sources of all tools, with what is said about approval in the tables of some.
    sources: Vec<(opentool::Source, Option<SourceApproval>)>,
}

impl OperatorsChoice {
    /// Finds who approves a call; none where no source has its tool now, or the one that may have it does not answer.
    async fn approver(&self, request: &ApprovalRequest<'_>) -> Option<Approver> {
        let (executor, name) = (Executor::new(), request.tool.definition().name());
        let mut found = None;
        let mut is_certain = true;
        for (source, approval) in &self.sources {
            let Ok(toolbox) = executor.toolbox(source, request.context).await else {
                is_certain &= approval.is_none();
                continue;
            };
            let Some(tool) = toolbox.resolve(name) else { continue };
            // A step of a workflow may call a tool whose name another source has too: what is said of either counts.
            if let Some(approver) = approval.as_ref().and_then(|approval| approval.approver(&*tool)) {
                return Some(approver);
            }
            found = Some(self.by_default);
        }
        found.filter(|_| is_certain)
    }
}

impl ApprovalPolicy for OperatorsChoice {
    fn needed(&self, tool: &dyn Tool, _: &Arguments) -> bool {
        let metadata = tool.metadata();
        // The calls of a workflow are approved one by one.
        metadata.needs_approval() || (metadata.destructive() == Some(true) && !metadata.is_composite())
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let tool = request.tool;
            match self.approver(&request).await {
                Some(Approver::Caller) => AskCaller::new().decide(request).await,
                Some(Approver::Deny) if tool.metadata().needs_approval() => Decision::Deny(NO_APPROVER.to_owned()),
                Some(Approver::Deny) => Decision::Approve,
                None => Decision::Deny(UNKNOWN_APPROVER.to_owned()),
            }
        })
    }
}

/// How metadata takes what is said.
type Statement = fn(ToolMetadata, bool) -> ToolMetadata;

/// What is said about tools, by name.
pub(super) fn metadata<'a>(
    read_only: &'a [String],
    destructive: &'a [String],
    idempotent: &'a [String],
    needs_approval: &'a [String],
) -> BTreeMap<&'a str, ToolMetadata> {
    let statements: [(&[String], Statement); 4] = [
        (read_only, |metadata, said| metadata.with_read_only(said)),
        (destructive, |metadata, said| metadata.with_destructive(said)),
        (idempotent, |metadata, said| metadata.with_idempotent(said)),
        (needs_approval, |metadata, said| metadata.with_approval(said)),
    ];
    let mut known: BTreeMap<&str, ToolMetadata> = BTreeMap::new();
    for (tools, state) in statements {
        for tool in tools {
            let metadata = known.remove(tool.as_str()).unwrap_or_default();
            known.insert(tool, state(metadata, true));
        }
    }
    known
}

/// Refuses what is said about a tool that no other server has: a misspelt name would say nothing about the right one.
pub(super) fn check(known: &BTreeMap<&str, ToolMetadata>, names: &Names<'_>) -> Result<(), Failure> {
    match known.keys().find(|tool| !names.may_be_remote(tool)) {
        None => Ok(()),
        Some(tool) => {
            let message = format!(
                "no server among the sources has the tool `{tool}` that an option such as `--destructive` names"
            );
            Err(Failure::usage(message))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentool::{ErrorKind, FnTool, Source, Toolbox};

    use super::*;

    #[tokio::test]
    async fn a_call_is_denied_where_no_source_lists_its_tool() {
        let wipe = || FnTool::new("wipe", || "wiped").destructive().inline().build().unwrap();
        let listed = Source::new(Toolbox::new().with(wipe()).unwrap());
        for (source, expected) in [(listed, Ok("wiped")), (Source::new(Toolbox::new()), Err(ErrorKind::Denied))] {
            let approval = OperatorsChoice { by_default: Approver::Deny, sources: vec![(source, None)] };
            let host = Executor::builder().approval(approval).build().host(wipe());
            let answer = host.call("wipe", "{}").await;
            let answer = answer.as_ref().map(|output| output.to_text()).map_err(|error| error.kind());
            assert_eq!(answer, expected.map(str::to_owned));
        }
    }
}
