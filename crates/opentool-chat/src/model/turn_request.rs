//! The start of every turn: [`TurnRequest`], which merges the options and opens the span.

use std::sync::Arc;

use opentool_core::{Decision, RunError, RunJournal, RunLog, RunPlace, RunStatus, ToolContext, Turn};
use serde_json::Value;

use super::memory::{SavePoint, TurnMemory};
use super::parts::ModelParts;
use super::recorder::{RecordedMemory, RecordedTurn, TurnRecorder};
use super::span::WorkSpan;
use super::turn_state::TurnState;
use crate::answer_form::{AnswerForm, SharedForm};
use crate::emitter::Emitter;
use crate::error::{Cause, ChatError};
use crate::event::ChatEvent;
use crate::memory::ChatMemory;
use crate::message::Message;
use crate::options::ChatOptions;
use crate::prompt::Prompt;
use crate::response::{ChatResponse, RunState};
use crate::run_steps::RequestStep;

/// The kind of the runs of chats.
const CHAT: &str = "chat";

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
    /// Where the turn is recorded.
    pub(crate) journal: Option<Arc<dyn RunJournal>>,
    /// What the application wants to know again when the run is resumed.
    pub(crate) details: Option<Value>,
}

/// What a turn is about.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A question, behind system messages that no memory keeps.
    Ask { system: Vec<Message>, messages: Vec<Message> },
    /// A run that waited for decisions.
    Resume(Box<RunState>),
    /// A run in the journal.
    ResumeRun(String),
}

/// A turn as its run knows it.
enum OpenedRun {
    /// The turn is not recorded.
    Unrecorded,
    /// It is recorded from its start.
    New(TurnRecorder),
    /// It goes on.
    Interrupted(TurnRecorder, Box<RecordedRequest>),
    /// It is over.
    Ended(Box<ChatResponse>),
}

/// What was asked in a turn that goes on.
struct RecordedRequest {
    request: RequestStep,
    saving: RecordedMemory,
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

    pub(crate) fn resume_run(id: String) -> Self {
        Self { subject: Subject::ResumeRun(id), ..Self::default() }
    }

    /// Runs the turn to its end, in a span of its own.
    pub(super) async fn run(mut self, model: Arc<ModelParts>, events: Emitter) -> Result<ChatResponse, ChatError> {
        let (recorder, recorded) = match self.open(&model).await? {
            OpenedRun::Unrecorded => return self.run_opened(model, events, None, None).await,
            OpenedRun::New(recorder) => (recorder, None),
            OpenedRun::Interrupted(recorder, recorded) => (recorder, Some(recorded)),
            OpenedRun::Ended(response) => {
                if let Some(run) = &response.run {
                    events.emit(ChatEvent::Run(run.clone())).await;
                }
                events.emit(ChatEvent::Text(response.text())).await;
                return Ok(*response);
            }
        };
        let run = recorder.id().clone();
        match self.run_opened(model, events, Some(recorder), recorded).await {
            Ok(response) => Ok(ChatResponse { run: Some(run), ..response }),
            Err(error) => Err(error.with_run(run)),
        }
    }

    /// Finds out what a journal knows of the turn, and makes it this process's own.
    async fn open(&mut self, model: &ModelParts) -> Result<OpenedRun, ChatError> {
        // A chat that is used as a tool is a part of the run that calls it.
        let context = [&model.options, &self.defaults, &self.options].into_iter().rev();
        let outer = context.filter_map(|options| options.context.as_ref()).find_map(ToolContext::run_place);
        if let (Some(place), Subject::Ask { .. }) = (outer, &self.subject) {
            let log = place.run().log().await?;
            let turn = RecordedTurn::read(place.run().id(), &place.within(), &log)?;
            return self.opened(place, turn, log).await;
        }
        let id = match &mut self.subject {
            Subject::ResumeRun(id) => id.clone(),
            Subject::Resume(state) => match state.run.clone() {
                None => return Ok(OpenedRun::Unrecorded),
                Some(id) => {
                    let decided = state.turn.decided().map(|(call, decision)| (call.id.to_string(), decision.clone()));
                    self.decisions.splice(0..0, decided);
                    id
                }
            },
            Subject::Ask { messages, .. } => {
                let Some(journal) = &self.journal else { return Ok(OpenedRun::Unrecorded) };
                let run = journal.begin_run(CHAT, &title(messages)).await?;
                let place = ToolContext::new().with_owned_run(run).run_place();
                return Ok(place.map_or(OpenedRun::Unrecorded, |place| OpenedRun::New(TurnRecorder::new(place))));
            }
        };
        let Some(journal) = self.journal.clone() else {
            return Err(ChatError::setup(format!(
                "run {id} is in a journal, and the client has none: build it with `.journal(journal)`"
            )));
        };
        // The answer of a run that is over is there for every process, whichever owns it.
        let log = journal.run_log(&id).await?;
        if let Some(response) = RecordedTurn::read(&id, "", &log)?.answer() {
            // One that was forked at its last step is not closed yet.
            if let Ok(run) = journal.claim_run(&id).await {
                let _ = run.end(RunStatus::Done, None).await;
            }
            return Ok(OpenedRun::Ended(Box::new(ChatResponse { run: Some(id.into()), ..response })));
        }
        let run = journal.claim_run(&id).await?;
        let log = run.log().await?;
        let turn = RecordedTurn::read(&id, "", &log)?;
        if turn.request.is_none() {
            // Nothing was asked, so nothing is lost.
            run.end(RunStatus::Failed, None).await?;
            let reason = "its process ended before anything was asked: ask again".to_owned();
            return Err(RunError::Unusable { run: id, reason }.into());
        }
        let place = ToolContext::new().with_owned_run(run).run_place();
        let place = place.ok_or_else(|| ChatError::setup("the journal keeps no runs"))?;
        self.opened(place, turn, log).await
    }

