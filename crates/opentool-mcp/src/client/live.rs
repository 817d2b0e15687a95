//! A connection to a server: [`LiveServer`].

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentool_core::{ToolContext, ToolError, ToolOutput, TraceContext};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ListToolsRequest,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, RequestId, RequestMetaObject, ServerPeerInfo,
    ServerResult, SubscriptionFilter, Tool as ListedTool,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout};

use super::availability::Availability;
use super::call_clock::CallClock;
use super::child::ChildServer;
use super::end_report::EndReport;
use super::error::McpError;
use super::events::LiveEvents;
use super::http::transport_error;
use super::output::outcome;
use super::questions::CallGuard;
use super::settings::ClientSettings;
use super::text::shown;

/// How long closing a connection may take before what is behind it is ended anyway.
const CLOSE: Duration = Duration::from_secs(2);

/// How many pages a list may have, whatever is on them.
const MAX_PAGES: usize = 1000;

/// How often a call may ask for input before it has a result.
const MAX_ROUNDS: usize = 10;

/// How long to wait before changes are asked for again, where the server has ended the subscription.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// A connection that is ready for requests. Dropping it ends it, and the program behind it.
pub(crate) struct LiveServer {
    server: Arc<str>,
    peer: Peer<RoleClient>,
    events: Arc<LiveEvents>,
    report: Arc<EndReport>,
    availability: Arc<Availability>,
    end: Mutex<Option<Shutdown>>,
    listening: Option<AbortHandle>,
}

/// What ends the connection.
struct Shutdown {
    /// Dropping it does.
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

/// What a connection is made of.
pub(crate) struct Opened<H: ClientHandler> {
    pub(crate) server: Arc<str>,
    pub(crate) service: RunningService<RoleClient, H>,
    pub(crate) child: Option<ChildServer>,
    pub(crate) events: Arc<LiveEvents>,
    pub(crate) report: Arc<EndReport>,
    pub(crate) availability: Arc<Availability>,
}

impl LiveServer {
    pub(crate) fn new<H: ClientHandler>(opened: Opened<H>) -> Self {
        let Opened { server, service, child, events, report, availability } = opened;
        let peer = service.peer().clone();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            let token = service.cancellation_token();
            let mut waiting = pin!(service.waiting());
            tokio::select! {
                _ = &mut waiting => {}
                _ = stopped => {
                    token.cancel();
                    // It closes the program's input.
                    let _ = timeout(CLOSE, waiting).await;
                }
            }
            if let Some(child) = child {
                child.end().await;
            }
        });
        let listening = listen(&peer).map(|task| task.abort_handle());
        let end = Mutex::new(Some(Shutdown { stop, ended }));
        Self { server, peer, events, report, availability, end, listening }
    }

    /// Says whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Says what the server is, and what it can do.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Ends the connection, and waits until the program behind it has ended.
    pub(crate) async fn close(&self) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Shutdown { stop, ended }) = end {
            drop(stop);
            // A task that panicked has dropped the program, which ends it.
            let _ = ended.await;
        }
    }

    /// Reads the whole list of tools, within the limits.
    pub(crate) async fn list(&self, settings: &ClientSettings) -> Result<Vec<ListedTool>, McpError> {
        let after = settings.start_timeout;
        let listing = timeout(after, self.pages(settings)).await;
        let listed = listing.unwrap_or_else(|_| Err(McpError::Timeout { server: self.server.to_string(), after }));
        self.availability.note(&listed);
        listed
    }

    async fn pages(&self, settings: &ClientSettings) -> Result<Vec<ListedTool>, McpError> {
        if self.info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let too_much = |what: String| self.unusable(&what);
        let (mut tools, mut size, mut cursor) = (Vec::new(), 0, None);
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let mut pending = self.send(request, PeerRequestOptions::no_options()).await?;
            let ServerResult::ListToolsResult(page) = self.answered((&mut pending.answer).await)? else {
                return Err(too_much("its list of tools cannot be read".to_owned()));
            };
            pending.is_done = true;
            for tool in page.tools {
                size += serde_json::to_vec(&tool).map_or(0, |text| text.len());
                tools.push(tool);
                if tools.len() > settings.max_tools {
                    return Err(too_much(format!("it lists more than {} tools", settings.max_tools)));
                }
                if size > settings.max_list_size {
                    return Err(too_much(format!("its list of tools has more than {} bytes", settings.max_list_size)));
                }
            }
            cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(too_much(format!("its list of tools has more than {MAX_PAGES} pages")))
    }

    /// Calls a tool. Dropping the future cancels the call on the server too.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
        clock: &Arc<CallClock>,
    ) -> Result<ToolOutput, ToolError> {
        let asking = self.events.questions.begin(context, clock);
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            let answered = self.exchange(params.clone(), &asking, context, clock).await;
            self.availability.note(&answered);
            match answered.map_err(ToolError::from).map_err(|error| with_question(error, &asking))? {
                ServerResult::CallToolResult(result) => {
                    return outcome(result).map_err(|error| with_question(error, &asking));
                }
                ServerResult::InputRequiredResult(required) => {
                    params.input_responses = Some(asking.call.answer_all(required.input_requests).await?);
                    params.request_state = required.request_state;
                }
                _ => return Err(self.unusable("the result of a call does not follow the protocol").into()),
            }
        }
        Err(self.unusable("a call asks for input again and again").into())
    }

    /// Sends a call and waits for the answer.
    async fn exchange(
        &self,
        params: CallToolRequestParams,
        asking: &CallGuard<'_>,
        context: &ToolContext,
        clock: &CallClock,
    ) -> Result<ServerResult, McpError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut options = PeerRequestOptions::no_options();
        if let Some(meta) = request_meta(context) {
            options = options.with_meta(meta);
        }
        let mut pending = self.send(request, options).await?;
        asking.sent(&pending.id);
        let is_watched = context.is_watched() || clock.counts_progress();
        let mut progress = is_watched.then(|| self.events.progress_of(&pending.token));
        let mut last = f64::NEG_INFINITY;
        let answer = loop {
            let reported = async {
                match &mut progress {
                    Some(progress) => progress.next().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                Some(progress) = reported => {
                    clock.note_progress();
                    report(context, progress, &mut last);
                }
                answer = &mut pending.answer => break answer,
            }
        };
        pending.is_done = true;
        // What came before the answer counts.
        while let Some(progress) = progress.as_mut().and_then(|progress| progress.ready()) {
            report(context, progress, &mut last);
        }
        self.answered(answer)
    }

    fn unusable(&self, reason: &str) -> McpError {
        McpError::Protocol { server: self.server.to_string(), reason: reason.to_owned() }
    }

    async fn send(&self, request: ClientRequest, options: PeerRequestOptions) -> Result<PendingRequest, McpError> {
        let handle = self.peer.send_request_with_option(request, options).await.map_err(|error| self.error(error))?;
        Ok(PendingRequest {
            peer: self.peer.clone(),
            id: handle.id,
            token: handle.progress_token,
            answer: handle.rx,
            is_done: false,
        })
    }

    fn answered(
        &self,
        answer: Result<Result<ServerResult, ServiceError>, oneshot::error::RecvError>,
    ) -> Result<ServerResult, McpError> {
        answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(|error| self.error(error))
    }

    fn error(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(error) => {
                McpError::Refused { code: error.code.0, message: shown(&error.message), data: error.data }
            }
            ServiceError::TransportSend(error) if !self.is_closed() => transport_error(&self.server, &*error.error),
            ServiceError::TransportSend(_) | ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                self.report.error(&self.server)
            }
            other => self.unusable(&other.to_string()),
        }
    }
}

