//! The commands, one a file.

mod check;
mod completions;
mod convert;
mod fix;
mod schema;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// How a command that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No errors: exit code 0.
    Clean,
    /// A document has errors: exit code 1.
    Faulty,
    /// Something could not be read, the rest was done: exit code 2.
    Incomplete,
}

const EXAMPLES: &str = "\
Examples:
  opentool check                              Check every document below this folder
  opentool check weather.opentool.json        … or one, with all its faults at once
  opentool fix weather.opentool.json          Show what can be mended without asking
  opentool fix weather.opentool.json --write  … and mend it
  opentool convert weather.opentool.json --to openai
  opentool schema opentool > opentool.schema.json

Exit codes: 0 no errors; 1 a document has errors; 2 wrong usage, or an unreadable file.
`opentool help COMMAND` says more about each.";

/// Tools for language models: check, mend and convert the documents that describe them.
#[derive(Debug, Parser)]
#[command(name = "opentool", version, after_help = EXAMPLES, arg_required_else_help = true)]
#[command(max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    Fix(fix::Fix),
    Convert(convert::Convert),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

impl Cli {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        match &self.command {
            Command::Check(check) => check.run(),
            Command::Fix(fix) => fix.run(),
            Command::Convert(convert) => convert.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(),
        }
    }
}