    /// Goes on with what a run has recorded of the turn.
    async fn opened(&mut self, place: RunPlace, mut turn: RecordedTurn, log: RunLog) -> Result<OpenedRun, ChatError> {
        if let Some(response) = turn.answer() {
            return Ok(OpenedRun::Ended(Box::new(response)));
        }
        if turn.request.is_none() {
            return Ok(OpenedRun::New(TurnRecorder::new(place)));
        }
        turn.decide(&place, std::mem::take(&mut self.decisions)).await?;
        let request = turn.request.clone().unwrap_or_default();
        let saving = turn.memory();
        let recorder = TurnRecorder::recover(place, turn, log);
        Ok(OpenedRun::Interrupted(recorder, Box::new(RecordedRequest { request, saving })))
    }

    async fn run_opened(
        self,
        model: Arc<ModelParts>,
        events: Emitter,
        recorder: Option<TurnRecorder>,
        recorded: Option<Box<RecordedRequest>>,
    ) -> Result<ChatResponse, ChatError> {
        let options = self.merge_options(&model.options, recorded.as_ref().map(|recorded| &recorded.request.options));
        let known = match (&self.subject, &recorded) {
            (_, Some(recorded)) => recorded.request.conversation.clone(),
            (Subject::Resume(state), None) => state.conversation.clone(),
            _ => None,
        };
        let conversation = known.or_else(|| self.conversation.clone());
        let span = WorkSpan::for_turn(&model, &options, conversation.as_deref());
        let turn = async move {
            let state = self.start(model, options, conversation, recorder, recorded).await?;
            state.finish(events).await
        };
        span.around(turn).await
    }

    /// Merges the options: the model's, the client's, those of the run that is resumed, those of this turn.
    fn merge_options(&self, model: &ChatOptions, recorded: Option<&ChatOptions>) -> ChatOptions {
        let options = model.merge(&self.defaults);
        let options = match (&self.subject, recorded) {
            (_, Some(recorded)) => options.merge(recorded),
            (Subject::Resume(state), None) => options.merge(&state.options),
            _ => options,
        };
        options.merge(&self.options)
    }

    async fn start(
        self,
        model: Arc<ModelParts>,
        options: ChatOptions,
        conversation: Option<String>,
        recorder: Option<TurnRecorder>,
        recorded: Option<Box<RecordedRequest>>,
    ) -> Result<TurnState, ChatError> {
        let Self { mut subject, memory, decisions, form, details, .. } = self;
        let mut options = named_by(options, conversation.as_deref());
        if let Some(recorder) = recorder.as_ref().filter(|recorder| recorder.is_whole_run()) {
            let context = options.context.take().unwrap_or_default();
            options.context = Some(context.with_owned_run(recorder.place().run().clone()));
        }
        decide(&mut subject, decisions)?;
        let system = match &recorded {
            Some(recorded) => leading_system(&recorded.request.messages),
            None => subject.system(),
        };
        let memory = match (memory, &conversation) {
            (Some((memory, save)), Some(conversation)) => {
                Some(TurnMemory { memory, conversation: conversation.clone(), save, system })
            }
            (Some(_), None) => {
                let message = "the client has a memory, so a request must name its conversation: `.conversation(id)`";
                return Err(ChatError::setup(message));
            }
            (None, _) => None,
        };
        if let Some(recorded) = recorded {
            let RecordedRequest { request, saving } = *recorded;
            let saved = saving.saved(request.saved, memory.as_ref()).await?;
            let form = match (form, request.form) {
                (None, Some(form)) => Some(Arc::new(AnswerForm::from_description(form)?)),
                (form, _) => form,
            };
            let state = TurnState::new(model, Prompt::new(request.messages).with_options(options), Some(saved));
            let state = state.beginning_at(request.start).in_conversation(conversation, memory).with_form(form);
            return Ok(state.recorded_by(recorder, None));
        }
        let state = match subject {
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
                TurnState::new(model, Prompt::new(messages).with_options(options), saved)
            }
            Subject::Resume(suspended) => TurnState::resume(model, *suspended, options),
            // It was opened, so it is recorded.
            Subject::ResumeRun(_) => return Err(ChatError::setup("the run is not recorded")),
        };
        Ok(state.in_conversation(conversation, memory).with_form(form).recorded_by(recorder, details))
    }
}

/// The title of a run: the beginning of what the user says.
fn title(messages: &[Message]) -> String {
    const LONGEST: usize = 80;
    let question = messages.iter().rev().find(|message| matches!(message, Message::User(_)));
    let text = question.map(Message::text).unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn leading_system(messages: &[Message]) -> Vec<Message> {
    messages.iter().take_while(|message| matches!(message, Message::System(_))).cloned().collect()
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
            Self::Resume(state) => leading_system(&state.exchange.history),
            Self::ResumeRun(_) => Vec::new(),
        }
    }
}

/// Applies the decisions; one about a call that does not wait is an error.
fn decide(subject: &mut Subject, decisions: Vec<(String, Decision)>) -> Result<(), ChatError> {
    let mut none = Turn::new();
    let turn = match subject {
        Subject::Resume(state) => &mut state.turn,
        Subject::Ask { .. } | Subject::ResumeRun(_) => &mut none,
    };
    for (call_id, decision) in decisions {
        turn.decide(&call_id, decision).map_err(|error| ChatError::setup(error.to_string()))?;
    }
    Ok(())
}