/// Adds to the failure of a call why its question was not answered, which may be why it failed.
fn with_question(error: ToolError, asking: &CallGuard<'_>) -> ToolError {
    match asking.call.unanswered() {
        Some(reason) if !error.message().contains(&reason) => {
            let message = format!("{} ({reason})", error.message());
            error.with_message(message)
        }
        _ => error,
    }
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

/// A request that waits for its answer. Dropping it before tells the server.
struct PendingRequest {
    peer: Peer<RoleClient>,
    id: RequestId,
    token: rmcp::model::ProgressToken,
    answer: oneshot::Receiver<Result<ServerResult, ServiceError>>,
    is_done: bool,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if self.is_done || self.peer.is_transport_closed() {
            return;
        }
        let (peer, id) = (self.peer.clone(), self.id.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let param =
                    CancelledNotificationParam::new(Some(id), Some("the caller no longer waits for it".to_owned()));
                // A server that has ended has nothing to cancel.
                let _ = peer.notify_cancelled(param).await;
            });
        }
    }
}

/// Passes progress on, which must increase.
fn report(context: &ToolContext, progress: ProgressNotificationParam, last: &mut f64) {
    if progress.progress.is_finite() && progress.progress > *last {
        *last = progress.progress;
        context.progress(progress.progress, progress.total, progress.message);
    }
}

/// What a call says about itself: its trace, and the key of a recorded call.
fn request_meta(context: &ToolContext) -> Option<RequestMetaObject> {
    let (trace, key) = (context.typed::<TraceContext>(), context.call_key());
    if trace.is_none() && key.is_none() {
        return None;
    }
    let mut meta = RequestMetaObject::default();
    if let Some(trace) = trace {
        meta.0.set_traceparent(trace.traceparent());
        if let Some(state) = trace.tracestate() {
            meta.0.set_tracestate(state);
        }
    }
    if let Some(key) = key {
        meta.0.insert("dev.opentool/idempotency-key".to_owned(), key.to_string().into());
    }
    Some(meta)
}

/// Asks a server of the newer revisions for changes of its tools; the older ones tell them unasked.
fn listen(peer: &Peer<RoleClient>) -> Option<JoinHandle<()>> {
    let info = peer.peer_info()?;
    let tells = info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true));
    if !tells || info.protocol_version < ProtocolVersion::V_2026_07_28 {
        return None;
    }
    let peer = peer.clone();
    Some(tokio::spawn(async move {
        while !peer.is_transport_closed() {
            match peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await {
                // Each notification was seen when it came.
                Ok(mut subscription) => while let Ok(Some(_)) = subscription.next().await {},
                Err(error) => {
                    tracing::debug!(target: "opentool::mcp", %error, "changes of the tools cannot be listened for");
                }
            }
            sleep(LISTEN_AGAIN).await;
        }
    }))
}
