//! What all requests to a page share: [`PageState`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use opentool_core::{BoxFuture, Host};
use tokio::sync::Semaphore;

use crate::approval::PageApproval;
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
    host: Mutex<Option<PageHost>>,
    #[cfg(feature = "chat")]
    pub(crate) chat: Option<Chat>,
    #[cfg(feature = "journal")]
    pub(crate) journal: Option<opentool_journal::SqliteJournal>,
}

/// The tools of the server, whose calls the person at the page is asked about.
struct PageHost {
    /// What it was made from; a server may get other tools while it runs.
    of_server: Arc<Host>,
    host: Arc<Host>,
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
            host: Mutex::new(None),
            #[cfg(feature = "chat")]
            chat: None,
            #[cfg(feature = "journal")]
            journal: None,
        }
    }

    /// Returns the tools that the server has now, with its executor and the person at the page.
    pub(crate) fn host(&self, of_server: &Arc<Host>) -> Arc<Host> {
        let mut kept = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| Arc::ptr_eq(&kept.of_server, of_server)) {
            return kept.host.clone();
        }
        let executor = of_server.executor().to_builder().map_approval(PageApproval).build();
        let host = Arc::new(executor.host(of_server.source().clone()));
        *kept = Some(PageHost { of_server: of_server.clone(), host: host.clone() });
        host
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
