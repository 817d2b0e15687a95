//! `opentool load`: the document of a server.

use clap::Args;

use super::{access::Access, json_always::JsonAlways};
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    runtime::block_on,
    source::Source,
    terminal::{note, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool load http://127.0.0.1:9627 > tools.opentool.json
  opentool load http://127.0.0.1:9627 | opentool convert - --to openai
  opentool load demo                          The tools that come with this program

Standard output, with --json or without: an OpenTool document; {} where the server has none.

Exit codes: 0 there is an answer; 2 wrong usage; 3 no server can be reached; 4 it refused the API key.";

/// Print the document that describes the functions of a server
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Load {
    /// The base URL of a server, a document that names one, or `demo`
    source: String,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    _json: JsonAlways,
}

impl Load {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let source = Source::open(&self.source, &self.access.named("load"))?;
        let (key, connect) = (self.access.key_for(&source)?, self.access.connect()?);
        let mut text = match block_on(async {
            let document = source.document(key.as_deref(), &connect).await;
            source.close().await;
            document
        })? {
            Some(document) => serde_json::to_string_pretty(&document).map_err(|error| Failure::output(error.into()))?,
            None => {
                note(&format_args!("{source} has no document"));
                "{}".to_owned()
            }
        };
        text.push('\n');
        write_data(&visible_json(&text)).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }
}
