//! The page as its user sets it up: [`Page`].

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opentool_core::BoxFuture;
use opentool_server::{Frontend, FrontendRequest, FrontendResponse};

use crate::error::ApiError;
use crate::sessions::Sessions;
use crate::source_info::PageSource;
use crate::state::{PageState, Settings};
use crate::tokens::PageTokens;
use crate::{api, assets, security_headers};

/// A web page for the tools of a server, as a frontend of an [`opentool_server::Server`].
///
/// ```
/// use opentool_core::FnTool;
/// use opentool_page::Page;
/// use opentool_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let page = Page::new();
/// let tokens = page.tokens();
/// let server = Server::new(FnTool::new("now", || "noon")).mount(page).bind("127.0.0.1:0").await?;
/// if let Some(token) = tokens.issue() {
///     println!("http://{}/ui/#token={token}", server.local_addr()?);
/// }
/// # server.shutdown_handle().shutdown();
/// server.serve().await;
/// # Ok(()) }
/// ```
#[must_use = "it does nothing until it is mounted"]
pub struct Page {
    settings: Settings,
    max_sessions: usize,
    session_timeout: Duration,
    tokens: PageTokens,
    #[cfg(feature = "chat")]
    chat: Option<crate::conversations::CurrentModel>,
    #[cfg(feature = "chat")]
    chat_system: Option<Arc<str>>,
    #[cfg(feature = "journal")]
    journal: Option<opentool_journal::SqliteJournal>,
    /// Made with the first request, once nothing more is set.
    state: OnceLock<Arc<PageState>>,
}

impl Page {
    /// Starts with the defaults.
    pub fn new() -> Self {
        let settings = Settings {
            path: "/ui".to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mcp_path: None,
            is_secure: false,
            sources: Arc::new(|| Box::pin(async { Vec::new() })),
            #[cfg(all(feature = "chat", feature = "journal"))]
            run_details: None,
        };
        Self {
            settings,
            max_sessions: 32,
            session_timeout: Duration::from_secs(12 * 60 * 60),
            tokens: PageTokens::new(),
            #[cfg(feature = "chat")]
            chat: None,
            #[cfg(feature = "chat")]
            chat_system: None,
            #[cfg(feature = "journal")]
            journal: None,
            state: OnceLock::new(),
        }
    }

