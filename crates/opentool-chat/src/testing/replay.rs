//! Replaying recorded turns: [`Replay`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use opentool_core::{
    Arguments, CallKey, IntoToolSource, Invocation, RecordedResult, ResultConverter, Source, Tool, ToolDefinition,
    ToolError, ToolMetadata, ToolOutput, Toolbox, ToolboxError,
};
use opentool_journal::{Difference, ExportError, Redaction, RunExport, restore_arguments};
use serde_json::Value;

use super::cassette::{Cassette, RECORDING, RecordedAnswer, RequestText};
use super::reply::Reply;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;
use crate::response_format::TypedAnswers;

/// A recorded turn in the place of a model, and of its tools where they are [wrapped](Self::tools).
///
/// It reads what a [`Recorder`](super::Recorder) saved, or an export of a chat run (`opentool runs export`). A request is answered only if it is the
/// recorded one: the same messages, options and tools. Any other is an error with the first [difference](ReplayMiss). A clone shares what was
/// asked already.
///
/// Tools that are not wrapped run. What they answer goes into the next request, so that tools whose answers are others than the recorded ones are
/// found:
///
/// ```
/// use opentool_chat::ChatClient;
/// use opentool_chat::testing::{Recorder, Replay};
/// # use opentool_chat::testing::{Reply, ScriptedModel};
/// # use opentool_core::FnTool;
/// # let real_model = ScriptedModel::new([Reply::call("degrees", "{}"), Reply::text("It is warm.")]);
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let recorder = Recorder::new(real_model);
/// let thermometer = FnTool::new("degrees", || 21);
/// ChatClient::new(recorder.clone()).prompt("Is it warm?").tools(recorder.tools(thermometer)).call().await?;
///
/// let replay = Replay::new(&recorder.export()?)?;
/// let thermometer = FnTool::new("degrees", || 22);
/// let error = ChatClient::new(replay.clone()).prompt("Is it warm?").tools(thermometer).call().await.unwrap_err();
/// assert_eq!(error.to_string(), "\
/// request 2 to the model is not the recorded one
///   at       /messages/2/answers/0/text (what the tool `degrees` answered)
///   expected \"21\"
///   got      \"22\"
///   record it again if this change is meant");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a replay is given to a client, as its model"]
pub struct Replay {
    record: Arc<Record>,
    state: Arc<Mutex<State>>,
    redaction: Redaction,
    secrets: BTreeMap<String, Value>,
}

/// What was recorded.
struct Record {
    cassette: Cassette,
    calls: Vec<RecordedCall>,
    /// Whether outcomes are what the model saw, and no more what the tool gave.
    is_converted: bool,
    path: Option<PathBuf>,
}

struct RecordedCall {
    tool: String,
    arguments: String,
    arguments_hash: String,
    outcome: Option<RecordedResult>,
}

/// What was asked already.
struct State {
    rounds_used: Vec<bool>,
    calls_used: Vec<bool>,
    /// How many requests came, each of which has a number in messages.
    requests: usize,
    replays_tools: bool,
    misses: Vec<ReplayMiss>,
}

/// Why a record cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("the record {} cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no record.
    #[error("no record of a run: {0}")]
    Lines(#[from] ExportError),
    /// A step of it cannot be read.
    #[error("step {step} of the record cannot be read: {source}")]
    Step {
        /// Which one.
        step: i64,
        /// Why.
        source: serde_json::Error,
    },
    /// It has no answer of a model.
    #[error("the record has no answer of a model: its run is of kind `{kind}`, and only chats can be replayed")]
    NoAnswers {
        /// What kind of run it is.
        kind: String,
    },
}

/// Something that is not as it was recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReplayMiss {
    /// What is not as it was.
    pub what: String,
    /// The first difference, where there is something to compare with.
    pub difference: Option<Box<Difference>>,
    /// The tool whose answer is another one, where that is the difference.
    pub tool: Option<String>,
    /// The file of the record, where there is one.
    pub path: Option<PathBuf>,
}

