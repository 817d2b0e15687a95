//! `opentool serve`: tools over HTTP.

mod announce;
mod file;
mod options;
mod page;
mod signals;

use std::{env, io, net::TcpListener, path::PathBuf};

use clap::{ArgMatches, Args, FromArgMatches as _};
use opentool_journal::JournalOptions;
use opentool_mcp::Mcp;
use opentool_server::{BoundServer, ConfigBuilder, ConfigError, ListenAddr, ServeError, Server};

pub(super) use self::file::settings;
use self::{file::FileContent, options::Options};
use super::{
    ExitStatus,
    access::{API_KEY_VARIABLE, warn_of_visible_key},
    known,
    model::ModelTable,
};
use crate::{
    failure::Failure,
    limits::{ConnectOptions, executor},
    mcp_servers::McpServers,
    secret::Secret,
    source::Source,
    source_tables::NamedSources,
    sources::{self, Joined, JoinedPart, SourceWords},
    telemetry::{self, Export},
};

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 9627;

const EXAMPLES: &str = "\
Examples:
  opentool serve                          The demo tools at http://127.0.0.1:9627
  opentool serve --open                   The same, and the page in your browser
  opentool serve weather.opentool.json    Calls are forwarded to the server that it names
  opentool serve http://10.0.0.7:9627 demo    Another server's tools, and the demo tools
  opentool serve libm.opendyn.json --library libm.so.6    The functions of a C library
  opentool serve flow.openworkflow.json --tools demo    A workflow, whose steps call the demo tools
  OPENTOOL_API_KEY=… opentool serve --host 0.0.0.0    For other machines, by a key

Configuration: every option may stand in a TOML file under its own name (port = 9627),
sources under `sources` (a list) or as `[sources.NAME]`: in opentool.toml of this folder, or --config FILE. The command
line goes before the environment, and that before the file. In a folder's own file, what runs
or exposes something counts only after `opentool trust`.

The page at /ui lets you look at the tools and call them in a browser. Its address is printed
to a terminal only, since it lets its reader in: it is good for one sign-in, then the next is printed.
--open opens it, --no-page leaves it out; where other machines reach the server it needs --page.

MCP clients get the same tools at /mcp, with the same keys; `opentool mcp` is for agents that start
it themselves.

Operation: /healthz, /readyz (503 while it stops, and while every source is down) and /metrics
(Prometheus). Every tool error is HTTP 200, so
alert on the label `outcome` of opentool_calls_total. -v logs everything to standard error,
RUST_LOG=opentool::access=info requests only. With OTEL_EXPORTER_OTLP_ENDPOINT set, spans
are exported (OTLP, http/protobuf). SIGTERM and Ctrl-C let running calls finish;
a second Ctrl-C ends them. SIGHUP reads the files of keys and certificates again.

Also known: --toolPort, --apiKeys, --opentoolServer{Tag,Host,Port,ApiKeys}, as the OpenTool
guideline has them.

Exit codes: 0 stopped; 2 wrong usage, or the address cannot be bound; 3 a source cannot be
reached; 4 it refused its API key.";

/// Serve tools over HTTP, to OpenTool and MCP clients: the demo tools, or those of other servers
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
}

impl Serve {
    pub(super) fn run(&self, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
        let given = [&self.options.api_key, &self.options.listed_api_keys, &self.options.source_api_key];
        if given.iter().any(|keys| !keys.is_empty()) {
            warn_of_visible_key();
        }
        let FileContent { mut options, sources, model } = file::read(self.config.as_deref())?;
        prefer_environment(&mut options);
        let given = options.update_from_arg_matches(matches);
        given.map_err(|error| Failure::usage(error.to_string()))?;

        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Failure::Runtime { source })?;
        let export = Export::active();
        let served = runtime.block_on(serve(&options, self.open, &sources, model.as_ref(), export));
        // A tool on the blocking pool may never end; its callers have their answers.
        runtime.shutdown_background();
        served?;
        Ok(ExitStatus::Success)
    }
}

/// The key of the environment goes before those of the file, and after those of the command line.
fn prefer_environment(options: &mut Options) {
    if env::var_os(API_KEY_VARIABLE).is_some() {
        options.api_key.clear();
    }
}

