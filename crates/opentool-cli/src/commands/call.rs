//! `opentool call`: call a function and print its result.

use std::{collections::BTreeMap, io::Read as _};

use clap::Args;
use opentool::{ErrorKind, ToolCall, ToolContext, ToolError};
use opentool_server::call_result;
use opentool_spec::json::near;
use serde_json::json;

use super::{access::Access, console::Console, respondent};
use crate::{
    arguments,
    exit_status::ExitStatus,
    failure::{Failure, server_failure},
    libraries::LibraryOptions,
    limits::{ConnectOptions, executor},
    next_step,
    output::as_json,
    runtime::block_on,
    size::size,
    source::{Attached, Source},
    terminal::{advise, complain, visible, visible_json, write_data},
};
use opentool_spec::json::indented;

const EXAMPLES: &str = "\
Examples:
  opentool call demo add a=1 b=2              A tool that comes with this program
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool call libm.opendyn.json cos x=0 --library libm.so.6    A function of a C library
  opentool call mcp+https://tools.example/mcp add a=1 b=2        A tool of an MCP server
  opentool call --mcp 'npx -y some-server' add a=1 b=2
  opentool call http://127.0.0.1:9627 add --args '{\"a\": 1, \"b\": 2}'
  opentool call flow.openworkflow.json --tools demo              A workflow of demo tools
  echo '{\"text\": \"…\"}' | opentool call demo text_statistics --args -

