//! Why a library cannot be opened.

use std::path::PathBuf;

use opentool_spec::Finding;

use crate::{ExportsError, FindError};

/// Why a document and a library do not make tools.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The document cannot be read from its file.
    #[error("cannot read the document {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The document as a whole cannot be used.
    #[error("the document cannot be used: {}", listed(.0))]
    Document(Vec<Finding>),
    /// None of the document's functions can be called.
    #[error("no function of the document can be called{}", reasons(.0))]
    NoFunctions(Vec<(String, String)>),
    /// There is no such library.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The library's file is no library that could be loaded.
    #[error(transparent)]
    Exports(#[from] ExportsError),
    /// The library cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A function cannot be a tool.
    #[error(transparent)]
    Tools(#[from] opentool_core::ToolboxError),
}

/// Why a library cannot be loaded.
#[derive(Debug, Clone, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("cannot load the library {}: {message}", path.display())]
#[non_exhaustive]
pub struct LoadError {
    /// The library's file.
    pub path: PathBuf,
    /// Why, and what to do.
    pub message: String,
}

impl LoadError {
    /// Makes an error about a library.
    pub(crate) fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        LoadError { path: path.into(), message: message.into() }
    }
}

/// How many of many are listed in one line.
const SHOWN: usize = 5;

fn listed(findings: &[Finding]) -> String {
    let mut text: Vec<String> = findings.iter().take(SHOWN).map(Finding::to_string).collect();
    if findings.len() > SHOWN {
        text.push(format!("and {} more", findings.len() - SHOWN));
    }
    text.join("; ")
}

fn reasons(disabled: &[(String, String)]) -> String {
    if disabled.is_empty() {
        return ": it has none".to_owned();
    }
    let mut text: Vec<String> = disabled.iter().take(SHOWN).map(|(name, why)| format!("`{name}`: {why}")).collect();
    if disabled.len() > SHOWN {
        text.push(format!("and {} more", disabled.len() - SHOWN));
    }
    format!(": {}", text.join("; "))
}
