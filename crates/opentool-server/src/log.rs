//! The access log and the span of a request. They take values only, and none of them is a secret: no key, argument, result,
//! query or path that a client made up.

use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use opentool_core::TraceContext;
use tracing::field::Empty;
use tracing::{Level, Span};

const ACCESS: &str = "opentool::access";
const REQUEST: &str = "opentool::request";

/// One line of the access log.
pub(crate) struct AccessLine<'a> {
    pub(crate) method: &'static str,
    pub(crate) route: &'a str,
    /// Whether machines ask for the route every few seconds.
    pub(crate) is_probe: bool,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) key_name: Option<&'a str>,
    /// The tool's name as a label: one that exists, or a common one for all others.
    pub(crate) tool: Option<&'a str>,
    pub(crate) outcome: Option<&'static str>,
    pub(crate) received: usize,
    pub(crate) sent: usize,
    pub(crate) status: StatusCode,
    pub(crate) duration: Duration,
}

impl AccessLine<'_> {
    pub(crate) fn write(&self) {
        /// The level must be known when the crate is compiled.
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(
                    target: ACCESS,
                    $level,
                    {
                        http.request.method = self.method,
                        http.route = self.route,
                        http.response.status_code = self.status.as_u16(),
                        http.request.body.size = self.received,
                        http.response.body.size = self.sent,
                        network.peer.address = self.peer.map(tracing::field::display),
                        key = self.key_name,
                        gen_ai.tool.name = self.tool,
                        outcome = self.outcome,
                        duration_ms = self.duration.as_secs_f64() * 1e3
                    },
                    "request"
                )
            };
        }
        if self.is_probe && self.status.is_success() {
            line!(Level::DEBUG);
        } else {
            line!(Level::INFO);
        }
    }
}

/// Says whether a line would be written anywhere, so that nothing is computed for one that is not.
pub(crate) fn is_enabled() -> bool {
    tracing::event_enabled!(target: ACCESS, Level::INFO)
}

/// Says whether the span of a request is recorded anywhere.
pub(crate) fn is_span_enabled() -> bool {
    tracing::span_enabled!(target: REQUEST, Level::INFO)
}

/// Opens the span of a request; `path` is its route with the prefix.
pub(crate) fn request_span(
    method: &'static str,
    path: &str,
    peer: Option<SocketAddr>,
    trace: Option<&TraceContext>,
) -> Span {
    tracing::info_span!(
        target: REQUEST,
        "request",
        // The name that an exporter shows; a span's own name must be known when the crate is compiled.
        otel.name = format_args!("{method} {path}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = path,
        http.response.status_code = Empty,
        network.peer.address = peer.map(tracing::field::display),
        // The caller's span, for readers without OpenTelemetry.
        trace_id = trace.map(TraceContext::trace_id),
        parent_id = trace.map(TraceContext::parent_id),
    )
}

/// Notes the status of the answer in the span of its request.
pub(crate) fn record_status(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}
