//! Messages over HTTP: [`StreamableHttp`], on our own client, which bounds every body and event.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue};
use opentool_http::{FrameStream, Framing, HttpClient, HttpError, HttpRequest, HttpResponse, Secrets, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use serde::Deserialize;
use sse_stream::Sse;

use super::end_report::EndReport;
use super::error::McpError;
use super::events::LiveEvents;
use super::lines::unreadable_answer;
use super::oauth::authorizer::{AccessToken, Authorizer};
use super::text::shown;
use super::url::Target;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const BOTH_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const QUESTION: &str = "elicitation/create";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// What the challenge of a server names that can be logged in to.
const LOGIN_OFFERED: &str = "resource_metadata";

type TransportError = StreamableHttpError<SendError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error(transparent)]
    Http(#[from] HttpError),
    /// There is no token to send.
    #[error(transparent)]
    Login(#[from] McpError),
}

/// The requests of the protocol. The key and the headers that were set are in the client.
#[derive(Clone)]
pub(crate) struct StreamableHttp {
    server: Arc<str>,
    client: HttpClient,
    url: Url,
    /// The URL, as a login takes it.
    resource: Arc<str>,
    secrets: Arc<Secrets>,
    report: Arc<EndReport>,
    events: Arc<LiveEvents>,
    /// Where a user logs in.
    authorizer: Option<Arc<Authorizer>>,
}

impl StreamableHttp {
    pub(crate) fn new(
        server: Arc<str>,
        target: &Target,
        events: Arc<LiveEvents>,
        report: Arc<EndReport>,
    ) -> Result<Self, McpError> {
        let client = HttpClient::new(&target.config, &target.url)
            .map_err(|error| McpError::Setup { reason: error.to_string() })?;
        let tokens = target.tokens.clone();
        let authorizer = tokens.map(|tokens| Arc::new(Authorizer::new(&server, target.clone(), tokens)));
        let (url, resource, secrets) = (target.url.clone(), target.resource(), target.secrets.clone());
        let (resource, secrets) = (resource.into(), Arc::new(secrets));
        Ok(Self { server, client, url, resource, secrets, report, events, authorizer })
    }

    async fn send(
        &self,
        request: HttpRequest,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<HttpResponse, TransportError> {
        let mut request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        if let Some(session) = session {
            let session =
                HeaderValue::try_from(session).map_err(|_| unexpected("a session id that no header takes"))?;
            request = request.header(SESSION, session);
        }
        let response = self.authorized(request).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            401 => {
                let challenge = challenge(&response);
                if challenge.contains(LOGIN_OFFERED) {
                    return Err(StreamableHttpError::Client(self.login_offered().into()));
                }
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
            }
            403 => {
                let error = InsufficientScopeError::new(challenge(&response), None);
                Err(StreamableHttpError::InsufficientScope(error))
            }
            _ => Ok(response),
        }
    }

    /// Sends a request with the token of a login, where there is one. A request that is refused for its token has done nothing,
    /// so it is sent again with a new one.
    async fn authorized(&self, request: HttpRequest) -> Result<HttpResponse, SendError> {
        let Some(authorizer) = &self.authorizer else { return Ok(self.client.send(&request).await?) };
        let token = authorizer.token().await?;
        let response = self.send_with(&request, token.as_ref()).await?;
        if response.status() != 401 {
            return Ok(response);
        }
        let is_login_offered = challenge(&response).contains(LOGIN_OFFERED);
        drop(response);
        let renewed = authorizer.renewed(token.as_ref()).await.map_err(|error| match error {
            // It may be a key that the server wants.
            McpError::LoginRequired { server, url, .. } if token.is_none() && !is_login_offered => {
                McpError::KeyRequired { server, url }
            }
            error => error,
        })?;
        let response = self.send_with(&request, Some(&renewed)).await?;
        if response.status() == 401 {
            return Err(authorizer.login_required("its token is refused").into());
        }
        Ok(response)
    }

    /// The error of a server that says where to log in.
    fn login_offered(&self) -> McpError {
        let (server, url) = (self.server.to_string(), self.resource.to_string());
        McpError::LoginRequired { server, url, reason: "no user has logged in".to_owned() }
    }

    async fn send_with(&self, request: &HttpRequest, token: Option<&AccessToken>) -> Result<HttpResponse, SendError> {
        let mut request = request.clone();
        if let Some(token) = token {
            let header = token.key().header("Bearer ");
            let header = header.map_err(|error| McpError::Setup { reason: error.to_string() })?;
            request = request.header(AUTHORIZATION, header);
        }
        Ok(self.client.send(&request).await?)
    }

    /// The events of a stream, each within the limit.
    fn event_stream(&self, response: HttpResponse, request: Option<RequestId>) -> Events {
        let stream = EventStream {
            frames: response.frames(Framing::Events),
            request,
            events: self.events.clone(),
            report: self.report.clone(),
        };
        stream::unfold(Some(stream), |stream: Option<EventStream>| async move { stream?.next().await }).boxed()
    }

    /// Reads a failed response: the error of the protocol in it, or its status.
    async fn failed(
        &self,
        response: HttpResponse,
        message: &ClientJsonRpcMessage,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let status = response.status();
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let status_error = HttpStatusError::new(status, retry_after.map(str::to_owned));
        if status == 429 {
            return Err(status_error.into());
        }
        let is_json = response.is(JSON);
        let body = response.bytes().await.map_err(client_error)?;
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) if is_json => Some(error),
            _ => None,
        };
        // A server that knows no discovery may refuse it in any way; this is the answer that starts the older handshake.
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && (400..500).contains(&status)
        {
            let data = match error {
                Some(error) => error.error,
                None => ErrorData::invalid_request(format!("HTTP {status}"), None),
            };
            return Ok(StreamableHttpPostResponse::Json(
                ServerJsonRpcMessage::error(data, Some(request.id.clone())),
                session,
            ));
        }
        match error {
            Some(error) => Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session)),
            None if status >= 500 => Err(status_error.into()),
            None => {
                let text = self.secrets.redact(String::from_utf8_lossy(&body).into_owned());
                let text = self.authorizer.iter().fold(text, |text, authorizer| authorizer.redact(text));
                Err(unexpected(format!("HTTP {status} {}", shown(&text)).trim_end()))
            }
        }
    }
}

