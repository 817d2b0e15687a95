//! From lists of tools that providers and protocols take, and from bare JSON Schemas, to a document.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::dropped::Dropped;
use super::error::NormaliseError;
use super::import::{SchemaTool, functions_from_schemas};
use super::keyword;
use super::losses::Losses;
use super::normalise::{normalise, normalise_output};
use super::tool_list::ToolReport;
use crate::check::{Code, ForeignFormat, check, is_valid_name};
use crate::json::pointer;
use crate::model::{Info, OpenTool};

/// What a result is called where nothing names it.
const RESULT: &str = "result";
/// The key under which a function carries the title of its tool.
const TITLE: &str = "x-title";

/// A document made of tools of another format.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportedTools {
    /// The document.
    pub document: OpenTool,
    /// What the tools were.
    pub format: ForeignFormat,
    /// What was lost, for each tool where something was; pointers are those of the document or of the tool's schema.
    pub reports: Vec<ToolReport>,
    /// The tools whose schemas cannot be used, which the document does not have.
    pub refused: Vec<RefusedTool>,
}

/// A tool whose schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the tool {name:?} is left out: {source}")]
#[non_exhaustive]
pub struct RefusedTool {
    /// The name of the tool.
    pub name: String,
    /// What is wrong with its schema.
    pub source: NormaliseError,
}

/// Why no document could be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not JSON.
    #[error("it is not JSON: {reason}")]
    NotJson {
        /// Where and why.
        reason: String,
    },
    /// The text is a document already.
    #[error("it is an OpenTool or OpenDyn document already")]
    Document,
    /// The text is of another format, which describes no tools that could be taken over.
    #[error("it is {}, which cannot be imported", .0.described())]
    Format(ForeignFormat),
    /// The text is nothing that is known.
    #[error("it is no list of tools of OpenAI, Anthropic, Gemini, Ollama or MCP, and no JSON Schema")]
    Unknown,
    /// The tools refer to each other's schemas in a way that cannot be followed.
    #[error(transparent)]
    Schema(#[from] NormaliseError),
}

/// Makes a document of a list of tools (OpenAI, Anthropic, Gemini, Ollama, MCP's `tools/list`), a request that has one, or JSON
/// Schemas; `name` is that of a function whose schema has no title.
///
/// ```
/// use opentool_spec::{Info, schema::import_tools};
///
/// let list = r#"[{"name": "weather", "description": "Tell the weather.", "input_schema":
///     {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]"#;
/// let imported = import_tools(list, Info::new("Weather", "1.0.0"), "weather")?;
/// assert_eq!(imported.document.functions[0].parameters[0].name, "city");
/// # Ok::<(), opentool_spec::schema::ImportError>(())
/// ```
///
/// # Errors
///
/// Where the text is nothing of the kind. A tool whose schema cannot be used is left out.
pub fn import_tools(text: &str, info: Info, name: &str) -> Result<ImportedTools, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let report = check(text);
    let root: Value = serde_json::from_str(text).map_err(|error| match report.foreign {
        Some(format) if !format.is_importable() => ImportError::Format(format),
        _ => ImportError::NotJson { reason: error.to_string() },
    })?;
    let format = match report.foreign {
        Some(format) if format.is_importable() => format,
        Some(format) => return Err(ImportError::Format(format)),
        None if is_by_name(&root) => ForeignFormat::JsonSchema,
        None if ["opentool", "opendyn"].iter().any(|key| root.get(key).is_some()) => return Err(ImportError::Document),
        None => return Err(ImportError::Unknown),
    };
    let mut found = Found { tools: Vec::new(), names: HashSet::new(), fallback: name, left_out: Vec::new() };
    found.read(root, format);
    found.into_document(info, format)
}

/// Whether a value is what `convert --to json-schema` writes.
fn is_by_name(root: &Value) -> bool {
    let is_tool = |tool: &Value| tool.get("input").is_some_and(Value::is_object);
    root.as_object().is_some_and(|root| !root.is_empty() && root.values().all(is_tool))
}

/// A tool of the list.
struct ForeignTool {
    name: String,
    title: Option<String>,
    description: String,
    input: Value,
    output: Option<Value>,
    dropped: Vec<Dropped>,
}

struct Found<'n> {
    tools: Vec<ForeignTool>,
    names: HashSet<String>,
    fallback: &'n str,
    /// Entries of the list that describe no function.
    left_out: Vec<ToolReport>,
}

