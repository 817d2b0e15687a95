//! Typed answers: how the model is held to the form of an answer, and what happens to one that does not have it.

use std::borrow::Cow;

use opentool_core::{ErrorKind, ToolCall};
use tracing::debug;

use super::run::Run;
use crate::answer_form::{ANSWER_TOOL, FormViolation, SharedForm};
use crate::definitions::ToolDefinitions;
use crate::error::{Cause, ChatError};
use crate::generation::FinishReason;
use crate::message::{AssistantMessage, Message, ToolAnswer, ToolMessage};
use crate::options::{ChatOptions, ToolChoice};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// The form of a turn's answer, and by which means the model is held to it.
pub(super) struct TypedTurn {
    form: SharedForm,
    means: TypedAnswers,
    /// How many answers were checked.
    tries: u32,
    /// The call by which the model gave the answer that is checked.
    call: Option<ToolCall>,
    /// Whether the request has other tools.
    has_tools: bool,
}

impl TypedTurn {
    pub(super) fn new(form: SharedForm) -> Self {
        Self { form, means: TypedAnswers::Prompt, tries: 0, call: None, has_tools: false }
    }

    /// The options of the next request, with what holds the model to the form.
    pub(super) fn options<'a>(typed: Option<&Self>, options: &'a ChatOptions) -> Cow<'a, ChatOptions> {
        let Some(typed) = typed else { return Cow::Borrowed(options) };
        let mut options = options.clone();
        match typed.means {
            TypedAnswers::Native => options.response_format = Some(typed.form.format().clone()),
            TypedAnswers::ForcedTool => {
                let answer = || ToolChoice::Named(ANSWER_TOOL.to_owned());
                options.tool_choice = Some(match options.tool_choice {
                    // It may call nothing else: because of a limit, or because the application says so.
                    Some(ToolChoice::None) => answer(),
                    Some(ToolChoice::Named(name)) => ToolChoice::Named(name),
                    _ if typed.has_tools => ToolChoice::Required,
                    _ => answer(),
                });
            }
            TypedAnswers::Prompt => {}
        }
        Cow::Owned(options)
    }

    /// The messages of the next request, with the form in words where there is no other means.
    pub(super) fn messages<'a>(typed: Option<&Self>, messages: &'a [Message]) -> Cow<'a, [Message]> {
        match typed {
            Some(typed) if typed.means == TypedAnswers::Prompt => {
                let system = messages.iter().take_while(|message| matches!(message, Message::System(_))).count();
                let mut messages = messages.to_vec();
                messages.insert(system, Message::system(typed.form.instruction()));
                Cow::Owned(messages)
            }
            _ => Cow::Borrowed(messages),
        }
    }
}

impl Run {
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
        let Some(typed) = self.typed.as_mut().filter(|typed| typed.means == TypedAnswers::ForcedTool) else { return };
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
