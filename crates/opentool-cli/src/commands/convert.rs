//! `opentool convert`: the tool list that a provider or protocol takes.

use std::{collections::BTreeSet, path::PathBuf};

use clap::{Args, ValueEnum};
use opentool_spec::{
    Document, OpenTool,
    schema::{Target, ToolList, document_tool_list},
};
use serde::Serialize;

use super::json_always::JsonAlways;
use crate::{
    document,
    exit_status::ExitStatus,
    failure::Failure,
    input::Input,
    terminal::{complain, visible, visible_json, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool convert weather.json --to openai             `tools` of a chat completion
  opentool convert weather.json --to openai-strict      … with strict arguments where possible
  opentool convert weather.json --to anthropic          `tools` of a message
  opentool convert weather.json --to gemini             `tools` of a generateContent request
  opentool convert weather.json --to ollama             `tools` of a chat with Ollama
  opentool convert weather.json --to mcp                `tools` of a tools/list result
  opentool convert weather.json --to json-schema        Input and output schemas by function name
  opentool convert libm.opendyn.json --to opentool      OpenTool, in the form that /load sends

Standard output, with --json or without: the JSON that the target takes. Standard error: what is lost, as warnings. OpenAI, Anthropic and Ollama take no description of \
results, so that return values are never in their lists. A document with errors is refused, and so is a name that the \
target does not take.

Exit codes: 0 converted; 1 the document has errors, or the target refuses something in it; 2 wrong usage, or an \
unreadable file.";

/// Write a document as the tool list that a provider or protocol takes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Convert {
    /// The document, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Who takes the list
    #[arg(long, value_enum)]
    to: To,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    _json: JsonAlways,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    /// OpenAI chat completions
    Openai,
    /// OpenAI chat completions with strict arguments, where a function allows it
    OpenaiStrict,
    /// Anthropic messages
    Anthropic,
    /// Gemini generateContent
    Gemini,
    /// Ollama chat
    Ollama,
    /// Model Context Protocol
    Mcp,
    /// JSON Schema of input and output, by function name
    JsonSchema,
    /// OpenTool 1.1.0 in the strict form that every client reads
    Opentool,
}

impl To {
    /// The list of tools to write; none where a document is wanted.
    fn target(self) -> Option<Target> {
        match self {
            To::Openai => Some(Target::OpenAi),
            To::OpenaiStrict => Some(Target::OpenAiStrict),
            To::Anthropic => Some(Target::Anthropic),
            To::Gemini => Some(Target::Gemini),
            To::Ollama => Some(Target::Ollama),
            To::Mcp => Some(Target::Mcp),
            To::JsonSchema => Some(Target::JsonSchema),
            To::Opentool => None,
        }
    }
}

impl Convert {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let input = Input::from(&self.input);
        let text = input.read_text()?;
        let Some(document) = read(&input.name(), &text) else { return Ok(ExitStatus::Errors) };
        match self.to.target() {
            None => print(&self.free_of_references(&document))?,
            Some(target) => match document_tool_list(&document, target) {
                Ok(list) => {
                    if !self.quiet {
                        warn_of_losses(&list);
                    }
                    print(&list.tools)?;
                }
                Err(error) => {
                    complain(&visible(&error.to_string()));
                    return Ok(ExitStatus::Errors);
                }
            },
        }
        Ok(ExitStatus::Success)
    }

    /// The form that `/load` sends.
    fn free_of_references(&self, document: &OpenTool) -> OpenTool {
        let strict = document.to_strict();
        let cuts: BTreeSet<_> = strict.cuts.iter().map(ToString::to_string).collect();
        for cut in cuts.iter().filter(|_| !self.quiet) {
            warn(&visible(cut));
        }
        strict.document
    }
}

/// Reads a document of either kind, or shows its errors.
fn read(name: &str, text: &str) -> Option<OpenTool> {
    match document::read(name, text) {
        Ok(Document::OpenTool(document)) => Some(document),
        Ok(Document::OpenDyn(document)) => Some(document.to_opentool()),
        // No other kind describes functions.
        Ok(_) => {
            complain(&format_args!(
                "{} is a workflow, which describes no functions: `opentool load` gives it as one",
                visible(name)
            ));
            None
        }
        Err(errors) => {
            complain(&format_args!("{} {errors} and was not converted", visible(name)));
            None
        }
    }
}

fn warn_of_losses(list: &ToolList) {
    for report in &list.reports {
        let name = visible(&report.name);
        for obstacle in &report.obstacles {
            warn(&format_args!("{name} is not strict: {}", visible(&obstacle.to_string())));
        }
        for dropped in &report.dropped {
            warn(&format_args!("{name} lost {}", visible(&dropped.to_string())));
        }
    }
}

fn print(json: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(json).map_err(|error| Failure::output(error.into()))?;
    text.push('\n');
    write_data(&visible_json(&text)).map_err(Failure::output)
}
