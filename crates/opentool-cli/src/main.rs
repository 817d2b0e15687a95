//! The `opentool` command line: thin commands over the library crates.

mod arguments;
mod commands;
mod demo;
mod diff;
mod document;
mod exports;
mod failure;
mod input;
mod json_text;
mod libraries;
mod replace;
mod report;
mod source;
mod telemetry;
mod terminal;
mod time;

use std::process::ExitCode;

use commands::{Cli, Verdict};
use failure::Failure;

fn main() -> ExitCode {
    // Started again as the worker of a C library, this program is nothing else.
    opentool_dyn::worker_main();
    let ended = Cli::run();
    telemetry::Export::finish();
    match ended {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Faulty) => ExitCode::from(1),
        Ok(Verdict::Incomplete) => ExitCode::from(2),
        // What a shell makes of a process that Ctrl-C ended.
        Ok(Verdict::Interrupted) => ExitCode::from(130),
        // Whoever read the output has seen enough.
        Err(Failure::Output { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
