//! `opentool import`: an OpenTool document of the tool lists and schemas of others.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use opentool_spec::{
    Info,
    schema::{ImportError, ImportedTools, ToolReport, import_tools},
};

use super::json_always::JsonAlways;
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    input::Input,
    next_step,
    replace::replace_file,
    report::{Checked, Shown, counted},
    terminal::{advise, complain, note, visible, visible_json, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool import tools.json                           A list of tools, to standard output
  opentool import tools.json -o weather.opentool.json --title Weather
  opentool import person.schema.json                   A JSON Schema: one function that takes it
  opentool convert a.json --to openai | opentool import -

FILE is a list of tools for OpenAI, Anthropic, Gemini or Ollama, a request that has one, the result of MCP's tools/list, \
a JSON Schema, an array of JSON Schemas, or what `opentool convert --to json-schema` writes. Which of these it is, is \
seen by its shape.

Standard output, with --json or without: the document. Standard error: what a document cannot express, as warnings. Names that a function may \
not have are changed, and said to be so.

Exit codes: 0 imported; 1 the file is none of these, or a tool was left out because its schema cannot be used; 2 wrong usage, or an \
unreadable file.";

/// Make an OpenTool document of a provider's tool list, MCP tools or JSON Schemas
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Import {
    /// The list or schema, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Write the document here; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The title of the document; the name of the file if left out
    #[arg(long)]
    title: Option<String>,
    /// The version of the document itself
    #[arg(long = "document-version", value_name = "VERSION", default_value = "1.0.0")]
    document_version: String,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    _json: JsonAlways,
}

impl Import {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let input = Input::from(&self.input);
        let name = input.name();
        let text = input.read_text()?;
        let stem = stem(&self.input);
        let info = Info::new(self.title.as_deref().unwrap_or(&stem), &self.document_version);
        let imported = match import_tools(&text, info, &stem) {
            Ok(imported) => imported,
            Err(error) => {
                complain(&format_args!("{} was not imported: {}", visible(&name), visible(&error.to_string())));
                if let ImportError::Document = error
                    && let Some(step) = next_step::command_line(["check", &name])
                {
                    advise(&step);
                }
                return Ok(ExitStatus::Errors);
            }
        };
        if !self.quiet {
            warn_of_losses(&imported.reports);
        }
        for refused in &imported.refused {
            complain(&visible(&refused.to_string()));
        }
        self.write(&name, &imported)
    }

    fn write(&self, name: &str, imported: &ImportedTools) -> Result<ExitStatus, Failure> {
        let document = &imported.document;
        let mut text = serde_json::to_string_pretty(document).map_err(|error| Failure::output(error.into()))?;
        text.push('\n');
        let report = opentool_spec::check(&text);
        let checked = Checked { name, text: &text, report: &report };
        for finding in report.findings.iter().filter(|finding| finding.severity == opentool_spec::Severity::Error) {
            note(&format_args!("{}\n", Shown::new(&checked, finding)));
        }
        match self.output.as_ref().filter(|output| output.as_os_str() != "-") {
            Some(output) => {
                replace_file(output, &text)?;
                if !self.quiet {
                    let functions = counted(document.functions.len(), "function");
                    let (format, output) = (imported.format.described(), output.to_string_lossy());
                    note(&format_args!("{}: {format}; {functions} written to {}", visible(name), visible(&output)));
                }
            }
            None => write_data(&visible_json(&text)).map_err(Failure::output)?,
        }
        Ok(if report.is_usable() && imported.refused.is_empty() { ExitStatus::Success } else { ExitStatus::Errors })
    }
}

/// What a file without a name of its own is called: its name without its endings.
fn stem(path: &std::path::Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.split('.').find(|part| !part.is_empty()) {
        Some(stem) if path.as_os_str() != "-" => stem.to_owned(),
        _ => "imported".to_owned(),
    }
}

/// Says what was lost, the same keyword of one tool once.
fn warn_of_losses(reports: &[ToolReport]) {
    for report in reports {
        let mut losses: BTreeMap<(&str, &str), (&str, usize)> = BTreeMap::new();
        for dropped in &report.dropped {
            let place = losses.entry((&dropped.keyword, &dropped.reason)).or_insert((&dropped.pointer, 0));
            place.1 += 1;
        }
        let name = visible(&report.name);
        for ((keyword, reason), (first, count)) in losses {
            let at = if first.is_empty() { String::new() } else { format!(" at {}", visible(first)) };
            let more = if count > 1 { format!(" and {} more", counted(count - 1, "place")) } else { String::new() };
            warn(&format_args!("{name} lost {}{at}{more}: {}", visible(keyword), visible(reason)));
        }
    }
}
