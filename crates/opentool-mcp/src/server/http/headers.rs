//! What the headers of a request say, and whether that is what its body says.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use opentool_server::{FrontendRequest, HeaderValues};
use serde_json::Value;

use super::events;
use crate::server::error::ProtocolError;
use crate::server::json_text::JsonText;
use crate::server::message::Params;
use crate::server::mirror::{MirroredParam, decoded};
use crate::server::revision::Revision;

const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What clients accept that follow the protocol to the letter, as nearly all write it.
const ACCEPTS_BOTH: &str = "application/json, text/event-stream";

/// The methods that only the stateless revisions have.
const STATELESS_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// The headers of a request that the protocol has a use for.
#[derive(Clone, Copy)]
pub(super) struct McpHeaders<'a> {
    content_type: HeaderValues<'a>,
    accept: HeaderValues<'a>,
    revision: HeaderValues<'a>,
    method: HeaderValues<'a>,
    name: HeaderValues<'a>,
    session: HeaderValues<'a>,
    last_event: HeaderValues<'a>,
    /// All of them, for those that a tool wants its arguments in.
    all: &'a HeaderMap,
}

impl<'a> McpHeaders<'a> {
    pub(super) fn read(request: &FrontendRequest<'a>) -> Self {
        let [content_type, accept, revision, method, name, session, last_event] =
            request.find_headers([&CONTENT_TYPE, &ACCEPT, &REVISION, &METHOD, &NAME, &SESSION, &LAST_EVENT]);
        Self { content_type, accept, revision, method, name, session, last_event, all: request.headers() }
    }

    /// Finds the revision of a request: what its header says, which must be what its body says.
    pub(super) fn revision(&self, method: &str, params: &Params<'_>) -> Result<Revision, ProtocolError> {
        let header = single(self.revision.first(), self.revision.is_repeated(), REVISION.as_str())?;
        let in_body = match params.meta.revision.map(JsonText::string) {
            Some(None) => {
                return Err(ProtocolError::invalid_params("the protocol version in `_meta` must be a string"));
            }
            Some(Some(revision)) => Some(revision),
            None => None,
        };
        let Some(header) = header else {
            if in_body.is_some() || STATELESS_METHODS.contains(&method) {
                return Err(ProtocolError::header_mismatch("the header MCP-Protocol-Version is missing"));
            }
            return Ok(Revision::WITHOUT_HEADER);
        };
        if let Some(in_body) = &in_body
            && in_body != header
        {
            return Err(differs("MCP-Protocol-Version", header, in_body));
        }
        let revision = Revision::parse(header).ok_or_else(|| ProtocolError::unsupported_revision(header))?;
        if revision.is_stateless() && in_body.is_none() {
            let message = "`_meta` must have `io.modelcontextprotocol/protocolVersion`";
            return Err(ProtocolError::invalid_params(message));
        }
        Ok(revision)
    }

    /// Finds the revision of a request whose body says nothing about it.
    pub(super) fn legacy_revision(&self) -> Result<Revision, ProtocolError> {
        match single(self.revision.first(), self.revision.is_repeated(), REVISION.as_str())? {
            None => Ok(Revision::WITHOUT_HEADER),
            Some(header) => Revision::parse(header).ok_or_else(|| ProtocolError::unsupported_revision(header)),
        }
    }

    /// Checks what a request of a stateless revision must carry: its capabilities, and headers that repeat its body.
    pub(super) fn check_stateless(&self, method: &str, params: &Params<'_>) -> Result<(), ProtocolError> {
        if !params.meta.capabilities.is_some_and(JsonText::is_object) {
            let message = "`_meta` must have `io.modelcontextprotocol/clientCapabilities`, an object";
            return Err(ProtocolError::invalid_params(message));
        }
        match single(self.method.first(), self.method.is_repeated(), METHOD.as_str())? {
            Some(header) if header == method => {}
            Some(header) => return Err(differs("Mcp-Method", header, method)),
            None => return Err(ProtocolError::header_mismatch("the header Mcp-Method is missing")),
        }
        if method == "tools/call"
            && let Some(name) = params.name.and_then(JsonText::string)
        {
            let header = single(self.name.first(), self.name.is_repeated(), NAME.as_str())?;
            let header = header.ok_or_else(|| ProtocolError::header_mismatch("the header Mcp-Name is missing"))?;
            let text =
                decoded(header).ok_or_else(|| ProtocolError::header_mismatch("the header Mcp-Name is broken"))?;
            if text != name {
                return Err(differs("Mcp-Name", &text, &name));
            }
        }
        Ok(())
    }

    /// Checks that the headers repeat the arguments that a tool wants repeated.
    pub(super) fn check_mirrored(
        &self,
        mirrored: &[MirroredParam],
        arguments: Option<JsonText<'_>>,
    ) -> Result<(), ProtocolError> {
        if mirrored.is_empty() {
            return Ok(());
        }
        // What is no object is refused later.
        let arguments: Value = arguments.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
        for param in mirrored {
            let mut values = self.all.get_all(param.header.as_str()).iter();
            let header = single(values.next(), values.next().is_some(), &param.header)?;
            if !param.matches(header, &arguments) {
                let message = format!("the header {} does not repeat its argument", param.header);
                return Err(ProtocolError::header_mismatch(message));
            }
        }
        Ok(())
    }

    /// Returns the session that a request belongs to.
    pub(super) fn session(&self) -> Option<&'a str> {
        self.session.first()?.to_str().ok()
    }

    /// Returns the last event that a client has got of a stream which it takes up again.
    pub(super) fn last_event(&self) -> Option<&'a str> {
        self.last_event.first()?.to_str().ok()
    }

    /// Says whether the content type is JSON. A page may send other types without asking first, so this is a check of security.
    pub(super) fn is_json(&self) -> bool {
        let Some(value) = self.content_type.first() else { return false };
        let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
    }

    /// Says whether a client reads JSON; one that says nothing does.
    pub(super) fn accepts_json(&self) -> bool {
        self.accepts("application/json", true)
    }

    /// Says whether a client reads server-sent events.
    pub(super) fn accepts_events(&self) -> bool {
        self.accepts(events::CONTENT_TYPE, false)
    }

    fn accepts(&self, wanted: &str, by_default: bool) -> bool {
        match self.accept.first() {
            None => return by_default,
            Some(value) if value == ACCEPTS_BOTH => return true,
            Some(_) => {}
        }
        let family = wanted.split('/').next().unwrap_or_default();
        self.accept.all().flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|range| {
            let essence = range.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            let is_family =
                || essence.strip_suffix(b"/*").is_some_and(|named| named.eq_ignore_ascii_case(family.as_bytes()));
            essence.eq_ignore_ascii_case(wanted.as_bytes()) || essence == b"*/*" || is_family()
        })
    }
}

/// Returns the text of a header that may stand once only.
fn single<'a>(first: Option<&'a HeaderValue>, is_repeated: bool, name: &str) -> Result<Option<&'a str>, ProtocolError> {
    let Some(value) = first else { return Ok(None) };
    let wrong = |what| ProtocolError::header_mismatch(format!("the header {name} {what}"));
    if is_repeated {
        return Err(wrong("is there twice"));
    }
    let value = value.to_str().map_err(|_| wrong("has a character that is not allowed"))?;
    Ok(Some(value.trim_matches([' ', '\t'])))
}

fn differs(header: &str, in_header: &str, in_body: &str) -> ProtocolError {
    const SHOWN: usize = 100;
    let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
    ProtocolError::header_mismatch(format!(
        "the header {header} is `{}`, but the body says `{}`",
        shown(in_header),
        shown(in_body)
    ))
}
