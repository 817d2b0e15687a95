//! The loop: ask the model, run the calls of its answer, ask again with their results, until an answer has no calls.

use std::sync::Arc;

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use opentool_core::{Cancellation, Turn};
use tracing::debug;

use super::ids::Ids;
use super::memory::{SavePoint, TurnMemory};
use super::parts::ModelParts;
use super::span::WorkSpan;
use crate::assembly::Assembly;
use crate::definitions::ToolDefinitions;
use crate::delta::Delta;
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::event::ChatEvent;
use crate::exchange::Exchange;
use crate::generation::{FinishReason, Generation};
use crate::manager::ToolExecutionResult;
use crate::message::{AssistantMessage, Message};
use crate::options::{ChatOptions, ToolChoice};
use crate::prompt::Prompt;
use crate::provider::ModelRequest;
use crate::response::{ChatResponse, RunState};
use crate::usage::Usage;

/// One turn of a model: the same loop with a reader of its events and without one.
pub(super) struct Run {
    model: Arc<ModelParts>,
    /// What the model is sent next, with merged options.
    prompt: Prompt,
    /// The whole conversation; the prompt has less of it where the memory returns a window after every round.
    history: Vec<Message>,
    /// Where this turn begins in the history.
    start: usize,
    /// How many messages of the history are in the memory, or need not be there.
    saved: usize,
    turn: Turn,
    ids: Ids,
    usage: Usage,
    /// The usage of an answer that is still coming, as far as it is known.
    partial_usage: Usage,
    /// An answer whose calls waited for decisions.
    suspended: Option<ChatResponse>,
    conversation: Option<String>,
    memory: Option<TurnMemory>,
}

/// What the loop does next.
enum Step {
    Ask,
    Return(Box<ChatResponse>),
}

impl Run {
    /// Starts a turn with merged options. `saved` messages are in the memory; by default all before the turn.
    pub(super) fn new(model: Arc<ModelParts>, prompt: Prompt, saved: Option<usize>) -> Self {
        let start = prompt.turn_start();
        Self {
            model,
            prompt,
            history: Vec::new(),
            start,
            saved: saved.unwrap_or(start),
            turn: Turn::new(),
            ids: Ids::default(),
            usage: Usage::default(),
            partial_usage: Usage::default(),
            suspended: None,
            conversation: None,
            memory: None,
        }
    }

    /// Resumes a turn that waited, with merged options.
    pub(super) fn resume(model: Arc<ModelParts>, state: RunState, options: ChatOptions) -> Self {
        let RunState { exchange, response, turn, saved, conversation: _, options: _ } = state;
        let Exchange { history, usage, start } = exchange;
        let run = Self::new(model, Prompt::new(history).with_options(options), Some(saved));
        Self { start, turn, usage, suspended: Some(response), ..run }
    }

    /// Sets the conversation that the turn belongs to, and its memory.
    pub(super) fn in_conversation(mut self, conversation: Option<String>, memory: Option<TurnMemory>) -> Self {
        (self.conversation, self.memory) = (conversation, memory);
        self
    }

    /// Runs the turn to its end and emits what happens.
    pub(super) async fn finish(mut self, events: Emitter) -> Result<ChatResponse, ChatError> {
        let cancellation = self.prompt.options.cancellation();
        self.rounds(&events, &cancellation).await.map_err(|error| self.complete(error))
    }

    async fn rounds(&mut self, events: &Emitter, cancellation: &Cancellation) -> Result<ChatResponse, ChatError> {
        self.ids = Ids::new(&mut self.prompt.messages, self.suspended.as_ref());
        self.history.clone_from(&self.prompt.messages);
        let model = self.model.clone();
        let resolving = model.manager.resolve_tool_definitions(&self.prompt.options);
        let definitions = cancellation.guard(resolving).await.ok_or(Cause::Cancelled)??;
        debug!(target: "opentool::chat", tools = definitions.len(), "resolved the tools of the request");
        let names = self.pin_tools(&definitions);
        loop {
            let response = match self.suspended.take() {
                // Its calls were found eligible before they had to wait.
                Some(response) => response,
                None => {
                    let asking = self.ask(&definitions, events);
                    let mut response = cancellation.guard(asking).await.ok_or(Cause::Cancelled)??;
                    self.ids.settle(&mut response, &definitions);
                    self.usage += response.usage;
                    self.partial_usage = Usage::default();
                    events.emit(ChatEvent::Usage(response.usage)).await;
                    if !self.is_eligible(&response) {
                        return self.answer(response).await;
                    }
                    response
                }
            };
            match self.execute(response, &names, events).await? {
                Step::Ask => {}
                Step::Return(response) => return Ok(*response),
            }
        }
    }

