//! The loop: ask the model, run the calls of its answer, ask again with their results, until an answer has no calls.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use opentool_core::Cancellation;
use tracing::debug;

use super::ids::Ids;
use super::memory::SavePoint;
use super::turn_state::TurnState;
use crate::assembly::Assembly;
use crate::definitions::ToolDefinitions;
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::event::ChatEvent;
use crate::generation::FinishReason;
use crate::manager::ToolExecutionResult;
use crate::message::{AssistantMessage, Message};
use crate::options::{AtLimit, ToolChoice};
use crate::response::ChatResponse;

/// How often a turn goes on with an answer that its provider paused.
const MOST_PAUSES: usize = 10;

/// What the loop does next.
enum Step {
    Ask,
    Return(Box<ChatResponse>),
}

impl TurnState {
    /// Runs the turn to its end and emits what happens.
    pub(super) async fn finish(mut self, events: Emitter) -> Result<ChatResponse, ChatError> {
        let cancellation = self.prompt.options.cancellation();
        if let Some(recorder) = self.recorder.as_ref().filter(|recorder| recorder.is_whole_run()) {
            events.emit(ChatEvent::Run(recorder.id().clone())).await;
        }
        let ended = match self.prompt.options.turn_timeout {
            Some(time) => self.rounds_within(time, &events, &cancellation).await,
            None => self.rounds(&events, &cancellation).await,
        };
        let ended = match ended {
            Ok(response) => Ok(response),
            Err(error) => Err(self.fail(error).await),
        };
        match &self.recorder {
            Some(recorder) => Self::end_run(recorder, ended).await,
            None => ended,
        }
    }

