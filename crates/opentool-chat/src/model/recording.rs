//! What a turn notes in its run while it goes on, and how it goes through what was noted before.

use opentool_core::{RunError, RunStatus, RunStep, WaitingCall, WaitsFor};
use tracing::{debug, warn};

use super::memory::TurnMemory;
use super::recorder::TurnRecorder;
use super::turn_state::TurnState;
use crate::definitions::ToolDefinitions;
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::event::ChatEvent;
use crate::exchange::Exchange;
use crate::manager::ToolExecutionResult;
use crate::message::Message;
use crate::options::ChatOptions;
use crate::response::ChatResponse;
use crate::run_steps::{
    ANSWER, AnswerStep, EndStep, FailedTool, REQUEST, ROUND, RequestStep, RoundStep, RunFailure, SuspendedStep,
    ToolDescription,
};

/// The options without code and secrets, which are given again.
pub(super) fn storable(options: &ChatOptions) -> ChatOptions {
    let mut options = options.clone();
    (options.tools, options.context) = (None, None);
    options.added_tools.clear();
    options
}

impl TurnState {
    /// Notes what the model is asked.
    pub(super) async fn record_request(&mut self, definitions: &ToolDefinitions) -> Result<(), ChatError> {
        let Some(recorder) = self.recorder.as_mut().filter(|recorder| !recorder.has_request) else { return Ok(()) };
        let tools = definitions.iter().map(|definition| ToolDescription {
            name: definition.name().to_owned(),
            description: definition.description().to_owned(),
            input_schema: definition.input_schema().clone(),
        });
        let options = &self.prompt.options;
        let step = RequestStep {
            within: recorder.within().to_owned(),
            messages: self.history.clone(),
            start: self.start,
            saved: self.saved,
            options: ChatOptions { tool_names: self.tool_names.clone(), ..storable(options) },
            conversation: self.conversation.clone(),
            provider: self.model.provider.name().to_owned(),
            model: self.model.model_name(options).map(str::to_owned),
            tools: tools.collect(),
            form: self.typed.as_ref().map(|typed| typed.form.describe()),
            details: self.details.take(),
        };
        recorder.note(REQUEST, &step).await?;
        (recorder.has_request, recorder.recorded) = (true, self.history.len());
        Ok(())
    }

    /// Takes an answer that was recorded before, as if the model had given it now.
    pub(super) async fn recorded_answer(&mut self, events: &Emitter) -> Option<ChatResponse> {
        let response = self.recorder.as_mut()?.next_answer()?;
        debug!(target: "opentool::chat", "an answer of the model is recorded");
        // The reader of this stream has not seen it.
        for generation in &response.generations {
            if !generation.message.text.is_empty() {
                events.emit(ChatEvent::Text(generation.message.text.to_string())).await;
            }
        }
        Some(response)
    }

