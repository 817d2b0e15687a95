//! The tools of a server as a source: [`McpClient`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, iter};

use opentool_core::{BoxFuture, ToolChanges, ToolError, ToolMetadata, ToolSource, Toolbox};
use rmcp::model::{ServerPeerInfo, Tool as ListedTool};
use serde_json::Value;
use tokio::runtime::Handle;

use super::availability::Availability;
use super::command::ServerCommand;
use super::definition::{definition, metadata};
use super::error::McpError;
use super::events::ListState;
use super::link::{Location, ServerLink};
use super::names::unique_names;
use super::schema_cost::check_cost;
use super::settings::ClientSettings;
use super::text::shown;
use super::tool::{DEFAULT_TIMEOUT, McpTool};
use super::url::ServerUrl;

/// The tools of an MCP server: a program that is started, or a URL. It is a [source](ToolSource) of tools like any other.
///
/// ```no_run
/// use opentool_core::Executor;
/// use opentool_mcp::{McpClient, ServerCommand, ServerUrl};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let files = McpClient::from_command(ServerCommand::new("uvx").args(["mcp-server-git"])).prefix("git_");
/// let remote = McpClient::from_url(ServerUrl::new("https://tools.example/mcp").api_key("s3cret"));
///
/// let host = Executor::new().host((files, remote));
/// let status = host.call("git_git_status", r#"{"repo_path":"."}"#).await?;
/// # Ok(()) }
/// ```
///
/// The server is started or connected to when its tools are first asked for, and again when it has ended: the calls that were
/// under way fail, the next one works. After starts that fail one another, attempts are made less and less often. Clones share one
/// server, which ends with the last of them.
#[derive(Clone)]
#[must_use = "a client does nothing until its tools are asked for"]
pub struct McpClient {
    name: String,
    location: Location,
    settings: ClientSettings,
    /// Made with the first use, once nothing more is set.
    running: Arc<OnceLock<Running>>,
}

/// A client in use.
struct Running {
    link: Arc<ServerLink>,
    list: Arc<ListState>,
    availability: Arc<Availability>,
    /// Whether a server that was away is being asked again.
    probing: Arc<AtomicBool>,
    known: Mutex<Option<KnownList>>,
    /// Held while the server is asked, so that concurrent callers ask once.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct KnownList {
    tools: Arc<[ListedTool]>,
    toolbox: Toolbox,
}

impl McpClient {
    /// Takes a server that is started as a child process and spoken to over its standard streams.
    ///
    /// It runs in a process group of its own, which ends with the client: its input is closed, and where it does not end then,
    /// the group is signalled. What it writes to standard error goes to our log (target `opentool::mcp`).
    pub fn from_command(command: ServerCommand) -> Self {
        Self::new(command.name(), Location::Command(command))
    }

    /// Takes a server that runs already, at a URL (Streamable HTTP).
    pub fn from_url(url: ServerUrl) -> Self {
        Self::new(url.name(), Location::Url(url))
    }

    fn new(name: String, location: Location) -> Self {
        Self { name, location, settings: ClientSettings::default(), running: Arc::default() }
    }

    fn set(mut self, set: impl FnOnce(&mut ClientSettings)) -> Self {
        set(&mut self.settings);
        self.running = Arc::default();
        self
    }

