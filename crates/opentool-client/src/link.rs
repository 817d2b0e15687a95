//! The link to a server: one request and its answer, within its time, again where it may be sent again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use opentool_core::{ToolContext, TraceContext};
use opentool_http::jittered;
use opentool_spec::rpc::RpcRequest;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use reqwest::{Method, Response};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use crate::ClientError;
use crate::address::Address;
use crate::answer::Answer;
use crate::http::Http;
use crate::settings::Settings;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// How many times the first wait the longest one is.
const LONGEST_WAIT: u32 = 30;

/// The link to a server, made when it is first used.
pub(crate) struct Link {
    pub(crate) settings: Settings,
    http: OnceLock<Result<Http, ClientError>>,
    /// Set when the server turned out to have no way to stream a call.
    streamless: AtomicBool,
}

/// A request, ready to be sent as often as it may be.
pub(crate) struct Outgoing {
    method: Method,
    route: &'static str,
    body: Option<Bytes>,
    repeatable: bool,
    /// What kind of answer is wanted, where it matters.
    accept: Option<&'static str>,
    trace: Option<TraceContext>,
}

impl Outgoing {
    /// A request for what the server says about itself.
    pub(crate) fn get(route: &'static str) -> Self {
        Self { method: Method::GET, route, body: None, repeatable: true, accept: None, trace: None }
    }

    /// A request to do something.
    pub(crate) fn post(route: &'static str) -> Self {
        Self { method: Method::POST, route, body: None, repeatable: false, accept: None, trace: None }
    }

    /// A request to call a function.
    pub(crate) fn call(route: &'static str, id: &str, name: &str, params: Box<RawValue>) -> Result<Self, ClientError> {
        let body = serde_json::to_vec(&RpcRequest::new(id, name, Some(params)))
            .map_err(|error| ClientError::Setup { reason: format!("the call cannot be written: {error}") })?;
        Ok(Self { body: Some(body.into()), ..Self::post(route) })
    }

    /// Says that the request may be sent again.
    pub(crate) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Says which kind of answer is wanted.
    pub(crate) fn accepting(mut self, content_type: &'static str) -> Self {
        self.accept = Some(content_type);
        self
    }

    /// Says which trace the request belongs to, unless the client knows better.
    pub(crate) fn in_trace_of(mut self, context: &ToolContext) -> Self {
        self.trace = context.typed::<TraceContext>().cloned();
        self
    }
}

