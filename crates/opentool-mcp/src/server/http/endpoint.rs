//! The one path of the protocol: [`Endpoint`].

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::join_all;
use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};
use opentool_core::{BoxFuture, Cancellation, Host};
use opentool_server::{FrontendRequest, FrontendResponse, RequestBody};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument;

use super::events;
use super::headers::McpHeaders;
use super::lazy_events::LazyEvents;
use super::replay::ReplayBudget;
use super::reply::Answer;
use super::sessions::{Session, Sessions};
use super::task::{CallTask, PlannedCall};
use crate::server::answer;
use crate::server::ask;
use crate::server::call::CallRequest;
use crate::server::engine::{self, Caller, Engine};
use crate::server::error::ProtocolError;
use crate::server::json_text::JsonText;
use crate::server::listen::{self, End, Filter};
use crate::server::message::{Message, Params};
use crate::server::revision::Revision;

/// How many messages a batch may have.
const MAX_BATCH: usize = 100;

/// Answers the requests to the path.
#[derive(Debug)]
pub(crate) struct Endpoint {
    engine: Arc<Engine>,
    sessions: Sessions,
    /// Streams that last until the client closes them.
    listeners: Arc<Semaphore>,
    replay_budget: ReplayBudget,
}

/// What to do about a message.
enum Action<'a> {
    /// Nothing more: it is a notification.
    Accepted,
    Answer(Answer),
    /// An answer for which the source of the tools may have to be asked.
    Later(BoxFuture<'a, Answer>),
    Call(PlannedCall),
    Listen {
        id: Box<str>,
        filter: Filter,
    },
}

