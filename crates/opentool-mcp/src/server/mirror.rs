//! Arguments that a client repeats in headers, so that proxies can read them: [`MirroredParams`].

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use opentool_core::{ToolDefinition, Toolbox};
use serde_json::Value;

/// The keyword that names the header of a property.
const KEYWORD: &str = "x-mcp-header";

/// Which arguments of which tools are mirrored.
#[derive(Debug)]
pub(crate) struct MirroredParams {
    tools: HashMap<String, Vec<MirroredParam>>,
    /// The definitions that this was made of.
    definitions: Vec<ToolDefinition>,
}

/// An argument that is mirrored.
#[derive(Debug)]
pub(crate) struct MirroredParam {
    /// The header, in lower case.
    pub(crate) header: String,
    /// The names of the properties that lead to it.
    path: Vec<String>,
}

impl MirroredParams {
    /// Finds the mirrored arguments of tools.
    pub(crate) fn new(tools: &Toolbox) -> Self {
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition().clone()).collect();
        let mut mirrored = HashMap::new();
        for definition in &definitions {
            let mut found = Vec::new();
            find(definition.input_schema(), &mut Vec::new(), &mut found);
            if !found.is_empty() {
                mirrored.insert(definition.name().to_owned(), found);
            }
        }
        Self { tools: mirrored, definitions }
    }

    /// Says whether these are the mirrored arguments of just these tools.
    pub(crate) fn are_of(&self, tools: &Toolbox) -> bool {
        self.definitions.len() == tools.len()
            && self.definitions.iter().zip(tools.iter()).all(|(known, tool)| known == tool.definition())
    }

    /// Returns the mirrored arguments of a tool.
    pub(crate) fn of_tool(&self, name: &str) -> &[MirroredParam] {
        self.tools.get(name).map_or(&[], Vec::as_slice)
    }
}

impl MirroredParam {
    /// Says whether a header repeats the argument; an argument that is absent or null has no header.
    pub(crate) fn matches(&self, header: Option<&str>, arguments: &Value) -> bool {
        let value =
            self.path.iter().try_fold(arguments, |value, name| value.get(name)).filter(|value| !value.is_null());
        match (value, header) {
            (None, None) => true,
            (None, Some(_)) | (Some(_), None) => false,
            (Some(value), Some(header)) => match decoded(header) {
                Some(text) => is_same(value, &text),
                None => false,
            },
        }
    }
}

/// Finds the properties with the keyword, along chains of `properties` only.
fn find(schema: &Value, path: &mut Vec<String>, found: &mut Vec<MirroredParam>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get(KEYWORD).and_then(Value::as_str) {
            found.push(MirroredParam {
                header: format!("mcp-param-{}", header.to_ascii_lowercase()),
                path: path.clone(),
            });
        }
        find(property, path, found);
        path.pop();
    }
}

fn is_same(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => value == text,
        Value::Bool(value) => text == if *value { "true" } else { "false" },
        // 42.0 is 42.
        Value::Number(value) => text.parse().is_ok_and(|number: f64| Some(number) == value.as_f64()),
        _ => false,
    }
}

/// Returns the text of a header value, which may be in base64; none where it is broken.
pub(crate) fn decoded(header: &str) -> Option<String> {
    match header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentool_core::testing::FakeTool;
    use serde_json::json;

    use super::*;

    fn mirrored() -> MirroredParams {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "place": { "type": "object", "properties": { "floor": { "type": "integer", "x-mcp-header": "Floor" } } },
            "list": { "type": "array", "items": { "properties": { "x": { "x-mcp-header": "No" } } } },
        } });
        MirroredParams::new(&Toolbox::new().with(FakeTool::new("f").with_schema(schema)).unwrap())
    }

    #[test]
    fn a_header_repeats_its_argument_also_in_base64_and_as_another_number() {
        let mirrored = mirrored();
        let [region, floor] = mirrored.of_tool("f") else { unreachable!() };
        assert_eq!((region.header.as_str(), floor.header.as_str()), ("mcp-param-region", "mcp-param-floor"));
        let arguments = json!({ "region": "Hello, 世界", "place": { "floor": 42 } });
        assert!(region.matches(Some("=?base64?SGVsbG8sIOS4lueVjA==?="), &arguments));
        assert!(floor.matches(Some("42.0"), &arguments) && floor.matches(Some("42"), &arguments));
        assert!(!floor.matches(Some("43"), &arguments) && !floor.matches(None, &arguments));
        assert!(!region.matches(Some("=?base64?broken!?="), &arguments));
        assert!(region.matches(None, &json!({ "region": null })) && !region.matches(Some("x"), &json!({})));
    }
}
