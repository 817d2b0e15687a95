//! The commands, one a file.

mod access;
mod call;
mod check;
mod completions;
mod convert;
mod fix;
mod load;
mod schema;
mod tools;
mod version;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// How a command that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No errors: exit code 0.
    Clean,
    /// A document has errors, or a tool answered with one: exit code 1.
    Faulty,
    /// Something could not be read, the rest was done: exit code 2.
    Incomplete,
}

const EXAMPLES: &str = "\
Examples:
  opentool serve                              Serve the demo tools at http://127.0.0.1:9627
  opentool tools http://127.0.0.1:9627        List the tools of a server
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool check                              Check every document below this folder
  opentool check weather.opentool.json        … or one, with all its faults at once
  opentool fix weather.opentool.json          Show what can be mended without asking
  opentool fix weather.opentool.json --write  … and mend it
  opentool convert weather.opentool.json --to openai
  opentool schema opentool > opentool.schema.json

Exit codes: 0 no errors; 1 a document has errors, or a tool answered with one; 2 wrong usage, or an unreadable file;
3 a server cannot be reached; 4 it refused the API key.
`opentool help COMMAND` says more about each.";

/// Tools for language models: serve them, call them, and check, mend and convert the documents that describe them.
#[derive(Debug, Parser)]
#[command(name = "opentool", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Tools(tools::Tools),
    Call(call::Call),
    Load(load::Load),
    Version(version::Version),
    Check(check::Check),
    Fix(fix::Fix),
    Convert(convert::Convert),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

impl Cli {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        match &self.command {
            Command::Tools(tools) => tools.run(),
            Command::Call(call) => call.run(),
            Command::Load(load) => load.run(),
            Command::Version(version) => version.run(),
            Command::Check(check) => check.run(),
            Command::Fix(fix) => fix.run(),
            Command::Convert(convert) => convert.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(),
        }
    }
}

/// Runs what a command waits for.
fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::Runtime { source })?.block_on(work)
}
