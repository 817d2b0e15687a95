//! The `opentool` command line: thin commands over the library crates.

mod commands;
mod demo;
mod diff;
mod failure;
mod input;
mod replace;
mod report;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;
use commands::{Cli, Verdict};
use failure::Failure;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Faulty) => ExitCode::from(1),
        Ok(Verdict::Incomplete) => ExitCode::from(2),
        // Whoever read the output has seen enough.
        Err(Failure::Output { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            ExitCode::from(2)
        }
    }
}
