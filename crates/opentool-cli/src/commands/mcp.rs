//! `opentool mcp`: tools for an agent that starts this program and talks to it over stdio.

mod agents;
mod login;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Subcommand};
use opentool::ChangeSignal;
use opentool_mcp::Mcp;

use self::agents::{Agent, Launch};
use super::{
    ExitStatus,
    access::{API_KEY_VARIABLE, environment_key_for, warn_of_visible_key},
    known,
    serve::{OpenedSet, ToolSet, set_host},
    tool_set_options::ToolSetOptions,
};
use crate::{
    config_file::ConfigFile,
    failure::Failure,
    next_step,
    secret::Secret,
    source::Source,
    source_tables::NamedSources,
    sources::{self, SourceWords},
    terminal::{note, visible, write_data},
    trusted::TrustState,
};

const EXAMPLES: &str = "\
Examples:
  opentool mcp                                       What opentool.toml has, else demo tools
  opentool mcp --print-config claude-code            What to put into .mcp.json
  opentool mcp libm.opendyn.json --library libm.so.6 --print-config cursor
  opentool mcp http://10.0.0.7:9627 demo             A server's tools, and the demo tools
  opentool mcp files                                 The source `[sources.files]` of opentool.toml

An agent starts the command and speaks MCP with it: a JSON-RPC message a line, requests on standard
input, answers on standard output. It ends when its input ends. Logs go to standard error (-v).
Without a SOURCE, the file is that of `opentool serve`, under the same rules: a folder's own one counts after
`opentool trust`, and a source that is down does not keep the others away. It is read once; what is for HTTP only, the
journal and the model do not count. With a SOURCE, only the tables `[sources.NAME]` that are named do.

For agents that connect to a URL, `opentool serve` offers the same tools at /mcp.
`opentool mcp login URL` logs in at an MCP server that wants it.

The key of a source's server is that of --source-api-key, --source-api-key-env or --source-api-key-file, or
OPENTOOL_API_KEY where one SOURCE has a server; agents can set variables for the servers that they start.

Exit codes: 0 the agent is done; 2 wrong usage; 3 a source cannot be reached; 4 it refused its API key.";

/// Offer tools to an agent over stdio (MCP): those of opentool.toml, the demo tools, or those of other sources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct McpCommand {
    #[command(subcommand)]
    action: Option<McpAction>,
    #[command(flatten)]
    set: ToolSetOptions,
    /// Prints what to put into an agent's configuration, instead of serving
    #[arg(long, value_name = "AGENT", value_enum, num_args = 0..=1, default_missing_value = "claude-code")]
    print_config: Option<Agent>,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum McpAction {
    Login(login::Login),
}

