//! `/streamCall`: what a tool emits, event by event.
//!
//! On the wire what a tool emits and what it returns in the end look alike. A client that accepts
//! `text/event-stream;result=named` can distinguish them: the result then comes as the event `result`. Such a client also
//! reads the member `output` of answers.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::HeaderValue;
use http_body::Body;
use opentool_core::{ErrorKind, Host, ToolCall, ToolContext, ToolError, ToolEvent};
use tracing::Instrument;

use super::super::headers::RequestHeaders;
use super::super::record::{RequestRecord, RunningCall};
use super::super::response::HttpResponse;
use super::super::sender::{self, BodySender, ClientGone};
use super::super::state::ServerState;
use super::admit::{LARGE_BODY, OwnedCall, Refused, accepts, admit, admit_large, receive};
use super::cut_off::until_cut_off;
use super::terms::CallTerms;
use crate::wire::answer::{self, Recipient};
use crate::wire::event;
use crate::wire::id::RequestId;

/// The content type of a stream in which the result has an event of its own.
const NAMED_RESULT: &str = "text/event-stream;result=named";

pub(super) async fn answer<B: Body<Data = Bytes>>(
    host: &Arc<Host>,
    state: &Arc<ServerState>,
    headers: &RequestHeaders<'_>,
    body: B,
    mut context: ToolContext,
    record: &mut RequestRecord<'_>,
) -> Result<HttpResponse, Refused> {
    let (bytes, reservation) = receive(state, headers, body, record).await?;
    let OwnedCall { call, id, in_flight, reservation } = if bytes.len() > LARGE_BODY {
        context.insert_typed(state.settings.body.budget.clone());
        admit_large(state, headers, bytes, reservation).await?
    } else {
        let (call, in_flight, id) = admit(state, headers, &bytes)?;
        OwnedCall { call, id: id.as_json().into(), in_flight, reservation }
    };
    let terms = CallTerms::read(headers, RequestId::new(Some(&id)))?;
    if let Some(terms) = &terms {
        context = terms.context(state, &context);
    }
    let is_keyed = terms.is_some_and(|terms| terms.key.is_some());
    let mut running = RunningCall::new(&state.metrics, in_flight, Arc::clone(&call.name));
    let result_event = ResultEvent::requested(headers);
    let (response, body) = sender::stream(HeaderValue::from_static(result_event.content_type()));
    let (host, state) = (host.clone(), state.clone());
    // A task of its own: the call goes on, and its deadline counts, while the client reads slowly.
    tokio::spawn(
        async move {
            let _kept = (reservation, is_keyed.then(|| state.shutdown.detach()));
            let recipient =
                Recipient { id: RequestId::new(Some(&id)), reads_output: result_event == ResultEvent::Result };
            let writer = EventWriter { recipient, result_event, body: Some(body), is_keyed };
            // Where the client is gone, dropping the call cancels it.
            let _ = writer.run(&host, &state, call, &context, &mut running).await;
        }
        .in_current_span(),
    );
    Ok(response)
}

/// Which event a tool's result comes as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultEvent {
    /// The same as what the tool emits.
    Data,
    Result,
}

impl ResultEvent {
    fn requested(headers: &RequestHeaders<'_>) -> Self {
        if accepts(headers, NAMED_RESULT) { Self::Result } else { Self::Data }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Data => "text/event-stream",
            Self::Result => NAMED_RESULT,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Result => "result",
        }
    }
}

/// Writes the events of one call.
struct EventWriter<'a> {
    recipient: Recipient<'a>,
    result_event: ResultEvent,
    /// None once an event could not be sent: what comes after a gap is not sent either, so that the client sees no end.
    body: Option<BodySender>,
    /// Whether the call goes on without its client, which may ask for it again.
    is_keyed: bool,
}

impl EventWriter<'_> {
    async fn run(
        mut self,
        host: &Host,
        state: &ServerState,
        call: ToolCall,
        context: &ToolContext,
        running: &mut RunningCall,
    ) -> Result<(), ClientGone> {
        let name = Arc::clone(&call.name);
        self.send(event::mark("start", &name)).await?;
        let error = match until_cut_off(&state.shutdown, pin!(self.forward(host, call, context))).await {
            Ok(error) => error?,
            Err(error) => Some(error),
        };
        running.finish(error.as_ref().map(ToolError::kind));
        let last = match error {
            None => event::mark("done", &name),
            Some(error) => event::frame("error", &answer::tool_error(&error, &name, self.recipient)),
        };
        self.send(last).await
    }

    /// Sends what the tool emits and, in the end, its result; returns why it failed.
    async fn forward(
        &mut self,
        host: &Host,
        call: ToolCall,
        context: &ToolContext,
    ) -> Result<Option<ToolError>, ClientGone> {
        let mut batch = self.unless_gone(host.watch(call, context)).await?;
        while let Some(event) = self.unless_gone(batch.next()).await? {
            let frame = match event {
                ToolEvent::Output(call, output) => {
                    let name = call.definition.as_ref().and_then(|definition| definition.output_name());
                    event::frame("data", &answer::success(&output, name, self.recipient))
                }
                // What was emitted is all there is.
                ToolEvent::Finished(_, outcome) if outcome.output().is_some_and(|output| output.is_empty()) => continue,
                ToolEvent::Finished(_, outcome) => {
                    event::frame(self.result_event.name(), &answer::outcome(&outcome, self.recipient))
                }
                ToolEvent::Failed(_, outcome) => {
                    return Ok(Some(outcome.result.err().unwrap_or_else(ToolError::stopped)));
                }
                ToolEvent::Suspended(_) => {
                    let message = "the call waits for a decision, which cannot be made over this connection";
                    return Ok(Some(ToolError::new(ErrorKind::Denied, message)));
                }
                _ => continue,
            };
            self.send(frame).await?;
        }
        Ok(None)
    }

    /// Waits for a step of the call; no longer than its client, unless the call goes on without it.
    async fn unless_gone<T>(&self, step: impl Future<Output = T>) -> Result<T, ClientGone> {
        match &self.body {
            Some(body) if !self.is_keyed => tokio::select! {
                biased;
                result = step => Ok(result),
                () = body.closed() => Err(ClientGone),
            },
            _ => Ok(step.await),
        }
    }

    /// Sends an event, unless an earlier one could not be sent.
    async fn send(&mut self, frame: Vec<u8>) -> Result<(), ClientGone> {
        let Some(body) = &self.body else { return Ok(()) };
        let sent = body.send(frame).await;
        if sent.is_err() {
            self.body = None;
        }
        if self.is_keyed { Ok(()) } else { sent }
    }
}
