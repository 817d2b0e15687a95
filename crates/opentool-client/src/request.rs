//! Requests to a server, as they go over the wire.

use std::time::Instant;

use bytes::Bytes;
use opentool_core::{ToolContext, TraceContext};
use opentool_http::HttpRequest;
use opentool_spec::rpc::JSONRPC;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::address::Address;
use crate::error::ClientError;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TIMEOUT: HeaderName = HeaderName::from_static("opentool-timeout-ms");

/// A call, with its arguments borrowed: they may have many megabytes.
#[derive(Serialize)]
struct CallBody<'a> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a RawValue,
    id: &'a str,
}

/// Writes the body of a call.
pub(crate) fn call_body(id: &str, name: &str, params: &RawValue) -> Result<Bytes, ClientError> {
    serde_json::to_vec(&CallBody { jsonrpc: JSONRPC, method: name, params, id })
        .map(Bytes::from)
        .map_err(|error| ClientError::setup(format_args!("the call cannot be written: {error}")))
}

/// A request to one of the server's routes, which can be sent several times.
pub(crate) struct ServerRequest {
    route: &'static str,
    /// POST requests have a body or not, GET requests never.
    is_post: bool,
    body: Option<Bytes>,
    pub(crate) repeatable: bool,
    accept: Option<&'static str>,
    trace: Option<TraceContext>,
    /// What makes the call the same one however often it is sent.
    key: Option<String>,
    /// Until when the caller waits.
    deadline: Option<Instant>,
}

impl ServerRequest {
    /// A request for information about the server.
    pub(crate) fn get(route: &'static str) -> Self {
        Self {
            route,
            is_post: false,
            body: None,
            repeatable: true,
            accept: None,
            trace: None,
            key: None,
            deadline: None,
        }
    }

    /// A command without a body.
    pub(crate) fn post(route: &'static str) -> Self {
        Self { is_post: true, repeatable: false, ..Self::get(route) }
    }

    /// A call of a function, whose body [`call_body`] wrote.
    pub(crate) fn call(route: &'static str, body: Bytes) -> Self {
        Self { body: Some(body), ..Self::post(route) }
    }

    /// Sets whether the request may be sent again.
    pub(crate) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Sets the content type of the answer.
    pub(crate) fn accepting(mut self, content_type: &'static str) -> Self {
        self.accept = Some(content_type);
        self
    }

    /// Takes what a context says about the call: its trace (the client's own trace function comes first), the key of a recorded
    /// call, and how long its caller waits.
    pub(crate) fn for_call_of(mut self, context: &ToolContext) -> Self {
        self.trace = context.typed::<TraceContext>().cloned();
        self.key = context.call_key().map(ToString::to_string);
        self.deadline = context.deadline();
        self
    }

    /// The HTTP request to a server, in the current trace if there is one.
    pub(crate) fn to_http(&self, address: &Address, current: Option<TraceContext>) -> HttpRequest {
        let url = address.route(self.route);
        let mut request = if self.is_post { HttpRequest::post(url) } else { HttpRequest::get(url) };
        if let Some(trace) = current.as_ref().or(self.trace.as_ref()) {
            let headers = [(TRACEPARENT, Some(trace.traceparent())), (TRACESTATE, trace.tracestate())];
            for (name, value) in headers {
                // A trace is not worth failing a call for.
                if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                    request = request.header(name, value);
                }
            }
        }
        if let Some(key) = self.key.as_ref().and_then(|key| HeaderValue::from_str(key).ok()) {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(tokio::time::Instant::now().into_std());
            request = request.header(TIMEOUT, HeaderValue::from(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)));
        }
        if let Some(accept) = self.accept {
            request = request.header(ACCEPT, HeaderValue::from_static(accept));
        }
        match &self.body {
            Some(body) => request.json(body.clone()),
            None => request,
        }
    }
}
