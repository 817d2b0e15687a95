//! `opentool serve`: tools over HTTP.

mod address;
mod banner;
mod bind_failure;
mod examine;
mod file;
mod fingerprints;
mod options;
mod page;
mod places;
mod prepare;
mod reload;
mod setup;
mod signals;
mod slot;
mod tool_set;

use std::{collections::HashSet, path::PathBuf, time::Duration};

use clap::{ArgMatches, Args};
use opentool::ChangeSignal;
use opentool_journal::{JournalOptions, SqliteJournal};
use opentool_mcp::Mcp;
use opentool_page::Page;
use opentool_server::{BoundServer, Server};
use tokio::sync::oneshot;

use self::{
    address::DEFAULT_HOST,
    banner::Banner,
    bind_failure::explain,
    fingerprints::Fingerprints,
    options::Options,
    page::PageContent,
    prepare::{Prepared, fixed_host, prepare},
    reload::Reloader,
    setup::{Opened, Setup},
};
pub(super) use self::{
    examine::{ServeSettings, examine},
    file::{file_table, settings},
    prepare::set_host,
    setup::OpenedSet,
    tool_set::ToolSet,
};
use super::{ExitStatus, access::warn_of_visible_key};
use crate::{failure::Failure, setting::DEFAULT_PORT, telemetry::Export, terminal::note};

/// How long the programs of sources may take to end once the server has.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  opentool serve                          What opentool.toml describes, else the demo tools
  opentool serve --open                   The same, and the page in your browser
  opentool serve weather.opentool.json    Calls are forwarded to the server that it names
  opentool serve http://10.0.0.7:9627 demo    Another server's tools, and the demo tools
  opentool serve libm.opendyn.json --library libm.so.6    The functions of a C library
  opentool serve flow.openworkflow.json --tools demo    A workflow, whose steps call the demo tools
  OPENTOOL_API_KEY=… opentool serve --host 0.0.0.0    For other machines, by a key

Configuration: what is an option here may stand in a TOML file under the same name (port = 9627), the page, the model and
the journal in tables of their own, sources under `sources` (a list) or as `[sources.NAME]`: in opentool.toml of this
folder, or --config FILE; docs/configuration.md has every key. The command
line goes before the environment, and that before the file. In a folder's own file, what runs
or exposes something counts only after `opentool trust`. `opentool init` writes such a file, and it is read again when it
or a document that it names changes: a file with errors changes nothing.

The page at /ui lets you look at the tools and call them in a browser. Its address is printed
to a terminal only, since it lets its reader in: it is good for one sign-in, then the next is printed.
--open opens it, --no-page leaves it out; where other machines reach the server it needs --page.

MCP clients get the same tools at /mcp, with the same keys; `opentool mcp` is for agents that start
it themselves.

Operation: /healthz, /readyz (503 while it stops, and while every source is down) and /metrics
(Prometheus). Every tool error is HTTP 200, so
alert on the label `outcome` of opentool_calls_total. -v logs everything to standard error,
RUST_LOG=opentool::access=info requests only. With OTEL_EXPORTER_OTLP_ENDPOINT set, spans
are exported (OTLP, http/protobuf). SIGTERM, Ctrl-C and a terminal that is closed let running calls finish;
a second Ctrl-C ends them. SIGHUP reads the configuration and the files of
keys and certificates again.

Also known: --toolPort, --apiKeys, --opentoolServer{Tag,Host,Port,ApiKeys}, as the OpenTool
guideline has them.

With --json, there is an object once the server can be called: {version, url, mcp, page, operation, needs_key, model,
sources: [{source, tools, isolation}]}; what is left out is null. The page's address has no token in it;
`--open` opens the page.

Exit codes: 0 stopped; 2 wrong usage, or the address cannot be bound; 3 a source cannot be
reached; 4 it refused its API key.";

/// Serve tools over HTTP, to OpenTool and MCP clients: those of opentool.toml, the demo tools, or those of other sources
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Serve {
    #[command(flatten)]
    options: Options,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Opens the web page in a browser: that of BROWSER, otherwise the usual one
    #[arg(long)]
    open: bool,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub(super) fn run(&self, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
        let given = [&self.options.api_key, &self.options.listed_api_keys, &self.options.set.source_api_key];
        if given.iter().any(|keys| !keys.is_empty()) {
            warn_of_visible_key();
        }
        let setup = Setup::new(self.config.as_deref(), matches);
        let mut seen = Fingerprints::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let _entered = runtime.enter();
        let opened = setup.open(&mut seen, &HashSet::new(), None)?;
        let served = runtime.block_on(serve(setup, opened, seen, self, Export::active()));
        // A tool on the blocking pool may never end; its callers have their answers.
        runtime.shutdown_background();
        served?;
        Ok(ExitStatus::Success)
    }
}

