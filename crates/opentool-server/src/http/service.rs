//! Everything between a request and its response: [`Service`].

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::Method;
use http::header::{CONNECTION, HeaderValue};
use http::request::Parts;
use http_body::Body;
use opentool_core::{Host, ToolContext, ToolError, TraceContext};
use tracing::{Instrument, error};

use super::body;
use super::frontend::{FrontendRequest, RequestBody};
use super::headers::{KnownHeader, RequestHeaders};
use super::keys::KeyRing;
use super::mounted::MountedFrontend;
use super::opentool::frontend::OpenToolFrontend;
use super::operator;
use super::origins;
use super::record::RequestRecord;
use super::refusal::Refusal;
use super::response::HttpResponse;
use super::routes::{Route, Routes, ToolRoute};
use super::settings::{Settings, TraceHook};
use super::state::ServerState;
use crate::file::FileError;
use crate::log;
use crate::metrics::Metrics;
use crate::shutdown::ShutdownState;

/// Answers requests: the checks before a frontend, and the log, the metrics and the drain around it.
///
/// The router and the server are two ways to reach one.
pub(crate) struct Service {
    state: Arc<ServerState>,
    host: Arc<Host>,
    tools: OpenToolFrontend,
    mounted: Vec<MountedFrontend>,
}

/// The head of a request, and where it came in.
pub(crate) struct RequestHead<'a> {
    pub(crate) parts: &'a Parts,
    /// The routes of the listener.
    pub(crate) routes: &'a Routes,
    pub(crate) peer: Option<SocketAddr>,
    /// The path under which another application nests the routes, which the path of the request no longer has.
    pub(crate) nested_at: &'a str,
}

impl Service {
    pub(crate) fn new(host: Host, settings: Arc<Settings>, mounted: Vec<MountedFrontend>) -> Arc<Self> {
        let metrics = match host.source().fixed() {
            Some(toolbox) => Metrics::new(toolbox.names()),
            None => Metrics::default(),
        };
        let executor = host.executor().clone();
        let state = Arc::new(ServerState { executor, settings, metrics: Arc::new(metrics), shutdown: Arc::default() });
        let host = Arc::new(host);
        let tools = OpenToolFrontend::new(host.clone(), state.clone());
        Arc::new(Self { tools, host, mounted, state })
    }

    /// The same frontends, with other tools and settings; metrics and drain are shared.
    pub(crate) fn with(&self, host: Host, settings: Arc<Settings>) -> Arc<Self> {
        let (metrics, shutdown) = (self.state.metrics.clone(), self.state.shutdown.clone());
        let state = Arc::new(ServerState { executor: host.executor().clone(), settings, metrics, shutdown });
        let host = Arc::new(host);
        let tools = OpenToolFrontend::new(host.clone(), state.clone());
        Arc::new(Self { tools, host, mounted: self.mounted.clone(), state })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.state.settings
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.state.metrics
    }

    /// Reads the file of API keys again.
    pub(crate) fn reload_keys(&self) -> Result<(), FileError> {
        self.state.settings.keys.as_ref().map_or(Ok(()), KeyRing::reload)
    }

    pub(crate) fn shutdown(&self) -> &Arc<ShutdownState> {
        &self.state.shutdown
    }

    pub(crate) async fn handle<B: Body<Data = Bytes>>(&self, head: &RequestHead<'_>, body: B) -> HttpResponse {
        let RequestHead { parts, routes, peer, .. } = *head;
        let settings = &self.state.settings;
        let route = routes.find(parts.uri.path(), settings);
        let headers = RequestHeaders::new(&parts.headers);
        let mut record = RequestRecord::new(&self.state.metrics, &parts.method, route, self.name(route), peer);
        let mut response = if log::is_span_enabled() {
            Box::pin(self.answer_in_span(head, &headers, body, &mut record)).await
        } else {
            self.answer(head, &headers, body, trace_context(&headers), &mut record).await
        };
        settings.origins.add_cors_headers(&parts.headers, &mut response);
        if self.state.shutdown.is_draining() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        record.finish(&response);
        response
    }

    async fn answer_in_span<B: Body<Data = Bytes>>(
        &self,
        head: &RequestHead<'_>,
        headers: &RequestHeaders<'_>,
        body: B,
        record: &mut RequestRecord<'_>,
    ) -> HttpResponse {
        let incoming = trace_context(headers);
        let prefix = match record.route {
            Route::Tools(_) => self.state.settings.prefix.as_str(),
            _ => "",
        };
        let path = format!("{}{prefix}{}", head.nested_at, self.name(record.route));
        let span = log::request_span(record.method, &path, record.peer, incoming.as_ref());
        let trace = match &self.state.settings.trace_hook {
            Some(hook) => span.in_scope(|| run_trace_hook(&**hook, incoming)),
            None => incoming,
        };
        let response = self.answer(head, headers, body, trace, record).instrument(span.clone()).await;
        log::record_status(&span, response.status());
        response
    }

    async fn answer<B: Body<Data = Bytes>>(
        &self,
        head: &RequestHead<'_>,
        headers: &RequestHeaders<'_>,
        body: B,
        trace: Option<TraceContext>,
        record: &mut RequestRecord<'_>,
    ) -> HttpResponse {
        let (parts, route) = (head.parts, record.route);
        if let Err(refusal) = self.check_source(route, head, headers) {
            return refuse(route, &refusal);
        }
        if let Some(response) = self.state.settings.origins.preflight(parts) {
            return response;
        }
        if let Err(refusal) = self.check_access(&parts.method, headers, record) {
            return refuse(route, &refusal);
        }
        let answering = async {
            match route {
                // Boxed, as other parts of a request are: memory of up to 1,024 bytes is what the allocator keeps at hand, while one future of
                // all parts takes three times as much (`scripts/bench http`).
                Route::Tools(route) => Box::pin(self.answer_tools(route, headers, body, trace, record)).await,
                Route::Operator(route) => operator::answer(route, headers, &self.state),
                Route::Mounted(index) => Box::pin(self.answer_mounted(index, parts, body, trace, record)).await,
                Route::Unknown | Route::Outside => Refusal::not_found().response(),
            }
        };
        AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(|panic| {
            let error = ToolError::from_panic(panic);
            error!(path = self.name(route), detail = error.detail(), "answering a request panicked");
            refuse(route, &Refusal::internal())
        })
    }