/// A stream that is read.
struct EventStream {
    frames: FrameStream,
    /// The request whose answer it is.
    request: Option<RequestId>,
    events: Arc<LiveEvents>,
    report: Arc<EndReport>,
}

impl EventStream {
    async fn next(mut self) -> Option<(Result<Sse, SseError>, Option<Self>)> {
        match self.frames.next().await {
            Ok(Some(frame)) => {
                if let (Some(request), Some(question)) = (&self.request, question_id(&frame.data)) {
                    self.events.questions.note_origin(question, request.clone());
                }
                let event = Some(frame.name).filter(|name| !name.is_empty());
                let sse = Sse { event, data: Some(frame.data), id: frame.id, retry: frame.retry };
                Some((Ok(sse), Some(self)))
            }
            Ok(None) => None,
            Err(error) => {
                if matches!(error, HttpError::TooLarge { .. }) {
                    self.report.fault(error.to_string());
                }
                Some((Err(SseError::Body(error.into())), None))
            }
        }
    }
}

impl StreamableHttpClient for StreamableHttp {
    type Error = SendError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        let body = serde_json::to_vec(&message)?;
        let request = HttpRequest::post(self.url.clone()).json(body).header(ACCEPT, BOTH_TYPES);
        let response = self.send(request, session_id.as_deref(), custom_headers).await?;
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        match response.status() {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if session_id.is_some() => return Err(StreamableHttpError::SessionExpired),
            status if (300..400).contains(&status) => {
                return Err(unexpected(&format!(
                    "HTTP {status}: redirects are not followed; give the URL it leads to"
                )));
            }
            _ => {}
        }
        if !response.is_success() {
            return self.failed(response, &message, session).await;
        }
        if response.is(EVENTS) {
            let stream = self.event_stream(response, request_id(&message));
            return Ok(StreamableHttpPostResponse::Sse(stream, session));
        }
        if !response.is(JSON) && wants_answer {
            return Err(StreamableHttpError::UnexpectedContentType(response.content_type().map(|it| shown(&it))));
        }
        let body = response.bytes().await.map_err(client_error)?;
        match serde_json::from_slice(&body).ok().or_else(|| unreadable_answer(&body)) {
            Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // No caller waits for it.
            None if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            None => Err(unexpected("a body that is no message")),
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportError> {
        // Whether the server ends the session now or later makes no difference here.
        self.send(HttpRequest::delete(self.url.clone()), Some(&session_id), custom_headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, TransportError> {
        // What was too large once is so again.
        if last_event_id.is_some() && self.report.has_fault() {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let mut request = HttpRequest::get(self.url.clone()).header(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            request = request.header(LAST_EVENT, id);
        }
        let response = self.send(request, session_id.as_deref(), custom_headers).await?;
        match response.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !response.is_success() => Err(HttpStatusError::new(status, None).into()),
            _ if response.is(EVENTS) => Ok(self.event_stream(response, None)),
            _ => Err(StreamableHttpError::UnexpectedContentType(response.content_type().map(|it| shown(&it)))),
        }
    }
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// The id of a request of the server to the user, where an event is one.
fn question_id(event: &str) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct QuestionHead {
        id: RequestId,
        method: Option<String>,
    }
    // Most events are something else, and need not be parsed twice.
    let head = Some(event).filter(|event| event.contains(QUESTION)).map(serde_json::from_str::<QuestionHead>)?.ok()?;
    head.method.is_some_and(|method| method == QUESTION).then_some(head.id)
}

fn client_error(error: HttpError) -> TransportError {
    StreamableHttpError::Client(error.into())
}

fn challenge(response: &HttpResponse) -> String {
    let header = response.headers().get(WWW_AUTHENTICATE);
    header.map(|value| shown(&String::from_utf8_lossy(value.as_bytes()))).unwrap_or_default()
}

fn unexpected(text: &str) -> TransportError {
    StreamableHttpError::UnexpectedServerResponse(text.to_owned().into())
}

/// Words why a request over HTTP has no answer.
pub(crate) fn transport_error(server: &str, error: &(dyn std::error::Error + 'static)) -> McpError {
    let server = server.to_owned();
    let unreachable = |reason: String| McpError::Unreachable { server: server.clone(), reason };
    let protocol = |reason: String| McpError::Protocol { server: server.clone(), reason };
    match error.downcast_ref::<TransportError>() {
        Some(StreamableHttpError::AuthRequired(_)) => McpError::Unauthorized { server, status: 401 },
        Some(StreamableHttpError::InsufficientScope(_)) => McpError::Unauthorized { server, status: 403 },
        Some(StreamableHttpError::Client(SendError::Login(error))) => error.clone(),
        Some(StreamableHttpError::Client(SendError::Http(error @ HttpError::TooLarge { .. }))) => {
            protocol(error.to_string())
        }
        Some(StreamableHttpError::Client(error)) => unreachable(error.to_string()),
        Some(StreamableHttpError::HttpStatus(error)) => unreachable(error.to_string()),
        Some(StreamableHttpError::Sse(error)) => protocol(error.to_string()),
        Some(StreamableHttpError::UnexpectedServerResponse(text)) => protocol(text.to_string()),
        Some(StreamableHttpError::UnexpectedContentType(found)) => {
            protocol(format!("the content type `{}`", found.as_deref().unwrap_or_default()))
        }
        Some(other) => protocol(other.to_string()),
        None => unreachable(error.to_string()),
    }
}
