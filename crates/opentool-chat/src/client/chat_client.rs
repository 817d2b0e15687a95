//! The client that programs hold: [`ChatClient`].

use std::fmt;
use std::sync::Arc;

use opentool_core::RunJournal;
use serde_json::Value;

use crate::memory::ChatMemory;
use crate::model::{ChatModel, SavePoint};
use crate::options::ChatOptions;

/// Asks a model that uses your tools, in three lines.
///
/// ```
/// use opentool_chat::ChatClient;
/// use opentool_chat::testing::{Reply, ScriptedModel};
/// use opentool_core::FnTool;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::text("Tomorrow is 2015-10-21.")]);
/// let answer = ChatClient::new(model)
///     .prompt("What day is tomorrow?")
///     .tools(FnTool::new("now", || "2015-10-20T12:00:00Z"))
///     .call().await?;
/// assert_eq!(answer.text(), "Tomorrow is 2015-10-21.");
/// # Ok::<(), opentool_chat::ChatError>(())
/// # }).unwrap();
/// ```
///
/// [`builder`](Self::builder) has what all requests share: default tools, system text, memory. A clone shares everything.
#[derive(Clone)]
pub struct ChatClient(pub(super) Arc<ClientParts>);

/// What the clones of a client share.
pub(super) struct ClientParts {
    pub(super) model: ChatModel,
    pub(super) options: ChatOptions,
    pub(super) system: Option<Arc<str>>,
    pub(super) memory: Option<Arc<dyn ChatMemory>>,
    pub(super) save: SavePoint,
    pub(super) conversation: Option<String>,
    pub(super) journal: Option<Arc<dyn RunJournal>>,
    pub(super) run_details: Option<Value>,
}

impl ChatClient {
    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &ChatModel {
        &self.0.model
    }
}

impl fmt::Debug for ChatClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatClient")
            .field("model", &self.0.model)
            .field("options", &self.0.options)
            .field("remembers", &self.0.memory.is_some())
            .finish_non_exhaustive()
    }
}