    /// Sets what the server is called in messages: the name of its program, or its URL.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.set(|_| {})
    }

    /// Sets what the name of each tool begins with: nothing.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        self.set(|settings| settings.prefix = prefix.into())
    }

    /// Sets how long a call of its tools may take: what the executor allows.
    pub fn timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.call_timeout = Some(time))
    }

    /// Lets progress extend the time of a call: it may take the [timeout](Self::timeout) (60 seconds where none is set) from one
    /// report of progress to the next, and this long in all. Without this, progress changes nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use opentool_mcp::{McpClient, ServerUrl};
    ///
    /// let client = McpClient::from_url(ServerUrl::new("https://tools.example/mcp"))
    ///     .timeout(Duration::from_secs(30))
    ///     .progress_timeout(Duration::from_secs(600));
    /// ```
    pub fn progress_timeout(self, total: Duration) -> Self {
        self.set(|settings| settings.progress_timeout = Some(total))
    }

    /// Sets how long the server may take to start, and to list its tools: 60 seconds each.
    pub fn start_timeout(self, time: Duration) -> Self {
        self.set(|settings| settings.start_timeout = time)
    }

    /// Sets how many bytes a message of the server may have: 16 MiB. A program that sends more is ended.
    pub fn max_message_size(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_message_size = bytes)
    }

    /// Sets how many tools the server may list: 10,000.
    pub fn max_tools(self, tools: usize) -> Self {
        self.set(|settings| settings.max_tools = tools)
    }

    /// Sets how many bytes the list of tools may have: 32 MiB.
    pub fn max_list_size(self, bytes: usize) -> Self {
        self.set(|settings| settings.max_list_size = bytes)
    }

    /// Says what is known about a tool, by the name that it has here. What the server says does not count then.
    pub fn metadata(self, tool: impl Into<String>, metadata: ToolMetadata) -> Self {
        self.set(|settings| {
            settings.metadata.insert(tool.into(), metadata);
        })
    }

    /// Sets whether the server's own hints count, for instance that a tool only reads: false.
    ///
    /// They are passed on either way, as the extension `annotations` of a definition.
    pub fn trust_annotations(self, trust: bool) -> Self {
        self.set(|settings| settings.trust_annotations = trust)
    }

    /// Sets whether results are checked against the output schemas that the server lists: true.
    ///
    /// Only output schemas that are checked are passed on to callers.
    pub fn check_results(self, check: bool) -> Self {
        self.set(|settings| settings.check_results = check)
    }

    fn running(&self) -> &Running {
        self.running.get_or_init(|| {
            let list = Arc::new(ListState::default());
            let (location, settings) = (self.location.clone(), self.settings.clone());
            let availability = Arc::<Availability>::default();
            let name = self.name.as_str().into();
            let link = ServerLink::new(name, location, settings, list.clone(), availability.clone());
            Running {
                link: Arc::new(link),
                list,
                availability,
                probing: Arc::default(),
                known: Mutex::default(),
                asking: tokio::sync::Mutex::default(),
            }
        })
    }

    /// Returns the tools of the server, which is asked for them only where it is not known whether they have changed.
    ///
    /// A tool whose schema cannot be used is left out, with a warning in the log.
    ///
    /// # Errors
    ///
    /// Where the server cannot be started, reached or understood. Once its tools are known they stay, and each call says so.
    pub async fn toolbox(&self) -> Result<Toolbox, McpError> {
        let running = self.running();
        if let Some(known) = running.fresh() {
            return Ok(known.toolbox);
        }
        let _asking = running.asking.lock().await;
        if let Some(known) = running.fresh() {
            return Ok(known.toolbox);
        }
        // Before asking, so that a change meanwhile is noticed.
        running.list.renew();
        let listed = async {
            let live = running.link.live().await?;
            // A new connection has expired the list that is being asked for.
            running.list.renew();
            Ok((live.list(&self.settings).await?, live.info()))
        };
        match listed.await {
            Ok((tools, info)) => Ok(self.renewed(running, tools, info.as_deref())),
            Err(error) => {
                running.list.expire();
                match running.known() {
                    Some(known) => {
                        tracing::warn!(target: "opentool::mcp", %error, "the tools cannot be listed; those that are known stay");
                        Ok(known.toolbox)
                    }
                    None => Err(error),
                }
            }
        }
    }

    /// Says whether the server was there when it was last asked; none where it was not asked yet.
    ///
    /// One that was not is asked again in the background, so that it is noticed when it is back although no call comes.
    #[must_use]
    pub fn is_up(&self) -> Option<bool> {
        let running = self.running.get()?;
        let is_up = running.availability.is_up();
        if is_up == Some(false)
            && let Ok(runtime) = Handle::try_current()
            && !running.probing.swap(true, Ordering::AcqRel)
        {
            let (client, probing) = (self.clone(), running.probing.clone());
            running.list.expire();
            runtime.spawn(async move {
                // What becomes of it is noted where it is sent.
                let _ = client.toolbox().await;
                probing.store(false, Ordering::Release);
            });
        }
        is_up
    }

    /// Ends the server, or the connection to it, and waits until it has ended. The next call starts it again.
    pub async fn close(&self) {
        if let Some(running) = self.running.get() {
            running.link.close().await;
        }
    }

    fn renewed(&self, running: &Running, tools: Vec<ListedTool>, info: Option<&ServerPeerInfo>) -> Toolbox {
        let before = running.known();
        if let Some(known) = before.as_ref().filter(|known| *known.tools == *tools) {
            return known.toolbox.clone();
        }
        let toolbox = self.make_toolbox(&running.link, &tools, info);
        let known = KnownList { tools: tools.into(), toolbox: toolbox.clone() };
        *running.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        if before.is_some() {
            tracing::info!(target: "opentool::mcp", server = %self.name, "the server's tools have changed");
            running.list.signal.send();
        }
        toolbox
    }

    fn make_toolbox(&self, link: &Arc<ServerLink>, tools: &[ListedTool], info: Option<&ServerPeerInfo>) -> Toolbox {
        let mut toolbox = describe(Toolbox::new(), info);
        let ClientSettings { call_timeout, progress_timeout, .. } = &self.settings;
        let silence = progress_timeout.map(|_| call_timeout.unwrap_or(DEFAULT_TIMEOUT));
        let originals: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        for (tool, name) in tools.iter().zip(unique_names(&self.settings.prefix, &originals)) {
            let left_out = |error: &dyn fmt::Display| {
                let (tool, error) = (shown(&tool.name), shown(&error.to_string()));
                tracing::warn!(target: "opentool::mcp", tool, error, "a tool of the server is left out");
            };
            let Some(name) = name else {
                left_out(&"another tool has its name");
                continue;
            };
            let schemas = iter::once(&tool.input_schema).chain(&tool.output_schema);
            let too_costly = schemas.map(|schema| check_cost(&Value::Object((**schema).clone()))).find_map(Result::err);
            if let Some(reason) = too_costly {
                left_out(&reason);
                continue;
            }
            let added = definition(&name, tool, &self.settings).map(|definition| {
                let metadata = metadata(&name, tool, &self.settings);
                let (original, link) = (tool.name.to_string(), link.clone());
                toolbox.add(McpTool { definition, metadata, original, silence, link })
            });
            match added {
                Ok(Ok(())) => {}
                Ok(Err(error)) => left_out(&error),
                Err(error) => left_out(&error),
            }
        }
        toolbox
    }
}

impl Running {
    fn known(&self) -> Option<KnownList> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fresh(&self) -> Option<KnownList> {
        self.known().filter(|_| !self.list.is_stale())
    }
}

/// The title, version and description of a server's tools.
fn describe(toolbox: Toolbox, info: Option<&ServerPeerInfo>) -> Toolbox {
    let Some(info) = info else { return toolbox };
    let toolbox = match &info.server_info {
        Some(server) => toolbox.with_title(server.title.as_ref().unwrap_or(&server.name)).with_version(&server.version),
        None => toolbox,
    };
    match &info.instructions {
        Some(instructions) => toolbox.with_description(instructions),
        None => toolbox,
    }
}

impl ToolSource for McpClient {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async { Ok(McpClient::toolbox(self).await?) })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.running().list.signal.changes())
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("name", &self.name)
            .field("location", &self.location)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