async fn serve(
    options: &Options,
    open: bool,
    named: &NamedSources,
    model: Option<&ModelTable>,
    export: Option<&'static Export>,
) -> Result<(), Failure> {
    let signals = signals::listen().map_err(|source| Failure::Runtime { source })?;
    let hangups = signals::Hangups::listen().map_err(|source| Failure::Runtime { source })?;
    let browser = if open { Some(page::find_browser(options)?) } else { None };
    let model = options.model.chat_model(model)?;
    let read_keys = options.source_keys.read()?;
    let keys = options.source_api_key.iter().chain(&read_keys).map(Secret::expose);
    let words = SourceWords { sources: &options.sources, mcp: &options.mcp, tools: &options.tools };
    // The key of the environment is that of the callers.
    let sources = sources::open_all(words, named, keys, &options.libraries, |_| None)?;
    let (timeout, max_result) = (options.libraries.timeout(), options.max_result);
    let connect = ConnectOptions { certificates: options.certificates.read()?, timeout, max_result };
    let known = options.known.metadata();
    let joined = sources::join(&sources, &known, &connect).await?;
    known::check(&known, &joined.names)?;
    let mut server = server(options, &joined, export)?.configure(|config| with_states(config, &sources, &joined.parts));
    let journal = match &options.journal {
        None => None,
        Some(path) => {
            let opening = JournalOptions::new().run_unrecorded(options.run_unrecorded == Some(true)).open(path);
            Some(opening.await.map_err(Failure::journal)?)
        }
    };
    if let Some(journal) = journal.clone() {
        server = server.configure(|config| config.journal(journal));
    }
    let (model_name, model) = model.map(|(name, model)| (name, model.build())).unzip();
    let tokens = match page::page(options, &sources, &joined.parts, model, journal.clone())? {
        Some(page) => {
            let tokens = page.tokens();
            server = server.mount(page);
            Some(tokens)
        }
        None => None,
    };
    let host = options.host.as_deref().unwrap_or(DEFAULT_HOST);
    let port = options.port.unwrap_or(DEFAULT_PORT);
    let bound = server.bind((host, port)).await.map_err(|error| explain(error, host, port))?;
    let only_demo = sources.iter().all(|(source, _)| !source.is_remote());
    announce::announce(options, &bound, model_name.as_ref(), only_demo);
    let _page = page::offer(options, &bound, tokens, browser.as_ref())?;
    reload_on(hangups, &bound);
    drain_on(signals, &bound);
    bound.serve().await;
    if let Some(journal) = journal {
        journal.close().await;
    }
    sources::close(&sources).await;
    Ok(())
}

/// Adds what is known about each source; what runs in or under this process is always there.
fn with_states(config: ConfigBuilder, sources: &[(Source, Option<String>)], parts: &[JoinedPart]) -> ConfigBuilder {
    sources.iter().zip(parts).fold(config, |config, ((source, _), part)| {
        // A clone shares what is known about the server.
        let (client, servers) = (part.client.clone(), source.mcp_servers().cloned());
        let is_up = move || {
            client.as_ref().is_none_or(|client| client.is_up() != Some(false))
                && servers.as_ref().is_none_or(McpServers::are_up)
        };
        config.source_state(source.to_string(), is_up)
    })
}