    /// Runs the rounds and cancels them when their time is over.
    ///
    /// They are not dropped: the calls that run then have an outcome, which belongs to the history.
    async fn rounds_within(
        &mut self,
        time: Duration,
        events: &Emitter,
        cancellation: &Cancellation,
    ) -> Result<ChatResponse, ChatError> {
        let deadline = cancellation.child();
        let context = self.prompt.options.context.take().unwrap_or_default();
        self.prompt.options.context = Some(context.with_cancellation(deadline.clone()));
        let rounds = pin!(self.rounds(events, &deadline));
        match select(rounds, pin!(tokio::time::sleep(time))).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), rounds)) => {
                deadline.cancel();
                rounds.await.map_err(|error| match error.into_parts() {
                    (Cause::Cancelled, done) => ChatError::from(Cause::Deadline { after: time }).with_exchange(done),
                    (cause, done) => ChatError::from(cause).with_exchange(done),
                })
            }
        }
    }

    async fn rounds(&mut self, events: &Emitter, cancellation: &Cancellation) -> Result<ChatResponse, ChatError> {
        self.ids = Ids::new(&mut self.prompt.messages, self.suspended.as_ref());
        self.history.clone_from(&self.prompt.messages);
        self.prompt.messages.iter_mut().for_each(Message::show_failure);
        let model = self.model.clone();
        let resolving = model.manager.resolve_tool_definitions(&self.prompt.options);
        let definitions = cancellation.guard(resolving).await.ok_or(Cause::Cancelled)??;
        debug!(target: "opentool::chat", tools = definitions.len(), "resolved the tools of the request");
        self.tool_names = self.pin_tools(&definitions);
        let definitions = self.begin_typed(&definitions)?;
        self.record_request(&definitions).await?;
        loop {
            let response = match self.suspended.take() {
                // Its calls were found eligible before they had to wait.
                Some(response) => response,
                None => {
                    let recorded = self.recorded_answer(events).await;
                    let is_recorded = recorded.is_some();
                    let mut response = match recorded {
                        Some(response) => response,
                        None => {
                            let asking = self.ask(&definitions, events);
                            cancellation.guard(asking).await.ok_or(Cause::Cancelled)??
                        }
                    };
                    self.ids.settle(&mut response, &definitions);
                    if !is_recorded {
                        self.record_answer(&response).await?;
                    }
                    self.count(&response);
                    events.emit(ChatEvent::Usage(response.usage)).await;
                    self.take_answer_call(&mut response);
                    self.check_limit(&response)?;
                    if self.is_paused(&response) {
                        continue;
                    }
                    if !self.is_eligible(&response) {
                        if response.has_tool_calls() || self.check_form(&mut response)? {
                            return self.answer(response).await;
                        }
                        continue;
                    }
                    response
                }
            };
            match self.execute(response, events).await? {
                Step::Ask => {}
                Step::Return(response) => return Ok(*response),
            }
        }
    }

    /// Counts what an answer has used.
    fn count(&mut self, response: &ChatResponse) {
        self.usage += response.usage;
        self.coming = Assembly::new();
        self.cost = self.cost.and_then(|cost| {
            let model = response.model.as_deref().or_else(|| self.model.model_name(&self.prompt.options))?;
            Some(cost + self.model.prices.as_ref()?.cost(model, &response.usage)?)
        });
    }

    /// Takes an answer that its provider paused: sent back as it is, it goes on.
    fn is_paused(&mut self, response: &ChatResponse) -> bool {
        let is_paused = response.finish_reason() == Some(&FinishReason::Paused) && !response.has_tool_calls();
        let Some(message) = response.message().filter(|_| is_paused && self.paused.len() < MOST_PAUSES) else {
            return false;
        };
        debug!(target: "opentool::chat", "the provider paused the answer");
        self.paused.push(message.text.clone());
        self.history.push(message.clone().into());
        self.prompt.messages.push(message.clone().into());
        if let Some(recorder) = &mut self.recorder {
            // It is in the run as an answer.
            recorder.recorded += 1;
        }
        true
    }

    /// Fixes the tools of the request for all its rounds; returns the names that were asked for.
    fn pin_tools(&mut self, definitions: &ToolDefinitions) -> Option<Vec<String>> {
        let Some(toolbox) = definitions.toolbox() else { return self.prompt.options.tool_names.clone() };
        self.prompt.options.tools = Some(toolbox.clone().into());
        self.prompt.options.added_tools.clear();
        self.prompt.options.tool_names.take()
    }

    fn is_eligible(&self, response: &ChatResponse) -> bool {
        let options = &self.prompt.options;
        options.internal_execution != Some(false)
            && response.has_tool_calls()
            && self.model.eligibility.as_ref().is_none_or(|predicate| predicate.is_eligible(options, response))
    }

    /// Runs the calls of an answer.
    async fn execute(&mut self, response: ChatResponse, events: &Emitter) -> Result<Step, ChatError> {
        let executed = match self.recorded_round() {
            Some(executed) => executed,
            None => {
                self.recover_round(&response);
                let manager = self.model.manager.clone();
                let execution = manager.execute_tool_calls(&self.prompt, &response, &mut self.turn);
                let executed = execution.emit_to(events.clone()).await;
                self.record_round(&executed).await?;
                executed
            }
        };
        let result = match executed {
            Err(error) => return self.answer_at_limit(error).await,
            Ok(result) => result,
        };
        if !result.pending.is_empty() {
            debug!(target: "opentool::chat", calls = result.pending.len(), "calls wait for a decision");
            self.record_suspended(&response).await?;
            return Ok(Step::Return(Box::new(self.suspend(response))));
        }
        let direct = (result.return_direct && self.typed.is_none()).then(|| result.generations());
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
            // What the memory returns is needed only where the model is asked next.
            Some(memory)
                if memory.save == SavePoint::AfterRound
                    && self.recorder.as_ref().is_none_or(|recorder| !recorder.is_replaying()) =>
            {
                self.save_and_reload().await
            }
            _ => {
                self.prompt.messages = result.conversation_history;
                Ok(())
            }
        }
    }

    async fn save_and_reload(&mut self) -> Result<(), ChatError> {
        self.save().await?;
        let Some(memory) = &self.memory else { return Ok(()) };
        let mut messages = memory.load().await?;
        messages.iter_mut().for_each(Message::show_failure);
        let before = std::mem::replace(&mut self.ids, Ids::new(&mut messages, None));
        self.ids.extend(before);
        self.prompt.messages = messages;
        Ok(())
    }

    /// Goes on with a turn that has reached a limit: the model is asked for an answer, and may call nothing.
    ///
    /// The tools stay in the request, since providers refuse a history with calls of tools that it does not list.
    async fn answer_at_limit(&mut self, error: ChatError) -> Result<Step, ChatError> {
        let is_round = error.exchange().history.len() > self.prompt.messages.len();
        if !matches!(error.cause(), Cause::Limit(_)) || !is_round || self.prompt.options.at_limit == Some(AtLimit::Fail)
        {
            return Err(error);
        }
        let (cause, done) = error.into_parts();
        if let Cause::Limit(limit) = cause {
            debug!(target: "opentool::chat", %limit, "a limit is reached; the model is asked for an answer");
            self.limit = Some(limit);
        }
        self.take_round(ToolExecutionResult::new(done.history)).await?;
        self.prompt.options.tool_choice = Some(ToolChoice::None);
        Ok(Step::Ask)
    }

    /// Refuses a call of a model that was asked for an answer because a limit is reached.
    fn check_limit(&mut self, response: &ChatResponse) -> Result<(), ChatError> {
        match &self.limit {
            Some(limit) if response.has_tool_calls() => {
                let message = response.message().cloned().unwrap_or_default();
                self.unused = Some(AssistantMessage { tool_calls: Vec::new(), ..message });
                Err(Cause::Limit(limit.clone()).into())
            }
            _ => Ok(()),
        }
    }
}
