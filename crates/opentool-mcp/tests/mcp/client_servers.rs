//! Servers for the tests of the client.

use std::path::{Path, PathBuf};
use std::process::Command;

use opentool_core::testing::Probe;
use opentool_mcp::{McpClient, ServerCommand};
use tokio::time::{Duration, Instant, sleep};

use crate::client::MAX_WAIT;

/// The example that is an MCP server; it is built with the tests.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/child_server")
}

pub(crate) fn command(mode: &str) -> ServerCommand {
    ServerCommand::new(program()).arg(mode)
}

pub(crate) fn child(mode: &str) -> McpClient {
    McpClient::from_command(command(mode))
}

/// Calls a tool that answers with the id of a process.
pub(crate) async fn process(client: &McpClient, tool: &str) -> u32 {
    Probe::new(client.clone()).call(tool, "{}").await.output().to_text().parse().unwrap()
}

/// Whether a process runs; one that has ended and was not waited for does not.
pub(crate) fn runs(process: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")) else {
        return false;
    };
    !status.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

pub(crate) async fn ends(process: u32) {
    let started = Instant::now();
    while runs(process) {
        assert!(started.elapsed() < MAX_WAIT, "process {process} goes on");
        sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn kill(process: u32) {
    assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}
