//! Messages over HTTP: [`StreamableHttp`], on our own client, which bounds every body and event.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::{ACCEPT, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue};
use opentool_http::{FrameStream, Framing, HttpClient, HttpError, HttpRequest, HttpResponse, Secrets, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::end_report::EndReport;
use super::error::McpError;
use super::lines::unreadable_answer;
use super::text::shown;
use super::url::Target;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const BOTH_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type TransportError = StreamableHttpError<HttpError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The requests of the protocol. The key and the headers that were set are in the client.
#[derive(Clone)]
pub(crate) struct StreamableHttp {
    client: HttpClient,
    url: Url,
    secrets: Arc<Secrets>,
    report: Arc<EndReport>,
}

impl StreamableHttp {
    pub(crate) fn new(target: &Target, report: Arc<EndReport>) -> Result<Self, McpError> {
        let client = HttpClient::new(&target.config, &target.url)
            .map_err(|error| McpError::Setup { reason: error.to_string() })?;
        Ok(Self { client, url: target.url.clone(), secrets: Arc::new(target.secrets.clone()), report })
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
        let response = self.client.send(&request).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            401 => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge(&response)))),
            403 => {
                let error = InsufficientScopeError::new(challenge(&response), None);
                Err(StreamableHttpError::InsufficientScope(error))
            }
            _ => Ok(response),
        }
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
        let body = response.bytes().await.map_err(StreamableHttpError::Client)?;
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
                Err(unexpected(format!("HTTP {status} {}", shown(&text)).trim_end()))
            }
        }
    }
}

impl StreamableHttpClient for StreamableHttp {
    type Error = HttpError;

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
            return Ok(StreamableHttpPostResponse::Sse(
                events(response.frames(Framing::Events), self.report.clone()),
                session,
            ));
        }
        if !response.is(JSON) && wants_answer {
            return Err(StreamableHttpError::UnexpectedContentType(response.content_type().map(|it| shown(&it))));
        }
        let body = response.bytes().await.map_err(StreamableHttpError::Client)?;
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
        let mut request = HttpRequest::get(self.url.clone()).header(ACCEPT, HeaderValue::from_static(EVENTS));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            request = request.header(LAST_EVENT, id);
        }
        let response = self.send(request, session_id.as_deref(), custom_headers).await?;
        match response.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !response.is_success() => Err(HttpStatusError::new(status, None).into()),
            _ if response.is(EVENTS) => Ok(events(response.frames(Framing::Events), self.report.clone())),
            _ => Err(StreamableHttpError::UnexpectedContentType(response.content_type().map(|it| shown(&it)))),
        }
    }
}

/// The events of a stream, each within the limit.
fn events(frames: FrameStream, report: Arc<EndReport>) -> Events {
    let next = move |frames: Option<FrameStream>| {
        let report = report.clone();
        async move {
            let mut frames = frames?;
            match frames.next().await {
                Ok(Some(frame)) => {
                    let event = Some(frame.name).filter(|name| !name.is_empty());
                    Some((Ok(Sse { event, data: Some(frame.data), ..Sse::default() }), Some(frames)))
                }
                Ok(None) => None,
                Err(error) => {
                    if matches!(error, HttpError::TooLarge { .. }) {
                        report.fault(error.to_string());
                    }
                    Some((Err(SseError::Body(error.into())), None))
                }
            }
        }
    };
    stream::unfold(Some(frames), next).boxed()
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
        Some(StreamableHttpError::Client(error @ HttpError::TooLarge { .. })) => protocol(error.to_string()),
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
