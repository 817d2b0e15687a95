//! Why a document cannot be a tool: [`WorkflowError`].

use opentool_spec::DocumentErrors;
use thiserror::Error;

use crate::{DefinitionError, ToolboxError};

/// Why an OpenWorkflow document cannot be a tool.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// The document has errors.
    #[error("the workflow cannot be used:\n{0}")]
    Document(#[from] DocumentErrors),
    /// The document cannot be written as JSON.
    #[error("the workflow cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// The tools cannot be in one toolbox.
    #[error("the tools of the workflow cannot be used: {0}")]
    Tools(#[source] ToolboxError),
    /// A step calls `sleep`, and the tools have one too.
    #[error(
        "a step calls `sleep`, which every workflow has, and the tools have a `sleep` too: rename that one or leave it out"
    )]
    Sleep,
    /// The name of the workflow is none that a tool can have.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}
