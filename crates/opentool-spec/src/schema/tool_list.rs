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
    /// `tools` of Gemini's `generateContent`.
    Gemini,
    /// `tools` of Ollama's chat.
    Ollama,
    /// `tools` of the result of MCP's `tools/list`.
    Mcp,
    /// By name, the description, the schema of the input and that of the output.
    JsonSchema,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 7] = [
        Target::OpenAi,
        Target::OpenAiStrict,
        Target::Anthropic,
        Target::Gemini,
        Target::Ollama,
        Target::Mcp,
        Target::JsonSchema,
    ];

    /// The target's name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Target::OpenAi => "openai",
            Target::OpenAiStrict => "openai-strict",
            Target::Anthropic => "anthropic",
            Target::Gemini => "gemini",
            Target::Ollama => "ollama",
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
#[error("unknown target {0:?}; it is one of openai, openai-strict, anthropic, gemini, ollama, mcp, json-schema")]
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

/// A function that cannot be written for a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("function {function:?} cannot be converted: {reason}")]
#[non_exhaustive]
pub struct ToolListError {
    /// The function's name.
    pub function: String,
    /// What is wrong with it.
    #[source]
    pub reason: ToolListFault,
}

/// Why a function cannot be written for a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ToolListFault {
    /// Its schemas cannot be written.
    #[error(transparent)]
    Schema(#[from] NormaliseError),
    /// The target refuses the name of the function.
    #[error("{target} takes only names that {rule}")]
    FunctionName {
        /// Who refuses it.
        target: Target,
        /// The rule.
        rule: &'static str,
    },
    /// The target refuses the name of a parameter.
    #[error("{target} refuses the parameter {parameter:?}: it takes only names that {rule}")]
    ParameterName {
        /// Who refuses it.
        target: Target,
        /// The name.
        parameter: String,
        /// The rule.
        rule: &'static str,
    },
}

impl Target {
    /// The rule that a name must keep for this target, beyond that of the spec; and whether this one keeps it.
    fn refuses_function(self, name: &str) -> Option<ToolListFault> {
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let rule = "begin with a letter or `_`";
        (self == Target::Gemini && !begins).then_some(ToolListFault::FunctionName { target: self, rule })
    }

    fn refuses_parameter(self, name: &str) -> Option<ToolListFault> {
        let of = |allowed: fn(char) -> bool| (1..=64).contains(&name.len()) && name.chars().all(allowed);
        let (fits, rule) = match self {
            Target::Anthropic => (
                of(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.')),
                "have 1 to 64 of a-z, A-Z, 0-9, `_`, `-` and `.`",
            ),
            _ => return None,
        };
        (!fits).then(|| ToolListFault::ParameterName { target: self, parameter: name.to_owned(), rule })
    }
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
        Target::Gemini => {
            let declarations: Vec<Value> =
                tools.map(|tool| gemini_tool(&tool, adapt(&tool, Dialect::Gemini).0)).collect();
            json!([{ "functionDeclarations": declarations }])
        }
        Target::OpenAi | Target::Ollama => tools
            .map(|tool| {
                let dialect = if target == Target::Ollama { Dialect::Ollama } else { Dialect::OpenAi };
                let (parameters, _) = adapt(&tool, dialect);
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
    let mut losses = Vec::new();
    let mut written = Vec::with_capacity(document.functions.len());
    for function in &document.functions {
        let failed = |reason| ToolListError { function: function.name.clone(), reason };
        let refused = function.parameters.iter().find_map(|parameter| target.refuses_parameter(&parameter.name));
        if let Some(fault) = target.refuses_function(&function.name).or(refused) {
            return Err(failed(fault));
        }
        let (input, mut lost) = document.input_schema_and_losses(function).map_err(|error| failed(error.into()))?;
        let output = document.output_schema_and_losses(function).map_err(|error| failed(error.into()))?;
        let (output, lost_of_output) = output.map_or((None, Vec::new()), |(output, lost)| (Some(output), lost));
        if matches!(target, Target::Gemini | Target::Mcp | Target::JsonSchema) {
            lost.extend(lost_of_output);
        }
        losses.push(lost);
        written.push((function, input, output));
    }
    let tools = written.iter().map(|(function, input, output)| SchemaTool {
        name: &function.name,
        description: &function.description,
        input,
        output: function.returns.as_ref().zip(output.as_ref()).map(|(returns, output)| (returns.name.as_str(), output)),
    });
    let mut list = tool_list(tools, target);
    add_losses(&mut list.reports, document, losses);
    Ok(list)
}

/// Adds what was lost on the way from the document to JSON Schema to what the target cannot express.
fn add_losses(reports: &mut Vec<ToolReport>, document: &OpenTool, losses: Vec<Vec<Dropped>>) {
    let mut of_target = std::mem::take(reports).into_iter().peekable();
    for (function, mut dropped) in document.functions.iter().zip(losses) {
        let own = of_target.next_if(|report| report.name == function.name);
        let (more, obstacles) = own.map(|own| (own.dropped, own.obstacles)).unwrap_or_default();
        dropped.extend(more);
        if !dropped.is_empty() || !obstacles.is_empty() {
            reports.push(ToolReport { name: function.name.clone(), dropped, obstacles });
        }
    }
}

fn gemini_tool(tool: &SchemaTool<'_>, parameters: Value) -> Value {
    let mut written = json!({ "name": tool.name, "description": tool.description });
    // A function without parameters leaves them out.
    if parameters.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty()) {
        written["parametersJsonSchema"] = parameters;
    }
    if let Some((_, output)) = tool.output {
        written["responseJsonSchema"] = Dialect::Gemini.adapt(output).schema;
    }
    written
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