    /// Sets the path at which a server offers the page: `/ui`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.settings.path = path.into();
        self
    }

    /// Sets what the page is called: the title of the tools, otherwise `opentool`.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.settings.title = Some(title.into());
        self
    }

    /// Sets the version that the page shows: that of this crate.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.settings.version = version.into();
        self
    }

    /// Says at which path the server offers the tools to MCP clients, which the page shows; nowhere by default.
    pub fn mcp_path(mut self, path: impl Into<String>) -> Self {
        self.settings.mcp_path = Some(path.into());
        self
    }

    /// Says whether the server is reached over HTTPS, for the addresses that the page shows: false.
    pub fn secure(mut self, is_secure: bool) -> Self {
        self.settings.is_secure = is_secure;
        self
    }

    /// Sets what says where the tools come from, asked whenever the page shows it.
    ///
    /// ```
    /// use opentool_page::{Page, PageSource};
    ///
    /// let page = Page::new().sources(|| async { vec![PageSource::new("clock", "Rust functions").tools(["now"])] });
    /// # let _ = page;
    /// ```
    pub fn sources<F>(mut self, sources: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Vec<PageSource>> + Send + 'static,
    {
        self.settings.sources = Arc::new(move || Box::pin(sources()));
        self
    }

    /// Sets how many browsers may be signed in: 32. At the limit the one that was not used for the longest time is signed out.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets after how much time without a request a browser is signed out: 12 hours.
    pub fn session_timeout(mut self, time: Duration) -> Self {
        self.session_timeout = time;
        self
    }

    /// Lets people chat with a model that calls the tools of the server, with its executor and under its policies.
    ///
    /// The person at the page is asked about each call of a tool that is not known to only read. Conversations are kept in memory
    /// while the server runs, at most 64 of them and 64 MiB.
    ///
    /// ```
    /// # use opentool_chat::testing::{Reply, ScriptedModel};
    /// use opentool_page::Page;
    ///
    /// # let provider = ScriptedModel::new([Reply::text("Hello.")]);
    /// let page = Page::new().chat(provider).chat_system("You are terse.");
    /// # let _ = page;
    /// ```
    #[cfg(feature = "chat")]
    pub fn chat(self, model: impl Into<opentool_chat::ChatModel>) -> Self {
        let model = model.into();
        self.chat_from(move || Some(model.clone()))
    }

    /// Sets what says which model people [chat](Self::chat) with, asked at the beginning of each turn. Where it says none, there is no chat.
    ///
    /// For a server whose configuration changes while it runs. A page that is open notices another model when the
    /// [source](opentool_core::ToolSource::changes) of the tools says that they changed.
    #[cfg(feature = "chat")]
    pub fn chat_from(mut self, model: impl Fn() -> Option<opentool_chat::ChatModel> + Send + Sync + 'static) -> Self {
        self.chat = Some(Arc::new(model));
        self
    }

    /// Sets what the model of the chat is asked to be, before everything else.
    #[cfg(feature = "chat")]
    pub fn chat_system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.chat_system = Some(text.into());
        self
    }

    /// Shows the runs of a journal, and lets people decide about calls that wait for approval or are uncertain.
    ///
    /// Each turn of a chat is then a [run](opentool_core::RunJournal) too: what was said is in the journal, where everyone who is signed in
    /// sees it, and a turn whose page or process has gone can go on in another process.
    #[cfg(feature = "journal")]
    pub fn journal(mut self, journal: opentool_journal::SqliteJournal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Sets what is stored with the run of a chat, asked at the beginning of each turn: what a program needs to
    /// [go on](opentool_chat::ChatClient::resume_run) with it. No secrets. Where the details have a list of texts named `not_stored`,
    /// the page says that these have to be added to the command that goes on with the run.
    #[cfg(all(feature = "chat", feature = "journal"))]
    pub fn chat_run_details(mut self, details: impl Fn() -> serde_json::Value + Send + Sync + 'static) -> Self {
        self.settings.run_details = Some(Arc::new(details));
        self
    }

    /// Returns what makes the tokens with which people sign in.
    #[must_use]
    pub fn tokens(&self) -> PageTokens {
        self.tokens.clone()
    }

    fn state(&self) -> &Arc<PageState> {
        self.state.get_or_init(|| {
            let sessions = Sessions::new(self.max_sessions, self.session_timeout);
            #[cfg_attr(
                not(any(feature = "chat", feature = "journal")),
                expect(unused_mut, reason = "set with a feature")
            )]
            let mut state = PageState::new(self.settings.clone(), self.tokens.clone(), sessions);
            #[cfg(feature = "chat")]
            {
                let system = self.chat_system.clone();
                state.chat = self.chat.clone().map(|model| crate::conversations::Chat::new(model, system));
            }
            #[cfg(feature = "journal")]
            {
                state.journal.clone_from(&self.journal);
            }
            Arc::new(state)
        })
    }
}

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Frontend for Page {
    fn mount_path(&self) -> &str {
        &self.settings.path
    }

    fn takes_sub_paths(&self) -> bool {
        true
    }

    fn authenticates_callers(&self) -> bool {
        true
    }

    fn answer_head(&self, request: &FrontendRequest<'_>) -> Option<FrontendResponse> {
        let path = request.sub_path();
        let answered = match api_path(path) {
            Some(rest) => match api::check_head(self.state(), rest, request) {
                Ok(()) => return None,
                Err(error) => error.into_response(),
            },
            None => {
                let found = assets::answer(request.method(), &self.settings.path, path, request.headers());
                found.unwrap_or_else(ApiError::into_response)
            }
        };
        Some(security_headers::add(answered))
    }

    fn answer<'a>(&'a self, mut request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
        Box::pin(async move {
            let answered = match api_path(request.sub_path()) {
                Some(rest) => api::answer(self.state(), rest, &mut request).await,
                // The files are answered by the head of a request.
                None => Err(ApiError::not_found("no such file")),
            };
            security_headers::add(answered.unwrap_or_else(ApiError::into_response))
        })
    }
}

/// The path below that of the API.
fn api_path(path: &str) -> Option<&str> {
    path.strip_prefix("/api").filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("path", &self.settings.path)
            .field("max_sessions", &self.max_sessions)
            .field("session_timeout", &self.session_timeout)
            .finish_non_exhaustive()
    }
}
