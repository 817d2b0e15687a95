//! Where a server is, and the connection to it: [`ServerLink`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RunningService,
};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpClientWorker};
use rmcp::transport::worker::WorkerTransport;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::availability::Availability;
use super::child::{self, ChildServer};
use super::command::ServerCommand;
use super::end_report::EndReport;
use super::error::McpError;
use super::events::{ListState, LiveEvents, Watched};
use super::http::{StreamableHttp, transport_error};
use super::lines::LineTransport;
use super::live::{LiveServer, Opened};
use super::settings::ClientSettings;
use super::text::shown;
use super::url::ServerUrl;

/// How long to wait after the first start that failed; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How long the last lines of a program that has ended may take to be read.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    Command(ServerCommand),
    Url(ServerUrl),
}

/// Makes the connection to a server when it is needed, and again when it has ended.
pub(crate) struct ServerLink {
    connector: Arc<Connector>,
    state: Mutex<LinkState>,
}

#[derive(Default)]
struct LinkState {
    live: Option<Arc<LiveServer>>,
    connecting: Option<Connecting>,
    failures: u32,
    /// Until when no other attempt is made, and why the last one failed.
    pause: Option<(Instant, McpError)>,
}

#[derive(Clone)]
struct Connecting {
    result: Shared<BoxFuture<'static, Result<Arc<LiveServer>, McpError>>>,
    task: AbortHandle,
}

