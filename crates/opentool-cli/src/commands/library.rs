//! `opentool dyn`: what is in C libraries, and documents about it.

mod describe;
mod symbols;

use clap::{Args, Subcommand};

use crate::{exit_status::ExitStatus, failure::Failure};

/// Look into C libraries, and write documents about them
#[derive(Debug, Args)]
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