    async fn answer_tools<B: Body<Data = Bytes>>(
        &self,
        route: ToolRoute,
        headers: &RequestHeaders<'_>,
        body: B,
        trace: Option<TraceContext>,
        record: &mut RequestRecord<'_>,
    ) -> HttpResponse {
        let context = context(trace, record.key_name.as_ref());
        self.tools.answer(route, headers, body, &context, record).await
    }

    async fn answer_mounted<B: Body<Data = Bytes>>(
        &self,
        index: usize,
        parts: &Parts,
        body: B,
        trace: Option<TraceContext>,
        record: &mut RequestRecord<'_>,
    ) -> HttpResponse {
        let Some(MountedFrontend { frontend, path, .. }) = self.mounted.get(index) else {
            return Refusal::not_found().frontend_response();
        };
        let key_name = record.key_name.clone();
        let sub_path = path.sub_path(parts.uri.path()).unwrap_or_default();
        let mut request = FrontendRequest::new(parts, sub_path, &self.host, key_name, trace, &self.state);
        if let Some(response) = frontend.answer_head(&request) {
            return response.into_parts().0;
        }
        let limits = &self.state.settings.body;
        let (bytes, reservation) = match body::read(body, limits).await {
            Ok(received) => received,
            Err(error) => return Refusal::body(error, limits.size).frontend_response(),
        };
        record.received = bytes.len();
        request.set_body(RequestBody::new(bytes, reservation));
        let (response, call) = frontend.answer(request).await.into_parts();
        if let Some(call) = call {
            record.note_call(call);
        }
        response
    }

    /// Returns the route as logs show it.
    fn name(&self, route: Route) -> &str {
        match route {
            Route::Mounted(index) => self.mounted.get(index).map_or(route.as_str(), |mounted| mounted.path.as_str()),
            _ => route.as_str(),
        }
    }

    /// Says whether it is a frontend that finds out by itself who calls.
    fn authenticates_callers(&self, route: Route) -> bool {
        let Route::Mounted(index) = route else { return false };
        self.mounted.get(index).is_some_and(|mounted| mounted.authenticates_callers)
    }

    /// Checks where a request is addressed to and which page it comes from.
    fn check_source(&self, route: Route, head: &RequestHead<'_>, headers: &RequestHeaders<'_>) -> Result<(), Refusal> {
        let settings = &self.state.settings;
        let hosts = head.routes.hosts.as_ref().unwrap_or(&settings.hosts);
        // A probe addresses the machine by any name.
        if !route.is_open() {
            hosts.check(&head.parts.uri, headers.get(KnownHeader::Host))?;
        }
        // A page of this very server, under a name that was checked.
        if hosts.are_listed() && origins::is_same_origin(headers) {
            return Ok(());
        }
        settings.origins.check(headers.get(KnownHeader::Origin))
    }

    /// Checks everything else that can be checked before the body is read: path, key, method.
    fn check_access(
        &self,
        method: &Method,
        headers: &RequestHeaders<'_>,
        record: &mut RequestRecord<'_>,
    ) -> Result<(), Refusal> {
        let route = record.route;
        if route == Route::Outside {
            return Err(Refusal::not_found());
        }
        if !route.is_open()
            && !self.authenticates_callers(route)
            && let Some(keys) = &self.state.settings.keys
        {
            record.key_name =
                Some(keys.find_name(headers.get(KnownHeader::Authorization)).ok_or_else(Refusal::unauthorized)?);
        }
        // Which paths there are is for callers with a key.
        if route == Route::Unknown {
            return Err(Refusal::not_found());
        }
        route.check_method(method)
    }
}

/// Answers a refused request in the form of the route that it asked for.
fn refuse(route: Route, refusal: &Refusal) -> HttpResponse {
    match route {
        Route::Mounted(_) => refusal.frontend_response(),
        _ => refusal.response(),
    }
}

/// The context that the tools of a request get.
fn context(trace: Option<TraceContext>, key_name: Option<&Arc<str>>) -> ToolContext {
    let context = match trace {
        None => ToolContext::new(),
        Some(trace) => ToolContext::new().with_typed(trace),
    };
    match key_name {
        None => context,
        Some(name) => context.with_caller(name.clone()),
    }
}

/// Asks the application which trace tools pass on: that of the request, where its hook panics.
fn run_trace_hook(hook: &TraceHook, incoming: Option<TraceContext>) -> Option<TraceContext> {
    catch_unwind(AssertUnwindSafe(|| hook(incoming.as_ref()))).unwrap_or_else(|panic| {
        let panic = ToolError::from_panic(panic);
        error!(detail = panic.detail(), "the trace hook panicked");
        incoming
    })
}

/// Reads the W3C trace context of a request.
fn trace_context(headers: &RequestHeaders<'_>) -> Option<TraceContext> {
    let trace = TraceContext::parse(headers.get(KnownHeader::TraceParent).only()?.to_str().ok()?)?;
    let states: Vec<&str> =
        headers.get(KnownHeader::TraceState).all().filter_map(|state| state.to_str().ok()).collect();
    Some(if states.is_empty() { trace } else { trace.with_tracestate(states.join(",")) })
}
