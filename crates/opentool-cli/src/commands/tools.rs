//! `opentool tools`: what can be called.

use std::io::Write as _;

use anstyle::Style;
use clap::Args;
use opentool::ToolDefinition;
use serde_json::{Value, json};

use super::access::Access;
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    libraries::LibraryOptions,
    report::counted,
    runtime::block_on,
    source::{Listing, Source},
    terminal::{visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool tools http://127.0.0.1:9627
  opentool tools weather.opentool.json        What a document describes
  opentool tools libm.opendyn.json --library libm.so.6    The functions of a C library
  opentool tools demo                         The tools that come with this program
  opentool tools mcp+https://tools.example/mcp            The tools of an MCP server
  opentool tools --mcp 'npx -y some-server'
  opentool tools http://127.0.0.1:9627 --json | jq '.[].name'

With --json, there is an array of {name, description, inputSchema, outputName, outputSchema}; the last two
only where the tool says what it returns.

Exit codes: 0 listed; 2 wrong usage, or an unreadable file; 3 no server can be reached; 4 it refused the API key.";

/// List the tools of a server or document
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tools {
    /// The base URL of a server, a document, an MCP server (mcp+https://…, or the file of an agent), a
    /// `[sources.NAME]` of opentool.toml, or `demo`
    #[arg(required_unless_present = "mcp")]
    source: Option<String>,
    /// The command of an MCP server, as a source
    #[arg(long, value_name = "COMMAND", conflicts_with = "source")]
    mcp: Option<String>,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    libraries: LibraryOptions,
}

impl Tools {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let source = match (&self.mcp, &self.source) {
            (Some(command), _) => Source::mcp_command(command)?,
            (None, Some(source)) => Source::open_with(source, &[], &self.access.named("tools"), &self.libraries)?,
            (None, None) => Source::demo(),
        };
        // A document has its tools in it, so that no server needs a key.
        let needs_key = source.is_given_by_url() || source.own_key().is_some();
        let key = if needs_key { self.access.key_for(&source)? } else { None };
        let connect = self.access.connect()?;
        let listing = block_on(async {
            let listing = source.definitions(key.as_deref(), &connect).await;
            source.close().await;
            listing
        })?;
        if self.json {
            let tools: Vec<_> = listing.definitions.iter().map(as_json).collect();
            let mut text = serde_json::to_string_pretty(&tools).map_err(|error| Failure::output(error.into()))?;
            text.push('\n');
            write_data(&visible_json(&text)).map_err(Failure::output)?;
        } else {
            anstream::stdout().lock().write_all(as_text(&source, &listing).as_bytes()).map_err(Failure::output)?;
        }
        Ok(ExitStatus::Success)
    }
}

fn as_json(definition: &ToolDefinition) -> Value {
    let mut tool = json!({
        "name": definition.name(),
        "description": definition.description(),
        "inputSchema": definition.input_schema(),
    });
    if let Some(name) = definition.output_name() {
        tool["outputName"] = name.into();
    }
    if let Some(schema) = definition.output_schema() {
        tool["outputSchema"] = schema.clone();
    }
    tool
}

fn as_text(source: &Source, listing: &Listing) -> String {
    const NAME: Style = Style::new().bold();
    let title = listing.title.as_deref().map_or_else(|| source.to_string(), |title| visible(title.trim()).into_owned());
    let mut text = format!("{title}: {}\n", counted(listing.definitions.len(), "tool"));
    if !listing.complete {
        text.push_str("The server has no document: it takes calls of tools that it does not list.\n");
    }
    for definition in &listing.definitions {
        let name = visible(definition.name());
        let (parameters, returns) = (parameters(definition), returns(definition));
        text.push_str(&format!("\n{NAME}{name}{NAME:#}({}){}\n", visible(&parameters), visible(&returns)));
        for line in definition.description().lines() {
            text.push_str(&format!("    {}\n", visible(line)));
        }
    }
    text
}

/// `a: integer, b?: string`.
fn parameters(definition: &ToolDefinition) -> String {
    let root = definition.input_schema();
    let required: Vec<_> = root["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = root["properties"].as_object().into_iter().flatten();
    let parameters = properties.map(|(name, schema)| {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{name}{optional}: {}", type_name(root, schema))
    });
    parameters.collect::<Vec<_>>().join(", ")
}

fn returns(definition: &ToolDefinition) -> String {
    let Some(schema) = definition.output_schema() else { return String::new() };
    let name = definition.output_name().map(|name| format!("{name}: ")).unwrap_or_default();
    format!(" -> {name}{}", type_name(schema, schema))
}

fn type_name(root: &Value, schema: &Value) -> String {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    let schema = target.unwrap_or(schema);
    match schema["type"].as_str() {
        Some("array") => format!("{}[]", type_name(root, &schema["items"])),
        Some(name) => name.to_owned(),
        None if schema["enum"].is_array() => "string".to_owned(),
        None => "any".to_owned(),
    }
}
