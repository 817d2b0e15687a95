//! A source as a file describes it: [`SourceTable`].

use std::{ops::Range, path::PathBuf, sync::Arc};

use super::rules::ToolRules;
use crate::{
    config_fault::ConfigFault, config_file::ConfigFile, config_value::SecretText, failure::Failure,
    libraries::LibraryOptions, setting::Setting,
};

/// `[sources.NAME]` of a configuration file.
#[derive(Debug)]
pub(crate) struct SourceTable {
    pub(crate) name: String,
    pub(crate) origin: SourceOrigin,
    pub(crate) rules: ToolRules,
    /// What stands in it, for the question whether the file is trusted.
    pub(crate) settings: Vec<Setting>,
    pub(crate) places: TablePlaces,
}

/// Where a table and its keys stand in its file.
#[derive(Debug, Clone)]
pub(crate) struct TablePlaces {
    pub(super) header: Range<usize>,
    pub(super) keys: Vec<(String, Range<usize>)>,
}

/// The place of a table in its file, for what turns out to be wrong once it is used.
#[derive(Debug, Clone)]
pub(crate) struct TablePlace {
    pub(crate) file: Arc<ConfigFile>,
    /// The name of the source.
    pub(crate) name: String,
    pub(crate) places: TablePlaces,
}

impl TablePlace {
    /// A fault of what one of the keys says, or of the table where it has no such key.
    pub(crate) fn fault(&self, key: &str, problem: &str, next: Option<String>) -> Failure {
        self.rendered(&self.config_fault(key, problem), next)
    }

    /// The same, with what to write.
    pub(crate) fn fault_with_help(&self, key: &str, problem: &str, help: &str) -> Failure {
        self.rendered(&self.config_fault(key, problem).with_help(help), None)
    }

    fn config_fault(&self, key: &str, problem: &str) -> ConfigFault {
        let own = self.places.keys.iter().find(|(name, _)| name == key).map(|(_, span)| span);
        let span = own.unwrap_or(&self.places.header).clone();
        ConfigFault::new(span, format!("the source `{}`: {problem}", self.name))
    }

    fn rendered(&self, fault: &ConfigFault, next: Option<String>) -> Failure {
        Failure::Config { message: fault.render(&self.file.name(), &self.file.text), next }
    }

    /// A failure that one of the keys caused, with its place.
    pub(crate) fn locate(&self, key: &str, failure: Failure) -> Failure {
        match failure {
            Failure::Usage { message, next } | Failure::Library { message, next } => self.fault(key, &message, next),
            // What the command line can do about a file is of no use here.
            Failure::Read { .. } | Failure::Folder { .. } | Failure::NotText { .. } => {
                self.fault(key, &failure.to_string(), None)
            }
            Failure::Document { .. } => self.fault(key, &failure.to_string(), failure.next_step()),
            failure => failure,
        }
    }
}

impl SourceTable {
    /// A text that differs where anything but the place of the table does.
    pub(crate) fn signature(&self) -> String {
        let SourceTable { name, origin, rules, .. } = self;
        format!("{name} {origin:?} {rules:?}")
    }

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