impl Found<'_> {
    fn read(&mut self, mut root: Value, format: ForeignFormat) {
        if root.get("jsonrpc").is_some()
            && let Some(result) = take_member(&mut root, &["result"])
        {
            root = result;
        }
        if format == ForeignFormat::JsonSchema {
            return self.schemas(root);
        }
        let listed = ["tools", "functions", "functionDeclarations", "function_declarations"];
        match take_member(&mut root, &listed).unwrap_or(root) {
            Value::Array(tools) => tools.into_iter().for_each(|tool| self.tool(tool)),
            tool => self.tool(tool),
        }
    }

    /// One schema, a list of schemas, or schemas of input and output by name.
    fn schemas(&mut self, root: Value) {
        match root {
            Value::Array(schemas) => schemas.into_iter().for_each(|schema| self.schema(schema)),
            Value::Object(tools) if is_by_name(&Value::Object(tools.clone())) => {
                for (name, mut tool) in tools {
                    let description = text(tool.get("description"));
                    let input = tool.get_mut("input").map(Value::take).unwrap_or_default();
                    let output = tool.get_mut("output").map(Value::take);
                    self.add(&name, None, description, input, output, Vec::new());
                }
            }
            schema => self.schema(schema),
        }
    }

    fn schema(&mut self, schema: Value) {
        let title = schema.get("title").and_then(Value::as_str).map(str::to_owned);
        let name = title.clone().unwrap_or_else(|| self.fallback.to_owned());
        let description = text(schema.get("description"));
        let mut dropped = Vec::new();
        let input = match schema.get("type").and_then(Value::as_str) {
            None | Some("object") => schema,
            Some(kind) => {
                let reason = format!("a function takes an object; this {kind} is its parameter `value`");
                dropped.push(Dropped { pointer: String::new(), keyword: "type".to_owned(), reason });
                as_parameter(schema)
            }
        };
        self.add(&name, None, description, input, None, dropped);
    }

    fn tool(&mut self, mut tool: Value) {
        let declarations = ["functionDeclarations", "function_declarations"];
        if let Some(Value::Array(inner)) = take_member(&mut tool, &declarations) {
            return inner.into_iter().for_each(|tool| self.tool(tool));
        }
        let mut outer = Map::new();
        if let Some(function @ Value::Object(_)) = take_member(&mut tool, &["function"])
            && let Value::Object(rest) = std::mem::replace(&mut tool, function)
        {
            outer = rest;
        }
        let Value::Object(mut tool) = tool else { return };
        let kind = text(tool.get("type").or_else(|| outer.get("type")));
        let inputs = ["input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "parameters"];
        let input = inputs.iter().find_map(|key| tool.shift_remove(*key));
        let outputs = ["outputSchema", "responseJsonSchema", "response_json_schema", "response"];
        let output = outputs.iter().find_map(|key| tool.shift_remove(*key)).filter(Value::is_object);
        let name = text(tool.shift_remove("name").as_ref());
        if name.is_empty() || (input.is_none() && !matches!(kind.as_str(), "" | "function" | "custom")) {
            let what = if name.is_empty() { kind.clone() } else { name };
            let reason = "the provider runs it itself, so that there is no function to describe".to_owned();
            let dropped = Dropped { pointer: String::new(), keyword: "type".to_owned(), reason };
            self.left_out.push(ToolReport { name: what, dropped: vec![dropped], obstacles: Vec::new() });
            return;
        }
        let title = tool.shift_remove("title").as_ref().and_then(Value::as_str).map(str::to_owned);
        let description = text(tool.shift_remove("description").as_ref());
        let lost = tool.keys().chain(outer.keys()).filter(|key| !matches!(key.as_str(), "type" | "function"));
        let lost = lost.map(|key| Dropped {
            pointer: String::new(),
            keyword: key.clone(),
            reason: "a document has no place for it".to_owned(),
        });
        let dropped = lost.collect();
        self.add(&name, title, description, input.unwrap_or_else(|| json!({})), output, dropped);
    }

    fn add(
        &mut self,
        given: &str,
        title: Option<String>,
        description: String,
        mut input: Value,
        mut output: Option<Value>,
        mut dropped: Vec<Dropped>,
    ) {
        let name = self.free_name(given);
        if name != given {
            let reason = format!("{given:?} is not a name that a function may have; it becomes {name:?}");
            dropped.push(Dropped { pointer: String::new(), keyword: "name".to_owned(), reason });
        }
        lower_case_types(&mut input);
        output.as_mut().into_iter().for_each(lower_case_types);
        let of_input = text(input.get("description"));
        let description = match (description.trim().is_empty(), of_input.trim().is_empty()) {
            (false, _) => {
                if !of_input.is_empty() && of_input != description {
                    let reason = "that of the schema: the tool has its own".to_owned();
                    dropped.push(Dropped { pointer: String::new(), keyword: "description".to_owned(), reason });
                }
                description
            }
            (true, false) => of_input,
            (true, true) => title.clone().unwrap_or_else(|| name.clone()),
        };
        let mut losses = Losses::default();
        for schema in [Some(&input), output.as_ref()].into_iter().flatten() {
            losses.of_json(schema);
        }
        // An object without properties stays one in a document.
        dropped.extend(losses.into_dropped().into_iter().filter(|dropped| dropped.keyword != "properties"));
        self.tools.push(ForeignTool { name, title, description, input, output, dropped });
    }

    /// The nearest name that a function may have and that none has yet.
    fn free_name(&mut self, given: &str) -> String {
        const LONGEST: usize = 60;
        let mut name: String = given
            .trim()
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() || matches!(char, '-' | '_') { char } else { '_' })
            .collect();
        if !is_valid_name(&name) {
            name.truncate(LONGEST);
        }
        if !name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
            name = "function".to_owned();
        }
        let base: String = name.chars().take(LONGEST).collect();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }

    fn into_document(mut self, info: Info, format: ForeignFormat) -> Result<ImportedTools, ImportError> {
        let mut refused = Vec::new();
        self.tools.retain(|tool| {
            let output = tool.output.clone();
            let usable = normalise(&mut tool.input.clone())
                .and_then(|()| output.map_or(Ok(()), |mut output| normalise_output(&mut output)));
            match usable {
                Ok(()) => true,
                Err(source) => {
                    refused.push(RefusedTool { name: tool.name.clone(), source });
                    false
                }
            }
        });
        let tools = self.tools.iter().map(|tool| {
            let schema = SchemaTool::new(&tool.name, &tool.description, &tool.input);
            match &tool.output {
                Some(output) => schema.output(RESULT, output),
                None => schema,
            }
        });
        let mut imported = functions_from_schemas(tools)?;
        let mut dropped = std::mem::take(&mut imported.dropped);
        for (function, tool) in imported.functions.iter_mut().zip(&self.tools) {
            let title = tool.title.as_ref().filter(|title| **title != tool.name);
            function.extra.extend(title.map(|title| (TITLE.to_owned(), title.as_str().into())));
        }
        let document = without_faults(imported.into_document(info), &mut dropped);
        let mut reports: Vec<_> = self
            .tools
            .into_iter()
            .map(|tool| ToolReport { name: tool.name, dropped: tool.dropped, obstacles: Vec::new() })
            .collect();
        let mut shared = Vec::new();
        for dropped in dropped {
            let index =
                dropped.pointer.strip_prefix("/functions/").and_then(|rest| rest.split('/').next()?.parse().ok());
            match index.and_then(|index: usize| reports.get_mut(index)) {
                Some(report) => report.dropped.push(dropped),
                None => shared.push(dropped),
            }
        }
        if !shared.is_empty() {
            reports.push(ToolReport { name: "the schemas".to_owned(), dropped: shared, obstacles: Vec::new() });
        }
        reports.retain(|report| !report.dropped.is_empty());
        reports.extend(self.left_out);
        Ok(ImportedTools { document, format, reports, refused })
    }
}

