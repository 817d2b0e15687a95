//! What is recorded about a request, for the access log and the metrics: [`RequestRecord`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Method, StatusCode};
use opentool_core::ErrorKind;

use super::response::HttpResponse;
use super::routes::Route;
use crate::log::{self, AccessLine};
use crate::metrics::{InFlight, Metrics};

/// A request while it is answered. It is logged and counted when it is finished or, where the client went away, dropped.
pub(crate) struct RequestRecord<'a> {
    metrics: &'a Metrics,
    /// Set where the request is logged.
    started: Option<Instant>,
    pub(crate) method: &'static str,
    pub(crate) route: Route,
    route_name: &'a str,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) key_name: Option<Arc<str>>,
    tool: Option<Arc<str>>,
    outcome: Option<&'static str>,
    pub(crate) received: usize,
    finished: bool,
}

impl<'a> RequestRecord<'a> {
    pub(crate) fn new(
        metrics: &'a Metrics,
        method: &Method,
        route: Route,
        route_name: &'a str,
        peer: Option<SocketAddr>,
    ) -> Self {
        Self {
            metrics,
            started: log::is_enabled().then(Instant::now),
            method: known_method(method),
            route,
            route_name,
            peer,
            key_name: None,
            tool: None,
            outcome: None,
            received: 0,
            finished: false,
        }
    }

    /// Notes the call that the request asked for.
    pub(crate) fn note_call(&mut self, call: CallNote) {
        self.tool = Some(call.tool);
        self.outcome = call.outcome;
    }

    pub(crate) fn finish(mut self, response: &HttpResponse) {
        self.finished = true;
        self.write(response.status(), response.body().len());
    }

    fn write(&self, status: StatusCode, sent: usize) {
        self.metrics.count_response(status);
        let Some(started) = self.started else { return };
        let line = AccessLine {
            method: self.method,
            route: self.route_name,
            is_probe: matches!(self.route, Route::Operator(_)),
            peer: self.peer,
            key_name: self.key_name.as_deref(),
            tool: self.tool.as_deref().map(|tool| self.metrics.label(tool)),
            outcome: self.outcome,
            received: self.received,
            sent,
            status,
            duration: started.elapsed(),
        };
        line.write();
    }
}

impl Drop for RequestRecord<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What proxies write for a client that went away.
            self.write(StatusCode::from_u16(499).unwrap_or(StatusCode::REQUEST_TIMEOUT), 0);
        }
    }
}

/// The method as logs show it: never one that the client made up.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "_OTHER",
    }
}

/// What the access log says about a call.
pub(crate) struct CallNote {
    tool: Arc<str>,
    outcome: Option<&'static str>,
}

/// A call while it runs, counted when it is dropped; dropped before it is finished, it counts as cancelled.
pub(crate) struct RunningCall {
    metrics: Arc<Metrics>,
    tool: Arc<str>,
    /// Whether it is over, and why it failed.
    outcome: Option<Option<ErrorKind>>,
    started: Instant,
    _in_flight: InFlight,
}

impl RunningCall {
    pub(crate) fn new(metrics: &Arc<Metrics>, in_flight: InFlight, tool: Arc<str>) -> Self {
        Self { metrics: metrics.clone(), tool, outcome: None, started: Instant::now(), _in_flight: in_flight }
    }

    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    pub(crate) fn finish(&mut self, outcome: Option<ErrorKind>) {
        self.outcome = Some(outcome);
    }

    pub(crate) fn note(&self) -> CallNote {
        let outcome = self.outcome.map(|outcome| outcome.map_or("ok", |kind| kind.as_str()));
        CallNote { tool: self.tool.clone(), outcome }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or(Some(ErrorKind::Cancelled));
        self.metrics.record(&self.tool, outcome, self.started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn logs_show_a_method_that_http_has_and_no_other() {
        for method in ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"] {
            assert_eq!(known_method(&method.parse().unwrap()), method);
        }
        assert_eq!(known_method(&"LOOK-AT-THIS".parse().unwrap()), "_OTHER");
    }
}
