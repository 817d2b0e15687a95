//! A source as a file describes it: [`SourceTable`].

use std::path::PathBuf;

use super::rules::ToolRules;
use crate::{config_value::SecretText, libraries::LibraryOptions, setting::Setting};

/// `[sources.NAME]` of a configuration file.
#[derive(Debug)]
pub(crate) struct SourceTable {
    pub(crate) name: String,
    pub(crate) origin: SourceOrigin,
    pub(crate) rules: ToolRules,
    /// What stands in it, for the question whether the file is trusted.
    pub(crate) settings: Vec<Setting>,
}

impl SourceTable {
    pub(crate) fn is_workflow(&self) -> bool {
        matches!(self.origin, SourceOrigin::Workflow { .. })
    }

    /// The files that it names: documents, libraries and keys.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let secret_file = |text: &SecretText| match text {
            SecretText::File(file) => Some(file.clone()),
            SecretText::Plain(_) | SecretText::Variable(_) => None,
        };
        match &self.origin {
            SourceOrigin::Demo => Vec::new(),
            SourceOrigin::Url { key, .. } => key.iter().filter_map(secret_file).collect(),
            SourceOrigin::Document { document, key } => {
                let key = key.iter().filter_map(secret_file);
                [document.clone()].into_iter().chain(key).collect()
            }
            SourceOrigin::Library { document, options } => {
                [document.clone()].into_iter().chain(options.library_files()).collect()
            }
            SourceOrigin::Workflow { document, tools } => {
                let files = tools.iter().map(PathBuf::from).filter(|file| file.is_file());
                [document.clone()].into_iter().chain(files).collect()
            }
            SourceOrigin::Mcp(McpOrigin::Command { environment: pairs, .. }) => {
                pairs.iter().filter_map(|(_, value)| secret_file(value)).collect()
            }
            SourceOrigin::Mcp(McpOrigin::Url { key, headers, .. }) => {
                key.iter().chain(headers.iter().map(|(_, value)| value)).filter_map(secret_file).collect()
            }
        }
    }
}

/// Where the tools of a table come from.
#[derive(Debug)]
pub(crate) enum SourceOrigin {
    Demo,
    /// The base URL of an OpenTool server.
    Url {
        url: String,
        key: Option<SecretText>,
    },
    /// A document that names its server.
    Document {
        document: PathBuf,
        key: Option<SecretText>,
    },
    /// A document that describes a C library.
    Library {
        document: PathBuf,
        options: Box<LibraryOptions>,
    },
    /// A workflow, and the words for the sources of its steps' tools.
    Workflow {
        document: PathBuf,
        tools: Vec<String>,
    },
    Mcp(McpOrigin),
}

/// An MCP server.
#[derive(Debug)]
pub(crate) enum McpOrigin {
    Command { program: PathBuf, arguments: Vec<String>, environment: Vec<(String, SecretText)>, folder: PathBuf },
    Url { url: String, key: Option<SecretText>, headers: Vec<(String, SecretText)> },
}
