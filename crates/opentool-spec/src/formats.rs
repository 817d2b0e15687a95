//! JSON Schemas of the document formats, for editors.

use crate::check::DocumentKind;

/// The JSON Schema (draft 2020-12) of documents of a kind, as text.
///
/// It is for editors, which complete and explain keys and underline what is absent or of the wrong type. A
/// document without errors and warnings from [`check`](crate::check()) is valid; the reverse does not hold, because a
/// schema cannot follow references or compare names.
///
/// ```
/// use opentool_spec::{DocumentKind, document_schema};
///
/// let schema: serde_json::Value = serde_json::from_str(document_schema(DocumentKind::OpenTool))?;
/// assert_eq!(schema["required"], serde_json::json!(["opentool", "info", "functions"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const fn document_schema(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::OpenTool => include_str!("formats/opentool.schema.json"),
        DocumentKind::OpenDyn => include_str!("formats/opendyn.schema.json"),
        DocumentKind::OpenWorkflow => include_str!("formats/openworkflow.schema.json"),
    }
}

#[cfg(test)]
mod tests;