A value is typed by the function's schema: text needs no quotes, a list is `tag=a tag=b` or a JSON array.
Standard output: the result as POST /call answers it, a JSON object: {\"sum\": 3}, and {} where there is
no value; with --raw the bare value, and null where there is none. Standard error: why there is none.

With --json, there is an object in any case: {\"result\": …}, or {\"error\": {kind, message}} where the tool
answered with an error.

A tool that asks something gets its answer at the terminal; where there is none, it gets an error that says so.

Exit codes: 0 there is a result; 1 the tool answered with an error; 2 wrong usage; 3 no server can be reached;
4 it refused the API key.";

/// Call a function and print its result as JSON
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Call {
    /// The base URL of a server, a document that names one, describes a C library or is a workflow, an MCP server
    /// (mcp+https://…, or the file of an agent), a `[sources.NAME]` of opentool.toml, or `demo`; left out with --mcp
    #[arg(required_unless_present = "mcp")]
    source: Option<String>,
    /// The name of the function; left out for an OpenWorkflow document, which is one
    function: Option<String>,
    /// The arguments, typed by the function's schema
    #[arg(value_name = "NAME=VALUE", conflicts_with = "args")]
    pairs: Vec<String>,
    /// The arguments as a JSON object, or `-` for standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Print the bare value and not the object that has it under its name
    #[arg(long)]
    raw: bool,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
    /// How large the result of a call may be [default: 1M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    max_result: Option<usize>,
    /// The command of an MCP server, as a source
    #[arg(long, value_name = "COMMAND")]
    mcp: Option<String>,
    /// Where the functions come from that the steps of an OpenWorkflow document call; repeatable
    #[arg(long, value_name = "SOURCE", conflicts_with = "mcp")]
    tools: Vec<String>,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    libraries: LibraryOptions,
}

/// What the words of the command line stand for.
struct CallWords<'a> {
    source: Source,
    /// None for a workflow, which is one function.
    function: Option<&'a str>,
    pairs: Vec<String>,
}

impl Call {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let CallWords { mut source, function, pairs } = self.words()?;
        let key = self.access.key_for(&source)?;
        self.access.give_keys(source.step_sources_mut())?;
        let timeout = self.libraries.timeout();
        let connect = ConnectOptions { timeout, max_result: self.max_result, ..self.access.connect()? };
        let context = ToolContext::new().with_respondent(respondent::at(&Console::new(true)?, None));
        let given = self.given()?;
        let (outcome, near) = block_on(async {
            let Attached { toolbox, .. } = source.attach(key.as_deref(), &BTreeMap::new(), &connect).await?;
            let function = function.or_else(|| toolbox.names().next()).unwrap_or_default();
            let near = near::names(function, toolbox.names(), 1).first().map(|name| (*name).to_owned());
            let arguments = match given {
                Some(arguments) => arguments,
                None => arguments::from_pairs(toolbox.get(function).map(|tool| tool.definition()), &pairs)
                    .map_err(|failure| failure.or_try(|| self.list_tools()))?,
            };
            let call = ToolCall::new("1", function, arguments);
            let host = executor(timeout, self.max_result).build().host(toolbox);
            let outcome = host.run(call, &context).await;
            source.close().await;
            Ok((outcome, near))
        })?;
        match &outcome.result {
            Ok(output) => {
                let name = outcome.definition.as_ref().and_then(|definition| definition.output_name());
                let json = if self.raw { as_json(output) } else { call_result(output, name) };
                let json = if self.json { format!("{{\"result\":{json}}}") } else { json };
                let text = format!("{}\n", indented(&json));
                write_data(&visible_json(&text)).map_err(Failure::output)?;
                Ok(ExitStatus::Success)
            }
            Err(error) => match server_failure(error) {
                Some(Failure::Client { source: error }) => Err(source.failure(key.is_some(), *error)),
                Some(failure) => Err(failure),
                None => {
                    if self.json {
                        let error = json!({ "error": { "kind": error.kind().as_str(), "message": error.message() } });
                        write_data(&visible_json(&format!("{error:#}\n"))).map_err(Failure::output)?;
                    }
                    complain(&visible(error.message()));
                    if let Some(step) = self.next_step(error, function.zip(near.as_deref())) {
                        advise(&step);
                    }
                    Ok(ExitStatus::Errors)
                }
            },
        }
    }

    /// What to try after an error: the function that was meant, or a look at what there is.
    fn next_step(&self, error: &ToolError, near: Option<(&str, &str)>) -> Option<String> {
        match (error.kind(), near) {
            (ErrorKind::UnknownTool, Some((wrong, right))) => next_step::with_word(wrong, right),
            // Of a workflow, it is a step that is wrong.
            (ErrorKind::UnknownTool | ErrorKind::InvalidArguments, _) if !self.tools.is_empty() => {
                let tools = self.tools.iter().flat_map(|tool| ["--tools", tool]);
                next_step::command_line(["check"].into_iter().chain(self.source.as_deref()).chain(tools))
            }
            (ErrorKind::UnknownTool | ErrorKind::InvalidArguments, _) => self.list_tools(),
            // What an OpenTool server answers at a path that is none of its own.
            _ if error.code() == Some(404) => {
                let source = self.source.as_deref().filter(|source| source.starts_with("http"))?;
                next_step::with_mcp_url(source)
            }
            _ => None,
        }
    }

    /// The command that lists the functions of the source with their parameters.
    fn list_tools(&self) -> Option<String> {
        let library = self.libraries.words();
        let library = library.iter().map(String::as_str);
        match (&self.mcp, &self.source) {
            (Some(command), _) => next_step::command_line(["tools", "--mcp", command]),
            (None, source) => next_step::command_line(["tools"].into_iter().chain(source.as_deref()).chain(library)),
        }
    }

    /// Which word is what: with `--mcp`, the first names the function.
    fn words(&self) -> Result<CallWords<'_>, Failure> {
        let (source, function, pairs) = match (&self.mcp, &self.source, &self.function) {
            (Some(command), Some(function), second) => {
                let pairs = second.iter().chain(&self.pairs).cloned().collect::<Vec<_>>();
                (Source::mcp_command(command)?, Some(function.as_str()), pairs)
            }
            (None, Some(source), function) => {
                let source = Source::open_with(source, &self.tools, &self.access.named("call"), &self.libraries)?;
                (source, function.as_deref(), self.pairs.clone())
            }
            _ => return Err(Failure::usage("the name of the function is missing")),
        };
        if function.is_none() && !source.is_workflow() {
            return Err(Failure::usage("the name of the function is missing: opentool call SOURCE FUNCTION"));
        }
        if self.args.is_some() && !pairs.is_empty() {
            return Err(Failure::usage("give the arguments as NAME=VALUE or with `--args`, not both"));
        }
        Ok(CallWords { source, function, pairs })
    }

    /// The arguments of `--args`.
    fn given(&self) -> Result<Option<String>, Failure> {
        match self.args.as_deref() {
            None => Ok(None),
            Some("-") => {
                let mut text = String::new();
                let read = std::io::stdin().lock().read_to_string(&mut text);
                read.map_err(|source| Failure::Read { name: "<stdin>".to_owned(), source })?;
                Ok(Some(text))
            }
            Some(text) => Ok(Some(text.to_owned())),
        }
    }
}
