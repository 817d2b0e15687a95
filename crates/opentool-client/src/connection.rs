//! The connection to a server: a request and its answer, within its time, repeated if that is allowed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use opentool_core::{ToolContext, ToolMetadata};
use opentool_http::{FailedAttempt, HttpClient, HttpError, HttpResponse, Secrets};
use tokio::time::{Instant, timeout};

use crate::address::Address;
use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::request::ServerRequest;
use crate::response::{CallResult, ServerResponse};

/// The route of calls.
const CALL: &str = "call";

/// The connection to a server, made at the first request.
pub(crate) struct Connection {
    pub(crate) config: ClientConfig,
    http: OnceLock<Result<HttpClient, ClientError>>,
    secrets: Secrets,
    /// Set once the server has answered that it has no route for streamed calls.
    no_streams: AtomicBool,
    /// Whether the server was there at the last request.
    state: AtomicU8,
}

/// No request was sent yet.
const UNKNOWN: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

impl Connection {
    pub(crate) fn new(config: ClientConfig) -> Self {
        let secrets = config.key.iter().cloned().collect();
        Self {
            config,
            http: OnceLock::new(),
            secrets,
            no_streams: AtomicBool::new(false),
            state: AtomicU8::new(UNKNOWN),
        }
    }

    /// Says whether the server was there at the last request; none where there was no request yet.
    pub(crate) fn is_up(&self) -> Option<bool> {
        match self.state.load(Relaxed) {
            UP => Some(true),
            DOWN => Some(false),
            _ => None,
        }
    }

    /// Notes whether the server was there: every answer of its own says so, also an error.
    pub(crate) fn note_state<T>(&self, answered: &Result<T, ClientError>) {
        let state = match answered {
            Err(ClientError::NoAccess { .. }) => DOWN,
            // A function may take its time, and the others were not asked.
            Err(
                ClientError::Timeout { .. }
                | ClientError::Cancelled
                | ClientError::Setup { .. }
                | ClientError::InvalidUrl { .. },
            ) => return,
            _ => UP,
        };
        self.state.store(state, Relaxed);
    }

    /// Sends a request and reads the answer, in the time that requests have.
    pub(crate) async fn ask<T>(
        &self,
        request: ServerRequest,
        read: impl Fn(&ServerResponse<'_>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let answered = self.ask_within(self.config.timeout, request, read).await;
        if matches!(answered, Err(ClientError::Timeout { .. })) {
            // Other than a call, what is asked here needs no time.
            self.state.store(DOWN, Relaxed);
        }
        self.note_state(&answered);
        answered
    }

    /// Sends a call in the time that its context has, or until it is cancelled.
    pub(crate) async fn call(&self, request: ServerRequest, context: &ToolContext) -> Result<CallResult, ClientError> {
        let request = request.for_call_of(context);
        let time = context.remaining().unwrap_or(self.config.timeout);
        let answer = self.ask_within(time, request, |response| response.result(self.config.errors_in_results));
        let answered = context.cancellation().guard(answer).await.unwrap_or(Err(ClientError::Cancelled));
        self.note_state(&answered);
        answered
    }

    /// A call that is answered as a whole.
    pub(crate) fn call_request(&self, name: &str, body: Bytes) -> ServerRequest {
        ServerRequest::call(CALL, body).repeatable(self.is_repeatable(name))
    }

    /// Says whether a call of a function may be sent again: the operator says that it is read-only or idempotent.
    pub(crate) fn is_repeatable(&self, name: &str) -> bool {
        self.config.metadata.get(name).is_some_and(ToolMetadata::is_repeatable)
    }

    /// Says whether the server may have a route for streamed calls, which is unknown until one was tried.
    pub(crate) fn may_stream(&self) -> bool {
        !self.no_streams.load(Relaxed)
    }

    /// Remembers that the server has no route for streamed calls.
    pub(crate) fn set_cannot_stream(&self) {
        self.no_streams.store(true, Relaxed);
    }

    async fn ask_within<T>(
        &self,
        time: Duration,
        request: ServerRequest,
        read: impl Fn(&ServerResponse<'_>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let deadline = Instant::now().checked_add(time);
        let attempts = self.config.retry(request.repeatable).run(deadline, || self.attempt(&request, &read));
        timeout(time, attempts).await.unwrap_or_else(|_| Err(ClientError::timeout(time)))
    }

    async fn attempt<T>(
        &self,
        request: &ServerRequest,
        read: &impl Fn(&ServerResponse<'_>) -> Result<T, ClientError>,
    ) -> Result<T, FailedAttempt<ClientError>> {
        let mut retry_after = None;
        let answered = async {
            let response = self.send(request).await?;
            retry_after = response.retry_after();
            read(&self.read_whole(response).await?)
        };
        answered.await.map_err(|error| FailedAttempt {
            retryable: error.is_transient(),
            error: self.redact(error),
            retry_after,
        })
    }

    /// Sends a request once; the body of the response is still to come.
    pub(crate) async fn send(&self, request: &ServerRequest) -> Result<HttpResponse, ClientError> {
        let address = self.config.address.as_ref().map_err(Clone::clone)?;
        let http =
            self.http.get_or_init(|| HttpClient::new(&self.config.http()?, address.url()).map_err(ClientError::setup));
        let http = http.as_ref().map_err(Clone::clone)?;
        let current = self.config.trace.as_ref().and_then(|current| current());
        http.send(&request.to_http(address, current)).await.map_err(|error| self.http_error(error))
    }

    /// Reads the rest of a response.
    pub(crate) async fn read_whole(&self, response: HttpResponse) -> Result<ServerResponse<'_>, ClientError> {
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.http_error(error))?;
        Ok(ServerResponse { url: self.url(), status, body })
    }

    pub(crate) fn http_error(&self, error: HttpError) -> ClientError {
        ClientError::from_http(self.url(), error)
    }

    /// Removes the key from an error, because a server may repeat it.
    pub(crate) fn redact(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Call { message, code, data, output } => ClientError::Call {
                message: self.secrets.redact(message),
                code,
                data: data.filter(|data| !self.secrets.occur_in(&data.to_string())),
                output: output
                    .filter(|output| serde_json::to_string(output).is_ok_and(|output| !self.secrets.occur_in(&output))),
            },
            error => error,
        }
    }

    fn url(&self) -> &str {
        self.config.address.as_ref().map(Address::as_str).unwrap_or_default()
    }
}
