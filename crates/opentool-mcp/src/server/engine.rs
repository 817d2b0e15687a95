//! What the server answers, whatever the messages come over: [`Engine`].

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use opentool_core::{Host, ToolChanges, Toolbox};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::answer;
use super::cache::CacheHints;
use super::error::ProtocolError;
use super::json_text::JsonText;
use super::list::{ListResult, Page};
use super::mirror::MirroredParams;
use super::pending::PendingCalls;
use super::result::Envelope;
use super::revision::Revision;
use super::settings::Settings;

/// How long a client may keep a list of tools that never changes while the server runs.
const FIXED_LIST_TTL: Duration = Duration::from_secs(300);

/// What a server is called whose tools have no title.
const DEFAULT_NAME: &str = "opentool";

/// Answers the methods that run no tool, and keeps what is computed once of the tools.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) settings: Settings,
    /// Name and version, once the tools that they come from are known.
    server_info: OnceLock<Box<RawValue>>,
    default_info: Box<RawValue>,
    /// Which arguments are mirrored in headers, for the tools that were listed last.
    mirrored: RwLock<Option<Arc<MirroredParams>>>,
    pub(crate) pending: PendingCalls,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) revision: Revision,
    /// Whether the caller showed an API key.
    pub(crate) has_key: bool,
}

#[derive(Serialize)]
struct ServerInfo<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    version: &'a str,
}

#[derive(Serialize)]
struct Capabilities {
    tools: ToolCapabilities,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolCapabilities {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    list_changed: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult<'a> {
    protocol_version: &'static str,
    capabilities: Capabilities,
    server_info: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult<'a> {
    supported_versions: [&'static str; Revision::ALL.len()],
    capabilities: Capabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(flatten)]
    cache: CacheHints,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Self {
        let info = ServerInfo {
            name: settings.name.as_deref().unwrap_or(DEFAULT_NAME),
            title: None,
            version: settings.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")),
        };
        // Three texts can always be written.
        let default_info = to_raw_value(&info).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self {
            settings,
            server_info: OnceLock::new(),
            default_info,
            mirrored: RwLock::new(None),
            pending: PendingCalls::default(),
        }
    }

    /// Returns the name and the version of the server.
    pub(crate) fn server_info(&self, host: &Host) -> &RawValue {
        if let (None, Some(tools)) = (self.server_info.get(), host.source().fixed()) {
            self.note_tools(tools);
        }
        self.server_info.get().unwrap_or(&self.default_info)
    }

    /// Answers `initialize`, which requests a revision, with the one that is spoken from then on.
    pub(crate) async fn initialize(
        &self,
        host: &Host,
        id: JsonText<'_>,
        requested: Option<JsonText<'_>>,
    ) -> (Vec<u8>, Option<Revision>) {
        let Some(requested) = requested.and_then(JsonText::string) else {
            let error = ProtocolError::invalid_params("`protocolVersion` must be a string");
            return (answer::error(Some(id), &error), None);
        };
        let revision = Revision::parse(&requested).filter(|revision| !revision.is_stateless());
        let revision = revision.unwrap_or(Revision::LATEST_LEGACY);
        let tools = self.known_tools(host).await;
        let result = InitializeResult {
            protocol_version: revision.as_str(),
            capabilities: capabilities(host),
            server_info: self.server_info(host),
            instructions: self.instructions(tools.as_ref()),
        };
        (answer::result(id, result), Some(revision))
    }

    /// Answers `server/discover`.
    pub(crate) async fn discover(&self, host: &Host, id: JsonText<'_>, caller: Caller) -> Vec<u8> {
        let tools = self.known_tools(host).await;
        let result = DiscoverResult {
            supported_versions: Revision::ALL.map(Revision::as_str),
            capabilities: capabilities(host),
            instructions: self.instructions(tools.as_ref()),
            cache: self.cache_hints(host, caller),
            envelope: Envelope::complete(caller.revision, self.server_info(host)),
        };
        answer::result(id, result)
    }

    /// Answers `tools/list`.
    pub(crate) async fn list(
        &self,
        host: &Host,
        id: JsonText<'_>,
        cursor: Option<JsonText<'_>>,
        caller: Caller,
    ) -> Vec<u8> {
        let tools = match host.toolbox().await {
            Ok(tools) => tools,
            Err(error) => {
                tracing::warn!(target: "opentool::mcp", %error, "the tools cannot be listed");
                let error = ProtocolError::internal(format!("the tools cannot be listed: {error}"));
                return answer::error(Some(id), &error);
            }
        };
        self.note_tools(&tools);
        let size = self.settings.page_size.clamp(1, 1000);
        match Page::find(&tools, host.executor(), caller.revision, cursor, size) {
            Ok(page) => {
                let envelope = Envelope::complete(caller.revision, self.server_info(host));
                answer::result(id, ListResult::new(&page, self.cache_hints(host, caller), envelope))
            }
            Err(error) => answer::error(Some(id), &error),
        }
    }

    /// Answers a request that has nothing to say.
    pub(crate) fn empty(&self, host: &Host, id: JsonText<'_>, caller: Caller) -> Vec<u8> {
        answer::result(id, Envelope::complete(caller.revision, self.server_info(host)))
    }

    /// Returns which arguments are mirrored in headers.
    pub(crate) fn mirrored(&self, host: &Host) -> Option<Arc<MirroredParams>> {
        let known = self.mirrored.read().unwrap_or_else(PoisonError::into_inner).clone();
        match (known, host.source().fixed()) {
            (None, Some(tools)) => {
                self.note_tools(tools);
                self.mirrored.read().unwrap_or_else(PoisonError::into_inner).clone()
            }
            (known, _) => known,
        }
    }

    fn cache_hints(&self, host: &Host, caller: Caller) -> CacheHints {
        let usual = if host.source().fixed().is_some() { FIXED_LIST_TTL } else { Duration::ZERO };
        CacheHints::new(self.settings.list_ttl.unwrap_or(usual), caller.has_key)
    }

    /// Returns the tools for what they say about themselves as a whole; a source that cannot be reached says nothing.
    async fn known_tools(&self, host: &Host) -> Option<Toolbox> {
        let tools = host.toolbox().await.ok()?;
        self.note_tools(&tools);
        Some(tools)
    }

    fn instructions<'a>(&'a self, tools: Option<&'a Toolbox>) -> Option<&'a str> {
        self.settings.instructions.as_deref().or_else(|| tools?.description())
    }

    /// Keeps what is computed of tools.
    fn note_tools(&self, tools: &Toolbox) {
        self.server_info.get_or_init(|| {
            let Settings { name, version, .. } = &self.settings;
            let info = ServerInfo {
                name: name.as_deref().or(tools.title()).unwrap_or(DEFAULT_NAME),
                title: tools.title(),
                version: version.as_deref().or(tools.version()).unwrap_or(env!("CARGO_PKG_VERSION")),
            };
            to_raw_value(&info).unwrap_or_else(|_| self.default_info.clone())
        });
        let current = self.mirrored.read().unwrap_or_else(PoisonError::into_inner).clone();
        if current.is_none_or(|current| !current.are_of(tools)) {
            let found = Arc::new(MirroredParams::new(tools));
            *self.mirrored.write().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    }
}

/// Returns the signal of the tools' changes, where their source has one.
pub(crate) fn changes(host: &Host) -> Option<ToolChanges> {
    host.source().changes()
}

fn capabilities(host: &Host) -> Capabilities {
    Capabilities { tools: ToolCapabilities { list_changed: changes(host).is_some() } }
}
