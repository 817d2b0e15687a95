//! `opentool dyn`: what is in C libraries, and documents about it.

mod describe;
mod symbols;

use clap::{Args, Subcommand};

use crate::{exit_status::ExitStatus, failure::Failure};

const EXAMPLES: &str = "\
Examples:
  opentool dyn symbols libm.so.6              What a library exports
  opentool dyn describe libm.so.6 --header math.h -o libm.opendyn.json    A document about it

Exit codes: 0 done; 1 no function can be described; 2 wrong usage, no library, or headers that cannot be read.";

/// Look into C libraries, and write documents about them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Library {
    #[command(subcommand)]
    command: DynCommand,
}

#[derive(Debug, Subcommand)]
enum DynCommand {
    Describe(describe::Describe),
    Symbols(symbols::Symbols),
}

impl Library {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        match &self.command {
            DynCommand::Describe(describe) => describe.run(),
            DynCommand::Symbols(symbols) => symbols.run(),
        }
    }
}
