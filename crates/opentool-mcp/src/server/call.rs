//! `tools/call`: one call, from its parameters to its answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use opentool_core::{
    BoxFuture, ErrorKind, Host, IdempotencyKey, Journal, Outcome, Progress, Question, ToolCall, ToolContext, ToolError,
    ToolEvent, TraceContext,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::answer;
use super::ask::{self, Collector, ElicitParams};
use super::content::{CallResult, OutputInfo, Reader};
use super::definition::is_object_schema;
use super::engine::{Caller, Engine};
use super::error::ProtocolError;
use super::json_text::JsonText;
use super::message::Params;
use super::pending::CallIdentity;
use super::result::Envelope;
use super::revision::Revision;
use super::sink::MessageSink;

/// A call that a client asks for.
pub(crate) struct CallRequest {
    pub(crate) call: ToolCall,
    /// Under which token, as its JSON, the client wants notifications of progress.
    pub(crate) progress_token: Option<Box<str>>,
    /// The trace that the request itself names.
    pub(crate) trace: Option<Box<TraceContext>>,
    /// What makes the call the same one however often it is sent.
    key: Option<Box<IdempotencyKey>>,
    /// Whether the client can be asked, which the stateless revisions say in each call.
    can_ask: bool,
    /// Set where the call continues another one.
    input: Option<Box<Input>>,
}

/// What a call of a stateless revision says about the questions of the call before it.
struct Input {
    /// The name of the call that this one continues.
    state: String,
    answers: HashMap<String, Box<RawValue>>,
}

/// The questions of a call that may end with them.
pub(crate) struct Asking {
    pub(crate) collector: Collector,
    can_ask: bool,
    identity: CallIdentity,
}

impl CallRequest {
    /// Reads the parameters of a call. The text of the arguments stays as it came.
    pub(crate) fn read(id: JsonText<'_>, params: &Params<'_>) -> Result<Self, ProtocolError> {
        let name = params.name.and_then(JsonText::string);
        let name = name.ok_or_else(|| ProtocolError::invalid_params("`name` must be a string: the name of a tool"))?;
        let arguments = match params.arguments.map(JsonText::get) {
            None => "{}",
            Some(text) if text.starts_with('{') => text,
            Some(_) => return Err(ProtocolError::invalid_params("`arguments` must be an object")),
        };
        let id = id.string().unwrap_or(Cow::Borrowed(id.get()));
        let meta = &params.meta;
        let trace = meta.traceparent.and_then(JsonText::string).and_then(|parent| TraceContext::parse(&parent));
        let state = meta.tracestate.and_then(JsonText::string);
        let key = match meta.idempotency_key {
            None => None,
            Some(key) => Some(Box::new(key.string().and_then(|key| IdempotencyKey::parse(&key)).ok_or_else(|| {
                let rule = IdempotencyKey::RULE;
                ProtocolError::invalid_params(format!("`dev.opentool/idempotency-key` in `_meta`: {rule}"))
            })?)),
        };
        Ok(Self {
            call: ToolCall::new(&*id, &*name, arguments),
            progress_token: meta.progress_token.map(|token| token.get().into()),
            key,
            can_ask: ask::answers_questions(meta.capabilities),
            input: Input::read(params)?.map(Box::new),
            trace: trace.map(|trace| {
                Box::new(match state {
                    Some(state) => trace.with_tracestate(state),
                    None => trace,
                })
            }),
        })
    }

    /// Takes up the questions of a call: those that it has answers to, and those that it will have.
    pub(crate) fn asking(&mut self, engine: &Engine, key_name: Option<&Arc<str>>) -> Result<Asking, ProtocolError> {
        let identity = CallIdentity::new(&self.call, key_name);
        let mut known = HashMap::new();
        if let Some(input) = self.input.take() {
            let Input { state, answers } = *input;
            let resumed = engine.pending.resume(&state, &identity).ok_or_else(|| {
                ProtocolError::invalid_params(
                    "`requestState` is none of this call, is used up or has expired: call without it",
                )
            })?;
            known = resumed.answers;
            // An answer to what was not asked is nothing that this server has to read.
            for (key, response) in answers.into_iter().filter(|(key, _)| resumed.asked.contains(key)) {
                known.insert(key, ask::read_answer(response.get()).map_err(unusable_answer)?);
            }
        }
        Ok(Asking { collector: Collector::new(known), can_ask: self.can_ask, identity })
    }

