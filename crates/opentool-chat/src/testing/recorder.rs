//! Recording real turns: [`Recorder`].

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use opentool_core::{
    IntoToolSource, Invocation, RecordedResult, Source, Tool, ToolDefinition, ToolError, ToolMetadata, ToolOutput,
    Toolbox,
};
use opentool_journal::{Redaction, RunExport, StepRecord};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, to_value};

use super::cassette::{
    ANSWER, AnswerBody, ErrorForm, RECORDING, REQUEST, ROUND, RequestBody, RoundBody, ToolForm, option_form, tool_forms,
};
use crate::assembly::Assembly;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::message::Message;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// Records the turns of a model, and the calls of its tools, for a [`Replay`](super::Replay).
///
/// It is a provider around another one, of which each answer is kept as it comes, and it wraps tools. What it saves are the JSON Lines of
/// `opentool runs export`, without secrets ([`Redaction`]). A clone records to the same place.
///
/// ```
/// use opentool_chat::ChatClient;
/// use opentool_chat::testing::{Recorder, Replay};
/// # use opentool_chat::testing::{Reply, ScriptedModel};
/// # use opentool_core::FnTool;
/// # let real_model = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("It is noon.")]);
/// # let clock = || FnTool::new("now", || "12:00");
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("noon.jsonl");
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// // Once, with a real model:
/// let recorder = Recorder::new(real_model);
/// let answer = ChatClient::new(recorder.clone()).prompt("What time is it?").tools(recorder.tools(clock())).call().await?;
/// recorder.save(&path)?;
///
/// // In every test, with neither the model nor the tools:
/// let replay = Replay::load(&path)?;
/// let again = ChatClient::new(replay.clone()).prompt("What time is it?").tools(replay.tools(clock())).call().await?;
/// assert_eq!(again.text(), answer.text());
/// replay.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a recorder is given to a client, and saved"]
pub struct Recorder {
    provider: Arc<dyn Provider>,
    tape: Arc<Mutex<Tape>>,
    redaction: Redaction,
}

/// What was recorded, in the order in which it began.
#[derive(Default)]
struct Tape {
    entries: Vec<Entry>,
}

enum Entry {
    Round(Box<TapedRound>),
    Call(TapedCall),
}

struct TapedRound {
    messages: Vec<Message>,
    options: Map<String, Value>,
    tools: Vec<ToolForm>,
    /// None while the model answers; an answer that never came is not saved.
    answer: Option<Result<ChatResponse, ErrorForm>>,
    deltas: Option<Vec<Delta>>,
}

struct TapedCall {
    call_id: String,
    tool: String,
    effect: opentool_core::CallEffect,
    arguments: opentool_core::Arguments,
    outcome: Option<RecordedResult>,
}

