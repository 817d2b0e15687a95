//! The manager that runs calls on an executor: [`DefaultToolCallingManager`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use opentool_core::{ErrorKind, Executor, Outcomes, Resolver, Tool, ToolContext, ToolError, Toolbox, Turn};

use super::calling::ToolCallingManager;
use super::execution::{Execution, ToolEvents};
use super::result::ToolExecutionResult;
use crate::definitions::ToolDefinitions;
use crate::error::{Cause, ChatError};
use crate::exchange::Exchange;
use crate::message::{AssistantMessage, ToolAnswer, ToolMessage};
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::ChatResponse;

/// Runs calls on the [`Executor`], whose policies hold for every one of them.
///
/// A resolver finds the tools that a request asks for by [name](ChatOptions::tool_names). It does not let a model call what the
/// request does not name; [`ExecutorBuilder::resolver`](opentool_core::ExecutorBuilder::resolver) does.
#[derive(Clone, Default)]
pub struct DefaultToolCallingManager {
    executor: Executor,
    resolver: Option<Arc<dyn Resolver>>,
}

impl DefaultToolCallingManager {
    /// Makes a manager with the default executor and without a resolver.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the executor.
    #[must_use]
    pub fn with_executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// Sets what finds tools by name.
    #[must_use]
    pub fn with_resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Returns the executor.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Finds the tools of a request.
    ///
    /// # Errors
    ///
    /// Where two have the same name, a name cannot be resolved, or a source cannot be reached, panics, or does not answer within the
    /// executor's timeout.
    pub async fn toolbox(&self, options: &ChatOptions) -> Result<Toolbox, ChatError> {
        let nothing = ToolContext::new();
        let context = options.context.as_ref().unwrap_or(&nothing);
        let mut toolbox = Toolbox::new();
        for (index, source) in options.tools.iter().chain(&options.added_tools).enumerate() {
            let tools = self.executor.toolbox(source, context).await.map_err(|error| match error.kind() {
                ErrorKind::Cancelled if context.is_cancelled() => Cause::Cancelled,
                _ => Cause::Tools(error),
            })?;
            // The first needs no copy: a toolbox is shared.
            toolbox = if index == 0 { tools } else { toolbox.merge(tools).map_err(unusable)? };
        }
        for name in options.tool_names.iter().flatten() {
            toolbox.add(self.resolve(name).map_err(Cause::Tools)?).map_err(unusable)?;
        }
        Ok(toolbox)
    }

    fn resolve(&self, name: &str) -> Result<Arc<dyn Tool>, ToolError> {
        let Some(resolver) = &self.resolver else {
            let message = format!("there is no resolver that could find the tool named `{name}`; give the model one");
            return Err(ToolError::new(ErrorKind::UnknownTool, message));
        };
        let found = catch_unwind(AssertUnwindSafe(|| resolver.resolve(name))).map_err(ToolError::from_panic)?;
        let unknown = || ToolError::new(ErrorKind::UnknownTool, format!("no resolver knows a tool named `{name}`"));
        found.ok_or_else(unknown)
    }

    async fn execute(
        &self,
        prompt: &Prompt,
        response: &ChatResponse,
        turn: &mut Turn,
        events: ToolEvents,
    ) -> Result<ToolExecutionResult, ChatError> {
        let Some(message) = response.calling() else {
            return Ok(ToolExecutionResult::new(prompt.messages.clone()));
        };
        let waits = |id: &str| message.tool_calls.iter().any(|call| *call.id == *id);
        if let Some(other) = turn.unfinished().find(|unfinished| !waits(&unfinished.id)) {
            return Err(ChatError::setup(format!(
                "the turn waits for a decision about the call `{}`, which this answer does not make: execute the answer that made it",
                other.id
            )));
        }
        let tools = self.toolbox(&prompt.options).await?;
        let nothing = ToolContext::new();
        let context = prompt.options.context.as_ref().unwrap_or(&nothing);
        let mut batch = match turn.is_in_round() {
            true => self.executor.resume(&tools, turn, context),
            false => self.executor.run(&tools, message.tool_calls.clone(), turn, context),
        };
        if events.is_watched() {
            while let Some(event) = batch.next().await {
                events.emit(event).await;
            }
        }
        let outcomes = batch.finish().await;
        if !outcomes.pending().is_empty() {
            let pending = outcomes.pending().to_vec();
            return Ok(ToolExecutionResult::new(prompt.messages.clone()).with_pending(pending));
        }
        let mut history = Vec::with_capacity(prompt.messages.len() + 2);
        history.extend_from_slice(&prompt.messages);
        history.push(as_run(message.clone(), &outcomes).into());
        history.push(ToolMessage::new(outcomes.iter().map(ToolAnswer::from_outcome).collect()).into());
        match ended(&outcomes) {
            Some(cause) => Err(ChatError::from(cause).with_exchange(Exchange::new(prompt, history))),
            None => Ok(ToolExecutionResult::new(history).with_return_direct(outcomes.return_direct())),
        }
    }
}

/// The calls as they ran: where arguments were edited, the answer is about those, and the model should know.
fn as_run(mut message: AssistantMessage, outcomes: &Outcomes) -> AssistantMessage {
    for (call, outcome) in message.tool_calls.iter_mut().zip(outcomes) {
        if outcome.edited {
            call.arguments = outcome.arguments.clone();
        }
    }
    message
}

fn unusable(error: opentool_core::ToolboxError) -> ChatError {
    Cause::Tools(ToolError::fatal(error)).into()
}

/// Returns why the turn ends with these outcomes, where it does.
fn ended(outcomes: &Outcomes) -> Option<Cause> {
    let fatal = outcomes.iter().find_map(|outcome| {
        let error = outcome.error().filter(|error| error.is_fatal())?;
        Some((outcome.tool.clone(), error.clone()))
    });
    fatal.map(|(tool, error)| match error.kind() {
        ErrorKind::Limit => Cause::Limit(error),
        _ => Cause::Tool { tool, error },
    })
}

impl ToolCallingManager for DefaultToolCallingManager {
    fn resolve_tool_definitions<'a>(
        &'a self,
        options: &'a ChatOptions,
    ) -> BoxFuture<'a, Result<ToolDefinitions, ChatError>> {
        Box::pin(async move { Ok(ToolDefinitions::from_toolbox(self.toolbox(options).await?)) })
    }

    fn execute_tool_calls<'a>(
        &'a self,
        prompt: &'a Prompt,
        response: &'a ChatResponse,
        turn: &'a mut Turn,
    ) -> Execution<'a> {
        Execution::new(move |events| self.execute(prompt, response, turn, events))
    }
}

impl fmt::Debug for DefaultToolCallingManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultToolCallingManager")
            .field("executor", &self.executor)
            .field("resolves_names", &self.resolver.is_some())
            .finish()
    }
}