impl McpCommand {
    pub(super) fn run(&self, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
        if let Some(McpAction::Login(login)) = &self.action {
            return login.run();
        }
        if let Some(agent) = self.print_config {
            return self.print_config(agent);
        }
        if !self.set.source_api_key.is_empty() {
            warn_of_visible_key();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        // Libraries are opened outside of the threads that serve.
        let entered = runtime.enter();
        let opened = match self.set.is_nothing_named() {
            true => OpenedSet::from_file(self.config.as_deref(), matches)?,
            false => None,
        };
        drop(entered);
        let served = runtime.block_on(async {
            match opened {
                Some(opened) => serve_set(opened).await,
                None => self.serve_named().await,
            }
        });
        // A tool on the blocking pool may never end, and the agent waits for this process to.
        runtime.shutdown_background();
        served?;
        Ok(ExitStatus::Success)
    }

    /// Offers the sources of the command line; the demo tools where there are none.
    async fn serve_named(&self) -> Result<(), Failure> {
        let options = &self.set;
        let named = NamedSources::new(self.config.as_deref(), "mcp");
        let read_keys = options.source_keys.read()?;
        let keys = options.source_api_key.iter().chain(&read_keys).map(Secret::expose);
        let words = SourceWords { sources: &options.sources, mcp: &options.mcp, tools: &options.tools };
        let sources = sources::open_all(words, &named, keys, &options.libraries, environment_key_for)?;
        let known = options.known.metadata();
        let joined = sources::join(&sources, &known, &options.connect()?).await?;
        known::check(&known, &joined.names)?;
        let host = options.executor(&joined).host(joined.tools.clone());
        let served = frontend(options).serve_stdio(host).await;
        sources::close(&sources).await;
        served.map_err(Failure::output)
    }

    fn print_config(&self, agent: Agent) -> Result<ExitStatus, Failure> {
        if !self.set.source_api_key.is_empty() {
            let message = format!(
                "`--source-api-key` would stand in the agent's configuration for all to read: set {API_KEY_VARIABLE} in \
                 the environment that the agent gives its servers"
            );
            return Err(Failure::usage(message));
        }
        self.check_files()?;
        let mut launch = Launch::of_this_process().map_err(|source| Failure::Runtime { source })?;
        let file = self.used_config()?;
        if let Some(file) = &file {
            check_trusted(file)?;
            launch.add_config(file).map_err(|source| Failure::Runtime { source })?;
        }
        write_data(&agent.config(&launch)).map_err(Failure::output)?;
        note(&format_args!("goes into {}", agent.place()));
        if let Some(file) = file {
            let name = file.display().to_string();
            note(&format_args!(
                "it names {}, so that the agent uses the file as it stands then, without `opentool trust`",
                visible(&name)
            ));
        }
        Ok(ExitStatus::Success)
    }

    /// Fails where a source or the configuration file cannot be read: an agent would start a program that ends at once.
    fn check_files(&self) -> Result<(), Failure> {
        if self.config.is_some() {
            ConfigFile::given_or_found(self.config.as_deref())?;
        }
        let named = NamedSources::new(self.config.as_deref(), "mcp");
        for source in self.set.sources.iter().chain(&self.set.tools) {
            // One of a table would be opened, and is trusted or not, below.
            if !named.contains(source)? {
                Source::open(source, &named)?;
            }
        }
        Ok(())
    }

    /// The configuration file that describes one of the sources, where it is found in this folder: an agent starts its servers
    /// in another.
    fn used_config(&self) -> Result<Option<PathBuf>, Failure> {
        if self.config.is_some() {
            return Ok(None);
        }
        if self.set.is_nothing_named() {
            return OpenedSet::file(None);
        }
        let named = NamedSources::new(None, "mcp");
        let mut is_used = false;
        for source in self.set.sources.iter().chain(&self.set.tools) {
            is_used |= named.find(source)?.is_some();
        }
        Ok(named.file()?.filter(|_| is_used).map(PathBuf::from))
    }
}

/// Fails where a file that was found is not trusted, even if nothing in it needs that now: once it is named, nothing ever will.
fn check_trusted(file: &Path) -> Result<(), Failure> {
    if ConfigFile::open(file)?.trust_state()? == TrustState::Given {
        return Ok(());
    }
    let message = format!(
        "the agent would be given {} by name, and would use it without asking for trust, also after it has changed: read it, and \
         trust it first",
        file.display()
    );
    Err(Failure::usage_with(message, next_step::command_line(["trust", "--yes"])))
}

/// Offers what a configuration file describes.
async fn serve_set(OpenedSet { options, sources }: OpenedSet) -> Result<(), Failure> {
    let set = ToolSet::attach(sources, None, &options).await?;
    let served = match set_host(&options, &set, &ChangeSignal::new()) {
        Ok((host, _)) => frontend(&options).serve_stdio(host).await.map_err(Failure::output),
        Err(failure) => Err(failure),
    };
    set.close_all_but(None).await;
    served
}

fn frontend(options: &ToolSetOptions) -> Mcp {
    let mut frontend = Mcp::new();
    if let Some(bytes) = options.max_body {
        frontend = frontend.max_line(bytes);
    }
    if let Some(calls) = options.max_calls {
        frontend = frontend.max_calls_in_flight(calls.get());
    }
    frontend
}