/// Why a recording cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No model was asked.
    #[error("nothing was recorded: give the recorder to a client, as its model, and let it answer before it is saved")]
    Empty,
    /// Something cannot be written as JSON.
    #[error("the recording cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The file cannot be written.
    #[error("the recording cannot be saved to {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Recorder {
    /// Records what a model is asked and answers.
    pub fn new(model: impl Provider) -> Self {
        Self { provider: Arc::new(model), tape: Arc::default(), redaction: Redaction::new() }
    }

    /// Sets what is taken out, beside what the schemas of the tools say.
    pub fn redact(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// Wraps tools, so that their calls are recorded.
    #[must_use]
    pub fn tools<M>(&self, tools: impl IntoToolSource<M>) -> Source {
        let tape = self.tape.clone();
        Source::new(tools).map(move |tools| {
            let record = |tool: &Arc<dyn Tool>| RecordedTool { tool: tool.clone(), tape: tape.clone() };
            Toolbox::from_tools(tools.iter().map(record))
        })
    }

    /// Returns what was recorded, without secrets.
    ///
    /// # Errors
    ///
    /// Where nothing was, or it cannot be written as JSON.
    pub fn export(&self) -> Result<RunExport, RecordError> {
        let export = lock(&self.tape).export(&*self.provider)?;
        if export.record.steps.is_empty() {
            return Err(RecordError::Empty);
        }
        let mut redacted = export.redacted(&self.redaction)?;
        for (before, after) in export.record.steps.iter().zip(&mut redacted.record.steps) {
            drop_pieces_with_secrets(before, after)?;
        }
        Ok(redacted)
    }

    /// Saves what was recorded, without secrets. The folders of the file are made where they are missing.
    ///
    /// # Errors
    ///
    /// Where nothing was recorded, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), RecordError> {
        let (path, text) = (path.as_ref(), self.export()?.to_string());
        let failed = |source| RecordError::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(path, text).map_err(failed)
    }

    /// Notes that a model is asked; returns the number of the entry.
    fn begin(&self, request: ModelRequest<'_>, streamed: bool) -> usize {
        let round = TapedRound {
            messages: request.messages.to_vec(),
            options: option_form(request.options).unwrap_or_default(),
            tools: tool_forms(request),
            answer: None,
            deltas: streamed.then(Vec::new),
        };
        lock(&self.tape).add(Entry::Round(Box::new(round)))
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tape {
    fn add(&mut self, entry: Entry) -> usize {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    fn round(&mut self, number: usize) -> Option<&mut TapedRound> {
        match self.entries.get_mut(number) {
            Some(Entry::Round(round)) => Some(round),
            _ => None,
        }
    }

    fn answer(&mut self, number: usize, answer: Result<ChatResponse, ErrorForm>) {
        if let Some(round) = self.round(number) {
            round.answer = Some(answer);
        }
    }

    /// Takes a piece of an answer.
    fn take_piece(&mut self, number: usize, piece: &Result<Delta, ChatError>) {
        let Some(round) = self.round(number) else { return };
        match piece {
            Ok(delta) => round.deltas.get_or_insert_default().push(delta.clone()),
            Err(error) => round.answer = Some(Err(error.into())),
        }
    }

    /// Puts the pieces of an answer together when it is whole.
    fn end_pieces(&mut self, number: usize) {
        if let Some(round) = self.round(number).filter(|round| round.answer.is_none()) {
            round.answer = Some(Ok(assembled(round.deltas.as_deref()).unwrap_or_default()));
        }
    }

    /// Writes everything as a run.
    fn export(&self, provider: &dyn Provider) -> Result<RunExport, serde_json::Error> {
        let rounds: Vec<_> = self.rounds().collect();
        let mut export = RunExport::new(RECORDING, RECORDING, title(&rounds));
        let mut number = 0_usize;
        let mut places = Places::default();
        for entry in &self.entries {
            match entry {
                Entry::Round(round) => {
                    let Some(answer) = &round.answer else { continue };
                    let before = number.checked_sub(1).map(|before| rounds[before]);
                    number += 1;
                    add_request(&mut export, provider, before, round)?;
                    let next = rounds.get(number).copied();
                    let (response, error) = match answer {
                        Ok(response) => (Some(settled(response, round, next)), None),
                        // What came of an answer that broke off.
                        Err(error) => (assembled(round.deltas.as_deref()), Some(error.clone())),
                    };
                    if let Some(response) = &response {
                        places.take(response);
                    }
                    let deltas = round.deltas.clone().and_then(|deltas| with_ids(deltas, response.as_ref()));
                    let response = response.map(Into::into);
                    export.add_step(ANSWER, &AnswerBody { within: String::new(), response, deltas, error })?;
                }
                Entry::Call(call) => {
                    let place = places.find(&call.call_id);
                    let begun = export.begin_call(&place, &call.call_id, &call.tool, call.effect, &call.arguments)?;
                    if let Some(outcome) = &call.outcome {
                        export.end_call(begun, outcome.clone());
                    }
                }
            }
        }
        Ok(export)
    }

    /// The rounds that have an answer.
    fn rounds(&self) -> impl Iterator<Item = &TapedRound> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Round(round) if round.answer.is_some() => Some(&**round),
            _ => None,
        })
    }
}

/// Puts the pieces of an answer together, as far as they came.
fn assembled(deltas: Option<&[Delta]>) -> Option<ChatResponse> {
    let deltas = deltas.filter(|deltas| !deltas.is_empty())?;
    let mut assembly = Assembly::new();
    deltas.iter().cloned().for_each(|delta| assembly.push(delta));
    Some(assembly.finish())
}

/// Gives the pieces of calls the ids of a response; none where they then do not make its calls.
fn with_ids(mut deltas: Vec<Delta>, response: Option<&ChatResponse>) -> Option<Vec<Delta>> {
    let calls = response.map(ChatResponse::tool_calls).unwrap_or_default();
    let is_same =
        |deltas: &[Delta]| assembled(Some(deltas)).as_ref().map(ChatResponse::tool_calls).unwrap_or_default() == calls;
    if !is_same(&deltas) {
        let mut known = HashSet::new();
        for delta in &mut deltas {
            if let Delta::ToolCall(piece) = delta
                && let Some(call) = piece.index.and_then(|index| calls.get(index))
            {
                piece.id = known.insert(piece.index).then(|| call.id.to_string());
            }
        }
    }
    is_same(&deltas).then_some(deltas)
}

/// The places of calls, by their ids.
#[derive(Default)]
struct Places {
    rounds: usize,
    known: Vec<(String, String)>,
    others: usize,
}

impl Places {
    fn take(&mut self, response: &ChatResponse) {
        if response.has_tool_calls() {
            self.rounds += 1;
            let calls = response.tool_calls().iter().enumerate();
            let rounds = self.rounds;
            self.known.extend(calls.map(|(index, call)| (call.id.to_string(), format!("{rounds}.{index}"))));
        }
    }

    fn find(&mut self, call_id: &str) -> String {
        match self.known.iter().rposition(|(id, _)| id == call_id) {
            Some(known) => self.known.remove(known).1,
            None => {
                self.others += 1;
                format!("n{}", self.others)
            }
        }
    }
}

