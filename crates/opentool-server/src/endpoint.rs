//! Everything between a request and its answer: [`Endpoint`].

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{CONNECTION, HeaderMap, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body::Body;
use opentool_core::{Host, TraceContext};
use tracing::Instrument;

use crate::answer::{Answer, Fault, allow, json, with_type, write_json};
use crate::config::{Config, Settings};
use crate::gate::Hosts;
use crate::lifecycle::Lifecycle;
use crate::log::{self, Entry};
use crate::metrics::{Gauges, Metrics};

/// A host behind the routes of the wire. The router and the server are two ways to reach one.
pub(crate) struct Endpoint {
    pub(crate) host: Host,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Metrics,
    pub(crate) lifecycle: Arc<Lifecycle>,
    /// What `/load` answers, where the tools are always the same.
    pub(crate) document: OnceLock<Bytes>,
}

/// Which of the routes a listener serves, and for which hosts.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) tools: bool,
    pub(crate) operator: bool,
    /// Other hosts than those of the configuration.
    pub(crate) hosts: Option<Hosts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Version,
    Load,
    Call,
    StreamCall,
    Stop,
    Healthz,
    Readyz,
    Metrics,
    /// No path of ours, but under the prefix.
    Unknown,
    /// Neither.
    Elsewhere,
}

impl Route {
    /// Returns the route as logs show it: never what the client made up.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Version => "/version",
            Self::Load => "/load",
            Self::Call => "/call",
            Self::StreamCall => "/streamCall",
            Self::Stop => "/stop",
            Self::Healthz => "/healthz",
            Self::Readyz => "/readyz",
            Self::Metrics => "/metrics",
            Self::Unknown | Self::Elsewhere => "(unknown)",
        }
    }

    fn is_post(self) -> bool {
        matches!(self, Self::Call | Self::StreamCall | Self::Stop)
    }

    /// Whether it says only that the server is there.
    fn is_open(self) -> bool {
        matches!(self, Self::Healthz | Self::Readyz)
    }

    /// Whether machines ask for it again and again.
    pub(crate) fn is_probe(self) -> bool {
        matches!(self, Self::Healthz | Self::Readyz | Self::Metrics)
    }
}

impl Endpoint {
    pub(crate) fn new(host: Host, config: &Config) -> Arc<Self> {
        let metrics = match host.source().fixed() {
            Some(toolbox) => Metrics::new(toolbox.names()),
            None => Metrics::default(),
        };
        Arc::new(Self {
            host,
            settings: config.0.clone(),
            metrics,
            lifecycle: Arc::default(),
            document: OnceLock::new(),
        })
    }

