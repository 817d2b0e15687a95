//! The commands, one a file.

mod access;
mod call;
mod chat;
mod check;
mod completions;
mod convert;
mod fix;
mod known;
mod library;
mod load;
mod schema;
mod serve;
mod tools;
mod trust;
mod version;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    telemetry::{self, LogFormat},
};

const EXAMPLES: &str = "\
Examples:
  opentool serve                              Serve the demo tools at http://127.0.0.1:9627
  opentool trust                              Let the opentool.toml of this folder count
  opentool tools http://127.0.0.1:9627        List the tools of a server
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool chat --model ollama:qwen3          Chat with a model that calls tools
  opentool check                              Check every document below this folder
  opentool check weather.opentool.json        … or one, with all its faults at once
  opentool fix weather.opentool.json          Show what can be fixed without asking
  opentool fix weather.opentool.json --write  … and fix it
  opentool convert weather.opentool.json --to openai
  opentool dyn describe libm.so.6 --header math.h -o libm.opendyn.json
  opentool schema opentool > opentool.schema.json

Exit codes: 0 no errors; 1 a document has errors, or a tool or a model answered with one; 2 wrong usage, or an unreadable
file; 3 a server cannot be reached; 4 it refused the API key.
`opentool help COMMAND` says more about each.";

/// Tools for language models: serve them, call them, and check, fix and convert the documents that describe them.
#[derive(Debug, Parser)]
#[command(name = "opentool", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say on standard error what happens; -vv says more, RUST_LOG says it exactly
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// How log lines look
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    Trust(trust::Trust),
    Tools(tools::Tools),
    Call(call::Call),
    Chat(Box<chat::Chat>),
    Load(load::Load),
    Version(version::Version),
    Check(check::Check),
    Fix(fix::Fix),
    Convert(convert::Convert),
    #[command(name = "dyn")]
    Library(library::Library),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

impl Cli {
    /// Does what the command line says.
    pub(crate) fn run() -> Result<ExitStatus, Failure> {
        let matches = Cli::command().get_matches();
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        match &cli.command {
            Command::Serve(_) | Command::Chat(_) => telemetry::start(cli.verbose, cli.log_format, true)?,
            Command::Tools(_) | Command::Call(_) | Command::Load(_) | Command::Version(_) => {
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
            Command::Load(load) => load.run(),
            Command::Version(version) => version.run(),
            Command::Check(check) => check.run(),
            Command::Fix(fix) => fix.run(),
            Command::Convert(convert) => convert.run(),
            Command::Library(library) => library.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(Cli::command()),
        }
    }
}
