//! A source that may be down for a while: [`SourceSlot`].

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use opentool::{
    BoxFuture, ChangeSignal, Invocation, Tool, ToolChanges, ToolDefinition, ToolError, ToolMetadata, ToolOutput,
    ToolSource, Toolbox, ToolboxError,
};
use opentool_client::Client;

use crate::{
    source::Attached,
    terminal::{note, warn},
};

/// How long to wait before a source that is down is asked again: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The tools of a source, which are there or not: one that is down leaves the others alone. A clone is the same.
#[derive(Clone)]
pub(super) struct SourceSlot(Arc<SlotState>);

struct SlotState {
    /// For messages.
    name: String,
    content: Mutex<SlotContent>,
    is_up: AtomicBool,
    changed: ChangeSignal,
}

struct SlotContent {
    /// None while it is down since it was opened.
    tools: Option<opentool::Source>,
    /// Its tools when they were last known.
    last: Toolbox,
    /// The client of its OpenTool server, which knows whether that is there.
    client: Option<Client>,
}

impl SourceSlot {
    /// A source that was there when it was opened.
    pub(super) fn up(name: String, tools: opentool::Source, last: Toolbox) -> Self {
        let slot = Self::new(name, last);
        slot.set(tools, None);
        slot
    }

    /// A source that cannot be reached; the tools that it had before, if any, say so when they are called.
    pub(super) fn down(name: String, before: Option<&Toolbox>, reason: &str) -> Self {
        let last = before.and_then(|tools| unavailable(tools, &name, reason).ok()).unwrap_or_default();
        Self::new(name, last)
    }

    fn new(name: String, last: Toolbox) -> Self {
        let content = Mutex::new(SlotContent { tools: None, last, client: None });
        SourceSlot(Arc::new(SlotState { name, content, is_up: AtomicBool::new(false), changed: ChangeSignal::new() }))
    }

    /// Whether its tools could be asked for when that was last tried.
    pub(super) fn is_up(&self) -> bool {
        let is_server_up = || self.content().client.as_ref().is_none_or(|client| client.is_up() != Some(false));
        self.0.is_up.load(Relaxed) && is_server_up()
    }

    /// Its tools when they were last known.
    pub(super) fn last(&self) -> Toolbox {
        self.content().last.clone()
    }

    fn content(&self) -> std::sync::MutexGuard<'_, SlotContent> {
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, tools: opentool::Source, client: Option<Client>) {
        if let Some(mut changes) = tools.changes() {
            let slot = Arc::downgrade(&self.0);
            tokio::spawn(async move {
                while changes.changed().await {
                    let Some(slot) = slot.upgrade() else { return };
                    slot.changed.send();
                }
            });
        }
        {
            let mut content = self.content();
            (content.tools, content.client) = (Some(tools), client);
        }
        self.0.is_up.store(true, Relaxed);
    }

    /// Tries to open the source again and again, with longer and longer waits, until it is there.
    pub(super) async fn retry<F>(self, open: impl Fn() -> F)
    where
        F: Future<Output = Result<Attached, String>>,
    {
        let mut wait = FIRST_WAIT;
        loop {
            tokio::time::sleep(wait).await;
            match open().await {
                Ok(Attached { toolbox, tools, client, .. }) => {
                    self.content().last = toolbox;
                    self.set(tools, client);
                    self.0.changed.send();
                    note(&format_args!("the source {} is there again", self.0.name));
                    return;
                }
                Err(reason) => tracing::info!(source = %self.0.name, %reason, "the source is still down"),
            }
            wait = (wait * 2).min(MAX_WAIT);
        }
    }
}

impl ToolSource for SourceSlot {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            let (tools, last) = {
                let content = self.content();
                (content.tools.clone(), content.last.clone())
            };
            let Some(tools) = tools else { return Ok(last) };
            match tools.toolbox().await {
                Ok(toolbox) => {
                    self.content().last = toolbox.clone();
                    self.0.is_up.store(true, Relaxed);
                    Ok(toolbox)
                }
                Err(error) => {
                    if self.0.is_up.swap(false, Relaxed) {
                        warn(&format_args!("the source {} is down: {error}; other sources are not", self.0.name));
                    }
                    // Their calls say what is wrong, and try again.
                    Ok(last)
                }
            }
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.0.changed.changes())
    }
}

/// The same tools, each of which answers that its source cannot be reached.
fn unavailable(tools: &Toolbox, source: &str, reason: &str) -> Result<Toolbox, ToolboxError> {
    let message = format!("the source {source} cannot be reached: {reason}");
    Toolbox::from_tools(tools.iter().map(|tool| UnavailableTool {
        definition: tool.definition().clone(),
        metadata: tool.metadata().clone(),
        message: message.clone(),
    }))
}

/// A tool of a source that cannot be reached.
struct UnavailableTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    message: String,
}

impl Tool for UnavailableTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Err(ToolError::unavailable(self.message.clone())) })
    }
}
