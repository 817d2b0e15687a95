//! The server as its user sets it up: [`Mcp`].

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opentool_core::{BoxFuture, Host, Journal};
use opentool_server::{Frontend, FrontendRequest, FrontendResponse};
use tokio::io::{AsyncRead, AsyncWrite};

use super::engine::Engine;
use super::http::endpoint::Endpoint;
use super::settings::Settings;
use super::stdio;

/// Offers tools to MCP clients: as a frontend of an [`opentool_server::Server`], or over stdio.
///
/// ```
/// use opentool_core::FnTool;
/// use opentool_mcp::Mcp;
/// use opentool_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = FnTool::new("now", || "noon");
/// let server = Server::new(tools).mount(Mcp::new()).api_keys(["s3cret"]).bind("127.0.0.1:0").await?;
/// println!("http://{}/mcp", server.local_addr()?);
/// # server.shutdown_handle().shutdown();
/// server.serve().await;
/// # Ok(()) }
/// ```
#[must_use = "it does nothing until it is mounted or serves"]
pub struct Mcp {
    settings: Settings,
    /// Made with the first request, once nothing more is set.
    endpoint: OnceLock<Endpoint>,
}

impl Mcp {
    /// Starts with the defaults.
    pub fn new() -> Self {
        Self { settings: Settings::default(), endpoint: OnceLock::new() }
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.settings);
        self
    }

    /// Sets the path at which a server offers the tools: `/mcp`.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.set(|settings| settings.path = path.into())
    }

    /// Sets what the server is called: the title of its tools.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.set(|settings| settings.name = Some(name.into()))
    }

    /// Sets the version that the server shows: that of its tools.
    pub fn version(self, version: impl Into<String>) -> Self {
        self.set(|settings| settings.version = Some(version.into()))
    }

    /// Sets what a model should know about the tools as a whole: their description.
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// Sets how many tools a page of the list has, at most 1,000: 1,000. Some agents read only the first page.
    pub fn page_size(self, tools: usize) -> Self {
        self.set(|settings| settings.page_size = tools)
    }

    /// Sets how long a client may keep the list of tools: five minutes where they are always the same, otherwise not at all.
    pub fn list_ttl(self, time: Duration) -> Self {
        self.set(|settings| settings.list_ttl = Some(time))
    }

    /// Sets how many sessions there may be over HTTP: 10,000. At the limit the one that was not used for the longest time ends.
    ///
    /// Only clients of the revisions before 2026-07-28 have sessions. With none, they are served without, and cannot cancel calls.
    pub fn max_sessions(self, sessions: usize) -> Self {
        self.set(|settings| settings.max_sessions = sessions)
    }

    /// Sets after how much time without a request a session ends: 30 minutes.
    pub fn session_timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.session_timeout = time)
    }

    /// Sets how many clients may wait for changes of the tools over HTTP: 1,024.
    pub fn max_listeners(self, listeners: usize) -> Self {
        self.set(|settings| settings.max_listeners = listeners)
    }

    /// Sets how many bytes a message may have over stdio: 16 MiB.
    pub fn max_line(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_line = bytes)
    }

    /// Sets how many calls may be in flight over stdio: 1,024. Over HTTP the server's own limit holds.
    pub fn max_calls_in_flight(self, calls: usize) -> Self {
        self.set(|settings| settings.max_calls = calls)
    }

    /// Sets where calls with a key (`dev.opentool/idempotency-key` in the `_meta` of a call) are recorded over stdio, instead of in memory.
    /// Over HTTP it is the journal of the server.
    pub fn journal(self, journal: impl Journal) -> Self {
        self.set(|settings| settings.journal = Some(Arc::new(journal)))
    }

    /// Serves the tools of a host over the standard input and output of this process, until the client closes its side.
    ///
    /// Nothing else may write to standard output.
    ///
    /// # Errors
    ///
    /// Where the streams cannot be read or written.
    pub async fn serve_stdio(self, host: Host) -> io::Result<()> {
        self.serve_streams(host, tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves the tools of a host over a pair of streams, a message a line, until the client closes its side.
    ///
    /// ```
    /// use opentool_core::{Executor, FnTool};
    /// use opentool_mcp::Mcp;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let host = Executor::new().host(FnTool::new("now", || "noon"));
    /// let request = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    /// let (mut client, writer) = tokio::io::duplex(1024);
    /// Mcp::new().serve_streams(host, &request[..], writer).await?;
    ///
    /// let mut answer = String::new();
    /// tokio::io::AsyncReadExt::read_to_string(&mut client, &mut answer).await?;
    /// assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Where the streams cannot be read or written.
    pub async fn serve_streams<R, W>(self, host: Host, reader: R, writer: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin + Send,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        stdio::serve(Arc::new(Engine::new(self.settings)), host, reader, writer).await
    }

    /// Makes a router that offers the tools of a host, to be merged into or nested in any axum application.
    ///
    /// The configuration has the API keys, the allowed hosts and origins, and the limits; its prefix does not count here.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use opentool_core::{Executor, FnTool};
    /// use opentool_mcp::Mcp;
    /// use opentool_server::Config;
    ///
    /// let host = Executor::new().host(FnTool::new("now", || "noon"));
    /// let config = Config::builder().api_keys(["s3cret"]).allowed_host("tools.example").build()?;
    /// let app: Router = Router::new().route("/", get(|| async { "hello" })).merge(Mcp::new().router(host, config));
    /// # Ok::<(), opentool_server::ConfigError>(())
    /// ```
    #[cfg(feature = "axum")]
    pub fn router(self, host: Host, config: opentool_server::Config) -> axum::Router {
        opentool_server::frontend_router(host, self, config)
    }
}

impl Default for Mcp {
    fn default() -> Self {
        Self::new()
    }
}

impl Frontend for Mcp {
    fn mount_path(&self) -> &str {
        &self.settings.path
    }

    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        let endpoint = self.endpoint.get_or_init(|| Endpoint::new(Arc::new(Engine::new(self.settings.clone()))));
        endpoint.answer(request)
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("settings", &self.settings).finish_non_exhaustive()
    }
}
