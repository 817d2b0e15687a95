//! The ways in which a turn ends.

use tracing::{debug, warn};

use super::recording::storable;
use super::turn_state::TurnState;
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::event::ChatEvent;
use crate::exchange::Exchange;
use crate::generation::{FinishReason, Generation};
use crate::message::{AssistantMessage, Message};
use crate::options::ChatOptions;
use crate::response::{ChatResponse, RunState};

impl TurnState {
    /// Ends the turn with the model's own answer.
    pub(super) async fn answer(&mut self, mut response: ChatResponse) -> Result<ChatResponse, ChatError> {
        // Calls without a result stay out of the history.
        if !response.has_tool_calls() {
            let message = response.message().cloned().unwrap_or_default();
            self.end_with(message).await?;
        }
        // The caller gets one answer, whatever the provider made of it.
        if let Some(generation) = response.generations.first_mut().filter(|_| !self.paused.is_empty()) {
            generation.message.text = [&self.paused.concat(), &*generation.message.text].concat().into();
        }
        response.usage = self.usage;
        response.at_limit = self.limit.is_some();
        response.exchange = self.exchange();
        Ok(response)
    }

    /// Ends the turn with the results of tools.
    pub(super) async fn return_direct(
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
    pub(super) fn suspend(&mut self, response: ChatResponse) -> ChatResponse {
        let options = ChatOptions { tool_names: self.tool_names.clone(), ..storable(&self.prompt.options) };
        let state = RunState {
            exchange: self.exchange(),
            response: response.clone(),
            turn: std::mem::take(&mut self.turn),
            options,
            conversation: self.conversation.clone(),
            saved: self.saved,
            run: self.recorder.as_ref().map(|recorder| recorder.id().to_string()),
        };
        let mut response = ChatResponse { usage: self.usage, exchange: state.exchange.clone(), ..response };
        for generation in &mut response.generations {
            generation.finish_reason = FinishReason::Suspended;
        }
        response.suspended = Some(Box::new(state));
        response
    }

    /// Ends the turn without an answer: adds to the error what was said until then, and keeps what must not be forgotten.
    pub(super) async fn fail(&mut self, error: ChatError) -> ChatError {
        let error = self.complete(error);
        if let Err(problem) = self.save_failure(&error).await {
            warn!(target: "opentool::chat", %problem, "a turn that failed could not be kept in the memory");
        }
        error
    }

    /// Takes the history, at the end of the turn.
    fn exchange(&mut self) -> Exchange {
        let history = std::mem::take(&mut self.history);
        Exchange { history, usage: self.usage, cost: self.cost, partial: None, start: self.start }
    }

    /// Adds to an error what was said until then.
    fn complete(&mut self, error: ChatError) -> ChatError {
        let sent = self.prompt.messages.len();
        let mut exchange = self.exchange();
        let coming = std::mem::take(&mut self.coming);
        exchange.usage += coming.usage();
        exchange.partial = self.unused.take().or_else(|| coming.partial());
        let (cause, done) = error.into_parts();
        // A manager that ended the turn reports its last round.
        let new = done.history.get(sent..).unwrap_or_default();
        exchange.history.extend_from_slice(new);
        debug!(target: "opentool::chat", cause = cause.as_str(), "the turn ended without an answer");
        ChatError::from(cause).with_exchange(exchange)
    }

    /// Keeps a turn in which a tool ran or a text began, marked as failed: the effect of a call stays when the turn fails.
    async fn save_failure(&self, error: &ChatError) -> Result<(), ChatError> {
        let (Some(memory), exchange, cause) = (&self.memory, error.exchange(), error.cause()) else { return Ok(()) };
        let partial = exchange.partial.clone().unwrap_or_default();
        let ran = exchange.messages().iter().any(|message| matches!(message, Message::Tool(_) | Message::Assistant(_)));
        // A memory that has just failed is not asked again.
        // One that fails because of its journal may go on in another process, which then adds it.
        if matches!(cause, Cause::Memory(_) | Cause::Run(_)) || (!ran && partial.text.is_empty()) {
            return Ok(());
        }
        let mut messages = exchange.history.get(self.saved..).unwrap_or_default().to_vec();
        messages.push(partial.with_failure(cause.as_str()).into());
        Self::keep(self.recorder.as_ref(), memory, &messages, exchange.history.len()).await
    }
}
