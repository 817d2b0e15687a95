//! `opentool schema`: the form of a document, for editors.

use clap::{Args, ValueEnum};
use opentool_spec::{DocumentKind, document_schema};

use super::{json_always::JsonAlways, serve::file_table};
use crate::{config_schema, exit_status::ExitStatus, failure::Failure, terminal::write_data};

const EXAMPLES: &str = "\
Examples:
  opentool schema opentool > opentool.schema.json
  opentool schema opendyn > opendyn.schema.json
  opentool schema openworkflow > openworkflow.schema.json
  opentool schema opentool.toml > opentool.toml.schema.json

An editor that knows the file completes and explains the keys of a document. In VS Code, for instance:
  \"json.schemas\": [{\"fileMatch\": [\"*.opentool.json\"], \"url\": \"./opentool.schema.json\"}]
`opentool check` finds more than such a schema can. Editors with Taplo (Even Better TOML) know that of opentool.toml by
its first line: #:schema ./opentool.toml.schema.json

Standard output, with --json or without: the schema.

Exit codes: 0 printed; 2 wrong usage.";

/// Print the JSON Schema of a document format, so that editors complete it
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Schema {
    /// The format
    #[arg(value_enum)]
    format: DocumentFormat,
    #[command(flatten)]
    _json: JsonAlways,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DocumentFormat {
    /// Functions that can be called (OpenTool 1.1.0)
    Opentool,
    /// Functions of a dynamic library (OpenDyn 1.0.0)
    Opendyn,
    /// Calls of functions in a fixed order (OpenWorkflow 1.0.0)
    Openworkflow,
    /// The configuration file
    #[value(name = "opentool.toml", alias = "config")]
    Config,
}

impl Schema {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let kind = match self.format {
            DocumentFormat::Opentool => DocumentKind::OpenTool,
            DocumentFormat::Opendyn => DocumentKind::OpenDyn,
            DocumentFormat::Openworkflow => DocumentKind::OpenWorkflow,
            DocumentFormat::Config => {
                let schema = format!("{:#}\n", config_schema::schema(&file_table()));
                write_data(&schema).map_err(Failure::output)?;
                return Ok(ExitStatus::Success);
            }
        };
        write_data(document_schema(kind)).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }
}