impl Link {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, http: OnceLock::new(), streamless: AtomicBool::new(false) }
    }

    /// Sends a request and reads the answer, in the time that requests have.
    pub(crate) async fn ask<T>(
        &self,
        request: Outgoing,
        read: impl Fn(&Answer<'_>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        self.ask_within(self.settings.timeout, request, read).await
    }

    /// Calls a function in the time that its context gives it, or until it is cancelled.
    pub(crate) async fn call(
        &self,
        id: &str,
        name: &str,
        params: Box<RawValue>,
        context: &ToolContext,
    ) -> Result<Option<Box<RawValue>>, ClientError> {
        let request =
            Outgoing::call("call", id, name, params)?.repeatable(self.is_repeatable(name)).in_trace_of(context);
        let time = context.remaining().unwrap_or(self.settings.timeout);
        let answer = self.ask_within(time, request, |answer| answer.result(self.settings.errors_in_results));
        context.cancellation().guard(answer).await.unwrap_or(Err(ClientError::Cancelled))
    }

    /// Says whether a call of a function may be sent again.
    pub(crate) fn is_repeatable(&self, name: &str) -> bool {
        self.settings.metadata.get(name).is_some_and(|metadata| metadata.is_idempotent())
    }

    /// Says whether the server may have a way to stream a call; nobody knows until it was tried.
    pub(crate) fn may_stream(&self) -> bool {
        !self.streamless.load(Relaxed)
    }

    /// Remembers that the server has no way to stream a call.
    pub(crate) fn cannot_stream(&self) {
        self.streamless.store(true, Relaxed);
    }

    async fn ask_within<T>(
        &self,
        time: Duration,
        request: Outgoing,
        read: impl Fn(&Answer<'_>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let until = Instant::now().checked_add(time);
        let attempts = async {
            let mut wait = self.settings.backoff;
            let mut left = if request.repeatable { self.settings.retries } else { 0 };
            loop {
                let (error, told) = match self.exchange(&request).await {
                    Ok(answer) => match read(&answer) {
                        Ok(value) => return Ok(value),
                        Err(error) => (error, answer.retry_after),
                    },
                    Err(error) => (error, None),
                };
                if left == 0 || !error.is_transient() {
                    return Err(self.harmless(error));
                }
                left -= 1;
                let pause = jittered(wait).max(told.unwrap_or_default());
                if told.is_some() && until.is_some_and(|until| Instant::now() + pause >= until) {
                    // The server's own words say more than that the time is over, and they can be said now.
                    return Err(self.harmless(error));
                }
                tracing::debug!(route = request.route, %error, ?pause, "the server is in trouble; trying again");
                sleep(pause).await;
                wait = (wait * 2).min(self.settings.backoff * LONGEST_WAIT);
            }
        };
        timeout(time, attempts).await.unwrap_or(Err(ClientError::Timeout { after: time }))
    }

    /// Sends a request once and reads the whole answer.
    async fn exchange(&self, request: &Outgoing) -> Result<Answer<'_>, ClientError> {
        let response = self.send(request).await?;
        self.whole(response).await
    }

    /// Sends a request once; the answer's body is still to come.
    pub(crate) async fn send(&self, request: &Outgoing) -> Result<Response, ClientError> {
        let http = self.http()?;
        let mut builder = http.client.request(request.method.clone(), http.address.route(request.route));
        if let Some(authorization) = &http.authorization {
            builder = builder.header(AUTHORIZATION, authorization.clone());
        }
        let current = self.settings.trace.as_ref().and_then(|current| current());
        if let Some(trace) = current.as_ref().or(request.trace.as_ref()) {
            builder = builder.header(TRACEPARENT, trace.traceparent());
            if let Some(state) = trace.tracestate() {
                builder = builder.header(TRACESTATE, state);
            }
        }
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = builder.send().await.map_err(|error| ClientError::broken(http.address.as_str(), error))?;
        tracing::debug!(route = request.route, status = response.status().as_u16(), "the server answered");
        Ok(response)
    }

    /// Reads the rest of an answer, as far as answers may go.
    pub(crate) async fn whole(&self, mut response: Response) -> Result<Answer<'_>, ClientError> {
        let limit = self.settings.max_response_size;
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| read_retry_after(value.to_str().ok()?));
        let mut body = Vec::new();
        while let Some(chunk) = self.next_chunk(&mut response).await? {
            if body.len() + chunk.len() > limit {
                return Err(ClientError::TooLarge { limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { url: self.url(), status: response.status().as_u16(), retry_after, body })
    }

    /// Reads the next piece of an answer.
    pub(crate) async fn next_chunk(&self, response: &mut Response) -> Result<Option<Bytes>, ClientError> {
        response.chunk().await.map_err(|error| ClientError::broken(self.url(), error))
    }

    /// Makes sure that an error does not give the key away, which a server may have repeated.
    pub(crate) fn harmless(&self, error: ClientError) -> ClientError {
        match (error, &self.settings.key) {
            (ClientError::Call { message, code, data }, Some(key)) => ClientError::Call {
                message: key.cut_out_of(message),
                code,
                data: data.filter(|data| !key.is_in(&data.to_string())),
            },
            (error, _) => error,
        }
    }

    fn url(&self) -> &str {
        self.settings.address.as_ref().map(Address::as_str).unwrap_or_default()
    }

    fn http(&self) -> Result<&Http, ClientError> {
        self.http.get_or_init(|| Http::new(&self.settings)).as_ref().map_err(Clone::clone)
    }
}

/// How long a server wants to be left alone: a number of seconds, or a date. More than a year is no answer.
fn read_retry_after(value: &str) -> Option<Duration> {
    const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
    let value = value.trim();
    let wait = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // A date that has passed says: now.
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(SystemTime::now()).unwrap_or_default(),
    };
    (wait <= LONGEST).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_how_long_to_wait_in_seconds_or_by_date() {
        assert_eq!(read_retry_after(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(read_retry_after("0"), Some(Duration::ZERO));
        assert_eq!(read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO), "it has passed");
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
        assert!(read_retry_after(&soon).is_some_and(|wait| wait.as_secs() > 60 && wait.as_secs() <= 90));
        for nonsense in ["", "soon", "-1", "1.5", "99999999999999999999", "9999999999"] {
            assert_eq!(read_retry_after(nonsense), None, "{nonsense}");
        }
    }
}
