//! What the headers of a request say, and whether that is what its body says.

use http::header::{ACCEPT, AsHeaderName, CONTENT_TYPE, HeaderMap, HeaderName};
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

/// Finds the revision of a request: what its header says, which must be what its body says.
pub(super) fn revision(headers: &HeaderMap, method: &str, params: &Params<'_>) -> Result<Revision, ProtocolError> {
    let header = single(headers, &REVISION)?;
    let in_body = match params.meta.revision.map(JsonText::string) {
        Some(None) => return Err(ProtocolError::invalid_params("the protocol version in `_meta` must be a string")),
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
pub(super) fn legacy_revision(headers: &HeaderMap) -> Result<Revision, ProtocolError> {
    match single(headers, &REVISION)? {
        None => Ok(Revision::WITHOUT_HEADER),
        Some(header) => Revision::parse(header).ok_or_else(|| ProtocolError::unsupported_revision(header)),
    }
}

/// Checks what a request of a stateless revision must carry: its capabilities, and headers that repeat its body.
pub(super) fn check_stateless(headers: &HeaderMap, method: &str, params: &Params<'_>) -> Result<(), ProtocolError> {
    if !params.meta.capabilities.is_some_and(JsonText::is_object) {
        let message = "`_meta` must have `io.modelcontextprotocol/clientCapabilities`, an object";
        return Err(ProtocolError::invalid_params(message));
    }
    match single(headers, &METHOD)? {
        Some(header) if header == method => {}
        Some(header) => return Err(differs("Mcp-Method", header, method)),
        None => return Err(ProtocolError::header_mismatch("the header Mcp-Method is missing")),
    }
    if method == "tools/call"
        && let Some(name) = params.name.and_then(JsonText::string)
    {
        let header = single(headers, &NAME)?;
        let header = header.ok_or_else(|| ProtocolError::header_mismatch("the header Mcp-Name is missing"))?;
        let text = decoded(header).ok_or_else(|| ProtocolError::header_mismatch("the header Mcp-Name is broken"))?;
        if text != name {
            return Err(differs("Mcp-Name", &text, &name));
        }
    }
    Ok(())
}

/// Checks that the headers repeat the arguments that a tool wants repeated.
pub(super) fn check_mirrored(
    headers: &HeaderMap,
    mirrored: &[MirroredParam],
    arguments: Option<JsonText<'_>>,
) -> Result<(), ProtocolError> {
    if mirrored.is_empty() {
        return Ok(());
    }
    // What is no object is refused later.
    let arguments: Value = arguments.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
    for param in mirrored {
        let header = single(headers, param.header.as_str())?;
        if !param.matches(header, &arguments) {
            let message = format!("the header {} does not repeat its argument", param.header);
            return Err(ProtocolError::header_mismatch(message));
        }
    }
    Ok(())
}

/// Returns the session that a request belongs to.
pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(&SESSION)?.to_str().ok()
}

/// Returns the last event that a client has got of a stream which it takes up again.
pub(super) fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get(&LAST_EVENT)?.to_str().ok()
}

/// Says whether the content type is JSON. A page may send other types without asking first, so this is a check of security.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Says whether a client reads JSON; one that says nothing does.
pub(super) fn accepts_json(headers: &HeaderMap) -> bool {
    accepts(headers, "application/json", true)
}

/// Says whether a client reads server-sent events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    accepts(headers, events::CONTENT_TYPE, false)
}

fn accepts(headers: &HeaderMap, wanted: &str, by_default: bool) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    match values.peek() {
        None => return by_default,
        Some(value) if *value == ACCEPTS_BOTH => return true,
        Some(_) => {}
    }
    let family = wanted.split('/').next().unwrap_or_default();
    values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).any(|range| {
        let essence = range.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is_family =
            || essence.strip_suffix(b"/*").is_some_and(|named| named.eq_ignore_ascii_case(family.as_bytes()));
        essence.eq_ignore_ascii_case(wanted.as_bytes()) || essence == b"*/*" || is_family()
    })
}

/// Returns a header that may stand once only.
fn single<N: AsHeaderName + AsRef<str> + Copy>(headers: &HeaderMap, name: N) -> Result<Option<&str>, ProtocolError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let wrong = |what| ProtocolError::header_mismatch(format!("the header {} {what}", name.as_ref()));
    if values.next().is_some() {
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
