//! `/streamCall`: what a tool emits, frame by frame.
//!
//! The frames are written by hand: the client they are for matches `event:NAME`, without the space that common helpers
//! write, and reads one frame at a time.
//!
//! On the wire what a tool emits and what it returns in the end look alike. A client that accepts
//! `text/event-stream;result=named` is told them apart: the result then comes as the event `result`.

use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body;
use opentool_core::{ErrorKind, ToolCall, ToolContext, ToolError, ToolEvent, TraceContext};
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument;

use crate::answer::{Answer, AnswerBody, write_json, write_success, write_tool_error};
use crate::body::Share;
use crate::call::{Refusal, Running, context_of, stopped, until_cut_off, write_outcome};
use crate::endpoint::Endpoint;
use crate::envelope::Id;
use crate::log::Entry;

/// How many frames may wait for the client before the tool waits.
const BACKLOG: usize = 16;

/// How long a client may leave a frame unread.
const STALL: Duration = Duration::from_secs(30);

/// The type of a stream in which the result has an event of its own.
const NAMED: &str = "text/event-stream;result=named";

/// The frames of a stream as they come.
pub(crate) struct Frames {
    frames: mpsc::Receiver<Bytes>,
    /// Whether a frame was given out that the connection has not yet had a chance to flush.
    unflushed: bool,
    /// The way to whoever writes the frames.
    writer: Option<oneshot::Sender<Box<dyn Any + Send>>>,
}

impl Frames {
    /// Keeps something until the last frame is written, whether or not anybody reads it.
    pub(crate) fn hold(&mut self, guard: impl Any + Send) {
        if let Some(writer) = self.writer.take() {
            // Where the writer is gone already, there is nothing to keep it for.
            let _ = writer.send(Box::new(guard));
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.unflushed {
            // The connection flushes when there is nothing to write, so each frame goes out on its own.
            self.unflushed = false;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(self.frames.poll_recv(cx));
        self.unflushed = frame.is_some();
        Poll::Ready(frame)
    }
}

impl Endpoint {
    pub(crate) async fn stream_call<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        headers: &HeaderMap,
        body: B,
        trace: Option<TraceContext>,
        entry: &mut Entry<'_>,
    ) -> Result<Answer, Refusal> {
        let (bytes, share) = self.receive(body, entry).await?;
        let (envelope, slot) = self.accept(headers, &bytes)?;
        let ticket = slot.hand_over();
        let id = envelope.id.as_json().to_owned();
        let call = ToolCall::new(envelope.id.to_text(), &*envelope.method, envelope.params);
        let (sender, frames) = mpsc::channel(BACKLOG);
        let (writer, held) = oneshot::channel();
        let (endpoint, context) = (self.clone(), context_of(trace));
        let naming = Naming::asked_for(headers);
        // A task of its own: the call goes on, and its deadline counts, while the client reads slowly.
        tokio::spawn(
            async move {
                let _held = held;
                let running = Running::new(&endpoint, endpoint.metrics.resume(ticket), call.name.clone());
                let stream = Stream { endpoint: &endpoint, id: &id, naming, frames: &sender, _share: share };
                tokio::select! {
                    () = stream.run(call, &context, running) => {}
                    // Nobody reads any more: dropping the call cancels it.
                    () = sender.closed() => {}
                }
            }
            .in_current_span(),
        );
        let mut answer = Response::new(AnswerBody::Stream(Frames { frames, unflushed: false, writer: Some(writer) }));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(naming.content_type()));
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        *answer.status_mut() = StatusCode::OK;
        Ok(answer)
    }
}

/// Whether the client wants to tell a tool's result from what it emits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Alike,
    Result,
}

impl Naming {
    fn asked_for(headers: &HeaderMap) -> Self {
        let named = |accept: &HeaderValue| accept.as_bytes().eq_ignore_ascii_case(NAMED.as_bytes());
        if headers.get_all(ACCEPT).iter().any(named) { Self::Result } else { Self::Alike }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Alike => "text/event-stream",
            Self::Result => NAMED,
        }
    }

    /// The event that a result comes as.
    fn event(self) -> &'static str {
        match self {
            Self::Alike => "data",
            Self::Result => "result",
        }
    }
}

/// The writing end of a stream.
struct Stream<'a> {
    endpoint: &'a Endpoint,
    id: &'a str,
    naming: Naming,
    frames: &'a mpsc::Sender<Bytes>,
    _share: Share,
}

/// The client does not read.
struct Stalled;

impl Stream<'_> {
    async fn run(&self, call: ToolCall, context: &ToolContext, mut running: Running<'_>) {
        let name = call.name.clone();
        if self.send("start", &named("start", &name)).await.is_err() {
            return;
        }
        let outcome = match until_cut_off(&self.endpoint.lifecycle, pin!(self.pass_on(call, context))).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(Stalled)) => return,
            Err(error) => Some(error),
        };
        running.finish(outcome.as_ref().map(ToolError::kind));
        let _ = match outcome {
            None => self.send("done", &named("done", &name)).await,
            Some(error) => {
                let mut out = Vec::new();
                write_tool_error(&mut out, &error, &name, Id::from_json(self.id));
                self.send("error", &out).await
            }
        };
    }

    /// Passes on what the tool emits and, in the end, its result; returns why it failed.
    async fn pass_on(&self, call: ToolCall, context: &ToolContext) -> Result<Option<ToolError>, Stalled> {
        let id = Id::from_json(self.id);
        let toolbox = match self.endpoint.toolbox().await {
            Ok(toolbox) => toolbox,
            Err(error) => return Ok(Some(error)),
        };
        let host = self.endpoint.host.executor().host(toolbox.clone());
        let mut batch = match host.watch(call, context).await {
            Ok(batch) => batch,
            Err(error) => return Ok(Some(error)),
        };
        while let Some(event) = batch.next().await {
            let mut out = Vec::new();
            let name = match event {
                ToolEvent::Output(call, output) => {
                    let tool = toolbox.get(&call.tool);
                    write_success(&mut out, &output, tool.and_then(|tool| tool.definition().output_name()), id);
                    "data"
                }
                ToolEvent::Finished(_, outcome) => match &outcome.result {
                    // What was emitted is all there is.
                    Ok(output) if output.is_empty() => continue,
                    _ => {
                        write_outcome(&mut out, &outcome, &toolbox, id);
                        self.naming.event()
                    }
                },
                ToolEvent::Failed(_, outcome) => {
                    return Ok(Some(outcome.result.err().unwrap_or_else(stopped)));
                }
                ToolEvent::Suspended(_) => {
                    return Ok(Some(ToolError::new(
                        ErrorKind::Denied,
                        "the call waits for a decision that nobody can make here",
                    )));
                }
                _ => continue,
            };
            self.send(name, &out).await?;
        }
        Ok(None)
    }

    async fn send(&self, event: &str, data: &[u8]) -> Result<(), Stalled> {
        let mut frame = Vec::with_capacity(event.len() + data.len() + 16);
        frame.extend_from_slice(b"event:");
        frame.extend_from_slice(event.as_bytes());
        frame.extend_from_slice(b"\ndata:");
        // Inside JSON a line may only end between two tokens, where a space says the same.
        frame.extend(data.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        frame.extend_from_slice(b"\n\n");
        self.frames.send_timeout(frame.into(), STALL).await.map_err(|_| Stalled)
    }
}

fn named(event: &str, tool: &str) -> Vec<u8> {
    let mut out = vec![b'{'];
    write_json(&mut out, event);
    out.push(b':');
    write_json(&mut out, tool);
    out.push(b'}');
    out
}
