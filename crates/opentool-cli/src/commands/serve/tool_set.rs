//! The sources of a server at one time: [`ToolSet`].

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::join_all;
use opentool::{BoxFuture, ChangeSignal, ToolChanges, ToolError, ToolMetadata, ToolSource, Toolbox};
use opentool_page::PageSource;
use opentool_server::ConfigBuilder;
use tokio::task::AbortHandle;

use super::{
    super::tool_set_options::ToolSetOptions,
    setup::{OpenedSource, SourceEntry},
    slot::SourceSlot,
};
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    limits::ConnectOptions,
    mcp_servers::McpServers,
    source::{Attached, Source, StepTools},
    sources::{self, Joined},
    terminal::{visible, warn},
};

/// How long a call may run where nothing else is said.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long a source is waited for when the page asks what it has.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// What calls of sources that are no longer served have beyond their deadline.
const GRACE: Duration = Duration::from_secs(5);

/// The sources that are served together.
pub(in crate::commands) struct ToolSet {
    parts: Vec<SetPart>,
}

/// A source of a set; a clone shares everything.
#[derive(Clone)]
struct SetPart {
    source: Source,
    signature: String,
    attached: Attached,
    slot: Option<SourceSlot>,
    /// What tries to reach the source again, for as long as a set has it.
    _retry: Option<Arc<AbortOnDrop>>,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ToolSet {
    /// Asks sources for their tools. One that a file describes and that cannot be reached is served once it can be.
    pub(in crate::commands) async fn attach(
        entries: Vec<SourceEntry>,
        before: Option<&ToolSet>,
        options: &ToolSetOptions,
    ) -> Result<Self, Failure> {
        let connect = options.connect()?;
        let mut set = ToolSet { parts: Vec::with_capacity(entries.len()) };
        for entry in entries {
            let attached = match entry {
                SourceEntry::Kept(signature) => {
                    Ok(before.and_then(|before| before.find(&signature)).map(SetPart::kept))
                }
                SourceEntry::Opened(opened) => SetPart::attach(*opened, before, options, &connect).await.map(Some),
            };
            match attached {
                Ok(part) => set.parts.extend(part),
                Err(failure) => {
                    set.close_all_but(before).await;
                    return Err(failure);
                }
            }
        }
        Ok(set)
    }

    fn find(&self, signature: &str) -> Option<&SetPart> {
        self.parts.iter().find(|part| part.signature == signature)
    }

    /// What tells the sources of the set from others.
    pub(super) fn signatures(&self) -> HashSet<String> {
        self.parts.iter().map(|part| part.signature.clone()).collect()
    }

    /// The tools of all of them.
    pub(super) fn join(&self) -> Result<Joined<'_>, Failure> {
        sources::combine(self.parts.iter().map(|part| (&part.source, &part.attached)))
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = (&Source, &Toolbox)> {
        self.parts.iter().map(|part| (&part.source, &part.attached.toolbox))
    }

    /// The sources as the page shows them.
    pub(super) fn shown(&self) -> Arc<[ShownSource]> {
        self.parts.iter().map(|part| ShownSource(part.clone())).collect()
    }

    /// Adds what is known about each source; what runs in or under this process is always there.
    pub(super) fn with_states(&self, config: ConfigBuilder) -> ConfigBuilder {
        self.parts.iter().fold(config, |config, part| {
            // A clone shares what is known about the server.
            let shared = part.clone();
            config.source_state(part.source.to_string(), move || shared.is_up())
        })
    }

    /// Whether a tool with this name is one of the demo tools.
    pub(super) fn has_demo_tool(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.source.is_demo() && part.attached.toolbox.contains(name))
    }

    /// How long calls of the set may still run.
    pub(super) fn longest_call(&self, options: &ToolSetOptions) -> Duration {
        let own = self
            .parts
            .iter()
            .flat_map(|part| part.attached.toolbox.iter())
            .filter_map(|tool| tool.metadata().timeout());
        own.chain([options.libraries.timeout().unwrap_or(DEADLINE)]).max().unwrap_or(DEADLINE) + GRACE
    }

    /// Ends the programs of the sources, except those that another set has too.
    pub(in crate::commands) async fn close_all_but(&self, other: Option<&ToolSet>) {
        let is_shared = |part: &&SetPart| other.is_some_and(|other| other.find(&part.signature).is_some());
        for part in self.parts.iter().filter(|part| !is_shared(part)) {
            part.source.close().await;
        }
    }

    /// The sources of this set that another one has no longer.
    pub(super) fn without(mut self, other: &ToolSet) -> Self {
        self.parts.retain(|part| other.find(&part.signature).is_none());
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The names of all tools, as they were last known.
    pub(super) fn names(&self) -> HashSet<String> {
        let names = |part: &SetPart| part.toolbox().names().map(str::to_owned).collect::<Vec<_>>();
        self.parts.iter().flat_map(names).collect()
    }
}

/// A source as the page shows it.
pub(super) struct ShownSource(SetPart);

impl ShownSource {
    /// What is known about it now; one that is down is not asked for its tools.
    pub(super) async fn look(&self) -> PageSource {
        let SetPart { source, attached, .. } = &self.0;
        let is_up = self.0.is_up();
        let toolbox = match is_up {
            true => tokio::time::timeout(MAX_WAIT, attached.tools.toolbox()).await.ok().and_then(Result::ok),
            false => None,
        };
        let names: Vec<String> = toolbox.iter().flat_map(|toolbox| toolbox.names()).map(str::to_owned).collect();
        PageSource::new(source.name(), source.kind_name()).isolation(source.isolation()).up(is_up).tools(names)
    }
}

impl SetPart {
    /// Whether it was there when it was last asked.
    fn is_up(&self) -> bool {
        self.slot.as_ref().is_none_or(SourceSlot::is_up)
            && self.attached.client.as_ref().is_none_or(|client| client.is_up() != Some(false))
            && self.source.mcp_servers().is_none_or(McpServers::are_up)
    }

