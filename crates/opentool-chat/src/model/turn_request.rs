//! The start of every turn: [`TurnRequest`], which merges the options and opens the span.

use std::sync::Arc;

use opentool_core::{Decision, Turn};

use super::memory::{SavePoint, TurnMemory};
use super::parts::ModelParts;
use super::run::Run;
use super::span::WorkSpan;
use crate::answer_form::SharedForm;
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::memory::ChatMemory;
use crate::message::Message;
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::{ChatResponse, RunState};

/// A turn that is asked for, by a client or of a model directly.
#[derive(Default)]
pub(crate) struct TurnRequest {
    pub(crate) subject: Subject,
    /// The defaults of the client.
    pub(crate) defaults: ChatOptions,
    /// The options of this turn.
    pub(crate) options: ChatOptions,
    pub(crate) conversation: Option<String>,
    pub(crate) memory: Option<(Arc<dyn ChatMemory>, SavePoint)>,
    /// The form that the answer must have.
    pub(crate) form: Option<SharedForm>,
    /// Decisions about the calls of a run that is resumed.
    pub(crate) decisions: Vec<(String, Decision)>,
}

/// What a turn is about.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A question, behind system messages that no memory keeps.
    Ask { system: Vec<Message>, messages: Vec<Message> },
    /// A run that waited for decisions.
    Resume(Box<RunState>),
}

impl Default for Subject {
    fn default() -> Self {
        Self::Ask { system: Vec::new(), messages: Vec::new() }
    }
}

impl From<Prompt> for TurnRequest {
    fn from(prompt: Prompt) -> Self {
        let subject = Subject::Ask { system: Vec::new(), messages: prompt.messages };
        Self { subject, options: prompt.options, ..Self::default() }
    }
}

impl TurnRequest {
    pub(crate) fn resume(state: RunState, options: ChatOptions) -> Self {
        Self { subject: Subject::Resume(Box::new(state)), options, ..Self::default() }
    }

    /// Runs the turn to its end, in a span of its own.
    pub(super) async fn run(self, model: Arc<ModelParts>, events: Emitter) -> Result<ChatResponse, ChatError> {
        let options = self.merge_options(&model.options);
        let conversation = match &self.subject {
            Subject::Resume(state) => state.conversation.clone().or_else(|| self.conversation.clone()),
            Subject::Ask { .. } => self.conversation.clone(),
        };
        let span = WorkSpan::for_turn(&model, &options, conversation.as_deref());
        let turn = async move { self.start(model, options, conversation).await?.finish(events).await };
        span.around(turn).await
    }

    /// Merges the options: the model's, the client's, those of the run that is resumed, those of this turn.
    fn merge_options(&self, model: &ChatOptions) -> ChatOptions {
        let options = model.merge(&self.defaults);
        let options = match &self.subject {
            Subject::Resume(state) => options.merge(&state.options),
            Subject::Ask { .. } => options,
        };
        options.merge(&self.options)
    }

    async fn start(
        self,
        model: Arc<ModelParts>,
        options: ChatOptions,
        conversation: Option<String>,
    ) -> Result<Run, ChatError> {
        let Self { mut subject, memory, decisions, form, .. } = self;
        let options = named_by(options, conversation.as_deref());
        decide(&mut subject, decisions)?;
        let memory = match (memory, &conversation) {
            (Some((memory, save)), Some(conversation)) => {
                Some(TurnMemory { memory, conversation: conversation.clone(), save, system: subject.system() })
            }
            (Some(_), None) => {
                let message = "the client has a memory, so a request must name its conversation: `.conversation(id)`";
                return Err(ChatError::setup(message));
            }
            (None, _) => None,
        };
        let run = match subject {
            Subject::Ask { system, messages } => {
                let cancellation = options.cancellation();
                let (messages, saved) = match &memory {
                    // Another process may hold the memory, and a cancelled turn must not wait for it.
                    Some(memory) => {
                        let (messages, saved) =
                            cancellation.guard(memory.begin(messages)).await.ok_or(Cause::Cancelled)??;
                        (messages, Some(saved))
                    }
                    None => ([system, messages].concat(), None),
                };
                Run::new(model, Prompt::new(messages).with_options(options), saved)
            }
            Subject::Resume(state) => Run::resume(model, *state, options),
        };
        Ok(run.in_conversation(conversation, memory).with_form(form))
    }
}

/// The options with the conversation as the caller of tools, where the application names none.
fn named_by(mut options: ChatOptions, conversation: Option<&str>) -> ChatOptions {
    if let Some(conversation) = conversation {
        let context = options.context.take().unwrap_or_default();
        let is_named = context.caller().is_some();
        options.context = Some(if is_named { context } else { context.with_caller(conversation) });
    }
    options
}

impl Subject {
    /// The system messages of the turn.
    fn system(&self) -> Vec<Message> {
        match self {
            Self::Ask { system, .. } => system.clone(),
            Self::Resume(state) => {
                let is_system = |message: &&Message| matches!(message, Message::System(_));
                state.exchange.history.iter().take_while(is_system).cloned().collect()
            }
        }
    }
}

/// Applies the decisions; one about a call that does not wait is an error.
fn decide(subject: &mut Subject, decisions: Vec<(String, Decision)>) -> Result<(), ChatError> {
    let mut none = Turn::new();
    let turn = match subject {
        Subject::Resume(state) => &mut state.turn,
        Subject::Ask { .. } => &mut none,
    };
    for (call_id, decision) in decisions {
        turn.decide(&call_id, decision).map_err(|error| ChatError::setup(error.to_string()))?;
    }
    Ok(())
}
