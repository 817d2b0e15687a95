//! Documents of other formats: recognised by their shape, and left alone.

use crate::tree::{Kind, NodeId, Tree};

/// A format that is none of OpenTool, OpenDyn and OpenWorkflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ForeignFormat {
    /// OpenAPI 3.
    OpenApi,
    /// Swagger, OpenAPI 2.
    Swagger,
    /// OpenRPC.
    OpenRpc,
    /// AsyncAPI.
    AsyncApi,
    /// OpenModbus.
    OpenModbus,
    /// The configuration of an MCP client, which names servers.
    McpConfiguration,
    /// The result of MCP's `tools/list`.
    McpTools,
    /// A list of tools for OpenAI, Ollama, and the many that take the same.
    OpenAiTools,
    /// A list of tools for Anthropic.
    AnthropicTools,
    /// A list of tools for Gemini.
    GeminiTools,
    /// A JSON Schema.
    JsonSchema,
}

/// The keys by which documents of ours name their spec.
pub(super) const OWN_KEYS: [&str; 3] = ["opentool", "opendyn", "openworkflow"];

/// Formats that a key of the root names.
const NAMED: [(&str, ForeignFormat); 5] = [
    ("openapi", ForeignFormat::OpenApi),
    ("swagger", ForeignFormat::Swagger),
    ("openrpc", ForeignFormat::OpenRpc),
    ("asyncapi", ForeignFormat::AsyncApi),
    ("openmodbus", ForeignFormat::OpenModbus),
];

impl ForeignFormat {
    /// What a document of this format is, with its article.
    pub const fn described(self) -> &'static str {
        match self {
            ForeignFormat::OpenApi => "an OpenAPI document",
            ForeignFormat::Swagger => "a Swagger document",
            ForeignFormat::OpenRpc => "an OpenRPC document",
            ForeignFormat::AsyncApi => "an AsyncAPI document",
            ForeignFormat::OpenModbus => "an OpenModbus document",
            ForeignFormat::McpConfiguration => "the configuration of an MCP client",
            ForeignFormat::McpTools => "a list of MCP tools",
            ForeignFormat::OpenAiTools => "a list of tools for OpenAI or Ollama",
            ForeignFormat::AnthropicTools => "a list of tools for Anthropic",
            ForeignFormat::GeminiTools => "a list of tools for Gemini",
            ForeignFormat::JsonSchema => "a JSON Schema",
        }
    }

    /// Whether `opentool import` makes a document of it.
    pub const fn is_importable(self) -> bool {
        matches!(
            self,
            ForeignFormat::McpTools
                | ForeignFormat::OpenAiTools
                | ForeignFormat::AnthropicTools
                | ForeignFormat::GeminiTools
                | ForeignFormat::JsonSchema
        )
    }

    /// What to do with it.
    pub(super) const fn help(self) -> &'static str {
        match self {
            ForeignFormat::McpConfiguration => {
                "it names servers and describes no functions, so there is nothing to check"
            }
            format if format.is_importable() => "`opentool import FILE` makes an OpenTool document of it",
            _ => "it stays as it is; describe the functions that a model may call in an OpenTool document of their own",
        }
    }
}

/// The other format that a document follows; none where it may be meant to be one of ours.
pub(super) fn foreign_format(tree: &Tree<'_>) -> Option<ForeignFormat> {
    let root =
        tree.get(Tree::ROOT, "result").filter(|_| tree.get(Tree::ROOT, "jsonrpc").is_some()).unwrap_or(Tree::ROOT);
    if OWN_KEYS.iter().any(|key| tree.get(root, key).is_some()) {
        return None;
    }
    match tree.kind(root) {
        Kind::Array => list_format(tree, root),
        Kind::Object => object_format(tree, root),
        _ => None,
    }
}

/// The format of a text that is not JSON but YAML, which many of the others are written in; and the key that says so.
pub(super) fn yaml_key(text: &str) -> Option<(&'static str, Option<ForeignFormat>)> {
    const LINES: usize = 50;
    let key = |line: &str| {
        let key = line.split_once(':')?.0.trim_matches(['"', '\'']);
        let ours = OWN_KEYS.into_iter().find(|own| *own == key).map(|own| (own, None));
        ours.or_else(|| NAMED.into_iter().find(|(name, _)| *name == key).map(|(name, format)| (name, Some(format))))
    };
    text.lines().take(LINES).find_map(key)
}

