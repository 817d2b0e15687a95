//! `/call`, the road that nearly every request takes: bytes in, the host, bytes out.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use http_body::Body;
use opentool_core::{ErrorKind, Outcome, ToolCall, ToolContext, ToolError, Toolbox, TraceContext};

use crate::answer::{Answer, Fault, json, write_success, write_tool_error};
use crate::body::{self, Share};
use crate::endpoint::Endpoint;
use crate::envelope::{self, Envelope, Id};
use crate::lifecycle::Lifecycle;
use crate::log::Entry;
use crate::metrics::InFlight;

/// A body larger than this is let go as soon as the arguments are taken from it.
const LARGE: usize = 64 * 1024;

/// An answer that says why a call does not run.
pub(crate) type Refusal = Box<Answer>;

impl Endpoint {
    pub(crate) async fn call<B: Body<Data = Bytes>>(
        &self,
        headers: &HeaderMap,
        body: B,
        trace: Option<TraceContext>,
        entry: &mut Entry<'_>,
    ) -> Result<Answer, Refusal> {
        let (bytes, _share) = self.receive(body, entry).await?;
        let (envelope, slot) = self.accept(headers, &bytes)?;
        let call = ToolCall::new(envelope.id.to_text(), &*envelope.method, envelope.params);
        let context = context_of(trace);
        let mut running = Running::new(self, slot, call.name.clone());
        let answer = if bytes.len() > LARGE {
            let id = envelope.id.as_json().to_owned();
            drop(bytes);
            Box::pin(self.run(call, &context, Id::from_json(&id), &mut running)).await
        } else {
            self.run(call, &context, envelope.id, &mut running).await
        };
        entry.note_call(&running);
        Ok(json(StatusCode::OK, answer))
    }

    /// Reads the body of a request.
    pub(crate) async fn receive<B: Body<Data = Bytes>>(
        &self,
        body: B,
        entry: &mut Entry<'_>,
    ) -> Result<(Bytes, Share), Refusal> {
        let (bytes, share) = body::read(body, &self.settings.body).await.map_err(|fault| Box::new(fault.answer()))?;
        entry.received = bytes.len();
        Ok((bytes, share))
    }

    /// Reads the envelope of a request, refuses what may not run, and finds room for what may.
    pub(crate) fn accept<'a>(
        &self,
        headers: &HeaderMap,
        body: &'a [u8],
    ) -> Result<(Envelope<'a>, InFlight<'_>), Refusal> {
        let envelope = envelope::read(body).map_err(|refused| Box::new(refused.fault.answer_to(refused.id)))?;
        if !says_json(headers) {
            // A page may send other types without asking first, so this is more than form.
            return Err(Box::new(Fault::invalid_request("the content type must be JSON").answer_to(envelope.id)));
        }
        match self.metrics.enter(self.settings.max_calls) {
            Some(slot) => Ok((envelope, slot)),
            None => Err(Box::new(Fault::too_many_calls(self.settings.max_calls).answer_to(envelope.id))),
        }
    }

    /// Runs a call and writes its answer.
    async fn run(&self, call: ToolCall, context: &ToolContext, id: Id<'_>, running: &mut Running<'_>) -> Vec<u8> {
        let result = match self.host.source().fixed() {
            Some(toolbox) => {
                let outcome = until_cut_off(&self.lifecycle, pin!(self.host.run(call, context))).await;
                outcome.map(|outcome| (outcome, Cow::Borrowed(toolbox)))
            }
            None => {
                let mut asked = Box::pin(self.ask_and_run(call, context));
                until_cut_off(&self.lifecycle, asked.as_mut()).await.and_then(|asked| asked)
            }
        };
        let mut out = Vec::with_capacity(256);
        let kind = match &result {
            Ok((outcome, toolbox)) => write_outcome(&mut out, outcome, toolbox, id),
            Err(error) => {
                write_tool_error(&mut out, error, &running.tool, id);
                Some(error.kind())
            }
        };
        running.finish(kind);
        out
    }

    /// Asks the source for its tools once, for the call and for the name of its result.
    async fn ask_and_run(
        &self,
        call: ToolCall,
        context: &ToolContext,
    ) -> Result<(Outcome, Cow<'static, Toolbox>), ToolError> {
        let toolbox = self.toolbox().await?;
        let outcome = self.host.executor().host(toolbox.clone()).run(call, context).await;
        Ok((outcome, Cow::Owned(toolbox)))
    }
}

fn says_json(headers: &HeaderMap) -> bool {
    match headers.get(CONTENT_TYPE) {
        None => true,
        Some(value) => {
            let value = value.as_bytes();
            value == b"application/json" || value.windows(4).any(|word| word.eq_ignore_ascii_case(b"json"))
        }
    }
}

/// What the tools of a request are handed.
pub(crate) fn context_of(trace: Option<TraceContext>) -> ToolContext {
    match trace {
        None => ToolContext::new(),
        Some(trace) => ToolContext::new().with_typed(trace),
    }
}

/// Writes the answer to a call and returns why it failed.
pub(crate) fn write_outcome(out: &mut Vec<u8>, outcome: &Outcome, toolbox: &Toolbox, id: Id<'_>) -> Option<ErrorKind> {
    match &outcome.result {
        Ok(output) => {
            let tool = toolbox.get(&outcome.tool);
            write_success(out, output, tool.and_then(|tool| tool.definition().output_name()), id);
            None
        }
        Err(error) => {
            write_tool_error(out, error, &outcome.tool, id);
            Some(error.kind())
        }
    }
}

/// Runs a call until it is over or the server can wait for it no longer.
///
/// The signal is listened to only once the call waits, so that a call which is ready at once does not pay for it.
pub(crate) async fn until_cut_off<T>(
    lifecycle: &Lifecycle,
    mut call: Pin<&mut impl Future<Output = T>>,
) -> Result<T, ToolError> {
    let mut cut_off = None;
    poll_fn(|cx| {
        if let Poll::Ready(outcome) = call.as_mut().poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        let cut_off = cut_off.get_or_insert_with(|| Box::pin(lifecycle.cut_off.cancelled_owned()));
        cut_off.as_mut().poll(cx).map(|()| Err(stopped()))
    })
    .await
}

pub(crate) fn stopped() -> ToolError {
    ToolError::new(ErrorKind::Timeout, "the server stopped before the tool answered").with_retryable(true)
}

/// A call while it runs; dropped before its end, it counts as cancelled.
pub(crate) struct Running<'a> {
    endpoint: &'a Endpoint,
    pub(crate) tool: Arc<str>,
    /// Whether it is over, and why it failed.
    pub(crate) outcome: Option<Option<ErrorKind>>,
    started: Instant,
    _slot: InFlight<'a>,
}

impl<'a> Running<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint, slot: InFlight<'a>, tool: Arc<str>) -> Self {
        Self { endpoint, tool, outcome: None, started: Instant::now(), _slot: slot }
    }

    pub(crate) fn finish(&mut self, outcome: Option<ErrorKind>) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or(Some(ErrorKind::Cancelled));
        self.endpoint.metrics.record(&self.tool, outcome, self.started.elapsed());
    }
}
