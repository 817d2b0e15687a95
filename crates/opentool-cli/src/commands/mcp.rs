//! `opentool mcp`: tools for an agent that starts this program and talks to it over stdio.

mod agents;
mod login;

use clap::{Args, Subcommand};
use opentool::Executor;
use opentool_mcp::Mcp;

use self::agents::{Agent, Launch};
use super::{
    ExitStatus,
    access::{API_KEY_VARIABLE, Secret, environment_key_for, warn_of_visible_key},
    known,
};
use crate::{
    failure::Failure,
    libraries::LibraryOptions,
    source,
    terminal::{note, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool mcp                                       The demo tools
  opentool mcp --print-config claude-code            What to put into .mcp.json
  opentool mcp libm.opendyn.json --library libm.so.6 --print-config cursor
  opentool mcp http://10.0.0.7:9627 demo             A server's tools, and the demo tools

An agent starts the command and speaks MCP with it: a JSON-RPC message a line, requests on standard
input, answers on standard output. It ends when its input ends. Logs go to standard error (-v).
For agents that connect to a URL, `opentool serve` offers the same tools at /mcp.
`opentool mcp login URL` logs in at an MCP server that wants it.

The key of a source's server is that of --source-api-key, or OPENTOOL_API_KEY where one source has a
server; agents can set variables for the servers that they start.

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
    /// The command of an MCP server whose tools are offered too; repeatable
    #[arg(long, value_name = "COMMAND")]
    mcp: Vec<String>,
    /// Prints what to put into an agent's configuration, instead of serving
    #[arg(long, value_name = "AGENT", value_enum, num_args = 0..=1, default_missing_value = "claude-code")]
    print_config: Option<Agent>,
    /// The API key of a source's server: KEY where there is one such source, otherwise SOURCE=KEY; repeatable
    #[arg(long, value_name = "[SOURCE=]KEY")]
    source_api_key: Vec<Secret>,
    /// A tool of a source that only reads; a server's own word is not taken for it; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    read_only: Vec<String>,
    /// A tool of a source that destroys something; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    destructive: Vec<String>,
    /// A tool of a source whose call may be sent again where its server was in trouble; repeatable
    #[arg(long, value_name = "TOOL", help_heading = "What is known about tools")]
    idempotent: Vec<String>,
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
        let mut sources = source::open_all(
            &self.sources,
            &self.mcp,
            self.source_api_key.iter().map(Secret::expose),
            &self.libraries,
        )?;
        let mut remote = sources.iter_mut().filter(|(source, _)| source.takes_key());
        if let (Some((source, key @ None)), None) = (remote.next(), remote.next()) {
            *key = environment_key_for(source);
        }
        let known = known::metadata(&self.read_only, &self.destructive, &self.idempotent);
        let (tools, names) = source::join(&sources, &known, |client| client).await?;
        known::check(&known, &names)?;
        let mut executor = Executor::builder();
        if let Some(timeout) = self.libraries.timeout() {
            executor = executor.timeout(timeout);
        }
        let served = Mcp::new().serve_stdio(executor.build().host(tools)).await;
        source::close(&sources).await;
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
        let launch = Launch::of_this_process().map_err(|source| Failure::Runtime { source })?;
        write_data(&agent.config(&launch)).map_err(Failure::output)?;
        note(&format_args!("goes into {}", agent.place()));
        Ok(ExitStatus::Success)
    }
}
