//! The lists of tools that providers and protocols take.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::dialect::{Adapted, Dialect};
use super::dropped::Dropped;
use super::error::NormaliseError;
use super::import::SchemaTool;
use super::normalise::normalise_output;
use crate::model::OpenTool;

/// The provider or protocol that a list of tools is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// `tools` of OpenAI's chat completions.
    OpenAi,
    /// `tools` of OpenAI's chat completions, strict wherever that is possible.
    OpenAiStrict,
    /// `tools` of Anthropic's messages.
    Anthropic,
    /// `tools` of the result of MCP's `tools/list`.
    Mcp,
    /// By name, the description, the schema of the input and that of the output.
    JsonSchema,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 5] =
        [Target::OpenAi, Target::OpenAiStrict, Target::Anthropic, Target::Mcp, Target::JsonSchema];

    /// The target's name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Target::OpenAi => "openai",
            Target::OpenAiStrict => "openai-strict",
            Target::Anthropic => "anthropic",
            Target::Mcp => "mcp",
            Target::JsonSchema => "json-schema",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no [`Target`] has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown target {0:?}; it is one of openai, openai-strict, anthropic, mcp, json-schema")]
pub struct UnknownTarget(String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Target::ALL.into_iter().find(|target| target.as_str() == name).ok_or_else(|| UnknownTarget(name.to_owned()))
    }
}

/// A list of tools as a target takes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolList {
    /// The JSON to send: an array, or for [`Target::JsonSchema`] an object.
    pub tools: Value,
    /// What was dropped for the target, for each tool where something was.
    pub reports: Vec<ToolReport>,
}

/// What was dropped of one tool for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolReport {
    /// The tool's name.
    pub name: String,
    /// The keywords that were dropped, with pointers into the tool's schema.
    pub dropped: Vec<Dropped>,
    /// Why the tool could not be made strict, with pointers into the tool's schema.
    pub obstacles: Vec<Dropped>,
}

/// A function whose schemas cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("function {function:?} cannot be converted: {source}")]
#[non_exhaustive]
pub struct ToolListError {
    /// The function's name.
    pub function: String,
    /// What is wrong with it.
    pub source: NormaliseError,
}

/// Writes the list of tools that `target` takes, from tools whose schemas are normalised.
///
/// ```
/// use opentool_spec::schema::{SchemaTool, Target, normalise, tool_list};
///
/// let mut input = serde_json::json!({});
/// normalise(&mut input)?;
/// let list = tool_list([SchemaTool::new("now", "Tell the time.", &input)], Target::Anthropic);
/// assert_eq!(
///     list.tools.to_string(),
///     r#"[{"name":"now","description":"Tell the time.","input_schema":{"type":"object","properties":{},"required":[],"additionalProperties":false}}]"#,
/// );
/// # Ok::<(), opentool_spec::schema::NormaliseError>(())
/// ```
pub fn tool_list<'a>(tools: impl IntoIterator<Item = SchemaTool<'a>>, target: Target) -> ToolList {
    let mut reports = Vec::new();
    let mut adapt = |tool: &SchemaTool<'a>, dialect: Dialect| {
        let Adapted { schema, strict, dropped, obstacles } = dialect.adapt(tool.input);
        if !dropped.is_empty() || !obstacles.is_empty() {
            reports.push(ToolReport { name: tool.name.to_owned(), dropped, obstacles });
        }
        (schema, strict)
    };
    let tools = tools.into_iter();
    let tools = match target {
        Target::OpenAi => tools
            .map(|tool| {
                let (parameters, _) = adapt(&tool, Dialect::OpenAi);
                let function = json!({ "name": tool.name, "description": tool.description, "parameters": parameters });
                json!({ "type": "function", "function": function })
            })
            .collect(),
        Target::OpenAiStrict => tools
            .map(|tool| {
                let (parameters, strict) = adapt(&tool, Dialect::OpenAiStrict);
                let function = json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters,
                    "strict": strict,
                });
                json!({ "type": "function", "function": function })
            })
            .collect(),
        Target::Anthropic => tools
            .map(|tool| {
                let (input_schema, _) = adapt(&tool, Dialect::Anthropic);
                json!({ "name": tool.name, "description": tool.description, "input_schema": input_schema })
            })
            .collect(),
        Target::Mcp => tools.map(|tool| mcp_tool(&tool)).collect(),
        Target::JsonSchema => tools.map(|tool| (tool.name.to_owned(), described(&tool))).collect::<Map<_, _>>().into(),
    };
    ToolList { tools, reports }
}

/// Writes the list of tools that `target` takes, from the functions of a document.
///
/// # Errors
///
/// [`ToolListError`] for the first function whose schemas cannot be written.
pub fn document_tool_list(document: &OpenTool, target: Target) -> Result<ToolList, ToolListError> {
    let written = document
        .functions
        .iter()
        .map(|function| {
            let failed = |source| ToolListError { function: function.name.clone(), source };
            let input = document.input_schema(function).map_err(failed)?;
            let output = document.output_schema(function).map_err(failed)?;
            Ok((function, input, output))
        })
        .collect::<Result<Vec<_>, ToolListError>>()?;
    let tools = written.iter().map(|(function, input, output)| SchemaTool {
        name: &function.name,
        description: &function.description,
        input,
        output: function.returns.as_ref().zip(output.as_ref()).map(|(returns, output)| (returns.name.as_str(), output)),
    });
    Ok(tool_list(tools, target))
}

fn mcp_tool(tool: &SchemaTool<'_>) -> Value {
    let mut written = json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input });
    if let Some((name, output)) = tool.output
        && let Some(output) = as_object(name, output)
    {
        written["outputSchema"] = output;
    }
    written
}

/// MCP's structured results are objects: any other value is wrapped under the result's name, as on the wire.
fn as_object(name: &str, output: &Value) -> Option<Value> {
    if output.get("type").is_some_and(|kind| kind == "object") {
        return Some(output.clone());
    }
    let mut wrapped = json!({ "type": "object", "properties": { name: output }, "required": [name] });
    normalise_output(&mut wrapped).ok()?;
    Some(wrapped)
}

fn described(tool: &SchemaTool<'_>) -> Value {
    let mut written = json!({ "description": tool.description, "input": tool.input });
    if let Some((_, output)) = tool.output {
        written["output"] = output.clone();
    }
    written
}
