//! The access log and the span of a request. No secret is in either: no key, argument, result, query or made-up path.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Method, StatusCode};
use opentool_core::TraceContext;
use tracing::field::Empty;
use tracing::{Level, Span, span_enabled};

use crate::answer::Answer;
use crate::call::Running;
use crate::endpoint::{Endpoint, Route};

const ACCESS: &str = "opentool::access";
const REQUEST: &str = "opentool::request";

/// One line of the access log, written when the request is answered or given up.
pub(crate) struct Entry<'a> {
    endpoint: &'a Endpoint,
    started: Instant,
    method: &'static str,
    pub(crate) route: Route,
    peer: Option<SocketAddr>,
    /// The name of the key.
    pub(crate) key: Option<Arc<str>>,
    tool: Option<Arc<str>>,
    outcome: Option<&'static str>,
    pub(crate) received: usize,
    answered: bool,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(endpoint: &'a Endpoint, method: &Method, route: Route, peer: Option<SocketAddr>) -> Self {
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::OPTIONS => "OPTIONS",
            Method::PUT => "PUT",
            Method::DELETE => "DELETE",
            // Whoever makes up methods does not get to write our log.
            _ => "_OTHER",
        };
        let started = Instant::now();
        Self {
            endpoint,
            started,
            method,
            route,
            peer,
            key: None,
            tool: None,
            outcome: None,
            received: 0,
            answered: false,
        }
    }

    pub(crate) fn note_call(&mut self, running: &Running<'_>) {
        self.tool = Some(running.tool.clone());
        self.outcome = running.outcome.map(|outcome| outcome.map_or("ok", |kind| kind.as_str()));
    }

    pub(crate) fn finish(mut self, answer: &Answer) {
        self.answered = true;
        self.write(answer.status(), answer.body().len());
    }

    fn write(&self, status: StatusCode, sent: usize) {
        self.endpoint.metrics.respond(status);
        /// The level must be known when the crate is compiled.
        macro_rules! line {
            ($level:expr) => {
                if tracing::event_enabled!(target: ACCESS, $level) {
                    tracing::event!(
                        target: ACCESS,
                        $level,
                        {
                            http.request.method = self.method,
                            http.route = self.route.as_str(),
                            http.response.status_code = status.as_u16(),
                            http.request.body.size = self.received,
                            http.response.body.size = sent,
                            network.peer.address = self.peer.map(tracing::field::display),
                            key = self.key.as_deref(),
                            gen_ai.tool.name = self.tool.as_deref().map(|tool| self.endpoint.metrics.label(tool)),
                            outcome = self.outcome,
                            duration_ms = self.started.elapsed().as_secs_f64() * 1e3
                        },
                        "request"
                    );
                }
            };
        }
        if self.route.is_probe() && status.is_success() {
            // Every few seconds, for ever.
            line!(Level::DEBUG);
        } else {
            line!(Level::INFO);
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // What proxies write for a client that went away.
            self.write(StatusCode::from_u16(499).unwrap_or(StatusCode::REQUEST_TIMEOUT), 0);
        }
    }
}

/// Says whether anybody would see a span.
pub(crate) fn span_wanted() -> bool {
    span_enabled!(target: REQUEST, Level::INFO)
}

pub(crate) fn span(entry: &Entry<'_>, prefix: &str, trace: Option<&TraceContext>) -> Span {
    let prefix = match entry.route {
        Route::Version | Route::Load | Route::Call | Route::StreamCall | Route::Stop => prefix,
        _ => "",
    };
    tracing::info_span!(
        target: REQUEST,
        "request",
        // The name that an exporter shows; a span's own name must be known when the crate is compiled.
        otel.name = format_args!("{} {prefix}{}", entry.method, entry.route.as_str()),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = entry.method,
        http.route = format_args!("{prefix}{}", entry.route.as_str()),
        http.response.status_code = Empty,
        network.peer.address = entry.peer.map(tracing::field::display),
        // The caller's span, for readers without OpenTelemetry.
        trace_id = trace.map(TraceContext::trace_id),
        parent_id = trace.map(TraceContext::parent_id),
    )
}

pub(crate) fn close(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}