    /// Says whether the call has a key, so that it goes on without its client and can be asked for again.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Returns a context that records the call, where it has a key. A call that continues another one with answers is another call.
    pub(crate) fn recorded(
        &self,
        context: ToolContext,
        journal: &Arc<dyn Journal>,
        key_name: Option<&Arc<str>>,
    ) -> ToolContext {
        let Some(key) = &self.key else { return context };
        let caller = key_name.map(|name| &**name).unwrap_or_default();
        let scope = match &self.input {
            Some(input) => format!("{caller}\n{}", input.state),
            None => caller.to_owned(),
        };
        context.with_idempotency_key(journal.clone(), IdempotencyKey::clone(key).of_caller(scope))
    }

    /// Returns the context of the call: with the trace that it names, otherwise that of its transport.
    pub(crate) fn context(&self, of_transport: Option<&TraceContext>) -> ToolContext {
        match self.trace.as_deref().or(of_transport) {
            Some(trace) => ToolContext::new().with_typed(trace.clone()),
            None => ToolContext::new(),
        }
    }
}

/// A call that is over.
pub(crate) struct FinishedCall {
    /// The response.
    pub(crate) message: Vec<u8>,
    /// Why it failed, if it did.
    pub(crate) error: Option<ErrorKind>,
    /// Whether the request asked for what its client cannot do.
    pub(crate) is_bad_request: bool,
}

impl FinishedCall {
    fn new(message: Vec<u8>, error: Option<ErrorKind>) -> Self {
        Self { message, error, is_bad_request: false }
    }
}

/// Where the progress of a call goes, and under which token.
pub(crate) struct ProgressReport<'a> {
    pub(crate) token: JsonText<'a>,
    pub(crate) sink: &'a dyn MessageSink,
}

/// What answers a call, and the caller.
#[derive(Clone, Copy)]
pub(crate) struct CallFrame<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) host: &'a Host,
    pub(crate) caller: Caller,
    pub(crate) id: JsonText<'a>,
}

/// Runs a call and words its answer.
///
/// The call is moved to a box of its own at once, so that no future of a call is larger than 1,024 bytes, which the allocator keeps at
/// hand (`scripts/bench mcp`).
pub(crate) fn run<'a>(
    frame: CallFrame<'a>,
    call: ToolCall,
    context: &'a ToolContext,
    progress: Option<ProgressReport<'a>>,
    asking: Option<&'a Asking>,
) -> impl Future<Output = FinishedCall> + 'a {
    let CallFrame { host, caller, .. } = frame;
    let running: BoxFuture<'a, _> = match progress {
        None => Box::pin(host.run_until_dropped(call, context).map(Ok)),
        Some(report) => Box::pin(watch(host, call, context, caller.revision, report)),
    };
    word_outcome(frame, running, asking)
}

/// Waits for the outcome of a call and words it.
async fn word_outcome(
    frame: CallFrame<'_>,
    running: BoxFuture<'_, Result<Outcome, ToolError>>,
    asking: Option<&Asking>,
) -> FinishedCall {
    let CallFrame { engine, host, caller, id } = frame;
    let outcome = match asking {
        None => running.await,
        Some(asking) => tokio::select! {
            biased;
            outcome = running => outcome,
            // The call is dropped, and starts again with the answers.
            questions = asking.collector.questions() => return input_required(frame, asking, &questions),
        },
    };
    let reader = Reader { revision: caller.revision, server: engine.server_info(host) };
    match outcome {
        Ok(outcome) => {
            let error = outcome.error().map(ToolError::kind);
            FinishedCall::new(answer_outcome(host, id, &outcome, reader), error)
        }
        Err(error) => failed(id, &error, reader),
    }
}

/// Words the answer to a call that the server could not let end.
pub(crate) fn stopped(frame: CallFrame<'_>) -> FinishedCall {
    let CallFrame { engine, host, caller, id } = frame;
    failed(id, &ToolError::stopped(), Reader { revision: caller.revision, server: engine.server_info(host) })
}

