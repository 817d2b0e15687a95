//! `opentool call`: call a function and print its result.

use std::{error::Error, io::Read as _};

use clap::Args;
use opentool::{Executor, Part, ToolError, ToolOutput};
use opentool_client::ClientError;
use serde_json::json;

use super::{Verdict, access::Access, wait};
use crate::{
    arguments,
    failure::Failure,
    json_text::indented,
    libraries::LibraryOptions,
    source::Source,
    terminal::{complain, visible, visible_json, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool call demo add a=1 b=2              A tool that comes with this program
  opentool call http://127.0.0.1:9627 add a=1 b=2
  opentool call libm.opendyn.json cos x=0 --library libm.so.6    A function of a C library
  opentool call http://127.0.0.1:9627 add --args '{\"a\": 1, \"b\": 2}'
  echo '{\"text\": \"…\"}' | opentool call demo text_statistics --args -

A value is typed by the function's schema: text needs no quotes, a list is `tag=a tag=b` or a JSON array.
Standard output: the result as JSON; null where there is none. Standard error: why there is none.

Exit codes: 0 there is a result; 1 the tool answered with an error; 2 wrong usage; 3 no server can be reached;
4 it refused the API key.";

/// Call a function and print its result as JSON
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Call {
    /// The base URL of a server, a document that names one or describes a C library, or `demo`
    source: String,
    /// The name of the function
    function: String,
    /// The arguments, typed by the function's schema
    #[arg(value_name = "NAME=VALUE", conflicts_with = "args")]
    pairs: Vec<String>,
    /// The arguments as a JSON object, or `-` for standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    libraries: LibraryOptions,
}

impl Call {
    pub(super) fn run(&self) -> Result<Verdict, Failure> {
        let source = Source::open_with(&self.source, &self.libraries)?;
        let key = self.access.key();
        let given = self.given()?;
        let answer = wait(async {
            let (toolbox, _) = source.attach(key.as_deref(), |client| client).await?;
            let arguments = match given {
                Some(arguments) => arguments,
                None => arguments::of_pairs(toolbox.get(&self.function).map(|tool| tool.definition()), &self.pairs)?,
            };
            Ok(Executor::new().host(toolbox).call(&self.function, arguments).await)
        })?;
        match answer {
            Ok(output) => {
                let text = format!("{}\n", indented(&as_json(&output)));
                write_data(&visible_json(&text)).map_err(Failure::output)?;
                Ok(Verdict::Clean)
            }
            Err(error) => match of_client(&error) {
                Some(error) if !matches!(error, ClientError::Call { .. }) => Err(Failure::client(error.clone())),
                _ => {
                    complain(&visible(error.message()));
                    Ok(Verdict::Faulty)
                }
            },
        }
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

/// What went wrong between us and a server, if that is why a call failed.
pub(super) fn of_client(error: &ToolError) -> Option<&ClientError> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        cause = error.source();
    }
    None
}

pub(super) fn as_json(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Json(json) => json.get().to_owned(),
        ToolOutput::Text(text) => json!(text).to_string(),
        ToolOutput::Parts(parts) => parts_as_json(parts),
        ToolOutput::Rich(rich) => match &rich.structured {
            Some(json) => json.get().to_owned(),
            None => parts_as_json(&rich.parts),
        },
        _ => "null".to_owned(),
    }
}

fn parts_as_json(parts: &[Part]) -> String {
    json!(parts).to_string()
}