    /// Fixes the tools of the request for all its rounds; returns the names that were asked for.
    fn pin_tools(&mut self, definitions: &ToolDefinitions) -> Option<Vec<String>> {
        let Some(toolbox) = definitions.toolbox() else { return self.prompt.options.tool_names.clone() };
        self.prompt.options.tools = Some(toolbox.clone().into());
        self.prompt.options.added_tools.clear();
        self.prompt.options.tool_names.take()
    }

    /// Asks once.
    async fn ask(&mut self, definitions: &ToolDefinitions, events: &Emitter) -> Result<ChatResponse, ChatError> {
        self.relax_tool_choice();
        self.check_tool_choice(definitions)?;
        let model = &*self.model;
        let request = ModelRequest::new(&self.prompt.messages, &self.prompt.options, definitions);
        let span = WorkSpan::for_request(model, request, self.conversation.as_deref());
        let round = self.turn.rounds() + 1;
        let used = &mut self.partial_usage;
        let asked = async move {
            debug!(target: "opentool::chat", round, messages = request.messages.len(), "asking the model");
            if events.is_watched() {
                let asked = assemble(model.provider.stream(request), events, used).await;
                // What was used before the stream broke off is known only here.
                asked.map_err(|error| error.with_exchange(Exchange { usage: *used, ..Exchange::default() }))
            } else {
                model.provider.call(request).await
            }
        };
        let response = span.around(asked).await?;
        debug!(
            target: "opentool::chat",
            calls = response.tool_calls().len(),
            input_tokens = response.usage.input_tokens,
            output_tokens = response.usage.output_tokens,
            "the model answered"
        );
        Ok(response)
    }

