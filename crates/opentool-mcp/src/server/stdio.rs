//! Messages a line each, over the standard streams or any other pair of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{BoxFuture, Cancellation, Host, Journal, MemoryBudget, MemoryJournal, ToolContext};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answer::{self, on_one_line};
use super::ask::{self, Elicitor, OpenQuestions};
use super::call::{self, Asking, CallFrame, CallRequest, ProgressReport};
use super::engine::{self, Caller, Engine};
use super::error::ProtocolError;
use super::in_flight::CallsInFlight;
use super::json_text::JsonText;
use super::listen::{self, End, Filter};
use super::message::{Message, Params};
use super::revision::Revision;
use super::sink::MessageSink;
use crate::line_reader::{BoundedLine, LineReader};

/// How many messages may wait for the client to read.
const BACKLOG: usize = 64;

/// How many bytes of outcomes are kept in memory for calls with a key.
const MAX_KEPT: usize = 64 * 1024 * 1024;

/// How long calls may still run once the client has closed its side.
const GRACE: Duration = Duration::from_secs(5);

/// Serves a client until it closes its side, and answers what it has asked by then.
pub(crate) async fn serve<R, W>(engine: Arc<Engine>, host: Host, reader: R, writer: W) -> io::Result<()>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let writing = tokio::spawn(write_lines(writer, receiver));
    let in_memory = || -> Arc<dyn Journal> { Arc::new(MemoryJournal::new(MemoryBudget::new(MAX_KEPT))) };
    let connection = Connection {
        journal: engine.settings.journal.clone().unwrap_or_else(in_memory),
        calls_allowed: Arc::new(Semaphore::new(engine.settings.max_calls.clamp(1, Semaphore::MAX_PERMITS))),
        engine,
        host: Arc::new(host),
        lines: LineSink(sender),
        in_flight: CallsInFlight::default(),
        revision: None,
        can_ask: false,
        questions: OpenQuestions::default(),
        closing: Cancellation::new(),
        tasks: JoinSet::new(),
    };
    let read = connection.run(reader).await;
    let written = writing.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    read.and(written)
}

/// Writes messages until all senders are gone.
async fn write_lines<W: AsyncWrite + Unpin>(mut writer: W, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        writer.write_all(&line).await?;
        if lines.is_empty() {
            writer.flush().await?;
        }
    }
    writer.shutdown().await
}

/// Sends messages, a line each.
#[derive(Clone)]
struct LineSink(mpsc::Sender<Vec<u8>>);

impl MessageSink for LineSink {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        let mut line = on_one_line(message);
        line.push(b'\n');
        Box::pin(async move { self.0.send(line).await.is_ok() })
    }

    /// A pipe needs no sign of life.
    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.closed())
    }
}

/// A client, and what it has under way.
struct Connection {
    engine: Arc<Engine>,
    host: Arc<Host>,
    lines: LineSink,
    in_flight: CallsInFlight,
    /// What was agreed on by `initialize`.
    revision: Option<Revision>,
    /// Whether the client said then that it can ask the user.
    can_ask: bool,
    questions: OpenQuestions,
    calls_allowed: Arc<Semaphore>,
    /// Given when the client has closed its side.
    closing: Cancellation,
    tasks: JoinSet<()>,
    /// Where calls with a key are recorded.
    journal: Arc<dyn Journal>,
}

