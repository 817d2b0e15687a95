//! What Ollama reads of a tool's schema.
//!
//! It takes any JSON Schema and keeps of each property only the members it has fields for, so that a reference is lost
//! there without a word: references are written out, and what would be lost is reported.

use serde_json::{Map, Value, json};

use super::dropped::{DropLog, Dropped};
use super::keyword;

/// How many schemas one tool may have after its references are written out.
const BUDGET: usize = 10_000;

/// Writes a schema as Ollama reads it, with what it does not read.
pub(super) fn adapt(schema: &Value) -> (Value, Vec<Dropped>) {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut writer = OllamaWriter { definitions, open: Vec::new(), written: 0, report: DropLog::default() };
    let written = writer.write(schema);
    (written, writer.report.dropped)
}

struct OllamaWriter<'a> {
    definitions: Option<&'a Map<String, Value>>,
    /// The definitions that are being written, outermost first.
    open: Vec<&'a str>,
    written: usize,
    report: DropLog,
}

impl<'a> OllamaWriter<'a> {
    fn write(&mut self, schema: &'a Value) -> Value {
        let Value::Object(schema) = schema else { return json!({}) };
        self.written += 1;
        let mut written = Map::new();
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            self.refer(reference, &mut written);
        }
        for (keyword, value) in schema {
            let step = self.report.enter(keyword);
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    let mut named = Map::new();
                    for (name, property) in properties {
                        let step = self.report.enter(name);
                        named.insert(name.clone(), self.write(property));
                        self.report.leave(step);
                    }
                    written.insert(keyword.clone(), named.into());
                }
                ("items", items) => drop(written.insert(keyword.clone(), self.write(items))),
                ("anyOf" | "oneOf", Value::Array(branches)) => {
                    let mut list = Vec::new();
                    for (index, branch) in branches.iter().enumerate() {
                        let step = self.report.enter(&index.to_string());
                        list.push(self.write(branch));
                        self.report.leave(step);
                    }
                    written.insert("anyOf".to_owned(), list.into());
                }
                ("type" | "description" | "enum" | "required", value) => {
                    drop(written.insert(keyword.clone(), value.clone()));
                }
                _ => {}
            }
            self.report.leave(step);
            // The root is closed for every tool, which the model does not see.
            let is_silent =
                matches!(keyword.as_str(), "$ref" | "$defs") || (keyword == "additionalProperties" && *value == false);
            if !is_silent && !is_read(keyword) {
                self.report.drop(keyword, "not read by Ollama");
            } else if keyword == "oneOf" {
                self.report.drop(keyword, "sent as anyOf");
            }
        }
        keyword::order(&mut written);
        Value::Object(written)
    }

    fn refer(&mut self, reference: &str, written: &mut Map<String, Value>) {
        let target = reference.strip_prefix("#/$defs/").and_then(|name| self.definitions?.get_key_value(name));
        let reason = match target {
            Some((name, _)) if self.open.contains(&name.as_str()) => "it contains itself, which Ollama does not read",
            Some(_) if self.written >= BUDGET => "it would grow too large",
            Some((name, definition)) => {
                self.open.push(name);
                if let Value::Object(target) = self.write(definition) {
                    written.extend(target);
                }
                self.open.pop();
                return;
            }
            None => "it leads to nothing in the schema",
        };
        self.report.drop("$ref", format!("{reason}; written as an object"));
        written.insert("type".to_owned(), "object".into());
    }
}

fn is_read(keyword: &str) -> bool {
    matches!(keyword, "type" | "description" | "enum" | "properties" | "items" | "required" | "anyOf" | "oneOf")
}
