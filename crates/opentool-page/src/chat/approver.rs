//! Approval of calls by the person at the page: [`PageApprover`].

use std::sync::Arc;

use opentool_core::{ApprovalRequest, BoxFuture, Decision};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::approval::{Approver, denied};
use crate::conversations::{ApprovedTool, Conversations};
use crate::parts::raw_arguments;
use crate::tools::HintForm;
use crate::turns::{ApprovalAnswer, OpenApprovals, RunningTurns};

/// A call that waits for the person's answer.
pub(super) struct AskedCall {
    pub(super) approval: String,
    pub(super) call_id: String,
    pub(super) tool: String,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) hints: HintForm,
}

/// Asks the person at the page about the calls of a turn.
pub(super) struct PageApprover {
    pub(super) asking: mpsc::Sender<AskedCall>,
    pub(super) approvals: Arc<OpenApprovals>,
    /// Whether a call can wait in a journal.
    pub(super) is_recorded: bool,
    pub(super) turns: RunningTurns,
    pub(super) conversations: Arc<Conversations>,
    pub(super) conversation: String,
}

impl Approver for PageApprover {
    fn ask<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let definition = request.tool.definition();
            let tool = ApprovedTool::new(definition);
            if self.conversations.is_always_approved(&self.conversation, &tool) {
                return Decision::Approve;
            }
            let name = self.turns.name_approval();
            let mut approval = self.approvals.open(&name);
            let asked = AskedCall {
                approval: name.clone(),
                call_id: request.call_id.to_owned(),
                tool: definition.name().to_owned(),
                arguments: raw_arguments(request.arguments.as_str()),
                hints: request.tool.metadata().into(),
            };
            let answer = match self.asking.send(asked).await {
                Ok(()) => approval.answer().await,
                Err(_) => None,
            };
            let Some(answer) = answer else {
                return if self.is_recorded { Decision::Suspend } else { denied(None) };
            };
            match answer.decision {
                ApprovalAnswer::Allow => Decision::Approve,
                ApprovalAnswer::Always => {
                    self.conversations.always_approve(&self.conversation, tool);
                    Decision::Approve
                }
                ApprovalAnswer::Deny => denied(answer.reason.as_deref()),
            }
        })
    }
}
