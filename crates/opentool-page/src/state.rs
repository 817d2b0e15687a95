//! What all requests to a page share: [`PageState`].

use std::fmt;
use std::sync::Arc;

use opentool_core::BoxFuture;
use tokio::sync::Semaphore;

use crate::attempts::Attempts;
#[cfg(feature = "chat")]
use crate::conversations::Chat;
use crate::running::RunningCalls;
use crate::sessions::Sessions;
use crate::source_info::PageSource;
use crate::tokens::PageTokens;

/// What tells the page about the sources of the tools.
pub(crate) type Sources = Arc<dyn Fn() -> BoxFuture<'static, Vec<PageSource>> + Send + Sync>;

/// What says what is stored with the run of a chat.
#[cfg(all(feature = "chat", feature = "journal"))]
pub(crate) type RunDetails = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// The settings of a page, and what happens on it.
pub(crate) struct PageState {
    pub(crate) settings: Settings,
    pub(crate) tokens: PageTokens,
    pub(crate) sessions: Sessions,
    pub(crate) failed_sign_ins: Attempts,
    pub(crate) calls: RunningCalls,
    /// Streams of events that may be open.
    pub(crate) listeners: Arc<Semaphore>,
    #[cfg(feature = "chat")]
    pub(crate) chat: Option<Chat>,
    #[cfg(feature = "journal")]
    pub(crate) journal: Option<opentool_journal::SqliteJournal>,
}

/// What the application says about a page.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) path: String,
    pub(crate) title: Option<String>,
    pub(crate) version: String,
    pub(crate) mcp_path: Option<String>,
    pub(crate) is_secure: bool,
    pub(crate) sources: Sources,
    /// What is stored with the run of a chat.
    #[cfg(all(feature = "chat", feature = "journal"))]
    pub(crate) run_details: Option<RunDetails>,
}

/// How many streams of events may be open.
const MAX_LISTENERS: usize = 32;

impl PageState {
    pub(crate) fn new(settings: Settings, tokens: PageTokens, sessions: Sessions) -> Self {
        Self {
            settings,
            tokens,
            sessions,
            failed_sign_ins: Attempts::default(),
            calls: RunningCalls::default(),
            listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
            #[cfg(feature = "chat")]
            chat: None,
            #[cfg(feature = "journal")]
            journal: None,
        }
    }
}

impl fmt::Debug for PageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageState")
            .field("path", &self.settings.path)
            .field("sessions", &self.sessions)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}
