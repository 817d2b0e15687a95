//! What counts as a secret: [`Redaction`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use opentool_core::ToolDefinition;
use serde_json::Value;

use super::schema::{ToolSchemas, has_secrets};
use super::scrub::Secrets;
use crate::json_text::{Layer, layer};

/// What is taken out of a record before it is written and before anything in it is hashed.
///
/// Always that is every argument, and every member of a JSON result, whose schema says `writeOnly: true` or `format: password`; beside
/// them the members that are [named](Self::name) here, in any JSON of the record and whatever their case, and the
/// [texts](Self::value) that are given here. What was found that way is taken out of every other text as well: a password in the arguments
/// of a call is often in what the user said, too.
///
/// A text becomes `[redacted]`, a number 0 or the least that its schema allows, so that the arguments still fit their schema.
///
/// ```
/// use opentool_journal::Redaction;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"user": {"type": "string"}, "key": {"type": "string", "format": "password"}}});
/// let redaction = Redaction::new().name("pin").tool("login", &schema);
/// let arguments = redaction.arguments("login", r#"{"user":"ann","key":"hunter2","pin":1234}"#);
/// assert_eq!(arguments, r#"{"user":"ann","key":"[redacted]","pin":0}"#);
/// ```
#[derive(Clone, Default)]
#[must_use = "a redaction is given to what writes or reads a record"]
pub struct Redaction {
    /// In lower case.
    names: BTreeSet<String>,
    values: BTreeSet<String>,
    tools: BTreeMap<String, Arc<ToolSchemas>>,
}

impl Redaction {
    /// Starts with what schemas say.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the name of a member whose value is taken out wherever it stands, whatever its case.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.names.insert(name.as_ref().to_lowercase());
        self
    }

    /// Adds names of members.
    pub fn names<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Self {
        names.into_iter().fold(self, Self::name)
    }

    /// Adds a text that is taken out of every other text, for instance a key from the environment. An empty one counts for nothing.
    pub fn value(mut self, secret: impl Into<String>) -> Self {
        let secret = secret.into();
        if !secret.is_empty() {
            self.values.insert(secret);
        }
        self
    }

    /// Adds the schema of the arguments of a tool.
    pub fn tool(self, name: impl Into<String>, input_schema: &Value) -> Self {
        self.with_schemas(name.into(), input_schema.clone(), None)
    }

    /// Adds the schemas of a tool.
    pub fn definition(self, definition: &ToolDefinition) -> Self {
        let output = definition.output_schema().cloned();
        self.with_schemas(definition.name().to_owned(), definition.input_schema().clone(), output)
    }

    pub(super) fn with_schemas(mut self, name: String, input: Value, output: Option<Value>) -> Self {
        // Most tools have no secrets: nothing is kept of them.
        if has_secrets(&input) || output.as_ref().is_some_and(has_secrets) {
            self.tools.insert(name, Arc::new(ToolSchemas { input, output }));
        }
        self
    }

    pub(super) fn is_secret_name(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains(&name.to_lowercase())
    }

    pub(super) fn schemas(&self, tool: &str) -> Option<&ToolSchemas> {
        self.tools.get(tool).map(|schemas| &**schemas)
    }

    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.values.iter().cloned())
    }

    /// Says whether a text that cannot be read may hold a secret of a tool.
    pub(super) fn may_hold_secret(&self, tool: &str, text: &str) -> bool {
        let text = text.to_lowercase();
        self.tools.contains_key(tool) || self.names.iter().any(|name| text.contains(&**name))
    }

    /// Adds the schemas of the tools that a JSON text describes: objects with `name` and `input_schema`.
    pub(super) fn with_tools_of(mut self, json: &str) -> Self {
        let mut found = Vec::new();
        find_tools(json, crate::json_text::MAX_LAYERS, &mut found);
        for (name, input, output) in found {
            self = self.with_schemas(name, input, output);
        }
        self
    }
}

fn find_tools(json: &str, depth: usize, found: &mut Vec<(String, Value, Option<Value>)>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match layer(json) {
        Some(Layer::Object(members)) => {
            let member = |name: &str| members.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
            if let (Some(name), Some(input)) = (member("name"), member("input_schema")) {
                if let (Ok(name), Ok(input)) = (serde_json::from_str(name), serde_json::from_str(input)) {
                    let output = member("output_schema").and_then(|schema| serde_json::from_str(schema).ok());
                    found.push((name, input, output));
                }
                return;
            }
            members.iter().for_each(|(_, value)| find_tools(value, depth, found));
        }
        Some(Layer::Array(items)) => items.iter().for_each(|item| find_tools(item, depth, found)),
        _ => {}
    }
}

/// Secrets are not shown.
impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redaction")
            .field("names", &self.names)
            .field("values", &self.values.len())
            .field("tools", &self.tools.keys().collect::<Vec<_>>())
            .finish()
    }
}