async fn serve(
    setup: Setup,
    opened: Opened,
    seen: Fingerprints,
    Serve { open, json, .. }: &Serve,
    export: Option<&'static Export>,
) -> Result<(), Failure> {
    let signals = signals::listen().map_err(|source| Failure::Runtime { source })?;
    let hangups = signals::Hangups::listen().map_err(|source| Failure::Runtime { source })?;
    let Opened { options, sources, model, file, places, settings } = opened;
    let browser = if *open { Some(page::find_browser(&options)?) } else { None };
    let set = ToolSet::attach(sources, None, &options.set).await?;
    let changed = ChangeSignal::new();
    let Prepared { host, config, forward } = prepare(&options, &places, &set, export, &changed)?;
    let host = if file.is_some() { host } else { fixed_host(&options, &set)? };
    let journal = open_journal(&options).await.map_err(|failure| places.locate("journal", failure))?;
    let config = match journal.clone() {
        Some(journal) => config.journal(journal),
        None => config,
    };
    let (model_name, model) = model.unzip();
    let run_details = model_name.as_ref().map(|name| setup.run_details(&options, name)).unwrap_or_default();
    let content = PageContent::new(&set, model, run_details);
    let page = page::page(&options, content.clone(), journal.clone())?;
    let tokens = page.as_ref().map(Page::tokens);
    let server = mounted(&options, Server::from_host(&host).config(config), page);
    let (name, port) = (options.host.as_deref().unwrap_or(DEFAULT_HOST), options.port.unwrap_or(DEFAULT_PORT));
    let bound = server.bind((name, port)).await.map_err(|error| explain(&error, name, port, &places))?;
    let (model, has_file, has_page) = (model_name.as_ref(), file.is_some(), tokens.is_some());
    Banner { options: &options, bound: &bound, set: &set, model, has_file, has_page }.print(*json);
    let _page = page::offer(&options, &bound, tokens, browser.as_ref(), !json)?;
    let handle = bound.reload_handle();
    let file = file.map(|file| file.name());
    let model = model_name;
    let reloader =
        Reloader { setup, options, set, model, content, seen, handle, export, changed, forward, file, settings };
    let (stop, stopped) = oneshot::channel();
    let reloading = tokio::spawn(reloader.run(hangups, stopped));
    drain_on(signals, &bound);
    bound.serve().await;
    if let Some(journal) = journal {
        journal.close().await;
    }
    drop(stop);
    // One that waits for a source just now is not waited for; its programs end with this one.
    if let Ok(Ok(set)) = tokio::time::timeout(CLOSE_TIMEOUT, reloading).await {
        set.close_all_but(None).await;
    }
    Ok(())
}

/// Adds the frontends that are served beside OpenTool's own routes.
fn mounted(options: &Options, server: Server, page: Option<Page>) -> Server {
    let server = match options.mcp_path() {
        Some(path) => server.mount(Mcp::new().path(path)),
        None => server,
    };
    match page {
        Some(page) => server.mount(page),
        None => server,
    }
}

async fn open_journal(options: &Options) -> Result<Option<SqliteJournal>, Failure> {
    let Some(path) = &options.journal else { return Ok(None) };
    journal_options(options).open(path).await.map(Some).map_err(Failure::journal)
}

fn journal_options(options: &Options) -> JournalOptions {
    let mut journal = JournalOptions::new().run_unrecorded(options.run_unrecorded == Some(true));
    if let Some(time) = options.retention.keys {
        journal = journal.key_retention(time);
    }
    if let Some(time) = options.retention.runs {
        journal = journal.run_retention(time);
    }
    journal
}

/// Starts the drain at the first signal and ends the process at the next.
fn drain_on(mut signals: signals::Signals, bound: &BoundServer) {
    let handle = bound.shutdown_handle();
    tokio::spawn(async move {
        signals.next().await;
        handle.shutdown();
        note(&"stopping: running calls may finish (Ctrl-C again ends them)");
        signals.next_interrupt().await;
        // The exit status that shells give a process ended by Ctrl-C.
        std::process::exit(130);
    });
}