    /// Answers a request. Its head is lent: what an async function is given by value it stores twice.
    pub(crate) async fn handle<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        door: &Door,
        peer: Option<SocketAddr>,
        parts: &Parts,
        body: B,
    ) -> Answer {
        let route = self.route(door, parts.uri.path());
        let mut entry = Entry::new(self, &parts.method, route, peer);
        let mut answer = if log::span_wanted() {
            Box::pin(self.answer_in_span(door, parts, body, &mut entry)).await
        } else {
            self.answer(door, parts, body, trace_of(&parts.headers), &mut entry).await
        };
        if self.settings.origins.cors {
            self.settings.origins.permit(parts.headers.get(ORIGIN).cloned(), &mut answer);
        }
        if self.lifecycle.is_draining() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        entry.finish(&answer);
        answer
    }

    async fn answer_in_span<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        door: &Door,
        parts: &Parts,
        body: B,
        entry: &mut Entry<'_>,
    ) -> Answer {
        let incoming = trace_of(&parts.headers);
        let span = log::span(entry, &self.settings.prefix, incoming.as_ref());
        let trace = match &self.settings.trace_hook {
            Some(hook) => span.in_scope(|| hook(incoming.as_ref())),
            None => incoming,
        };
        let answer = self.answer(door, parts, body, trace, entry).instrument(span.clone()).await;
        log::close(&span, answer.status());
        answer
    }

    /// Everything is refused that can be before the body is read.
    async fn answer<B: Body<Data = Bytes>>(
        self: &Arc<Self>,
        door: &Door,
        parts: &Parts,
        body: B,
        trace: Option<TraceContext>,
        entry: &mut Entry<'_>,
    ) -> Answer {
        let route = entry.route;
        let admitted = if route.is_open() {
            // A probe addresses the machine by whatever name it has.
            Ok(())
        } else {
            door.hosts.as_ref().unwrap_or(&self.settings.hosts).check(parts)
        };
        if let Err(fault) = admitted.and_then(|()| self.settings.origins.check(&parts.headers)) {
            return fault.answer();
        }
        if let Some(answer) = self.settings.origins.preflight(parts) {
            return answer;
        }
        if route == Route::Elsewhere {
            return Fault::not_found().answer();
        }
        if !route.is_open()
            && let Some(keys) = &self.settings.keys
        {
            match keys.admit(&parts.headers) {
                Some(name) => entry.key = Some(name),
                None => return Fault::unauthorized().answer(),
            }
        }
        if route == Route::Unknown {
            return Fault::not_found().answer();
        }
        let wanted = if route.is_post() { parts.method == Method::POST } else { is_read(&parts.method) };
        if !wanted {
            let allowed = if route.is_post() { "POST" } else { "GET, HEAD" };
            return allow(Fault::method_not_allowed(allowed).answer(), allowed);
        }
        match route {
            Route::Call => self.call(&parts.headers, body, trace, entry).await.unwrap_or_else(|refusal| *refusal),
            Route::StreamCall => {
                let streamed = Box::pin(self.stream_call(&parts.headers, body, trace, entry)).await;
                streamed.unwrap_or_else(|refusal| *refusal)
            }
            Route::Version => {
                let mut out = br#"{"version":"#.to_vec();
                write_json(&mut out, &self.settings.version);
                out.push(b'}');
                json(StatusCode::OK, out)
            }
            Route::Load => Box::pin(self.load()).await,
            Route::Stop => self.stop().await,
            Route::Healthz => json(StatusCode::OK, r#"{"status":"ok"}"#),
            Route::Readyz if self.lifecycle.is_draining() => {
                json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#)
            }
            Route::Readyz => json(StatusCode::OK, r#"{"status":"ready"}"#),
            Route::Metrics => {
                let gauges =
                    Gauges { buffered_bytes: self.settings.body.budget.held(), draining: self.lifecycle.is_draining() };
                let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                with_type(StatusCode::OK, format, self.metrics.write(&gauges))
            }
            Route::Unknown | Route::Elsewhere => Fault::not_found().answer(),
        }
    }

    fn route(&self, door: &Door, path: &str) -> Route {
        if door.tools
            && let Some(route) = self.tool_route(path)
        {
            return route;
        }
        match path.strip_suffix('/').unwrap_or(path) {
            "/healthz" if door.operator => Route::Healthz,
            "/readyz" if door.operator => Route::Readyz,
            "/metrics" if door.operator => Route::Metrics,
            _ if self.settings.prefix.is_empty() && door.tools => Route::Unknown,
            _ => Route::Elsewhere,
        }
    }

    fn tool_route(&self, path: &str) -> Option<Route> {
        let prefix = self.settings.prefix.as_str();
        let rest = path.strip_prefix(prefix)?;
        // One client writes the prefix twice.
        let rest = if prefix.is_empty() { rest } else { below(rest, prefix).unwrap_or(rest) };
        Some(match rest.strip_suffix('/').unwrap_or(rest) {
            "/call" => Route::Call,
            "/version" => Route::Version,
            "/load" => Route::Load,
            "/streamCall" => Route::StreamCall,
            "/stop" if self.settings.stop.is_some() => Route::Stop,
            // At the root the operator's routes come after these.
            _ if prefix.is_empty() => return None,
            "" => Route::Unknown,
            other if other.starts_with('/') => Route::Unknown,
            _ => return None,
        })
    }

    async fn stop(&self) -> Answer {
        if let Some(stop) = &self.settings.stop {
            tracing::info!(target: "opentool::server", "stopped by request");
            stop().await;
            self.lifecycle.stop();
        }
        json(StatusCode::OK, r#"{"status":"stopped"}"#)
    }
}

impl Door {
    /// What a router serves, and a server without an address for its operator.
    pub(crate) fn whole(operator: bool) -> Self {
        Self { tools: true, operator, hosts: None }
    }
}

/// The path below a prefix, if it is there as a whole.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The W3C trace context that a request brings.
fn trace_of(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all("traceparent").iter();
    let trace = TraceContext::parse(parents.next()?.to_str().ok()?)?;
    if parents.next().is_some() {
        return None;
    }
    let states: Vec<&str> = headers.get_all("tracestate").iter().filter_map(|state| state.to_str().ok()).collect();
    Some(if states.is_empty() { trace } else { trace.with_tracestate(states.join(",")) })
}
