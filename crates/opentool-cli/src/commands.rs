//! The commands, one a file.

mod access;
mod call;
mod chat;
mod check;
mod completions;
mod console;
mod convert;
mod fix;
mod form;
mod import;
mod known;
mod library;
mod load;
mod mcp;
mod models;
mod provider_name;
mod respondent;
mod runs;
mod schema;
mod serve;
mod tools;
mod trust;
mod version;

use std::env;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    telemetry::{self, LogFormat},
    terminal,
};

const EXAMPLES: &str = "\
Examples:
  opentool serve                              Serve the demo tools at http://127.0.0.1:9627
  opentool trust                              Let the opentool.toml of this folder count
  opentool tools http://127.0.0.1:9627        List the tools of a server
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool chat --model ollama:qwen3          Chat with a model that calls tools
  opentool models                             List the models that are there
  opentool mcp --print-config claude-code     Offer the demo tools to an agent
  opentool check                              Check every document below this folder
  opentool check weather.opentool.json        … or one, with all its faults at once
  opentool fix weather.opentool.json          Show what can be fixed without asking
  opentool fix weather.opentool.json --write  … and fix it
  opentool convert weather.opentool.json --to openai
  opentool import tools.json -o weather.opentool.json
  opentool dyn describe libm.so.6 --header math.h -o libm.opendyn.json
  opentool schema opentool > opentool.schema.json

Exit codes: 0 no errors; 1 a document has errors, or a tool or a model answered with one; 2 wrong usage, or an unreadable
file; 3 a server cannot be reached; 4 it refused the API key.
`opentool help COMMAND` says more about each.";

/// Tools for language models: serve them, call them, and check, fix, convert and import the documents that describe them.
#[derive(Debug, Parser)]
#[command(name = "opentool", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say on standard error what happens; -vv says more, RUST_LOG says it exactly
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// How the lines on standard error look: logs, warnings and errors alike
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Trust(trust::Trust),
    Tools(tools::Tools),
    Call(call::Call),
    Chat(Box<chat::ChatCommand>),
    Models(models::Models),
    Mcp(Box<mcp::McpCommand>),
    Runs(runs::Runs),
    Load(load::Load),
    Version(version::Version),
    Check(check::Check),
    Fix(fix::Fix),
    Convert(convert::Convert),
    Import(import::Import),
    #[command(name = "dyn")]
    Library(library::Library),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

/// Reports a command line that cannot be understood, and prints help and versions.
///
/// What it says about the format of lines was not understood either, so it is looked for.
fn wrong_usage(error: &clap::Error) -> Result<ExitStatus, Failure> {
    let mut words = env::args_os().skip(1);
    let is_json = words.any(|word| word == "--log-format=json" || word == "--log-format")
        && env::args_os().any(|word| word == "json" || word == "--log-format=json");
    if !error.use_stderr() || !is_json {
        error.exit();
    }
    terminal::write_json_lines();
    let text = error.render().to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).trim().to_owned();
    Err(Failure::usage(message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")))
}

impl Cli {
    /// Does what the command line says.
    pub(crate) fn run() -> Result<ExitStatus, Failure> {
        let matches = Cli::command().try_get_matches();
        let parsed = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
        let (cli, matches) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return wrong_usage(&error),
        };
        if cli.log_format == LogFormat::Json {
            terminal::write_json_lines();
        }
        match &cli.command {
            Command::Serve(_) | Command::Chat(_) | Command::Mcp(_) => {
                telemetry::start(cli.verbose, cli.log_format, true)?
            }
            Command::Tools(_) | Command::Call(_) | Command::Load(_) | Command::Version(_) | Command::Models(_) => {
                telemetry::start(cli.verbose, cli.log_format, false)?;
            }
            // These contact no server, so there is nothing to log.
            _ => {}
        }
        match &cli.command {
            Command::Serve(serve) => {
                // There is a subcommand, or there would be no `Serve`.
                let given = matches.subcommand().map_or(&matches, |(_, given)| given);
                serve.run(given)
            }
            Command::Trust(trust) => trust.run(),
            Command::Tools(tools) => tools.run(),
            Command::Call(call) => call.run(),
            Command::Chat(chat) => chat.run(),
            Command::Models(models) => models.run(),
            Command::Mcp(mcp) => mcp.run(),
            Command::Runs(runs) => runs.run(),
            Command::Load(load) => load.run(),
            Command::Version(version) => version.run(),
            Command::Check(check) => check.run(),
            Command::Fix(fix) => fix.run(),
            Command::Convert(convert) => convert.run(),
            Command::Import(import) => import.run(),
            Command::Library(library) => library.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(Cli::command()),
        }
    }
}