impl fmt::Display for ReplayMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(Difference { pointer, expected, got, .. }) = self.difference.as_deref() {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
            let tool = self.tool.as_ref().map(|tool| format!(" (what the tool `{tool}` answered)"));
            let pointer = if pointer.is_empty() { "the root" } else { pointer };
            write!(f, "\n  at       {pointer}{}", tool.unwrap_or_default())?;
            write!(f, "\n  expected {}\n  got      {}", shown(expected), shown(got))?;
        }
        if let Some(path) = &self.path {
            write!(f, "\n  in       {}", path.display())?;
        }
        f.write_str("\n  record it again if this change is meant")
    }
}

impl std::error::Error for ReplayMiss {}

impl Replay {
    /// Reads a record from a file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or has no answer of a model.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReplayError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| ReplayError::File { path: path.to_owned(), source })?;
        Self::from_export(&RunExport::parse(&text)?, Some(path.to_owned()))
    }

    /// Takes the record of a run.
    ///
    /// # Errors
    ///
    /// Where it has no answer of a model, or a step cannot be read.
    pub fn new(export: &RunExport) -> Result<Self, ReplayError> {
        Self::from_export(export, None)
    }

    fn from_export(export: &RunExport, path: Option<PathBuf>) -> Result<Self, ReplayError> {
        let kind = &export.record.summary.kind;
        let cassette = Cassette::read(export).map_err(|(step, source)| ReplayError::Step { step, source })?;
        if cassette.rounds.is_empty() {
            return Err(ReplayError::NoAnswers { kind: kind.clone() });
        }
        let calls = export.record.calls.iter().map(|call| RecordedCall {
            tool: call.tool.clone(),
            arguments: call.arguments.get().to_owned(),
            arguments_hash: call.arguments_hash.clone(),
            outcome: call.outcome.clone(),
        });
        let calls: Vec<_> = calls.collect();
        let state = State {
            rounds_used: vec![false; cassette.rounds.len()],
            calls_used: vec![false; calls.len()],
            requests: 0,
            replays_tools: false,
            misses: Vec::new(),
        };
        let record = Record { cassette, calls, is_converted: kind != RECORDING, path };
        Ok(Self {
            record: Arc::new(record),
            state: Arc::new(Mutex::new(state)),
            redaction: Redaction::new(),
            secrets: BTreeMap::new(),
        })
    }

    /// Sets what was taken out of the record, beside what the schemas of the tools say; it must be what the recorder was given.
    pub fn redact(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// Gives every argument of a name this value, for tools that run and need a secret which the record does not have.
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.secrets.insert(name.into(), value.into());
        self
    }

    /// Wraps tools, so that their calls are answered from the record. They do not run.
    #[must_use]
    pub fn tools<M>(&self, tools: impl IntoToolSource<M>) -> Source {
        let replay = self.clone();
        self.lock().replays_tools = true;
        Source::new(tools).map(move |tools| {
            Toolbox::from_tools(tools.iter().map(|tool| replay.replayed(tool.definition(), tool.metadata())))
        })
    }

    /// Returns the tools that the record describes; their calls are answered from it.
    ///
    /// For a test that does not have the tools. Nothing is known of them but what the model saw, so no call of them waits for approval.
    ///
    /// # Errors
    ///
    /// Where the schema of a tool is none.
    pub fn recorded_tools(&self) -> Result<Toolbox, ToolboxError> {
        self.lock().replays_tools = true;
        let mut tools = Toolbox::new();
        for tool in &self.record.cassette.tools {
            let mut definition = ToolDefinition::builder(&tool.name)
                .description(&tool.description)
                .input_schema(tool.input_schema.clone());
            if let Some(schema) = &tool.output_schema {
                definition = definition.output_schema(schema.clone());
            }
            tools.add(self.replayed(&definition.build()?, &ToolMetadata::new()))?;
        }
        Ok(tools)
    }

    fn replayed(&self, definition: &ToolDefinition, metadata: &ToolMetadata) -> ReplayedTool {
        let mut metadata = metadata.clone();
        if self.record.is_converted {
            metadata = metadata.with_converter(Unconverted);
        }
        let redaction = self.redaction.clone().definition(definition);
        ReplayedTool { definition: definition.clone(), metadata, redaction, replay: self.clone() }
    }

    /// Says whether everything was as it was recorded, and everything that was recorded was asked for.
    ///
    /// # Errors
    ///
    /// The first thing that was not.
    pub fn finish(&self) -> Result<(), ReplayMiss> {
        let state = self.lock();
        if let Some(miss) = state.misses.first() {
            return Err(miss.clone());
        }
        let left = |used: &[bool]| used.iter().filter(|used| !**used).count();
        let (rounds, calls) = (left(&state.rounds_used), left(&state.calls_used));
        let miss =
            |what: String| Err(ReplayMiss { what, difference: None, tool: None, path: self.record.path.clone() });
        if rounds > 0 {
            return miss(format!(
                "{rounds} of {} recorded requests to the model were not made",
                state.rounds_used.len()
            ));
        }
        if state.replays_tools && calls > 0 {
            return miss(format!("{calls} of {} recorded calls were not made", state.calls_used.len()));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something is not as it was recorded.
    fn miss(
        &self,
        state: &mut State,
        what: String,
        difference: Option<Difference>,
        tool: Option<String>,
    ) -> ReplayMiss {
        let miss = ReplayMiss { what, difference: difference.map(Box::new), tool, path: self.record.path.clone() };
        state.misses.push(miss.clone());
        miss
    }

    /// Finds the answer to a request.
    fn answer(&self, request: ModelRequest<'_>) -> Result<RecordedAnswer, ChatError> {
        let failed = |error: serde_json::Error| ChatError::setup(format!("the request cannot be compared: {error}"));
        let redaction = request.tools.iter().fold(self.redaction.clone(), Redaction::definition);
        let got = RequestText::new(request).map_err(failed)?;
        let rounds = &self.record.cassette.rounds;
        let mut state = self.lock();
        state.requests += 1;
        let mut first: Option<(Difference, String)> = None;
        for (number, round) in rounds.iter().enumerate() {
            if state.rounds_used[number] {
                continue;
            }
            let expected = round.request.json(&got).map_err(failed)?;
            let got = redaction.json(&got.json(&round.request).map_err(failed)?);
            match Difference::between(&expected, &got) {
                None => {
                    state.rounds_used[number] = true;
                    return Ok(round.answer.clone());
                }
                Some(difference) if first.is_none() => first = Some((difference, expected)),
                Some(_) => {}
            }
        }
        let number = state.requests;
        let (what, difference, tool) = match first {
            Some((difference, expected)) => {
                let tool = answering_tool(&expected, &difference.pointer);
                (format!("request {number} to the model is not the recorded one"), Some(difference), tool)
            }
            None => (
                format!("request {number} to the model was not made when the {} requests were recorded", rounds.len()),
                None,
                None,
            ),
        };
        Err(ChatError::setup(self.miss(&mut state, what, difference, tool).to_string()))
    }

    /// Makes the reply of a test model of an answer.
    fn reply(&self, request: ModelRequest<'_>, streamed: bool) -> Reply {
        let RecordedAnswer { response, deltas, error } = match self.answer(request) {
            Ok(answer) => answer,
            Err(error) => return Reply::error(error),
        };
        // Pieces have no place where a secret could be put back.
        let deltas = deltas.filter(|_| streamed && self.secrets.is_empty());
        let reply = match (deltas, response) {
            (Some(deltas), _) => Reply::deltas(deltas),
            (None, Some(response)) => Reply::response(self.with_secrets(response.into())),
            (None, None) => Reply::deltas([]),
        };
        error.into_iter().fold(reply, |reply, error| reply.then_fails(error.into()))
    }

    fn with_secrets(&self, mut response: ChatResponse) -> ChatResponse {
        if !self.secrets.is_empty() {
            for call in response.generations.iter_mut().flat_map(|generation| &mut generation.message.tool_calls) {
                call.arguments = restore_arguments(call.arguments.as_str(), &self.secrets).into();
            }
        }
        response
    }

    /// Finds the outcome of a call.
    fn outcome(&self, tool: &str, redaction: &Redaction, arguments: &Arguments) -> Result<RecordedResult, ReplayMiss> {
        let arguments = redaction.arguments(tool, arguments.as_str());
        let hash = CallKey::new("", "", tool, &Arguments::from(&*arguments)).arguments_hash;
        let calls = &self.record.calls;
        let mut state = self.lock();
        let is_left = |state: &State, number: usize| !state.calls_used[number] && calls[number].tool == tool;
        let left: Vec<usize> = (0..calls.len()).filter(|number| is_left(&state, *number)).collect();
        if let Some(number) = left.iter().copied().find(|number| *calls[*number].arguments_hash == *hash) {
            state.calls_used[number] = true;
            return match &calls[number].outcome {
                Some(outcome) => Ok(outcome.clone()),
                None => {
                    let what =
                        format!("the recorded call of `{tool}` has no outcome: it was cancelled or took too long");
                    Err(self.miss(&mut state, what, None, None))
                }
            };
        }
        let (what, difference) = match left.first() {
            Some(number) => {
                let difference = Difference::between(&calls[*number].arguments, &arguments);
                (format!("the arguments of `{tool}` are not the recorded ones"), difference)
            }
            None => (format!("the record has no further call of `{tool}`"), None),
        };
        Err(self.miss(&mut state, what, difference, None))
    }
}

/// The tool whose answer a pointer into a request leads to.
fn answering_tool(request: &str, pointer: &str) -> Option<String> {
    let mut tokens = pointer.split('/').skip(1);
    let (messages, message, answers, answer) = (tokens.next()?, tokens.next()?, tokens.next()?, tokens.next()?);
    if (messages, answers) != ("messages", "answers") {
        return None;
    }
    let request: Value = serde_json::from_str(request).ok()?;
    let tool = request.pointer(&format!("/messages/{message}/answers/{answer}/tool"))?;
    tool.as_str().map(str::to_owned)
}

impl Provider for Replay {
    fn name(&self) -> &str {
        self.record.cassette.provider.as_deref().unwrap_or("replay")
    }

    fn model(&self) -> Option<&str> {
        self.record.cassette.model.as_deref()
    }

    fn server(&self) -> Option<(&str, u16)> {
        None
    }

    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        let words = self.record.cassette.typed_answers;
        words.map_or(TypedAnswers::Native, |words| words[usize::from(!with_tools)].into())
    }

    fn call<'a>(&'a self, request: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let reply = self.reply(request, false);
        Box::pin(async move { reply.into_response() })
    }

    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        stream::iter(self.reply(request, true).into_deltas()).boxed()
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = &*self.record;
        f.debug_struct("Replay")
            .field("path", &record.path)
            .field("rounds", &record.cassette.rounds.len())
            .field("calls", &record.calls.len())
            .finish_non_exhaustive()
    }
}

/// A tool whose calls are answered from a record.
struct ReplayedTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    redaction: Redaction,
    replay: Replay,
}

impl Tool for ReplayedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let found = self.replay.outcome(self.definition.name(), &self.redaction, invocation.arguments);
            // A miss is for the person who runs the test, and not for the model.
            found.map_err(ToolError::fatal)?.result
        })
    }
}

/// Leaves results as they were recorded.
struct Unconverted;

impl ResultConverter for Unconverted {
    fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
        Ok(output)
    }
}