fn server(options: &Options, joined: &Joined<'_>, export: Option<&'static Export>) -> Result<Server, Failure> {
    let mut config = keys(options, ConfigBuilder::default())?
        .version(options.tag.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")))
        .cors(options.cors == Some(true))
        .enable_stop(options.enable_stop == Some(true));
    if let Some(prefix) = &options.prefix {
        config = config.prefix(prefix);
    }
    if let Some(url) = &options.public_url {
        config = config.public_url(url);
    }
    if let Some(bytes) = options.max_body {
        config = config.max_body(bytes);
    }
    for host in &options.allowed_host {
        config = config.allowed_host(host);
    }
    for origin in &options.allowed_origin {
        config = config.allowed_origin(origin);
    }
    if export.is_some() {
        config = config.trace_hook(telemetry::join_trace);
    }
    match (&options.tls_cert, &options.tls_key) {
        (Some(certificates), Some(key)) => config = config.tls(certificates, key),
        (None, None) => {}
        (Some(_), None) => return Err(Failure::usage("`--tls-cert` needs `--tls-key`")),
        (None, Some(_)) => return Err(Failure::usage("`--tls-key` needs `--tls-cert`")),
    }
    if let Some(address) = &options.admin_addr {
        config = config.admin_addr(address);
    }
    if let Some(delay) = options.drain_delay {
        config = config.drain_delay(delay);
    }
    if let Some(timeout) = options.drain_timeout {
        config = config.drain_timeout(timeout);
    }
    if let Some(bytes) = options.max_buffered {
        config = config.max_buffered_bytes(bytes);
    }
    if let Some(connections) = options.max_connections {
        config = config.max_connections(connections.get());
    }
    if let Some(calls) = options.max_calls {
        config = config.max_calls_in_flight(calls.get());
    }
    if let Some(timeout) = options.half_close_timeout {
        config = config.half_close_timeout(timeout);
    }
    let executor =
        executor(options.libraries.timeout(), options.max_result).assert_formats(options.assert_formats == Some(true));
    let executor = options.known.approve(executor, joined).build();
    let server = Server::new(joined.tools.clone()).config(config).executor(executor);
    Ok(match options.mcp_path() {
        Some(path) => server.mount(Mcp::new().path(path)),
        None => server,
    })
}

fn keys(options: &Options, mut config: ConfigBuilder) -> Result<ConfigBuilder, Failure> {
    config = match options.given_keys().next() {
        Some(_) => config.api_keys(options.given_keys()),
        None => config.api_key_from_env(API_KEY_VARIABLE),
    };
    if let Some(file) = &options.api_keys_file {
        config = config.api_keys_file(file);
    }
    if options.insecure_no_auth == Some(true) {
        if options.has_keys() {
            return Err(Failure::usage("`--insecure-no-auth` and API keys: leave one of them out"));
        }
        config = config.allow_anonymous(true);
    }
    Ok(config)
}

/// Words an error for the command line.
fn explain(error: ServeError, host: &str, port: u16) -> Failure {
    let message = match &error {
        ServeError::Bind { addr, source } if source.kind() == io::ErrorKind::AddrInUse => {
            if *addr != ListenAddr::from((host, port)).to_string() {
                format!("{addr} is taken: give `--admin-addr` another port")
            } else {
                let free = free_port(host, port);
                format!(
                    "port {port} of {host} is taken: stop the process that uses it, or take another with `--port {free}`"
                )
            }
        }
        ServeError::OpenToAll { addr } => format!(
            "on {addr} every machine on the network could call the tools: set a key with {API_KEY_VARIABLE} or \
             `--api-keys-file`, or allow it with `--insecure-no-auth`"
        ),
        ServeError::Config(ConfigError::StopWithoutKeys) => {
            "`--enable-stop` needs an API key: without one any caller could stop the server".to_owned()
        }
        ServeError::Config(ConfigError::Origin { origin }) => format!(
            "`--allowed-origin {origin}` can match no page: write an origin such as https://app.example, without a path"
        ),
        ServeError::Mount { path, problem } if path == page::PATH => {
            format!("the page cannot be served at {path}: {problem}; leave it out with `--no-page`")
        }
        ServeError::Mount { path, problem } => format!(
            "MCP cannot be offered at {path}: {problem}; take another path with `--mcp-path`, or leave it out with `--no-mcp`"
        ),
        _ => error.to_string(),
    };
    Failure::Serve { message }
}

/// The next port that is free now; 0, which stands for any, where none is near.
fn free_port(host: &str, taken: u16) -> u16 {
    let near = (taken..taken.saturating_add(20)).skip(1);
    near.into_iter().find(|port| TcpListener::bind(ListenAddr::from((host, *port)).to_string()).is_ok()).unwrap_or(0)
}

/// Reads keys and certificates again at each SIGHUP, which would end the process otherwise.
fn reload_on(mut hangups: signals::Hangups, bound: &BoundServer) {
    let handle = bound.reload_handle();
    tokio::spawn(async move {
        loop {
            hangups.next().await;
            match handle.reload() {
                Ok(()) => crate::terminal::note(&"SIGHUP: keys and certificates were read again"),
                Err(error) => {
                    crate::terminal::warn(&format_args!("SIGHUP: {error}; what was read before stays in use"))
                }
            }
        }
    });
}

/// Starts the drain at the first signal and ends the process at the next.
fn drain_on(mut signals: signals::Signals, bound: &BoundServer) {
    let handle = bound.shutdown_handle();
    tokio::spawn(async move {
        signals.next().await;
        handle.shutdown();
        crate::terminal::note(&"stopping: running calls may finish (Ctrl-C again ends them)");
        signals.next_interrupt().await;
        // The exit status that shells give a process ended by Ctrl-C.
        std::process::exit(130);
    });
}