impl Connection {
    async fn run<R: AsyncRead + Unpin>(mut self, reader: R) -> io::Result<()> {
        let limit = self.engine.settings.max_line;
        let mut input = LineReader::new(reader, limit);
        let result = loop {
            let line = tokio::select! {
                line = input.next() => line,
                // There is no one to answer.
                () = self.lines.closed() => break Ok(()),
            };
            match line {
                Ok(Some(BoundedLine::Whole(text))) if text.trim_ascii().is_empty() => {}
                Ok(Some(BoundedLine::Whole(text))) => self.receive(&text).await,
                Ok(Some(BoundedLine::Beginning(_))) => {
                    let error = ProtocolError::invalid_request(format!("a message may have {limit} bytes"));
                    self.lines.send(answer::error(None, &error)).await;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            while self.tasks.try_join_next().is_some() {}
        };
        self.closing.cancel();
        self.questions.close();
        // Calls that were asked for are answered, if they end soon.
        let _ = timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.in_flight.cancel_all();
        self.tasks.shutdown().await;
        result
    }

    async fn receive(&mut self, text: &[u8]) {
        match Message::read(text) {
            Ok(Message::Request { id, method, params }) => {
                if let Some(message) = self.answer(id, &method, &params).await {
                    self.lines.send(message).await;
                }
            }
            Ok(Message::Notification { method, params }) => {
                if let ("notifications/cancelled", Some(id)) = (&*method, params.request_id) {
                    self.in_flight.cancel(id);
                }
            }
            Ok(Message::Response { id, result }) => self.questions.answer(id, result),
            Err(unreadable) => {
                self.lines.send(answer::error(unreadable.id, &unreadable.error)).await;
            }
        }
    }

    /// Answers a request, or starts what will.
    async fn answer(&mut self, id: JsonText<'_>, method: &str, params: &Params<'_>) -> Option<Vec<u8>> {
        if method == "initialize" {
            let (message, revision) = self.engine.initialize(&self.host, id, params.protocol_version).await;
            if revision.is_some() && self.revision.replace(Revision::LATEST_LEGACY).is_none() {
                self.notify_changes();
            }
            self.revision = revision.or(self.revision);
            self.can_ask =
                revision.is_some_and(Revision::has_structured_content) && ask::answers_questions(params.capabilities);
            return Some(message);
        }
        let revision = match self.revision_of(method, params) {
            Ok(revision) => revision,
            Err(error) => return Some(answer::error(Some(id), &error)),
        };
        let caller = Caller { revision, has_key: false };
        let stateless = revision.is_stateless();
        Some(match method {
            "tools/list" => self.engine.list(&self.host, id, params.cursor, caller).await,
            "tools/call" => return self.call(id, params, caller),
            "ping" | "logging/setLevel" if !stateless => self.engine.empty(&self.host, id, caller),
            "server/discover" if stateless => self.engine.discover(&self.host, id, caller).await,
            "subscriptions/listen" if stateless => return self.listen(id, params),
            _ => answer::error(Some(id), &ProtocolError::method_not_found(method)),
        })
    }

    /// Finds the revision of a request: its own, otherwise what was agreed on.
    fn revision_of(&self, method: &str, params: &Params<'_>) -> Result<Revision, ProtocolError> {
        let meta = &params.meta;
        let Some(revision) = meta.revision else {
            if matches!(method, "server/discover" | "subscriptions/listen") {
                let message = "`_meta` must have `io.modelcontextprotocol/protocolVersion`";
                return Err(ProtocolError::invalid_params(message));
            }
            return Ok(self.revision.unwrap_or(Revision::LATEST_LEGACY));
        };
        let Some(requested) = revision.string() else {
            return Err(ProtocolError::invalid_params("the protocol version in `_meta` must be a string"));
        };
        let revision = Revision::parse(&requested).ok_or_else(|| ProtocolError::unsupported_revision(&requested))?;
        if revision.is_stateless() && !meta.capabilities.is_some_and(JsonText::is_object) {
            let message = "`_meta` must have `io.modelcontextprotocol/clientCapabilities`, an object";
            return Err(ProtocolError::invalid_params(message));
        }
        Ok(revision)
    }

    /// Starts a call, which answers by itself.
    fn call(&mut self, id: JsonText<'_>, params: &Params<'_>, caller: Caller) -> Option<Vec<u8>> {
        let mut request = match CallRequest::read(id, params) {
            Ok(request) => request,
            Err(error) => return Some(answer::error(Some(id), &error)),
        };
        let Ok(permit) = self.calls_allowed.clone().try_acquire_owned() else {
            let limit = self.engine.settings.max_calls;
            let error = ProtocolError::internal(format!("too many calls in flight: the server runs {limit} at once"));
            return Some(answer::error(Some(id), &error));
        };
        let mut context = request.recorded(request.context(None), &self.journal, None);
        let mut asking = None;
        if caller.revision.is_stateless() {
            match request.asking(&self.engine, None) {
                Ok(taken_up) => {
                    context = context.with_respondent(taken_up.collector.clone());
                    asking = Some(taken_up);
                }
                Err(error) => return Some(answer::error(Some(id), &error)),
            }
        } else if self.can_ask {
            let elicitor = Elicitor { sink: Arc::new(self.lines.clone()), questions: self.questions.clone() };
            context = context.with_respondent(elicitor);
        }
        let in_flight = self.in_flight.enter(id, context.cancellation().clone());
        let task = LineCall {
            engine: self.engine.clone(),
            host: self.host.clone(),
            lines: self.lines.clone(),
            id: id.get().into(),
            caller,
            request,
            context,
            asking,
        };
        self.tasks.spawn(async move {
            let _kept = (permit, in_flight);
            task.run().await;
        });
        None
    }

    fn listen(&mut self, id: JsonText<'_>, params: &Params<'_>) -> Option<Vec<u8>> {
        let filter = match Filter::read(params) {
            Ok(filter) => filter,
            Err(error) => return Some(answer::error(Some(id), &error)),
        };
        let Ok(permit) = self.calls_allowed.clone().try_acquire_owned() else {
            let error = ProtocolError::internal("too many requests are under way");
            return Some(answer::error(Some(id), &error));
        };
        let cancelled = Cancellation::new();
        let in_flight = self.in_flight.enter(id, cancelled.clone());
        let (host, lines, stopping) = (self.host.clone(), self.lines.clone(), self.closing.clone());
        let id: Box<str> = id.get().into();
        self.tasks.spawn(async move {
            let _kept: (OwnedSemaphorePermit, _) = (permit, in_flight);
            let end = End { stopping: &stopping, cancelled: &cancelled };
            listen::subscribe(&host, JsonText::known(&id), filter, &lines, end).await;
        });
        None
    }

    /// Tells a client that began with `initialize` of changed tools.
    fn notify_changes(&mut self) {
        let Some(changes) = engine::changes(&self.host) else { return };
        let (lines, closing) = (self.lines.clone(), self.closing.clone());
        self.tasks.spawn(async move {
            listen::notify(changes, &lines, End { stopping: &closing, cancelled: &closing }).await;
        });
    }
}

/// A call that answers by itself.
struct LineCall {
    engine: Arc<Engine>,
    host: Arc<Host>,
    lines: LineSink,
    id: Box<str>,
    caller: Caller,
    request: CallRequest,
    context: ToolContext,
    asking: Option<Asking>,
}

impl LineCall {
    async fn run(self) {
        let Self { engine, host, lines, id, caller, request, context, asking } = self;
        let CallRequest { call, progress_token, .. } = request;
        let progress =
            progress_token.as_deref().map(|token| ProgressReport { token: JsonText::known(token), sink: &lines });
        let frame = CallFrame { engine: &engine, host: &host, caller, id: JsonText::known(&id) };
        let finished = call::run(frame, call, &context, progress, asking.as_ref()).await;
        // A client that has cancelled its request waits for no answer.
        if !context.is_cancelled() {
            lines.send(finished.message).await;
        }
    }
}