/// A document without the keywords whose values cannot be used, which others may have carried along unseen.
fn without_faults(document: OpenTool, dropped: &mut Vec<Dropped>) -> OpenTool {
    let Ok(mut value) = serde_json::to_value(&document) else { return document };
    let mut changed = false;
    // What is inside a keyword that is taken out is not found again.
    for _ in 0..8 {
        let report = check(&value.to_string());
        let faults = [Code::InvalidKeyword, Code::InvalidPattern, Code::EmptyEnum, Code::EnumMismatch];
        let Some(finding) = report.findings.iter().find(|finding| faults.contains(&finding.code)) else { break };
        let faulty: Vec<_> = report.findings.iter().filter(|other| faults.contains(&other.code)).collect();
        let mut removed = HashSet::new();
        for finding in faulty.iter().rev() {
            // A value of an enum is taken out with the enum, and a pattern or a bound by itself.
            let path = finding.pointer.split("/enum/").next().unwrap_or(&finding.pointer);
            let Some((parent, key)) = path.rsplit_once('/') else { continue };
            if !removed.insert(path.to_owned()) {
                continue;
            }
            let key = pointer::unescape(key);
            if let Some(Value::Object(schema)) = value.pointer_mut(parent)
                && schema.shift_remove(&*key).is_some()
            {
                changed = true;
                dropped.push(Dropped {
                    pointer: parent.to_owned(),
                    keyword: key.into_owned(),
                    reason: finding.message.clone(),
                });
            }
        }
        if removed.is_empty() || finding.pointer.is_empty() {
            break;
        }
    }
    match serde_json::from_value(value) {
        Ok(cleaned) if changed => cleaned,
        _ => document,
    }
}

/// A schema of anything as that of an object with one parameter.
fn as_parameter(mut schema: Value) -> Value {
    let mut wrapper = json!({ "type": "object", "properties": {}, "required": ["value"] });
    for definitions in ["$defs", "definitions"] {
        if let Some(found) = schema.as_object_mut().and_then(|schema| schema.shift_remove(definitions)) {
            wrapper[definitions] = found;
        }
    }
    wrapper["properties"]["value"] = schema;
    wrapper
}

/// Gemini writes types in capital letters.
fn lower_case_types(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    if let Some(Value::String(kind)) = schema.get_mut("type") {
        let lower = kind.to_ascii_lowercase();
        if matches!(lower.as_str(), "string" | "number" | "integer" | "boolean" | "array" | "object" | "null") {
            *kind = lower;
        }
    }
    keyword::children_mut(schema, |_, child| lower_case_types(child));
}

/// Takes the first of these members out of an object.
fn take_member(object: &mut Value, keys: &[&str]) -> Option<Value> {
    let object = object.as_object_mut()?;
    keys.iter().find_map(|key| object.shift_remove(*key))
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
