//! What can be set about the server: [`Settings`].

use std::sync::Arc;
use std::time::Duration;

use opentool_core::Journal;

/// The settings of a server, with their defaults.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) path: String,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) page_size: usize,
    pub(crate) list_ttl: Option<Duration>,
    pub(crate) max_sessions: usize,
    pub(crate) session_timeout: Duration,
    pub(crate) max_listeners: usize,
    pub(crate) max_line: usize,
    pub(crate) max_calls: usize,
    /// Where calls with a key are recorded over stdio; in memory where there is none.
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            name: None,
            version: None,
            instructions: None,
            page_size: 1000,
            list_ttl: None,
            max_sessions: 10_000,
            session_timeout: Duration::from_secs(30 * 60),
            max_listeners: 1024,
            max_line: 16 * 1024 * 1024,
            max_calls: 1024,
            journal: None,
        }
    }
}
