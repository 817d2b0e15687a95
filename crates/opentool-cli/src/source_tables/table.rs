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
    Mcp(McpOrigin),
}

/// An MCP server.
#[derive(Debug)]
pub(crate) enum McpOrigin {
    Command { program: PathBuf, arguments: Vec<String>, environment: Vec<(String, SecretText)>, folder: PathBuf },
    Url { url: String, key: Option<SecretText>, headers: Vec<(String, SecretText)> },
}
