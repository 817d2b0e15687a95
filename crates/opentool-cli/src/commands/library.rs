//! `opentool dyn`: what is in C libraries, and documents about it.

mod describe;
mod symbols;

use clap::{Args, Subcommand};

use super::Verdict;
use crate::failure::Failure;

/// Look into C libraries, and write documents about them
#[derive(Debug, Args)]
pub(super) struct Library {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Describe(describe::Describe),
    Symbols(symbols::Symbols),
}

impl Library {
    pub(super) fn run(&self) -> Result<Verdict, Failure> {
        match &self.command {
            Command::Describe(describe) => describe.run(),
            Command::Symbols(symbols) => symbols.run(),
        }
    }
}
