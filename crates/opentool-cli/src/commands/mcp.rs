//! `opentool mcp`: tools for an agent that starts this program and talks to it over stdio.

mod agents;
mod login;

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Subcommand};
use opentool_mcp::Mcp;

use self::agents::{Agent, Launch};
use super::{
    ExitStatus,
    access::{API_KEY_VARIABLE, CaOptions, SourceKeyOptions, environment_key_for, warn_of_visible_key},
    known::{self, KnownOptions},
};
use crate::{
    failure::Failure,
    libraries::LibraryOptions,
    limits::{ConnectOptions, executor},
    secret::Secret,
    size::size,
    source_tables::NamedSources,
    sources::{self, SourceWords},
    terminal::{note, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool mcp                                       The demo tools
  opentool mcp --print-config claude-code            What to put into .mcp.json
  opentool mcp libm.opendyn.json --library libm.so.6 --print-config cursor
  opentool mcp http://10.0.0.7:9627 demo             A server's tools, and the demo tools
  opentool mcp files                                 The source `[sources.files]` of opentool.toml

An agent starts the command and speaks MCP with it: a JSON-RPC message a line, requests on standard
input, answers on standard output. It ends when its input ends. Logs go to standard error (-v).
For agents that connect to a URL, `opentool serve` offers the same tools at /mcp.
`opentool mcp login URL` logs in at an MCP server that wants it.

The key of a source's server is that of --source-api-key, --source-api-key-env or --source-api-key-file, or
OPENTOOL_API_KEY where one source has a server; agents can set variables for the servers that they start.

Exit codes: 0 the agent is done; 2 wrong usage; 3 a source cannot be reached; 4 it refused its API key.";

/// Offer tools to an agent over stdio (MCP): the demo tools, or those of other sources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct McpCommand {
    #[command(subcommand)]
    action: Option<McpAction>,
    /// Where tools come from: an OpenTool document with `server.url`, an OpenDyn document, the base URL of a server,
    /// an MCP server (mcp+https://…, or the file of an agent), or `demo`
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,
    /// The command of an MCP server, as a source; repeatable
    #[arg(long, value_name = "COMMAND")]
    mcp: Vec<String>,
    /// Where the functions come from that the steps of an OpenWorkflow document call; repeatable
    #[arg(long, value_name = "SOURCE")]
    tools: Vec<String>,
    /// Prints what to put into an agent's configuration, instead of serving
    #[arg(long, value_name = "AGENT", value_enum, num_args = 0..=1, default_missing_value = "claude-code")]
    print_config: Option<Agent>,
    /// The API key of a source's server: KEY where there is one such source, otherwise SOURCE=KEY; repeatable
    #[arg(long, value_name = "[SOURCE=]KEY")]
    source_api_key: Vec<Secret>,
    #[command(flatten)]
    source_keys: SourceKeyOptions,
    #[command(flatten)]
    certificates: CaOptions,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    config: Option<PathBuf>,
    #[command(flatten)]
    known: KnownOptions,
    /// How large a message of the agent may be, such as 512k or 16M [default: 16M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    max_body: Option<usize>,
    /// How large the result of a call may be [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    max_result: Option<usize>,
    /// How many calls may run at once; further ones are refused [default: 1024]
    #[arg(long, value_name = "COUNT", help_heading = "Running")]
    max_calls: Option<NonZeroUsize>,
    /// Refuses arguments that have another format (date-time, email, uri and so on) than their schema states; by default
    /// `format` is an annotation
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Running")]
    assert_formats: Option<bool>,
    #[command(flatten)]
    libraries: LibraryOptions,
}

#[derive(Debug, Subcommand)]
enum McpAction {
    Login(login::Login),
}

impl McpCommand {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        if let Some(McpAction::Login(login)) = &self.action {
            return login.run();
        }
        if let Some(agent) = self.print_config {
            return self.print_config(agent);
        }
        if !self.source_api_key.is_empty() {
            warn_of_visible_key();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let served = runtime.block_on(self.serve());
        // A tool on the blocking pool may never end, and the agent waits for this process to.
        runtime.shutdown_background();
        served?;
        Ok(ExitStatus::Success)
    }

    async fn serve(&self) -> Result<(), Failure> {
        let named = NamedSources::new(self.config.as_deref(), "mcp");
        let read_keys = self.source_keys.read()?;
        let keys = self.source_api_key.iter().chain(&read_keys).map(Secret::expose);
        let words = SourceWords { sources: &self.sources, mcp: &self.mcp, tools: &self.tools };
        let sources = sources::open_all(words, &named, keys, &self.libraries, environment_key_for)?;
        let (timeout, max_result) = (self.libraries.timeout(), self.max_result);
        let connect = ConnectOptions { certificates: self.certificates.read()?, timeout, max_result };
        let known = self.known.metadata();
        let joined = sources::join(&sources, &known, &connect).await?;
        known::check(&known, &joined.names)?;
        let executor = executor(timeout, max_result).assert_formats(self.assert_formats == Some(true));
        let executor = self.known.approve(executor, &joined).build();
        let mut frontend = Mcp::new();
        if let Some(bytes) = self.max_body {
            frontend = frontend.max_line(bytes);
        }
        if let Some(calls) = self.max_calls {
            frontend = frontend.max_calls_in_flight(calls.get());
        }
        let served = frontend.serve_stdio(executor.host(joined.tools.clone())).await;
        sources::close(&sources).await;
        served.map_err(Failure::output)
    }

    fn print_config(&self, agent: Agent) -> Result<ExitStatus, Failure> {
        if !self.source_api_key.is_empty() {
            let message = format!(
                "`--source-api-key` would stand in the agent's configuration for all to read: set {API_KEY_VARIABLE} in \
                 the environment that the agent gives its servers"
            );
            return Err(Failure::usage(message));
        }
        let mut launch = Launch::of_this_process().map_err(|source| Failure::Runtime { source })?;
        if let Some(file) = self.used_config()? {
            launch.add_config(&file).map_err(|source| Failure::Runtime { source })?;
        }
        write_data(&agent.config(&launch)).map_err(Failure::output)?;
        note(&format_args!("goes into {}", agent.place()));
        Ok(ExitStatus::Success)
    }

    /// The configuration file that describes one of the sources, where it is found in this folder: an agent starts its servers
    /// in another.
    fn used_config(&self) -> Result<Option<PathBuf>, Failure> {
        let named = NamedSources::new(self.config.as_deref(), "mcp");
        let mut is_used = false;
        for source in self.sources.iter().chain(&self.tools) {
            is_used |= named.find(source)?.is_some();
        }
        if !is_used || self.config.is_some() {
            return Ok(None);
        }
        Ok(named.file()?.map(PathBuf::from))
    }
}
