//! `tools/call`: one call, from its parameters to its answer.

use std::borrow::Cow;

use futures_util::StreamExt;
use opentool_core::{ErrorKind, Host, Outcome, Progress, ToolCall, ToolContext, ToolError, ToolEvent, TraceContext};
use serde::Serialize;
use serde_json::value::RawValue;

use super::answer;
use super::content::{CallResult, OutputInfo, Reader};
use super::definition::is_object_schema;
use super::engine::{Caller, Engine};
use super::error::ProtocolError;
use super::message::{Params, string};
use super::revision::Revision;
use super::sink::MessageSink;

/// A call that a client asks for.
pub(crate) struct CallRequest {
    pub(crate) call: ToolCall,
    /// Under which token the client wants to hear of progress.
    pub(crate) progress_token: Option<Box<RawValue>>,
    /// The trace that the request itself names.
    pub(crate) trace: Option<TraceContext>,
}

impl CallRequest {
    /// Reads the parameters of a call. The text of the arguments stays as it came.
    pub(crate) fn read(id: &RawValue, params: &Params<'_>) -> Result<Self, ProtocolError> {
        let name = params.name.and_then(string);
        let name = name.ok_or_else(|| ProtocolError::invalid_params("`name` must be a string: the name of a tool"))?;
        let arguments = match params.arguments.map(RawValue::get) {
            None | Some("null") => "{}",
            Some(text) if text.starts_with('{') => text,
            Some(_) => return Err(ProtocolError::invalid_params("`arguments` must be an object")),
        };
        let id = string(id).unwrap_or(Cow::Borrowed(id.get()));
        let meta = params.meta();
        let trace = meta.traceparent.and_then(string).and_then(|parent| TraceContext::parse(&parent));
        let state = meta.tracestate.and_then(string);
        Ok(Self {
            call: ToolCall::new(&*id, &*name, arguments),
            progress_token: meta.progress_token().map(ToOwned::to_owned),
            trace: match (trace, state) {
                (Some(trace), Some(state)) => Some(trace.with_tracestate(state)),
                (trace, _) => trace,
            },
        })
    }

    /// Returns the context of the call: with the trace that it names, otherwise that of its transport.
    pub(crate) fn context(&self, of_transport: Option<&TraceContext>) -> ToolContext {
        match self.trace.as_ref().or(of_transport) {
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
}

/// Where the progress of a call goes, and under which token.
pub(crate) struct ProgressReport<'a> {
    pub(crate) token: &'a RawValue,
    pub(crate) sink: &'a dyn MessageSink,
}

/// Runs a call and words its answer.
pub(crate) async fn run(
    engine: &Engine,
    host: &Host,
    caller: Caller,
    id: &RawValue,
    call: ToolCall,
    context: &ToolContext,
    progress: Option<ProgressReport<'_>>,
) -> FinishedCall {
    let outcome = match progress {
        None => Ok(host.run(call, context).await),
        Some(report) => watch(host, call, context, caller.revision, &report).await,
    };
    let reader = Reader { revision: caller.revision, server: engine.server_info(host) };
    match outcome {
        Ok(outcome) => {
            let error = outcome.error().map(ToolError::kind);
            FinishedCall { message: answer_outcome(host, id, &outcome, reader), error }
        }
        Err(error) => failed(id, &error, reader),
    }
}

/// Words the answer to a call that the server could not let end.
pub(crate) fn stopped(engine: &Engine, host: &Host, caller: Caller, id: &RawValue) -> FinishedCall {
    let error = ToolError::new(ErrorKind::Timeout, "the server stopped before the tool answered").with_retryable(true);
    failed(id, &error, Reader { revision: caller.revision, server: engine.server_info(host) })
}

fn failed(id: &RawValue, error: &ToolError, reader: Reader<'_>) -> FinishedCall {
    FinishedCall { message: answer::result(id, CallResult::failure(error, reader)), error: Some(error.kind()) }
}

fn answer_outcome(host: &Host, id: &RawValue, outcome: &Outcome, reader: Reader<'_>) -> Vec<u8> {
    let definition = outcome.definition.as_ref();
    match &outcome.result {
        Ok(output) => {
            let about = definition.map_or_else(OutputInfo::default, |definition| OutputInfo {
                name: definition.output_name(),
                is_published: host.executor().checks_results(definition),
                is_object: definition.output_schema().is_some_and(is_object_schema),
            });
            answer::result(id, CallResult::success(output, about, reader))
        }
        // There is no tool whose failure it could be.
        Err(error) if error.kind() == ErrorKind::UnknownTool && definition.is_none() => {
            answer::error(Some(id), &ProtocolError::invalid_params(error.message()).with_data(error.data()))
        }
        Err(error) => answer::result(id, CallResult::failure(error, reader)),
    }
}

/// Runs a call and reports how far it is.
async fn watch(
    host: &Host,
    call: ToolCall,
    context: &ToolContext,
    revision: Revision,
    report: &ProgressReport<'_>,
) -> Result<Outcome, ToolError> {
    let mut batch = host.watch(call, context).await?;
    let mut last = f64::NEG_INFINITY;
    while let Some(event) = batch.next().await {
        match event {
            // The protocol wants it to increase.
            ToolEvent::Progress(_, progress) if progress.done.is_finite() && progress.done > last => {
                last = progress.done;
                // A client that reads no longer is noticed by whoever waits for the answer.
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
    progress_token: &'a RawValue,
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

fn progress_message(token: &RawValue, progress: &Progress, revision: Revision) -> Vec<u8> {
    let params = ProgressParams {
        progress_token: token,
        progress: progress.done.into(),
        total: progress.total.filter(|total| total.is_finite()).map(Number::from),
        message: progress.message.as_deref().filter(|_| revision.has_annotations()),
    };
    answer::notification("notifications/progress", params)
}