/// Drops the pieces of an answer from which a secret was taken: it may be spread over several of them.
fn drop_pieces_with_secrets(before: &StepRecord, after: &mut StepRecord) -> Result<(), serde_json::Error> {
    if after.kind != ANSWER {
        return Ok(());
    }
    let read = |step: &StepRecord| serde_json::from_str::<AnswerBody>(step.body.get());
    let (before, mut redacted) = (read(before)?, read(after)?);
    if redacted.deltas.is_some() && to_value(&before.response)? != to_value(&redacted.response)? {
        redacted.deltas = None;
        after.body = to_raw_value(&redacted)?;
    }
    Ok(())
}

/// Writes what the model was asked: all of it, or what was added to what it was asked before.
fn add_request(
    export: &mut RunExport,
    provider: &dyn Provider,
    before: Option<&TapedRound>,
    round: &TapedRound,
) -> Result<(), serde_json::Error> {
    let added = before.filter(|before| before.tools == round.tools);
    let added = added.and_then(|before| round.messages.strip_prefix(&*before.messages).zip(Some(before)));
    match added {
        Some((added, before)) => {
            let options = (before.options != round.options).then(|| round.options.clone());
            let messages = added.iter().map(to_raw_value).collect::<Result<_, _>>()?;
            export.add_step(ROUND, &RoundBody { within: String::new(), messages, options })
        }
        None => {
            let step = RequestBody {
                within: String::new(),
                messages: round.messages.iter().map(to_raw_value).collect::<Result<_, _>>()?,
                options: round.options.clone(),
                provider: Some(provider.name().to_owned()),
                model: provider.model().map(str::to_owned),
                typed_answers: Some([provider.typed_answers(true).into(), provider.typed_answers(false).into()]),
                tools: round.tools.clone(),
                form: None,
            };
            export.add_step(REQUEST, &step)
        }
    }
}

/// An answer with the calls as the turn went on with them: a call without an id gets one after the answer.
fn settled(response: &ChatResponse, round: &TapedRound, next: Option<&TapedRound>) -> ChatResponse {
    let mut response = response.clone();
    let added = next.and_then(|next| next.messages.strip_prefix(&*round.messages));
    let calls = added.and_then(|added| added.first()).map(Message::tool_calls).unwrap_or_default();
    let calling = response.generations.iter_mut().find(|generation| !generation.message.tool_calls.is_empty());
    if let Some(own) = calling.map(|generation| &mut generation.message.tool_calls)
        && own.len() == calls.len()
    {
        *own = calls.to_vec();
    }
    response
}

/// The first words of the user.
fn title(rounds: &[&TapedRound]) -> String {
    const LONGEST: usize = 60;
    let mut messages = rounds.iter().flat_map(|round| &round.messages);
    let said = messages.find_map(|message| match message {
        Message::User(message) => Some(&*message.text),
        _ => None,
    });
    said.unwrap_or_default().chars().take(LONGEST).collect()
}

impl Provider for Recorder {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn model(&self) -> Option<&str> {
        self.provider.model()
    }

    fn server(&self) -> Option<(&str, u16)> {
        self.provider.server()
    }

    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        self.provider.typed_answers(with_tools)
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async move {
            let number = self.begin(request, false);
            let answered = self.provider.call(request).await;
            let kept = answered.as_ref().map(Clone::clone).map_err(ErrorForm::from);
            lock(&self.tape).answer(number, kept);
            answered
        })
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        let number = self.begin(request, true);
        let end = stream::poll_fn(move |_| {
            lock(&self.tape).end_pieces(number);
            Poll::Ready(None)
        });
        let pieces = self.provider.stream(request);
        pieces.inspect(move |piece| lock(&self.tape).take_piece(number, piece)).chain(end).boxed()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("entries", &lock(&self.tape).entries.len()).finish_non_exhaustive()
    }
}

/// A tool whose calls are recorded.
struct RecordedTool {
    tool: Arc<dyn Tool>,
    tape: Arc<Mutex<Tape>>,
}

impl Tool for RecordedTool {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    fn metadata(&self) -> &ToolMetadata {
        self.tool.metadata()
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let call = TapedCall {
                call_id: invocation.context.call_id().to_owned(),
                tool: self.tool.definition().name().to_owned(),
                effect: self.tool.metadata().effect(),
                arguments: invocation.arguments.clone(),
                outcome: None,
            };
            let number = lock(&self.tape).add(Entry::Call(call));
            let result = self.tool.call(invocation).await;
            let return_direct = self.tool.metadata().is_return_direct() && result.is_ok();
            let outcome = RecordedResult::new(result.clone(), return_direct);
            if let Some(Entry::Call(call)) = lock(&self.tape).entries.get_mut(number) {
                call.outcome = Some(outcome);
            }
            result
        })
    }
}