impl Endpoint {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let settings = &engine.settings;
        let sessions = Sessions::new(settings.max_sessions, settings.session_timeout);
        let listeners = Arc::new(Semaphore::new(settings.max_listeners.min(Semaphore::MAX_PERMITS)));
        Self { engine, sessions, listeners, replay_budget: ReplayBudget::default() }
    }

    /// Answers a request. Nothing is waited for before the call runs, so only what waits is in the future: one that holds the reading
    /// of the message too is several times larger, and costs as much to make as the message to read (`scripts/bench mcp`).
    pub(crate) fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        match *request.method() {
            Method::POST => self.post(request),
            Method::GET => ready(self.open_session_stream(&request)),
            Method::DELETE => ready(self.end_session(&request)),
            _ => ready(not_allowed()),
        }
    }

    fn post<'a>(&'a self, mut request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        let headers = McpHeaders::read(&request);
        if !headers.is_json() {
            let error = ProtocolError::invalid_request("the content type must be application/json");
            return ready(Answer::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, answer::error(None, &error)));
        }
        if !headers.accepts_json() && !headers.accepts_events() {
            let error = ProtocolError::invalid_request("Accept must name application/json and text/event-stream");
            return ready(Answer::new(StatusCode::NOT_ACCEPTABLE, answer::error(None, &error)));
        }
        let body = request.take_body();
        if Message::is_array(&body) {
            return Box::pin(self.answer_batch(request, headers, body));
        }
        let action = match Message::read(&body) {
            Ok(message) => self.decide(&request, &headers, message),
            Err(unreadable) => Action::Answer(Answer::bad_request(unreadable.id, &unreadable.error)),
        };
        match action {
            Action::Accepted => ready(FrontendResponse::empty(StatusCode::ACCEPTED)),
            Action::Answer(answer) => ready(answer),
            Action::Later(answer) => Box::pin(async move { answer.await.into() }),
            Action::Call(planned) => self.call(&request, &headers, planned, body),
            Action::Listen { id, filter } => ready(self.open_subscription(&request, &headers, id, filter)),
        }
    }

    fn decide<'a>(
        &'a self,
        request: &FrontendRequest<'a>,
        headers: &McpHeaders<'_>,
        message: Message<'_>,
    ) -> Action<'a> {
        match message {
            Message::Response { id, result } => self.answered(request, headers, id, result),
            Message::Notification { method, params } => self.notified(request, headers, &method, &params),
            Message::Request { id, method, params } => match headers.revision(&method, &params) {
                Err(error) => Action::Answer(Answer::bad_request(Some(id), &error)),
                Ok(revision) if revision.is_stateless() => {
                    self.stateless(request, headers, id, &method, &params, revision)
                }
                Ok(revision) => match self.session(request, headers) {
                    Err(answer) => Action::Answer(answer),
                    Ok(session) => self.legacy(request, id, &method, &params, revision, session),
                },
            },
        }
    }

    /// Answers a request that carries its revision and needs no session.
    fn stateless<'a>(
        &'a self,
        request: &FrontendRequest<'a>,
        headers: &McpHeaders<'_>,
        id: JsonText<'_>,
        method: &str,
        params: &Params<'_>,
        revision: Revision,
    ) -> Action<'a> {
        let host = request.host();
        let caller = Caller { revision, has_key: request.key_name().is_some() };
        if let Err(error) = headers.check_stateless(method, params) {
            return Action::Answer(Answer::bad_request(Some(id), &error));
        }
        match method {
            "server/discover" => self.discover(host, id, caller),
            "tools/list" => self.list(host, id, params, caller),
            "tools/call" => match CallRequest::read(id, params) {
                Ok(call) => {
                    let mirrored = self.engine.mirrored(host);
                    let mirrored = mirrored.as_ref().map_or(&[][..], |mirrored| mirrored.of_tool(&call.call.name));
                    match headers.check_mirrored(mirrored, params.arguments) {
                        Ok(()) => plan(id, call, caller, None),
                        Err(error) => Action::Answer(Answer::bad_request(Some(id), &error)),
                    }
                }
                Err(error) => Action::Answer(Answer::ok(answer::error(Some(id), &error))),
            },
            "subscriptions/listen" => match Filter::read(params) {
                Ok(filter) => Action::Listen { id: owned(id), filter },
                Err(error) => Action::Answer(Answer::ok(answer::error(Some(id), &error))),
            },
            _ => {
                let error = answer::error(Some(id), &ProtocolError::method_not_found(method));
                Action::Answer(Answer::new(StatusCode::NOT_FOUND, error))
            }
        }
    }

    /// Answers a request of a client that begins with `initialize`.
    fn legacy<'a>(
        &'a self,
        request: &FrontendRequest<'a>,
        id: JsonText<'_>,
        method: &str,
        params: &Params<'_>,
        revision: Revision,
        session: Option<Arc<Session>>,
    ) -> Action<'a> {
        let host = request.host();
        let revision = session.as_ref().map_or(revision, |session| session.revision);
        let caller = Caller { revision, has_key: request.key_name().is_some() };
        Action::Answer(Answer::ok(match method {
            "initialize" => return self.initialize(request, id, params),
            "ping" | "logging/setLevel" => self.engine.empty(host, id, caller),
            "tools/list" => return self.list(host, id, params, caller),
            "tools/call" => match CallRequest::read(id, params) {
                Ok(call) => return plan(id, call, caller, session),
                Err(error) => answer::error(Some(id), &error),
            },
            _ => answer::error(Some(id), &ProtocolError::method_not_found(method)),
        }))
    }

    fn initialize<'a>(&'a self, request: &FrontendRequest<'a>, id: JsonText<'_>, params: &Params<'_>) -> Action<'a> {
        let (host, key_name) = (request.host(), request.key_name().cloned());
        let (id, requested) = (owned(id), params.protocol_version.map(owned));
        let answers_questions = ask::answers_questions(params.capabilities);
        Action::Later(Box::pin(async move {
            let requested = requested.as_deref().map(JsonText::known);
            let (message, revision) = self.engine.initialize(host, JsonText::known(&id), requested).await;
            let session = revision.and_then(|revision| {
                let can_ask = revision.has_structured_content() && answers_questions;
                self.sessions.begin(revision, can_ask, key_name)
            });
            Answer { status: StatusCode::OK, message, session }
        }))
    }

    fn discover<'a>(&'a self, host: &'a Host, id: JsonText<'_>, caller: Caller) -> Action<'a> {
        let id = owned(id);
        let message = async move { self.engine.discover(host, JsonText::known(&id), caller).await };
        Action::Later(Box::pin(async move { Answer::ok(message.await) }))
    }

    fn list<'a>(&'a self, host: &'a Host, id: JsonText<'_>, params: &Params<'_>, caller: Caller) -> Action<'a> {
        let (id, cursor) = (owned(id), params.cursor.map(owned));
        Action::Later(Box::pin(async move {
            let cursor = cursor.as_deref().map(JsonText::known);
            Answer::ok(self.engine.list(host, JsonText::known(&id), cursor, caller).await)
        }))
    }

    /// Takes note of a notification; the stateless revisions have none over HTTP.
    fn notified(
        &self,
        request: &FrontendRequest<'_>,
        headers: &McpHeaders<'_>,
        method: &str,
        params: &Params<'_>,
    ) -> Action<'static> {
        match self.session(request, headers) {
            Err(answer) => Action::Answer(answer),
            Ok(session) => {
                if let (Some(session), "notifications/cancelled", Some(id)) = (session, method, params.request_id) {
                    session.calls.cancel(id);
                }
                Action::Accepted
            }
        }
    }

    /// Passes on the answer to a question of a tool.
    fn answered(
        &self,
        request: &FrontendRequest<'_>,
        headers: &McpHeaders<'_>,
        id: JsonText<'_>,
        result: Option<JsonText<'_>>,
    ) -> Action<'static> {
        match self.session(request, headers) {
            Err(answer) => Action::Answer(answer),
            Ok(session) => {
                if let Some(session) = session {
                    session.questions.answer(id, result);
                }
                Action::Accepted
            }
        }
    }

    /// Finds the session that a request names; one that names none is served without.
    fn session(&self, request: &FrontendRequest<'_>, headers: &McpHeaders<'_>) -> Result<Option<Arc<Session>>, Answer> {
        let Some(id) = headers.session() else { return Ok(None) };
        match self.sessions.find(id, request.key_name()) {
            Some(session) => Ok(Some(session)),
            None => {
                let error = ProtocolError::invalid_request("there is no such session: begin another with `initialize`");
                Err(Answer::new(StatusCode::NOT_FOUND, answer::error(None, &error)))
            }
        }
    }

    /// Answers several messages at once, which one revision allows.
    async fn answer_batch<'a>(
        &'a self,
        request: FrontendRequest<'a>,
        headers: McpHeaders<'a>,
        body: RequestBody,
    ) -> FrontendResponse {
        let (request, headers) = (&request, &headers);
        let messages = match Message::split(&body, MAX_BATCH + 1) {
            Ok(messages) => messages,
            Err(unreadable) => return Answer::bad_request(unreadable.id, &unreadable.error).into(),
        };
        let session = match self.session(request, headers) {
            Ok(session) => session,
            Err(answer) => return answer.into(),
        };
        let revision = match (&session, headers.legacy_revision()) {
            (Some(session), _) => session.revision,
            (None, Ok(revision)) => revision,
            (None, Err(error)) => return Answer::bad_request(None, &error).into(),
        };
        let problem = if !revision.has_batches() {
            Some(format!("the protocol version {revision} has no batches: send one message"))
        } else if messages.is_empty() || messages.len() > MAX_BATCH {
            Some(format!("a batch has 1 to {MAX_BATCH} messages"))
        } else {
            None
        };
        if let Some(problem) = problem {
            return Answer::bad_request(None, &ProtocolError::invalid_request(problem)).into();
        }
        let answers = join_all(messages.iter().map(|message| {
            let session = session.clone();
            async move {
                match Message::read(message.get().as_bytes()) {
                    Ok(Message::Response { id, result }) => {
                        self.answered(request, headers, id, result);
                        None
                    }
                    Ok(Message::Notification { method, params }) => {
                        self.notified(request, headers, &method, &params);
                        None
                    }
                    Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                        let error = ProtocolError::invalid_request("`initialize` must stand alone");
                        Some(answer::error(Some(id), &error))
                    }
                    Ok(Message::Request { id, method, params }) => {
                        match self.legacy(request, id, &method, &params, revision, session) {
                            Action::Answer(answer) => Some(answer.message),
                            Action::Later(answer) => Some(answer.await.message),
                            Action::Call(planned) => Some(self.call_in_batch(request, planned).await),
                            Action::Accepted | Action::Listen { .. } => None,
                        }
                    }
                    Err(unreadable) => Some(answer::error(unreadable.id, &unreadable.error)),
                }
            }
        }));
        let answers: Vec<Vec<u8>> = answers.await.into_iter().flatten().collect();
        if answers.is_empty() {
            return FrontendResponse::empty(StatusCode::ACCEPTED);
        }
        let mut body = vec![b'['];
        body.extend(answers.join(&b','));
        body.push(b']');
        FrontendResponse::json(StatusCode::OK, body)
    }

    async fn call_in_batch(&self, request: &FrontendRequest<'_>, planned: PlannedCall) -> Vec<u8> {
        match CallTask::new(&self.engine, request, planned, None) {
            Ok(mut task) => task.run(None).await.message,
            Err(refused) => refused.message,
        }
    }

    fn call<'a>(
        &'a self,
        request: &FrontendRequest<'a>,
        headers: &McpHeaders<'_>,
        planned: PlannedCall,
        mut body: RequestBody,
    ) -> BoxFuture<'a, FrontendResponse> {
        // The call has its own copy of what it needs.
        body.release();
        let is_stateless = planned.caller.revision.is_stateless();
        let can_ask = planned.session.as_ref().is_some_and(|session| session.can_ask);
        let streams = (planned.request.progress_token.is_some() || can_ask) && headers.accepts_events();
        let session = planned.session.clone();
        // In the older revisions a client that goes away has not cancelled its call; with a key it may ask for the answer again.
        let ends_with_client = is_stateless && !planned.request.is_keyed();
        let mut task = match CallTask::new(&self.engine, request, planned, Some(body)) {
            Ok(task) => task,
            Err(refused) => return ready(refused),
        };
        if streams {
            let (sink, mut responses) = LazyEvents::new(session, self.replay_budget.clone());
            tokio::spawn(task.stream(sink, ends_with_client).in_current_span());
            return Box::pin(async move {
                let response = responses.recv().await;
                response.unwrap_or_else(|| FrontendResponse::empty(StatusCode::INTERNAL_SERVER_ERROR))
            });
        }
        let running = Box::pin(async move {
            let finished = task.run(None).await;
            task.respond(finished)
        });
        if ends_with_client {
            // A client that goes away drops this future, which cancels the call.
            running
        } else {
            Box::pin(run_on(running))
        }
    }

    fn open_subscription(
        &self,
        request: &FrontendRequest<'_>,
        headers: &McpHeaders<'_>,
        id: Box<str>,
        filter: Filter,
    ) -> FrontendResponse {
        if !headers.accepts_events() {
            let error = ProtocolError::invalid_request("Accept must name text/event-stream");
            return Answer::new(StatusCode::NOT_ACCEPTABLE, answer::error(Some(JsonText::known(&id)), &error)).into();
        }
        let Ok(permit) = self.listeners.clone().try_acquire_owned() else {
            return too_many_listeners(Some(JsonText::known(&id)));
        };
        let (response, sink) = events::open();
        let (host, stopping) = (request.host().clone(), request.stopping());
        tokio::spawn(async move {
            let _kept: OwnedSemaphorePermit = permit;
            // Over HTTP a client cancels by closing the stream.
            let end = End { stopping: &stopping, cancelled: &Cancellation::new() };
            listen::subscribe(&host, JsonText::known(&id), filter, &sink, end).await;
        });
        response
    }

    /// Opens the stream on which a session receives notifications of changes; without a session, or without changes, there is none. A client that
    /// names the last event of a call's stream gets the rest of that stream instead.
    fn open_session_stream(&self, request: &FrontendRequest<'_>) -> FrontendResponse {
        let headers = McpHeaders::read(request);
        let session = match self.session(request, &headers) {
            Ok(Some(session)) => session,
            Ok(None) => return not_allowed(),
            Err(answer) => return answer.into(),
        };
        let accepts_events = headers.accepts_events();
        let resumed = headers.last_event().and_then(|event| session.streams.find(event));
        if let Some((stream, received)) = resumed.filter(|_| accepts_events) {
            let (response, sink) = events::open();
            tokio::spawn(async move { stream.resume(received, sink).await });
            return response;
        }
        let Some(changes) = engine::changes(request.host()) else { return not_allowed() };
        if !accepts_events {
            let error = ProtocolError::invalid_request("Accept must name text/event-stream");
            return Answer::new(StatusCode::NOT_ACCEPTABLE, answer::error(None, &error)).into();
        }
        let Some(listening) = session.listen() else {
            let error = ProtocolError::invalid_request("the session has a stream already");
            return Answer::new(StatusCode::CONFLICT, answer::error(None, &error)).into();
        };
        let Ok(permit) = self.listeners.clone().try_acquire_owned() else { return too_many_listeners(None) };
        let (response, sink) = events::open();
        let stopping = request.stopping();
        tokio::spawn(async move {
            let _kept = (listening, permit);
            let end = End { stopping: &stopping, cancelled: &session.over };
            listen::notify(changes, &sink, end).await;
        });
        response
    }

    fn end_session(&self, request: &FrontendRequest<'_>) -> FrontendResponse {
        let headers = McpHeaders::read(request);
        match (self.session(request, &headers), headers.session()) {
            (Ok(Some(_)), Some(id)) => {
                self.sessions.end(id);
                FrontendResponse::empty(StatusCode::NO_CONTENT)
            }
            (Err(answer), _) => answer.into(),
            _ => not_allowed(),
        }
    }
}

