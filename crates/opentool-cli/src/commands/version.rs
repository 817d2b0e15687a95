//! `opentool version`: the version of a server.

use clap::Args;
use serde_json::json;

use super::access::Access;
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    runtime::block_on,
    source::Source,
    terminal::{visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool version http://127.0.0.1:9627
  opentool version weather.opentool.json      The server that the document names

The version of this program: opentool --version

With --json, there is an object {version}.

Exit codes: 0 there is an answer; 2 wrong usage; 3 no server can be reached; 4 it refused the API key.";

/// Ask a server for its version
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Version {
    /// The base URL of a server, or a document that names one
    source: String,
    #[command(flatten)]
    access: Access,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Version {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let source = Source::open(&self.source, &self.access.named("version"))?;
        let (key, connect) = (self.access.key_for(&source)?, self.access.connect()?);
        let version = match source.client(key.as_deref())? {
            Some(client) => {
                let client = connect.client(client);
                let failed = |error| source.failure(key.is_some(), error);
                block_on(async { client.version().await.map_err(failed) })?.version
            }
            None => env!("CARGO_PKG_VERSION").to_owned(),
        };
        let text = match self.json {
            true => visible_json(&json!({ "version": version }).to_string()).into_owned(),
            false => visible(&version).into_owned(),
        };
        write_data(&format!("{text}\n")).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }
}