    /// Notes an answer, before a call of it runs.
    pub(super) async fn record_answer(&self, response: &ChatResponse) -> Result<(), ChatError> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let step = AnswerStep {
            within: recorder.within().to_owned(),
            round: self.turn.rounds() + 1,
            sent: self.prompt.messages.len(),
            response: response.clone(),
        };
        recorder.note(ANSWER, &step).await
    }

    /// Takes a round that was recorded before, as if its calls had run now.
    pub(super) fn recorded_round(&mut self) -> Option<Result<ToolExecutionResult, ChatError>> {
        let recorder = self.recorder.as_mut()?;
        let RoundStep { messages, turn, return_direct, limit, failed, .. } = recorder.next_round()?;
        debug!(target: "opentool::chat", round = turn.rounds(), "a round of calls is recorded");
        recorder.recorded += messages.len();
        self.turn = turn;
        let history = [self.prompt.messages.as_slice(), &messages].concat();
        let cause = match (limit, failed) {
            (Some(limit), _) => Cause::Limit(limit),
            (None, Some(FailedTool { tool, error })) => Cause::Tool { tool: tool.into(), error },
            (None, None) => return Some(Ok(ToolExecutionResult::new(history).with_return_direct(return_direct))),
        };
        Some(Err(ChatError::from(cause).with_exchange(Exchange::new(&self.prompt, history))))
    }

    /// Takes up the round that was interrupted, so that what ran does not run again.
    pub(super) fn recover_round(&mut self, response: &ChatResponse) {
        let Some(recorder) = &mut self.recorder else { return };
        let Some((log, suspended, decisions)) = recorder.take_interrupted() else { return };
        if let Some(SuspendedStep { turn, calls, .. }) = suspended {
            self.turn = turn;
            for decided in decisions {
                if let Some(call) = calls.iter().find(|call| call.place == decided.place) {
                    // What does not wait any more was decided before.
                    let _ = self.turn.decide(&call.call_id, decided.decision);
                }
            }
        }
        let (place, calls) = (recorder.place(), response.tool_calls());
        let round = self.turn.rounds() + 1;
        let has_begun = |index: usize| log.call(&place.call_place(round, index)).is_some();
        if self.turn.is_in_round() || (0..calls.len()).any(has_begun) {
            self.turn.recover_round(calls, place, &log);
        }
    }

    /// Notes that every call of an answer has its outcome.
    pub(super) async fn record_round(
        &mut self,
        executed: &Result<ToolExecutionResult, ChatError>,
    ) -> Result<(), ChatError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let history = match executed {
            Ok(result) if !result.pending.is_empty() => return Ok(()),
            Ok(result) => &result.conversation_history,
            Err(error) => &error.exchange().history,
        };
        let messages = history.get(self.prompt.messages.len()..).unwrap_or_default();
        if messages.is_empty() {
            return Ok(());
        }
        let mut step = RoundStep {
            within: recorder.within().to_owned(),
            round: self.turn.rounds(),
            messages: messages.to_vec(),
            turn: self.turn.clone(),
            return_direct: executed.as_ref().is_ok_and(|result| result.return_direct),
            ..RoundStep::default()
        };
        match executed.as_ref().map_err(ChatError::cause) {
            Err(Cause::Limit(limit)) => step.limit = Some(limit.clone()),
            Err(Cause::Tool { tool, error }) => step.failed = Some(FailedTool::new(tool, error)),
            _ => {}
        }
        recorder.note(ROUND, &step).await?;
        recorder.recorded += step.messages.len();
        Ok(())
    }

    /// Notes which calls of a round wait.
    pub(super) async fn record_suspended(&self, response: &ChatResponse) -> Result<(), ChatError> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let (place, round) = (recorder.place(), self.turn.rounds());
        let log = place.run().log().await?;
        let pending: Vec<_> = self.turn.pending().map(|call| call.id.clone()).collect();
        let calls = response.tool_calls().iter().enumerate().filter(|(_, call)| pending.contains(&call.id));
        let calls = calls.map(|(index, call)| {
            let place = place.call_place(round, index);
            let waits_for = if log.call(&place).is_some() { WaitsFor::Outcome } else { WaitsFor::Approval };
            WaitingCall::new(place, call, waits_for)
        });
        let step = SuspendedStep {
            within: recorder.within().to_owned(),
            round,
            turn: self.turn.clone(),
            calls: calls.collect(),
        };
        recorder.note(RunStep::SUSPENDED, &step).await
    }

    /// Notes how the turn ended, and gives the run back.
    pub(super) async fn end_run(
        recorder: &TurnRecorder,
        ended: Result<ChatResponse, ChatError>,
    ) -> Result<ChatResponse, ChatError> {
        let (status, step) = match &ended {
            Ok(response) if response.suspended.is_some() => (RunStatus::Waiting, None),
            Ok(response) => {
                let Exchange { history, cost, .. } = response.exchange();
                let mut step = EndStep::new(recorder.within(), response.end());
                step.messages = history.get(recorder.recorded..).unwrap_or_default().to_vec();
                step.cost = *cost;
                step.response = Some(ChatResponse { exchange: Exchange::default(), ..response.clone() });
                (RunStatus::Done, Some(step))
            }
            // What another process has taken over is its own.
            Err(error) if matches!(error.cause(), Cause::Run(RunError::Lost { .. })) => return ended,
            Err(error) => {
                let mut step = EndStep::new(recorder.within(), error.end());
                step.error = Some(RunFailure::new(error.cause().as_str(), error.to_string()));
                (RunStatus::Failed, Some(step))
            }
        };
        if let Err(problem) = recorder.end(status, step.as_ref()).await {
            // The answer is recorded; only that it is the last one is not.
            warn!(target: "opentool::chat", %problem, "the end of a run cannot be recorded");
        }
        ended
    }

    /// Adds to the memory what it does not have yet.
    pub(super) async fn save(&mut self) -> Result<(), ChatError> {
        if let Some(memory) = &self.memory {
            let (messages, upto) = (self.history.get(self.saved..).unwrap_or_default(), self.history.len());
            Self::keep(self.recorder.as_ref(), memory, messages, upto).await?;
            self.saved = self.saved.max(upto);
        }
        Ok(())
    }

    /// Adds messages to the memory.
    pub(super) async fn keep(
        recorder: Option<&TurnRecorder>,
        memory: &TurnMemory,
        messages: &[Message],
        upto: usize,
    ) -> Result<(), ChatError> {
        match recorder {
            Some(recorder) => recorder.keep(memory, messages, upto).await,
            None => Ok(memory.add(messages).await?),
        }
    }
}