impl ServerLink {
    pub(crate) fn new(
        server: Arc<str>,
        location: Location,
        settings: ClientSettings,
        list: Arc<ListState>,
        availability: Arc<Availability>,
    ) -> Self {
        let (is_legacy, is_slow) = (AtomicBool::new(false), AtomicBool::new(false));
        let connector = Connector { server, location, settings, list, availability, is_legacy, is_slow };
        Self { connector: Arc::new(connector), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection; where there is none, makes it. Callers that come meanwhile wait for the same attempt, which
    /// goes on when they give up.
    pub(crate) async fn live(&self) -> Result<Arc<LiveServer>, McpError> {
        let connecting = {
            let mut state = self.state();
            if let Some(live) = state.live.as_ref().filter(|live| !live.is_closed()) {
                return Ok(live.clone());
            }
            match (&state.connecting, &state.pause) {
                (Some(connecting), _) => connecting.clone(),
                (None, Some((until, error))) if Instant::now() < *until => return Err(error.clone()),
                (None, _) => {
                    if state.live.take().is_some() {
                        tracing::warn!(target: "opentool::mcp", server = %self.connector.server, "the server ended and is started again");
                        self.connector.list.expire();
                    }
                    let connecting = Connecting::start(self.connector.clone());
                    state.connecting = Some(connecting.clone());
                    connecting
                }
            }
        };
        let result = connecting.result.clone().await;
        self.connector.availability.note(&result);
        let mut state = self.state();
        // The first of those who waited notes it.
        if state.connecting.as_ref().is_some_and(|current| current.result.ptr_eq(&connecting.result)) {
            state.connecting = None;
            match &result {
                Ok(live) => {
                    (state.failures, state.pause) = (0, None);
                    state.live = Some(live.clone());
                }
                Err(error) => {
                    let pause = FIRST_PAUSE.saturating_mul(1 << state.failures.min(10)).min(MAX_PAUSE);
                    state.failures += 1;
                    state.pause = Some((Instant::now() + pause, error.clone()));
                }
            }
        }
        result
    }

    /// Ends the connection and the program behind it. The next request makes another.
    pub(crate) async fn close(&self) {
        let (live, connecting) = {
            let mut state = self.state();
            (state.live.take(), state.connecting.take())
        };
        if let Some(connecting) = connecting {
            connecting.task.abort();
        }
        if let Some(live) = live {
            live.close().await;
        }
    }
}

impl Drop for ServerLink {
    fn drop(&mut self) {
        if let Some(connecting) = self.state().connecting.take() {
            connecting.task.abort();
        }
    }
}

impl Connecting {
    fn start(connector: Arc<Connector>) -> Self {
        let server = connector.server.to_string();
        let task = tokio::spawn(async move { connector.connect().await });
        let abort = task.abort_handle();
        let result = async move {
            let stopped = |_| McpError::Closed { server, reason: "the client was closed".to_owned() };
            task.await.map_err(stopped)?.map(Arc::new)
        };
        Self { result: result.boxed().shared(), task: abort }
    }
}

/// Makes connections.
struct Connector {
    server: Arc<str>,
    location: Location,
    settings: ClientSettings,
    list: Arc<ListState>,
    availability: Arc<Availability>,
    /// Whether the program ends when it is asked anything before the older handshake.
    is_legacy: AtomicBool,
    /// Whether the program answered after it was given up.
    is_slow: AtomicBool,
}

impl Connector {
    async fn connect(&self) -> Result<LiveServer, McpError> {
        let after = self.settings.start_timeout;
        let connected = match &self.location {
            Location::Command(command) => timeout(after, self.start(command)).await,
            Location::Url(url) => timeout(after, self.reach(url)).await,
        };
        connected.unwrap_or_else(|_| Err(McpError::Timeout { server: self.server.to_string(), after }))
    }

    async fn start(&self, command: &ServerCommand) -> Result<LiveServer, McpError> {
        if self.is_legacy.load(Ordering::Relaxed) {
            return self.start_once(command, ClientLifecycleMode::Initialize).await;
        }
        match self.start_once(command, any_revision()).await {
            // It took so long to start that the discovery was given up, and knows no other beginning.
            Err(_) if self.is_slow.swap(false, Ordering::Relaxed) => self.start_once(command, newest_revision()).await,
            Err(McpError::Closed { .. }) => {
                // Some older servers end at a request that they do not expect.
                let started = self.start_once(command, ClientLifecycleMode::Initialize).await?;
                self.is_legacy.store(true, Ordering::Relaxed);
                Ok(started)
            }
            started => started,
        }
    }

    async fn start_once(&self, command: &ServerCommand, mode: ClientLifecycleMode) -> Result<LiveServer, McpError> {
        let cannot_start =
            |error: std::io::Error| McpError::Start { server: self.server.to_string(), reason: error.to_string() };
        let (child, streams) = ChildServer::start(command).map_err(cannot_start)?;
        let report = Arc::new(EndReport::default());
        let log = child::log(streams.stderr, self.server.clone(), report.clone());
        let limit = self.settings.max_message_size;
        let events = Arc::new(LiveEvents::new(self.list.clone()));
        let transport = LineTransport::new(streams.stdout, streams.stdin, limit, report.clone());
        let transport = Watched { transport, events: events.clone() };
        match Introduction(events.clone()).serve_with_lifecycle(transport, mode).await {
            Ok(service) => Ok(self.opened(service, Some(child), events, report)),
            Err(error) => {
                self.is_slow.store(events.was_discovered_late(), Ordering::Relaxed);
                if let Some(status) = child.end().await {
                    report.ended(status);
                }
                let _ = timeout(LAST_LINES, log).await;
                Err(self.refusal(error, &report))
            }
        }
    }

    async fn reach(&self, url: &ServerUrl) -> Result<LiveServer, McpError> {
        let target = url.target(self.settings.max_message_size)?;
        let report = Arc::new(EndReport::default());
        let events = Arc::new(LiveEvents::new(self.list.clone()));
        let client = StreamableHttp::new(self.server.clone(), &target, events.clone(), report.clone())?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str());
        config.max_sse_event_size = self.settings.max_message_size;
        let transport = WorkerTransport::spawn(StreamableHttpClientWorker::new(client, config));
        let transport = Watched { transport, events: events.clone() };
        match Introduction(events.clone()).serve_with_lifecycle(transport, any_revision()).await {
            Ok(service) => Ok(self.opened(service, None, events, report)),
            Err(error) => Err(self.refusal(error, &report)),
        }
    }

    fn opened(
        &self,
        service: RunningService<RoleClient, Introduction>,
        child: Option<ChildServer>,
        events: Arc<LiveEvents>,
        report: Arc<EndReport>,
    ) -> LiveServer {
        let (server, availability) = (self.server.clone(), self.availability.clone());
        LiveServer::new(Opened { server, service, child, events, report, availability })
    }

    /// Words why there is no connection.
    fn refusal(&self, error: ClientInitializeError, report: &EndReport) -> McpError {
        let server = self.server.to_string();
        match error {
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => self.refusal(*fallback, report),
            ClientInitializeError::TransportError { error, .. } => match error.error.downcast_ref::<std::io::Error>() {
                Some(_) => report.error(&server),
                None => transport_error(&server, &*error.error),
            },
            ClientInitializeError::ConnectionClosed(_) => report.error(&server),
            ClientInitializeError::JsonRpcError(error) => {
                McpError::Protocol { server, reason: format!("it refused to begin: {}", shown(&error.message)) }
            }
            other => McpError::Protocol { server, reason: shown(&other.to_string()) },
        }
    }
}

/// Only the newest revision, whose beginning is waited for as long as a start may take.
fn newest_revision() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Every revision that there is, the newest first.
fn any_revision() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// What a server learns about us, that we call tools and can ask the user, and what answers its questions.
struct Introduction(Arc<LiveEvents>);

impl ClientHandler for Introduction {
    fn get_info(&self) -> ClientConfig {
        let form = FormElicitationCapability::default();
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        let mut config = ClientConfig::new(capabilities, Implementation::new("opentool", env!("CARGO_PKG_VERSION")));
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answered = self.0.questions.answer(&context.id, asked).await;
        answered.map_err(|reason| ErrorData::internal_error(reason, None))
    }
}
