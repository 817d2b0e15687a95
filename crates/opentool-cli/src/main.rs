//! The `opentool` command line: thin commands over the library crates.

mod arguments;
mod build_info;
mod commands;
mod config_fault;
mod config_file;
mod config_keys;
mod config_schema;
mod config_value;
mod demo;
mod diff;
mod document;
mod exit_status;
mod exports;
mod failure;
mod folders;
mod input;
mod libraries;
mod limits;
mod logins;
mod mcp_servers;
mod next_step;
mod output;
mod programs;
mod replace;
mod report;
mod runtime;
mod secret;
mod setting;
mod size;
mod source;
mod source_tables;
mod sources;
mod system_library;
mod telemetry;
mod terminal;
mod time;
mod trusted;

use std::process::ExitCode;

use commands::Cli;
use failure::Failure;

fn main() -> ExitCode {
    // Started again as the worker of a C library, or as the reaper of an MCP server, this program is nothing else.
    opentool_dyn::worker_main();
    opentool_dyn::return_large_blocks();
    let ended = Cli::run();
    telemetry::Export::finish();
    match ended {
        Ok(status) => status.into(),
        // The reader has closed the pipe.
        Err(Failure::Output { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            if let Some(step) = failure.next_step() {
                terminal::advise(&step);
            }
            failure.exit_status().into()
        }
    }
}
