//! The commands, one a file.

mod access;
mod call;
mod chat;
mod check;
mod completions;
mod console;
mod convert;
mod doctor;
mod fix;
mod form;
mod import;
mod init;
mod json_always;
mod known;
mod library;
mod load;
mod man;
mod mcp;
mod model;
mod models;
mod provider_name;
mod respondent;
mod runs;
mod schema;
mod serve;
mod tool_set_options;
mod tools;
mod trust;
mod version;

#[cfg(test)]
mod tests;

use std::{env, io::Write as _};

use clap::{
    ArgAction, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use opentool_spec::json::near;

use crate::{
    build_info::LONG_VERSION,
    exit_status::ExitStatus,
    failure::Failure,
    next_step,
    telemetry::{self, LogFormat},
    terminal,
};

const EXAMPLES: &str = "\
Examples:
  opentool serve                              Serve the demo tools at http://127.0.0.1:9627
  opentool init                               Write an opentool.toml for this folder
  opentool trust                              Let the opentool.toml of this folder count
  opentool doctor                             Say what is here, what is missing and what to do
  opentool tools http://127.0.0.1:9627        List the tools of a server
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool chat --model ollama:qwen3          Chat with a model that calls tools
  opentool models                             List the models that are there
  opentool mcp --print-config claude-code     Offer tools to an agent
  opentool check                              Check every document below this folder
  opentool check weather.opentool.json        … or one, with all its faults at once
  opentool fix weather.opentool.json          Show what can be fixed without asking
  opentool fix weather.opentool.json --write  … and fix it
  opentool convert weather.opentool.json --to openai
  opentool import tools.json -o weather.opentool.json
  opentool dyn describe libm.so.6 --header math.h -o libm.opendyn.json
  opentool schema opentool > opentool.schema.json

`opentool help COMMAND` says more about each, with examples and its exit codes. `opentool man` has manual pages.
Colours and progress are for terminals only; NO_COLOR switches colours off.";

/// The examples, and the exit codes of all commands.
fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", ExitStatus::described())
}

/// Tools for language models: serve them, call them, and check, fix, convert and import the documents that describe them.
#[derive(Debug, Parser)]
#[command(name = "opentool", version, long_version = LONG_VERSION, after_help = after_help())]
#[command(arg_required_else_help = true)]
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
    Init(init::Init),
    Trust(trust::Trust),
    Doctor(doctor::Doctor),
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
    Man(man::ManPages),
}

/// The command line, whose help flows: lines that the sources break where they are full are broken by the width of the terminal.
fn command_line() -> clap::Command {
    fn flowing(command: clap::Command) -> clap::Command {
        let help = command.get_after_help().map(|help| paragraphs(&help.to_string()));
        let command = match help {
            Some(help) => command.after_help(help),
            None => command,
        };
        command.mut_subcommands(flowing)
    }
    flowing(Cli::command())
}

/// A text with a line for each paragraph; what is indented stays as it is.
fn paragraphs(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut is_open = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ') && line != "Examples:";
        if !joined.is_empty() {
            joined.push(if is_open && is_prose { ' ' } else { '\n' });
        }
        joined.push_str(line);
        is_open = is_prose;
    }
    joined
}

/// Reports a command line that cannot be understood, and prints help and versions.
///
/// What it says about the format of lines was not understood either, so it is looked for.
fn wrong_usage(error: &clap::Error) -> Result<ExitStatus, Failure> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let mut words = env::args_os().skip(1);
    let is_json = words.any(|word| word == "--log-format=json" || word == "--log-format")
        && env::args_os().any(|word| word == "json" || word == "--log-format=json");
    let next = corrected(error).or_else(|| Some(next_step::help_of(&given_command())));
    let text = error.render().ansi().to_string();
    // The next step says which help.
    let text = text.split("For more information, try").next().unwrap_or_default();
    if !is_json {
        // Nothing can be done if even that fails.
        let _ = write!(anstream::stderr().lock(), "{}\n\n", text.trim_end());
        terminal::advise(&next.unwrap_or_default());
        return Ok(ExitStatus::Unusable);
    }
    terminal::write_json_lines();
    let text = anstream::adapter::strip_str(text).to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).trim().to_owned();
    let message = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    Err(Failure::usage_with(message, next))
}

/// The command line with the word in the place of the wrong one that clap proposes.
fn corrected(error: &clap::Error) -> Option<String> {
    use ContextKind::{InvalidArg, InvalidSubcommand, InvalidValue, SuggestedArg, SuggestedSubcommand, SuggestedValue};

    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        // The nearest is the last.
        ContextValue::Strings(texts) => texts.last().cloned(),
        _ => None,
    };
    let pairs = [(InvalidSubcommand, SuggestedSubcommand), (InvalidArg, SuggestedArg), (InvalidValue, SuggestedValue)];
    // Of `--option <VALUE>`, only the first word was typed.
    let first = |text: String| text.split(' ').next().unwrap_or_default().to_owned();
    let proposed =
        pairs.into_iter().find_map(|(wrong, right)| next_step::with_word(&first(text(wrong)?), &first(text(right)?)));
    proposed.or_else(|| {
        let (wrong, right) = match text(InvalidSubcommand) {
            Some(wrong) => {
                let right = near_command(&wrong)?;
                (wrong, right)
            }
            None => {
                let is_provider = text(InvalidArg).is_some_and(|option| option.contains("PROVIDER"));
                let wrong = text(InvalidValue).filter(|_| is_provider)?;
                let right = provider_name::near(&wrong)?;
                (wrong, right)
            }
        };
        next_step::with_word(&wrong, &right)
    })
}

/// The command whose name comes nearest to one that is not there, below the one that is.
fn near_command(wrong: &str) -> Option<String> {
    let root = Cli::command();
    let mut command = &root;
    for name in given_command().split(' ').filter(|name| !name.is_empty()) {
        command = command.find_subcommand(name)?;
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    near::names(wrong, names, 1).first().map(|name| (*name).to_owned())
}

/// The command that the command line names, as far as it can be understood.
fn given_command() -> String {
    let (root, mut path) = (Cli::command(), Vec::new());
    let mut command = &root;
    for word in env::args_os().skip(1) {
        if let Some(below) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            path.push(below.get_name().to_owned());
            command = below;
        }
    }
    path.join(" ")
}

/// The command that was understood.
fn command_path(mut matches: &ArgMatches) -> String {
    let mut path = Vec::new();
    while let Some((name, below)) = matches.subcommand() {
        path.push(name);
        matches = below;
    }
    path.join(" ")
}

impl Cli {
    /// Does what the command line says.
    pub(crate) fn run() -> Result<ExitStatus, Failure> {
        let matches = command_line().try_get_matches();
        let parsed = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
        let (cli, matches) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return wrong_usage(&error),
        };
        next_step::set_command(command_path(&matches));
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
        // There is a subcommand, or there would be no `Cli`.
        let given = matches.subcommand().map_or(&matches, |(_, given)| given);
        match &cli.command {
            Command::Serve(serve) => serve.run(given),
            Command::Init(init) => init.run(),
            Command::Trust(trust) => trust.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Tools(tools) => tools.run(),
            Command::Call(call) => call.run(),
            Command::Chat(chat) => chat.run(),
            Command::Models(models) => models.run(),
            Command::Mcp(mcp) => mcp.run(given),
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
            Command::Man(man) => man.run(Cli::command()),
        }
    }
}
