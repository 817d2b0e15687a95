//! A tool as `tools/list` shows it: [`ToolEntry`].

use opentool_core::{Tool, ToolDefinition, ToolMetadata};
use opentool_spec::schema::{SchemaTool, Target, tool_list};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::content::RESULT;
use super::revision::Revision;

/// The extensions of a definition that MCP has a member for, under the same name.
const ICONS: &str = "icons";
const META: &str = "_meta";
const ANNOTATIONS: &str = "annotations";

/// A tool in a list.
pub(crate) struct ToolEntry<'a> {
    pub(crate) tool: &'a dyn Tool,
    /// Whether results are checked against the output schema, so that it can be published as a promise.
    pub(crate) is_checked: bool,
    pub(crate) revision: Revision,
}

impl Serialize for ToolEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let definition = self.tool.definition();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", definition.name())?;
        if let Some(title) = definition.title().filter(|_| self.revision.has_structured_content()) {
            map.serialize_entry("title", title)?;
        }
        map.serialize_entry("description", definition.description())?;
        map.serialize_entry("inputSchema", definition.input_schema())?;
        if let Some(schema) = self.output_schema(definition) {
            map.serialize_entry("outputSchema", &schema)?;
        }
        if let Some(annotations) = self.annotations(definition) {
            map.serialize_entry(ANNOTATIONS, &annotations)?;
        }
        if self.revision.has_structured_content() {
            if let Some(icons) = definition.extension(ICONS).filter(|icons| icons.is_array()) {
                map.serialize_entry(ICONS, icons)?;
            }
            if let Some(meta) = definition.extension(META).filter(|meta| meta.is_object()) {
                map.serialize_entry(META, meta)?;
            }
        }
        map.end()
    }
}

impl ToolEntry<'_> {
    fn output_schema(&self, definition: &ToolDefinition) -> Option<Value> {
        let schema =
            definition.output_schema().filter(|_| self.is_checked && self.revision.has_structured_content())?;
        if self.revision.has_structured_values() || is_object_schema(schema) {
            return Some(schema.clone());
        }
        let name = definition.output_name().unwrap_or(RESULT);
        let wrapped = SchemaTool::new(definition.name(), "", definition.input_schema()).output(name, schema);
        let mut listed = tool_list([wrapped], Target::Mcp).tools;
        listed.get_mut(0).map(|tool| tool["outputSchema"].take()).filter(|schema| !schema.is_null())
    }

    /// What is known about the tool's behaviour; what is not known is not written, since clients would take it for a no.
    fn annotations(&self, definition: &ToolDefinition) -> Option<Value> {
        if !self.revision.has_annotations() {
            return None;
        }
        let mut annotations = match definition.extension(ANNOTATIONS) {
            Some(Value::Object(given)) => given.clone(),
            _ => Map::new(),
        };
        for (hint, known) in hints(self.tool.metadata()) {
            if let Some(known) = known {
                annotations.insert(hint.to_owned(), known.into());
            }
        }
        (!annotations.is_empty()).then_some(Value::Object(annotations))
    }
}

fn hints(metadata: &ToolMetadata) -> [(&'static str, Option<bool>); 4] {
    [
        ("readOnlyHint", metadata.read_only()),
        ("destructiveHint", metadata.destructive()),
        ("idempotentHint", metadata.idempotent()),
        ("openWorldHint", metadata.open_world()),
    ]
}

/// Says whether every value of a schema is an object, so that it need not be wrapped for an older revision.
pub(crate) fn is_object_schema(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}
