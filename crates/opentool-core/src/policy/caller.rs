//! Approval by the caller's side: [`AskCaller`].

use futures_core::future::BoxFuture;
use serde_json::{Value, json};

use super::approval::{ApprovalPolicy, ApprovalRequest};
use crate::{Arguments, Decision, ErrorKind, Question, Tool, UserAnswer};

/// The name of the question, by which it is known again where a call starts again with its answer.
const KEY: &str = "opentool-approval";

/// How many characters of the arguments the question shows.
const SHOWN: usize = 2_000;

/// Asks the caller about every tool that needs approval and, if wanted, about every destructive one, by a
/// [question](crate::ToolContext::ask).
///
/// The answer is the word of the caller's side, which may be a program: an agent that wants to call a tool can also answer the
/// question. Use it where that is good enough, for instance because the agent is known to show questions to its user. A
/// caller that cannot be asked is denied.
///
/// ```
/// use opentool_core::{AskCaller, Executor, FnTool, Question, ToolCall, ToolContext, ToolError, UserAnswer};
/// use serde_json::json;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let delete = FnTool::new("delete", || "deleted").destructive();
/// let host = Executor::builder().approval(AskCaller::new().for_destructive(true)).build().host(delete);
/// let context = ToolContext::new().with_respondent(|question: Question| async move {
///     assert_eq!(question.message, "May `delete` run with {}?");
///     let answer = json!({ "approve": true }).as_object().cloned().unwrap_or_default();
///     Ok::<_, ToolError>(UserAnswer::Accepted(answer))
/// });
/// let outcome = host.run(ToolCall::new("1", "delete", "{}"), &context).await;
/// assert_eq!(outcome.result.unwrap().to_text(), "deleted");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AskCaller {
    destructive: bool,
}

impl AskCaller {
    /// Asks about tools that need approval.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether destructive tools need approval even where they do not say so.
    #[must_use]
    pub fn for_destructive(mut self, destructive: bool) -> Self {
        self.destructive = destructive;
        self
    }
}

impl ApprovalPolicy for AskCaller {
    fn needed(&self, tool: &dyn Tool, _: &Arguments) -> bool {
        let metadata = tool.metadata();
        // The calls that a composite tool makes are approved one by one.
        metadata.needs_approval() || (self.destructive && metadata.is_destructive() && !metadata.is_composite())
    }

    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let name = request.tool.definition().name();
            let message = format!("May `{name}` run with {}?", shown(request.arguments.as_str()));
            let question = Question::new(message, schema()).with_key(key(&request));
            match request.context.ask_question(question).await {
                Ok(UserAnswer::Accepted(answer)) if answer.get("approve") == Some(&Value::Bool(true)) => {
                    Decision::Approve
                }
                Ok(_) => Decision::Deny("the caller did not approve the call".to_owned()),
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    Decision::Deny("the call needs approval, and this caller has no way to give it".to_owned())
                }
                Err(error) => {
                    Decision::Deny(format!("the call needs approval, which was not given: {}", error.message()))
                }
            }
        })
    }
}

/// The name of the question. An approval of one step of a workflow is none of another, nor of the same one with other arguments.
fn key(request: &ApprovalRequest<'_>) -> String {
    let ApprovalRequest { call_id, tool, arguments, context } = *request;
    if context.tool_name().is_empty() {
        return KEY.to_owned();
    }
    // The id of the call around it is another in each attempt.
    let place = call_id.strip_prefix(context.call_id()).unwrap_or(call_id);
    format!("{KEY}{place} {} {arguments}", tool.definition().name())
}

/// One yes or no, as the forms of MCP clients can show it.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "approve": { "type": "boolean", "title": "Approve", "description": "Whether the call may run" } },
        "required": ["approve"],
    })
}

fn shown(arguments: &str) -> String {
    match arguments.char_indices().nth(SHOWN) {
        None => arguments.to_owned(),
        Some((at, _)) => format!("{}… ({} characters)", &arguments[..at], arguments.chars().count()),
    }
}