/// Runs a call that goes on without its client: one that is not ready at once gets a task of its own.
async fn run_on(mut running: BoxFuture<'static, FrontendResponse>) -> FrontendResponse {
    match poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await {
        Poll::Ready(response) => response,
        Poll::Pending => match tokio::spawn(running.in_current_span()).await {
            Ok(response) => response,
            Err(_) => FrontendResponse::empty(StatusCode::INTERNAL_SERVER_ERROR),
        },
    }
}

fn ready<'a>(response: impl Into<FrontendResponse>) -> BoxFuture<'a, FrontendResponse> {
    Box::pin(std::future::ready(response.into()))
}

fn owned(json: JsonText<'_>) -> Box<str> {
    json.get().into()
}

fn plan<'a>(id: JsonText<'_>, request: CallRequest, caller: Caller, session: Option<Arc<Session>>) -> Action<'a> {
    Action::Call(PlannedCall { id: owned(id), request, caller, session })
}

fn not_allowed() -> FrontendResponse {
    FrontendResponse::empty(StatusCode::METHOD_NOT_ALLOWED).with_header(ALLOW, HeaderValue::from_static("POST"))
}

fn too_many_listeners(id: Option<JsonText<'_>>) -> FrontendResponse {
    let error = ProtocolError::internal("as many streams are open as may be; try again later");
    Answer::new(StatusCode::SERVICE_UNAVAILABLE, answer::error(id, &error)).into()
}
