//! What can be set about a client: [`ClientSettings`].

use std::collections::HashMap;
use std::time::Duration;

use opentool_core::ToolMetadata;

/// The settings of a client, with their defaults.
#[derive(Clone, Debug)]
pub(crate) struct ClientSettings {
    pub(crate) prefix: String,
    pub(crate) call_timeout: Option<Duration>,
    /// How long a call may take that makes progress.
    pub(crate) progress_timeout: Option<Duration>,
    pub(crate) start_timeout: Duration,
    pub(crate) max_message_size: usize,
    pub(crate) max_tools: usize,
    pub(crate) max_list_size: usize,
    pub(crate) metadata: HashMap<String, ToolMetadata>,
    pub(crate) trust_annotations: bool,
    pub(crate) check_results: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            call_timeout: None,
            progress_timeout: None,
            start_timeout: Duration::from_secs(60),
            max_message_size: 16 << 20,
            max_tools: 10_000,
            max_list_size: 32 << 20,
            metadata: HashMap::new(),
            trust_annotations: false,
            check_results: true,
        }
    }
}