fn object_format(tree: &Tree<'_>, root: NodeId) -> Option<ForeignFormat> {
    let has = |key: &str, kind: Kind| tree.get(root, key).is_some_and(|member| tree.kind(member) == kind);
    let scalar = |key: &str| tree.get(root, key).is_some_and(|member| !tree.kind(member).is_container());
    if let Some((_, format)) = NAMED.into_iter().find(|(key, _)| scalar(key)) {
        return Some(format);
    }
    if is_client_configuration(tree, root) {
        return Some(ForeignFormat::McpConfiguration);
    }
    if has("functionDeclarations", Kind::Array) || has("function_declarations", Kind::Array) {
        return Some(ForeignFormat::GeminiTools);
    }
    if let Some(tools) = tree.get(root, "tools").filter(|tools| tree.kind(*tools) == Kind::Array)
        && let Some(format) = list_format(tree, tools)
    {
        return Some(format);
    }
    if let Some(format) = tool_format(tree, root) {
        return Some(format);
    }
    // The older form of a request to OpenAI.
    if has("functions", Kind::Array) && (has("messages", Kind::Array) || has("model", Kind::String)) {
        return Some(ForeignFormat::OpenAiTools);
    }
    let ours = ["functions", "info"].iter().any(|key| tree.get(root, key).is_some());
    (!ours && is_json_schema(tree, root)).then_some(ForeignFormat::JsonSchema)
}

fn list_format(tree: &Tree<'_>, list: NodeId) -> Option<ForeignFormat> {
    tree.children(list).find_map(|tool| tool_format(tree, tool)).or_else(|| {
        let mut schemas = tree.children(list).peekable();
        (schemas.peek().is_some() && schemas.all(|schema| is_json_schema(tree, schema)))
            .then_some(ForeignFormat::JsonSchema)
    })
}

/// The format of one tool in a list.
fn tool_format(tree: &Tree<'_>, tool: NodeId) -> Option<ForeignFormat> {
    let is = |key: &str, kind: Kind| tree.get(tool, key).is_some_and(|member| tree.kind(member) == kind);
    let kind = tree.get(tool, "type").and_then(|kind| tree.string(kind));
    if is("functionDeclarations", Kind::Array) || is("function_declarations", Kind::Array) {
        Some(ForeignFormat::GeminiTools)
    } else if kind.as_deref() == Some("function") && (is("function", Kind::Object) || is("name", Kind::String)) {
        Some(ForeignFormat::OpenAiTools)
    } else if !is("name", Kind::String) {
        None
    } else if is("input_schema", Kind::Object) {
        Some(ForeignFormat::AnthropicTools)
    } else if is("inputSchema", Kind::Object) {
        Some(ForeignFormat::McpTools)
    } else {
        let parameters = tree.get(tool, "parameters");
        let upper = parameters.and_then(|parameters| tree.string(tree.get(parameters, "type")?));
        match upper.as_deref() {
            Some("OBJECT") => Some(ForeignFormat::GeminiTools),
            Some("object") => Some(ForeignFormat::OpenAiTools),
            _ => None,
        }
    }
}

/// Whether an object is what MCP clients keep their servers in.
fn is_client_configuration(tree: &Tree<'_>, root: NodeId) -> bool {
    let is_server =
        |server: NodeId| ["command", "url", "serverUrl", "httpUrl"].iter().any(|key| tree.get(server, key).is_some());
    let holds_servers = |servers: NodeId| {
        let mut servers = tree.children(servers).peekable();
        servers.peek().is_some() && servers.all(is_server)
    };
    let named = ["mcpServers", "mcp_servers", "context_servers"];
    let is_object = |node: &NodeId| tree.kind(*node) == Kind::Object;
    if named.iter().any(|key| tree.get(root, key).filter(is_object).is_some()) {
        return true;
    }
    let nested = tree.get(root, "mcp").and_then(|mcp| tree.get(mcp, "servers"));
    let own = tree.get(root, "servers").filter(|_| tree.get(root, "functions").is_none());
    nested.into_iter().chain(own).filter(is_object).any(holds_servers)
}

fn is_json_schema(tree: &Tree<'_>, node: NodeId) -> bool {
    const TYPES: [&str; 7] = ["boolean", "integer", "number", "string", "array", "object", "null"];
    let is = |key: &str, kind: Kind| tree.get(node, key).is_some_and(|member| tree.kind(member) == kind);
    let names = |key: &str, holds: fn(&str) -> bool| {
        tree.get(node, key).and_then(|member| tree.string(member)).is_some_and(|text| holds(&text))
    };
    let typed = names("type", |name| TYPES.contains(&name));
    let described = is("properties", Kind::Object)
        || is("items", Kind::Object)
        || is("enum", Kind::Array)
        || is("required", Kind::Array)
        || ["allOf", "anyOf", "oneOf"].iter().any(|key| is(key, Kind::Array));
    let declared = names("$schema", |uri| uri.contains("json-schema.org"));
    declared
        || (typed && described)
        || (is("properties", Kind::Object) && is("required", Kind::Array))
        || ((is("$defs", Kind::Object) || is("definitions", Kind::Object))
            && (typed || described || names("$ref", |_| true)))
}
