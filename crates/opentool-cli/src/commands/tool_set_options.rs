//! What `opentool serve` and `opentool mcp` both have as options: [`ToolSetOptions`].

use std::num::NonZeroUsize;

use clap::Args;
use opentool::Executor;

use super::{
    access::{CaOptions, SourceKeyOptions},
    known::KnownOptions,
};
use crate::{
    failure::Failure,
    libraries::LibraryOptions,
    limits::{ConnectOptions, executor},
    secret::Secret,
    size::size,
    sources::Joined,
};

/// Where tools come from, and how their calls run.
#[derive(Debug, Default, Args)]
pub(super) struct ToolSetOptions {
    /// Where tools come from: an OpenTool document with `server.url`, an OpenDyn or OpenWorkflow document, the base URL of a server,
    /// an MCP server (mcp+https://…, or the file of an agent), a `[sources.NAME]` of the configuration file, or `demo`
    #[arg(value_name = "SOURCE")]
    pub(super) sources: Vec<String>,
    /// The command of an MCP server, as a source; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(super) mcp: Vec<String>,
    /// Where the functions come from that the steps of an OpenWorkflow document call; repeatable
    #[arg(long, value_name = "SOURCE")]
    pub(super) tools: Vec<String>,

    /// The API key of a source's server: KEY where there is one such source, otherwise SOURCE=KEY; repeatable
    #[arg(long, value_name = "[SOURCE=]KEY", help_heading = "Sources")]
    pub(super) source_api_key: Vec<Secret>,
    #[command(flatten)]
    pub(super) source_keys: SourceKeyOptions,
    #[command(flatten)]
    pub(super) certificates: CaOptions,

    #[command(flatten)]
    pub(super) known: KnownOptions,

    /// How large a request may be, such as 512k or 16M [default: 16M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    pub(super) max_body: Option<usize>,
    /// How large the result of a call may be [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    pub(super) max_result: Option<usize>,
    /// How many calls may run at once; further ones are refused [default: 1024]
    #[arg(long, value_name = "COUNT", help_heading = "Running")]
    pub(super) max_calls: Option<NonZeroUsize>,
    /// Refuses arguments that have another format (date-time, email, uri and so on) than their schema states; by default
    /// `format` is an annotation
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Running")]
    pub(super) assert_formats: Option<bool>,

    #[command(flatten)]
    pub(super) libraries: LibraryOptions,
}

impl ToolSetOptions {
    /// Whether no source is named.
    pub(super) fn is_nothing_named(&self) -> bool {
        self.sources.is_empty() && self.mcp.is_empty()
    }

    /// What holds for every connection to a source.
    pub(super) fn connect(&self) -> Result<ConnectOptions, Failure> {
        let (timeout, max_result) = (self.libraries.timeout(), self.max_result);
        Ok(ConnectOptions { certificates: self.certificates.read()?, timeout, max_result })
    }

    /// What runs the calls of these sources.
    pub(super) fn executor(&self, joined: &Joined<'_>) -> Executor {
        let executor =
            executor(self.libraries.timeout(), self.max_result).assert_formats(self.assert_formats == Some(true));
        self.known.approve(executor, joined).build()
    }
}