    /// The same source, with the tools that it has now.
    fn kept(&self) -> Self {
        let mut part = self.clone();
        part.attached.toolbox = self.toolbox();
        part
    }

    /// Its tools when they were last known.
    fn toolbox(&self) -> Toolbox {
        self.slot.as_ref().map_or_else(|| self.attached.toolbox.clone(), SourceSlot::last)
    }

    async fn attach(
        opened: OpenedSource,
        before: Option<&ToolSet>,
        options: &ToolSetOptions,
        connect: &ConnectOptions,
    ) -> Result<Self, Failure> {
        let OpenedSource { source, key, signature } = opened;
        let known = options.known.metadata();
        let name = source.to_string();
        let (attached, slot, retry) = match source.attach(key.as_deref(), &known, connect).await {
            // What is fixed is always there.
            Ok(attached) if attached.tools.fixed().is_some() => (attached, None, None),
            Ok(attached) => {
                let slot = SourceSlot::up(name, attached.tools.clone(), attached.toolbox.clone());
                (Attached { tools: opentool::Source::new(slot.clone()), ..attached }, Some(slot), None)
            }
            Err(failure) if source.is_of_table() && is_away(&failure) => {
                let reason = failure.to_string();
                warn(&format_args!(
                    "the source {name} is down: {reason}; it is tried again, and other sources are served"
                ));
                let earlier =
                    before.and_then(|before| before.parts.iter().find(|part| part.source.name() == source.name()));
                let slot = SourceSlot::down(name, earlier.map(SetPart::toolbox).as_ref(), &reason);
                let retry = retry(&slot, source.clone(), key.clone(), known, connect.clone());
                let toolbox = slot.toolbox().await.unwrap_or_default();
                let tools = opentool::Source::new(slot.clone());
                let attached = Attached { toolbox, tools, client: None, steps: StepTools::default() };
                (attached, Some(slot), Some(retry))
            }
            Err(failure) => {
                source.close().await;
                return Err(failure);
            }
        };
        Ok(SetPart { source, signature, attached, slot, _retry: retry })
    }
}

/// Whether a source may be there later: it cannot be reached, or refuses the key.
fn is_away(failure: &Failure) -> bool {
    matches!(failure.exit_status(), ExitStatus::Unreachable | ExitStatus::Unauthorized)
}

/// Starts what tries to reach a source again.
fn retry(
    slot: &SourceSlot,
    source: Source,
    key: Option<String>,
    known: BTreeMap<&str, ToolMetadata>,
    connect: ConnectOptions,
) -> Arc<AbortOnDrop> {
    let known: BTreeMap<String, ToolMetadata> =
        known.into_iter().map(|(tool, known)| (tool.to_owned(), known)).collect();
    let slot = slot.clone();
    let task = tokio::spawn(slot.retry(move || {
        let (source, key, known, connect) = (source.clone(), key.clone(), known.clone(), connect.clone());
        async move {
            let known = known.iter().map(|(tool, known)| (tool.as_str(), known.clone())).collect();
            let attached = source.attach(key.as_deref(), &known, &connect).await;
            attached.map_err(|failure| visible(failure.to_string().lines().next().unwrap_or_default()).into_owned())
        }
    }));
    Arc::new(AbortOnDrop(task.abort_handle()))
}

/// The tools of a set, with a signal that goes on when another set takes its place.
///
/// A source whose tools get names that another one has already is left out, and the others are not.
pub(super) struct SetSource {
    parts: Vec<(String, opentool::Source)>,
    /// The tools of all parts, where none has to be asked.
    fixed: Option<Toolbox>,
    changed: ChangeSignal,
    /// Whether it was said that tools are left out.
    is_said: AtomicBool,
}

impl SetSource {
    pub(super) fn new(set: &ToolSet, joined: &Joined<'_>, changed: &ChangeSignal) -> Self {
        let parts = set.parts.iter().map(|part| (part.source.to_string(), part.attached.tools.clone())).collect();
        let fixed = joined.tools.fixed().cloned();
        SetSource { parts, fixed, changed: changed.clone(), is_said: AtomicBool::new(false) }
    }

    fn join(&self, given: Vec<Toolbox>) -> Toolbox {
        let mut joined = Toolbox::new();
        for ((source, _), toolbox) in self.parts.iter().zip(given) {
            joined = match joined.clone().merge(toolbox) {
                Ok(merged) => merged,
                Err(error) => {
                    if !self.is_said.swap(true, Relaxed) {
                        warn(&format_args!("the tools of {source} are left out: {}", visible(&error.to_string())));
                    }
                    joined
                }
            };
        }
        joined
    }
}

impl ToolSource for SetSource {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            if let Some(fixed) = &self.fixed {
                return Ok(fixed.clone());
            }
            // All at once: one that is slow does not add to another.
            let asked = join_all(self.parts.iter().map(|(_, tools)| tools.toolbox())).await;
            Ok(self.join(asked.into_iter().map(Result::unwrap_or_default).collect()))
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.changed.changes())
    }
}
