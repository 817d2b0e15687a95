//! Typed answers: how the model is held to the form of an answer, and what happens to one that does not have it.

use opentool_core::{ErrorKind, ToolCall};
use tracing::debug;

use super::turn_state::TurnState;
use super::typed_turn::TypedTurn;
use crate::answer_form::{ANSWER_TOOL, FormViolation};
use crate::definitions::ToolDefinitions;
use crate::error::{Cause, ChatError};
use crate::generation::FinishReason;
use crate::message::{AssistantMessage, Message, ToolAnswer, ToolMessage};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

impl TurnState {
    /// Chooses the means; returns the definitions that the model is sent.
    pub(super) fn begin_typed(&mut self, definitions: &ToolDefinitions) -> Result<ToolDefinitions, ChatError> {
        let Some(typed) = &mut self.typed else { return Ok(definitions.clone()) };
        typed.has_tools = !definitions.is_empty();
        typed.means = self.model.provider.typed_answers(typed.has_tools);
        debug!(target: "opentool::chat", means = ?typed.means, "the answer must have a form");
        if typed.means != TypedAnswers::ForcedTool {
            return Ok(definitions.clone());
        }
        if definitions.iter().any(|definition| definition.name() == ANSWER_TOOL) {
            return Err(ChatError::setup(format!(
                "a tool of the request is named `{ANSWER_TOOL}`, which is how the model gives a typed answer: rename it"
            )));
        }
        let answer = typed.form.tool()?;
        Ok(ToolDefinitions::new(definitions.iter().cloned().chain([answer]).collect()))
    }

    /// Takes the call by which a model answers out of an answer.
    ///
    /// Where it stands beside other calls, those are run first, and the model answers when it knows their results.
    pub(super) fn take_answer_call(&mut self, response: &mut ChatResponse) {
        // One that was recorded may come from a model that was held to the form by other means.
        let is_resumed = self.recorder.is_some();
        let is_meant = |typed: &&mut TypedTurn| is_resumed || typed.means == TypedAnswers::ForcedTool;
        let Some(typed) = self.typed.as_mut().filter(is_meant) else { return };
        typed.call = None;
        for generation in &mut response.generations {
            let calls = &mut generation.message.tool_calls;
            let Some(answer) = calls.iter().find(|call| *call.name == *ANSWER_TOOL).cloned() else { continue };
            calls.retain(|call| *call.name != *ANSWER_TOOL);
            // What a provider keeps of a message is about the message as it was.
            generation.message.provider_data.clear();
            if generation.message.tool_calls.is_empty() {
                generation.message.text = answer.arguments.as_str().into();
                if generation.finish_reason == FinishReason::ToolCalls {
                    generation.finish_reason = FinishReason::Stop;
                }
                typed.call = Some(answer);
            }
        }
    }

    /// Checks an answer. Where it does not have the form, the model is sent what is wrong and has to be asked again.
    ///
    /// Answers that were not taken stay out of the history, since the user never sees them.
    pub(super) fn check_form(&mut self, response: &mut ChatResponse) -> Result<bool, ChatError> {
        let Some(typed) = &mut self.typed else { return Ok(true) };
        let Some(generation) = response.generations.first_mut() else { return Ok(true) };
        // What came before a pause is a part of the answer that is checked.
        let paused: Vec<_> = self.paused.drain(..).collect();
        if !paused.is_empty() {
            generation.message.text = [&paused.concat(), &*generation.message.text].concat().into();
        }
        typed.tries += 1;
        let said = &*generation.message.text;
        let hopeless = match generation.finish_reason {
            FinishReason::Length => Some("it was cut off, because it ran out of tokens".to_owned()),
            FinishReason::ContentFilter => Some("the provider withheld it".to_owned()),
            FinishReason::Refused => Some(format!("the model refuses: {said}")),
            _ => None,
        };
        let violation = match typed.form.check(said) {
            Ok(answer) => {
                generation.message.text = answer.into();
                return Ok(true);
            }
            Err(violation) => violation,
        };
        // Without what is wrong with it, which quotes the answer.
        debug!(target: "opentool::chat", tries = typed.tries, "the answer does not have its form");
        let call = typed.call.take();
        if hopeless.is_some() || typed.tries >= typed.form.tries() {
            self.unused = Some(generation.message.clone());
            let message = hopeless.unwrap_or(violation.0);
            return Err(Cause::Form { message, tries: typed.tries }.into());
        }
        self.prompt.messages.extend(correction(generation.message.clone(), call, &violation));
        Ok(false)
    }
}

/// An answer that was not taken, and what is wrong with it.
fn correction(said: AssistantMessage, call: Option<ToolCall>, violation: &FormViolation) -> [Message; 2] {
    let problem = &violation.0;
    match call {
        Some(call) => {
            let answer = ToolAnswer::new(
                call.id.clone(),
                call.name.clone(),
                format!(
                    "the answer does not follow the schema: {problem}; call {ANSWER_TOOL} again with an answer that does"
                ),
            );
            let called = AssistantMessage { text: "".into(), tool_calls: vec![call], ..said };
            [called.into(), ToolMessage::new(vec![answer.with_error(ErrorKind::InvalidArguments)]).into()]
        }
        None => {
            let text = format!(
                "Your answer does not follow the JSON Schema: {problem}. Answer again, with JSON only that does."
            );
            [said.into(), Message::user(text)]
        }
    }
}
