//! The document that `/load` answers with.

use opentool_core::{ToolError, Toolbox};
use opentool_spec::{OpenTool, ServerObject};

/// Describes tools as a strict document, which older clients can read too; `{}` for a handler without a document.
///
/// `public_url` replaces the server that the tools' own document names.
pub(crate) fn write(toolbox: &Toolbox, public_url: Option<&str>) -> Result<Vec<u8>, ToolError> {
    if toolbox.is_open() && toolbox.is_empty() {
        return Ok(b"{}".to_vec());
    }
    let written = toolbox.to_document().map_err(ToolError::fatal)?;
    for dropped in &written.dropped {
        tracing::debug!(target: "opentool::server", ?dropped, "not in the document");
    }
    let mut strict = written.document.to_strict();
    for cut in &strict.cuts {
        tracing::warn!(target: "opentool::server", %cut, "cut from the document");
    }
    if let Some(url) = public_url {
        strict.document.server = Some(ServerObject::new(url));
    }
    // Only the current version has a server object.
    let version = toolbox.spec_version().filter(|_| strict.document.server.is_none()).unwrap_or(OpenTool::VERSION);
    version.clone_into(&mut strict.document.opentool);
    serde_json::to_vec(&strict.document).map_err(ToolError::fatal)
}