    /// A model that must call a tool must do so once; otherwise it would never answer.
    fn relax_tool_choice(&mut self) {
        let choice = &mut self.prompt.options.tool_choice;
        if matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_))) {
            let since = self.prompt.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
            if since.into_iter().any(|message| matches!(message, Message::Tool(_))) {
                *choice = Some(ToolChoice::Auto);
            }
        }
    }

    /// A choice that no tool of the request meets is refused by one provider and ignored by another.
    fn check_tool_choice(&self, definitions: &ToolDefinitions) -> Result<(), ChatError> {
        let problem = match &self.prompt.options.tool_choice {
            Some(ToolChoice::Required) if definitions.is_empty() => {
                "the tool choice is `required` and the request has no tools: give it some, or choose `auto`".to_owned()
            }
            Some(ToolChoice::Named(name)) if !definitions.iter().any(|definition| definition.name() == name) => {
                format!(
                    "the tool choice names `{name}`, which is not among the tools of the request: add it, or choose `auto`"
                )
            }
            _ => return Ok(()),
        };
        Err(ChatError::setup(problem))
    }

    fn is_eligible(&self, response: &ChatResponse) -> bool {
        let options = &self.prompt.options;
        options.internal_execution != Some(false)
            && response.has_tool_calls()
            && self.model.eligibility.as_ref().is_none_or(|predicate| predicate.is_eligible(options, response))
    }

    /// Runs the calls of an answer.
    async fn execute(
        &mut self,
        response: ChatResponse,
        names: &Option<Vec<String>>,
        events: &Emitter,
    ) -> Result<Step, ChatError> {
        let manager = self.model.manager.clone();
        let execution = manager.execute_tool_calls(&self.prompt, &response, &mut self.turn);
        let result = execution.emit_to(events.clone()).await?;
        if !result.pending.is_empty() {
            debug!(target: "opentool::chat", calls = result.pending.len(), "calls wait for a decision");
            return Ok(Step::Return(Box::new(self.suspend(response, names))));
        }
        let direct = result.return_direct.then(|| result.generations());
        self.take_round(result).await?;
        match direct {
            Some(generations) => self.return_direct(response, generations, events).await.map(Step::Return),
            None => Ok(Step::Ask),
        }
    }

    /// Takes over the conversation with the results of a round.
    async fn take_round(&mut self, result: ToolExecutionResult) -> Result<(), ChatError> {
        let round = result.conversation_history.get(self.prompt.messages.len()..).unwrap_or_default();
        self.history.extend_from_slice(round);
        match &self.memory {
            Some(memory) if memory.save == SavePoint::AfterRound => self.save_and_reload().await,
            _ => {
                self.prompt.messages = result.conversation_history;
                Ok(())
            }
        }
    }

    /// Adds to the memory what it does not have yet.
    async fn save(&mut self) -> Result<(), ChatError> {
        if let Some(memory) = &self.memory {
            memory.add(self.history.get(self.saved..).unwrap_or_default()).await?;
            self.saved = self.history.len();
        }
        Ok(())
    }

    async fn save_and_reload(&mut self) -> Result<(), ChatError> {
        self.save().await?;
        let Some(memory) = &self.memory else { return Ok(()) };
        let mut messages = memory.load().await?;
        let before = std::mem::replace(&mut self.ids, Ids::new(&mut messages, None));
        self.ids.extend(before);
        self.prompt.messages = messages;
        Ok(())
    }

    /// Ends the turn with the model's own answer.
    async fn answer(&mut self, mut response: ChatResponse) -> Result<ChatResponse, ChatError> {
        // Calls without a result stay out of the history.
        if !response.has_tool_calls() {
            let message = response.message().cloned().unwrap_or_default();
            self.end_with(message).await?;
        }
        response.usage = self.usage;
        response.exchange = self.exchange();
        Ok(response)
    }

    /// Ends the turn with the results of tools.
    async fn return_direct(
        &mut self,
        response: ChatResponse,
        generations: Vec<Generation>,
        events: &Emitter,
    ) -> Result<Box<ChatResponse>, ChatError> {
        let mut response = ChatResponse { generations, usage: self.usage, ..response };
        let text = response.text();
        events.emit(ChatEvent::Text(text.clone())).await;
        // The user saw it, so it belongs to the conversation.
        self.end_with(AssistantMessage::new(text)).await?;
        response.exchange = self.exchange();
        Ok(Box::new(response))
    }

    /// Ends the history with the answer and saves the turn.
    async fn end_with(&mut self, message: AssistantMessage) -> Result<(), ChatError> {
        self.history.push(message.into());
        self.save().await
    }

    /// Stores the turn, which waits for decisions.
    fn suspend(&mut self, response: ChatResponse, names: &Option<Vec<String>>) -> ChatResponse {
        let mut options = ChatOptions { tool_names: names.clone(), ..self.prompt.options.clone() };
        // Code and secrets are given again.
        (options.tools, options.context) = (None, None);
        options.added_tools.clear();
        let state = RunState {
            exchange: self.exchange(),
            response: response.clone(),
            turn: std::mem::take(&mut self.turn),
            options,
            conversation: self.conversation.clone(),
            saved: self.saved,
        };
        let mut response = ChatResponse { usage: self.usage, exchange: state.exchange.clone(), ..response };
        for generation in &mut response.generations {
            generation.finish_reason = FinishReason::Suspended;
        }
        response.suspended = Some(Box::new(state));
        response
    }

    /// Takes the history, at the end of the turn.
    fn exchange(&mut self) -> Exchange {
        Exchange { history: std::mem::take(&mut self.history), usage: self.usage, start: self.start }
    }

    /// Adds to an error what was said until then.
    fn complete(&mut self, error: ChatError) -> ChatError {
        let sent = self.prompt.messages.len();
        let mut exchange = self.exchange();
        exchange.usage += self.partial_usage;
        let (cause, done) = error.into_parts();
        // A manager that ended the turn reports its last round.
        let new = done.history.get(sent..).unwrap_or_default();
        exchange.history.extend_from_slice(new);
        debug!(target: "opentool::chat", cause = cause.as_str(), "the turn ended without an answer");
        ChatError::from(cause).with_exchange(exchange)
    }
}

/// Puts an answer together while it comes, and keeps what is known of its usage.
async fn assemble(
    mut stream: BoxStream<'_, Result<Delta, ChatError>>,
    events: &Emitter,
    used: &mut Usage,
) -> Result<ChatResponse, ChatError> {
    let mut assembly = Assembly::new();
    while let Some(delta) = stream.next().await {
        let delta = delta?;
        match &delta {
            Delta::Text(text) if !text.is_empty() => events.emit(ChatEvent::Text(text.clone())).await,
            Delta::Reasoning(text) if !text.is_empty() => events.emit(ChatEvent::Reasoning(text.clone())).await,
            Delta::Usage(usage) => *used = *usage,
            _ => {}
        }
        assembly.push(delta);
    }
    Ok(assembly.finish())
}