fn failed(id: JsonText<'_>, error: &ToolError, reader: Reader<'_>) -> FinishedCall {
    FinishedCall::new(answer::result_with(id, |out| CallResult::failure(error, reader).write(out)), Some(error.kind()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'a> {
    input_requests: BTreeMap<&'a str, InputRequest<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<String>,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

#[derive(Serialize)]
struct InputRequest<'a> {
    method: &'static str,
    params: ElicitParams<'a>,
}

/// Words the questions of a call, which its client answers by calling again.
fn input_required(frame: CallFrame<'_>, asking: &Asking, questions: &[(String, Question)]) -> FinishedCall {
    let CallFrame { engine, host, id, .. } = frame;
    if !asking.can_ask {
        let message = answer::error(Some(id), &ProtocolError::cannot_ask());
        return FinishedCall { message, error: Some(ErrorKind::Unavailable), is_bad_request: true };
    }
    let asked = questions.iter().map(|(key, _)| key.clone()).collect();
    let requests = questions.iter().map(|(key, question)| {
        (key.as_str(), InputRequest { method: ask::METHOD, params: ElicitParams::from(question) })
    });
    let result = InputRequired {
        input_requests: requests.collect(),
        request_state: engine.pending.keep(asking.identity.clone(), asked, asking.collector.answers().clone()),
        envelope: Envelope::input_required(engine.server_info(host)),
    };
    FinishedCall::new(answer::result(id, result), None)
}

impl Input {
    /// Reads what a call continues; none where it is a new one. Answers without a name of what they continue must be readable all the same.
    fn read(params: &Params<'_>) -> Result<Option<Self>, ProtocolError> {
        let answers = read_answers(params.input_responses)?;
        let state = params.request_state.and_then(JsonText::string);
        Ok(state.map(|state| Self { state: state.into_owned(), answers: answers.unwrap_or_default() }))
    }
}

/// Reads the answers that a client gives with a call, each as its text.
fn read_answers(responses: Option<JsonText<'_>>) -> Result<Option<HashMap<String, Box<RawValue>>>, ProtocolError> {
    responses.map(|responses| serde_json::from_str(responses.get()).map_err(unusable_answer)).transpose()
}

fn unusable_answer(reason: serde_json::Error) -> ProtocolError {
    ProtocolError::invalid_params(format!("`inputResponses` cannot be used: {reason}"))
}

fn answer_outcome(host: &Host, id: JsonText<'_>, outcome: &Outcome, reader: Reader<'_>) -> Vec<u8> {
    let definition = outcome.definition.as_ref();
    match &outcome.result {
        Ok(output) => {
            let about = definition.map_or_else(OutputInfo::default, |definition| OutputInfo {
                name: definition.output_name(),
                is_published: host.executor().checks_results(definition),
                is_object: definition.output_schema().is_some_and(is_object_schema),
            });
            answer::result_with(id, |out| CallResult::success(output, about, reader).write(out))
        }
        // There is no tool whose failure it could be.
        Err(error) if error.kind() == ErrorKind::UnknownTool && definition.is_none() => {
            answer::error(Some(id), &ProtocolError::invalid_params(error.message()).with_data(error.data()))
        }
        Err(error) => answer::result_with(id, |out| CallResult::failure(error, reader).write(out)),
    }
}

/// Runs a call and reports how far it is.
async fn watch(
    host: &Host,
    call: ToolCall,
    context: &ToolContext,
    revision: Revision,
    report: ProgressReport<'_>,
) -> Result<Outcome, ToolError> {
    let mut batch = host.watch(call, context).await;
    let mut last = f64::NEG_INFINITY;
    while let Some(event) = batch.next().await {
        match event {
            // The protocol wants it to increase.
            ToolEvent::Progress(_, progress) if progress.done.is_finite() && progress.done > last => {
                last = progress.done;
                // A client that reads no longer is noticed by the task that waits for the answer.
                let _ = report.sink.send(progress_message(report.token, &progress, revision)).await;
            }
            ToolEvent::Finished(_, outcome) | ToolEvent::Failed(_, outcome) => return Ok(outcome),
            ToolEvent::Suspended(_) => break,
            _ => {}
        }
    }
    Err(ToolError::denied("the call waits for a decision, which cannot be made over this connection"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams<'a> {
    progress_token: JsonText<'a>,
    progress: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A number that is written without a fraction where it has none.
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Whole(i64),
    Float(f64),
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        /// Whole numbers up to here are exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() <= EXACT { Self::Whole(number as i64) } else { Self::Float(number) }
    }
}

fn progress_message(token: JsonText<'_>, progress: &Progress, revision: Revision) -> Vec<u8> {
    let params = ProgressParams {
        progress_token: token,
        progress: progress.done.into(),
        total: progress.total.filter(|total| total.is_finite()).map(Number::from),
        message: progress.message.as_deref().filter(|_| revision.has_annotations()),
    };
    answer::notification("notifications/progress", params)
}
