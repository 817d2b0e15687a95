//! The schemas of OpenAI's structured outputs.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::dropped::{DropLog, Dropped};
use super::keyword::{self, has_type};
use super::nullable;
use crate::pattern;

/// The limits that the provider documents for one schema.
const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_CHOICES: usize = 1_000;
const MAX_NAME_CHARACTERS: usize = 120_000;
const LARGE_ENUM: usize = 250;
const MAX_LARGE_ENUM_CHARACTERS: usize = 15_000;

/// The formats that strict schemas may name.
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The largest integer that every reader of JSON reads exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// Writes a schema strictly, with what had to be dropped, or returns why that is impossible.
pub(super) fn adapt(schema: &Value) -> Result<(Value, Vec<Dropped>), Vec<Dropped>> {
    let mut schema = schema.clone();
    let mut writer = StrictWriter::default();
    writer.write(&mut schema);
    for (count, limit, what) in [
        (writer.properties, MAX_PROPERTIES, "properties"),
        (writer.choices, MAX_CHOICES, "enum values"),
        (writer.characters, MAX_NAME_CHARACTERS, "characters in names and enum values"),
    ] {
        if count > limit {
            writer.obstacle("properties", format!("a strict schema has at most {limit} {what}, this one has {count}"));
        }
    }
    if writer.obstacles.is_empty() { Ok((schema, writer.report.dropped)) } else { Err(writer.obstacles) }
}

#[derive(Default)]
struct StrictWriter {
    report: DropLog,
    obstacles: Vec<Dropped>,
    levels: usize,
    properties: usize,
    choices: usize,
    characters: usize,
}

impl StrictWriter {
    fn obstacle(&mut self, keyword: &str, reason: impl Into<String>) {
        self.obstacles.push(self.report.entry(keyword, reason));
    }

    fn write(&mut self, schema: &mut Value) {
        match schema {
            Value::Object(schema) => self.write_object(schema),
            _ => self.obstacle("type", "a strict schema has a type everywhere"),
        }
    }

    fn write_object(&mut self, schema: &mut Map<String, Value>) {
        self.refuse(schema);
        self.drop_unsupported(schema);
        if schema.contains_key("$ref") {
            return self.write_reference(schema);
        }
        if !["type", "anyOf", "oneOf", "enum"].iter().any(|keyword| schema.contains_key(*keyword)) {
            return self.obstacle("type", "free JSON cannot be strict");
        }
        self.count_choices(schema);
        if has_type(schema, "object") {
            self.write_properties(schema);
        }
        if has_type(schema, "array") && !schema.contains_key("prefixItems") {
            match schema.get_mut("items") {
                Some(items) => {
                    let mark = self.report.enter("items");
                    self.write(items);
                    self.report.leave(mark);
                }
                None => self.obstacle("items", "an array of free JSON cannot be strict"),
            }
        }
        for (keyword, value) in schema.iter_mut() {
            let mark = self.report.enter(keyword);
            match (keyword.as_str(), value) {
                ("anyOf" | "oneOf", Value::Array(branches)) => {
                    for (index, branch) in branches.iter_mut().enumerate() {
                        let mark = self.report.enter(&index.to_string());
                        self.write(branch);
                        self.report.leave(mark);
                    }
                }
                ("$defs", Value::Object(definitions)) => {
                    for (name, definition) in definitions {
                        self.characters += name.len();
                        let mark = self.report.enter(name);
                        let levels = std::mem::take(&mut self.levels);
                        self.write(definition);
                        self.levels = levels;
                        self.report.leave(mark);
                    }
                }
                _ => {}
            }
            self.report.leave(mark);
        }
        // Renamed last: until here pointers are those of the original schema.
        if let Some(branches) = schema.shift_remove("oneOf") {
            schema.insert("anyOf".into(), branches);
        }
        keyword::order(schema);
    }

    /// Records what no strict schema can express.
    fn refuse(&mut self, schema: &mut Map<String, Value>) {
        if schema.contains_key("oneOf") {
            if schema.contains_key("anyOf") {
                self.obstacle("oneOf", "oneOf beside anyOf cannot be strict");
            } else {
                self.report.drop("oneOf", "sent as anyOf");
            }
        }
        for (keyword, reason) in [
            ("allOf", "allOf cannot be strict"),
            ("patternProperties", "a map cannot be strict: its keys are not known"),
            ("prefixItems", "a tuple cannot be strict"),
            ("dependentSchemas", "dependentSchemas cannot be strict"),
        ] {
            if schema.contains_key(keyword) {
                self.obstacle(keyword, reason);
            }
        }
        if schema.get("$ref").and_then(Value::as_str).is_some_and(|reference| !reference.starts_with('#')) {
            self.obstacle("$ref", "a reference to another document cannot be strict");
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && values.iter().any(|value| value.is_array() || value.is_object())
        {
            self.obstacle("enum", "a choice between arrays or objects cannot be strict");
        }
        if schema.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.obstacle("enum", "an enum without values cannot be strict");
        }
        if let Some(fault) = schema.get("pattern").and_then(Value::as_str).and_then(pattern_fault) {
            self.obstacle("pattern", format!("a pattern that cannot be used cannot be strict: {fault}"));
        }
        for union in ["anyOf", "oneOf"] {
            if self.report.is_at_root() && schema.contains_key(union) {
                self.obstacle(union, "the root of a strict schema is a plain object");
            }
        }
    }

    /// Drops what only restricts or annotates: what the model then sends may still be refused when it is checked.
    fn drop_unsupported(&mut self, schema: &mut Map<String, Value>) {
        let report = &mut self.report;
        schema.retain(|keyword, value| {
            let reason = match (keyword.as_str(), &*value) {
                ("format", Value::String(format)) if !FORMATS.contains(&format.as_str()) => {
                    format!("the format {format} is not supported in strict schemas")
                }
                ("pattern", Value::String(pattern)) if has_look_around(pattern) => {
                    "patterns with look-around are not supported in strict schemas".to_owned()
                }
                ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", bound)
                    if bound.as_f64().is_none_or(|bound| bound.abs() > MAX_EXACT) =>
                {
                    format!("{bound} is beyond what every reader of JSON numbers can hold")
                }
                (keyword, _) if is_supported(keyword) => return true,
                // Reported as obstacles.
                ("allOf" | "patternProperties" | "prefixItems" | "dependentSchemas", _) => return true,
                _ => "not supported in strict schemas".to_owned(),
            };
            report.drop(keyword, reason);
            false
        });
    }

    /// A strict reference has no siblings: its description moves to a union around it.
    fn write_reference(&mut self, schema: &mut Map<String, Value>) {
        let Some(reference) = schema.shift_remove("$ref") else { return };
        let description = schema.shift_remove("description");
        for (keyword, _) in std::mem::take(schema) {
            self.report.drop(&keyword, "not supported beside a reference in strict schemas");
        }
        match description {
            Some(description) => {
                schema.insert("description".into(), description);
                schema.insert("anyOf".into(), json!([{ "$ref": reference }]));
            }
            None => drop(schema.insert("$ref".into(), reference)),
        }
    }

    fn write_properties(&mut self, schema: &mut Map<String, Value>) {
        match schema.get("additionalProperties") {
            None if schema.contains_key("properties") => {}
            None => return self.obstacle("type", "an object of any shape cannot be strict"),
            Some(Value::Bool(false)) => {}
            Some(_) => {
                return self.obstacle("additionalProperties", "a map cannot be strict: its keys are not known");
            }
        }
        self.levels += 1;
        if self.levels == MAX_LEVELS + 1 {
            self.obstacle("properties", format!("a strict schema nests at most {MAX_LEVELS} objects"));
        }
        let required: HashSet<String> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        let mut names = Vec::new();
        if let Value::Object(properties) = properties {
            let outer = self.report.enter("properties");
            for (name, property) in properties.iter_mut() {
                self.properties += 1;
                self.characters += name.len();
                let mark = self.report.enter(name);
                self.write(property);
                self.report.leave(mark);
                if let Value::Object(property) = property
                    && !required.contains(name)
                {
                    admit_null(property);
                }
                names.push(Value::from(name.as_str()));
            }
            self.report.leave(outer);
        }
        self.levels -= 1;
        schema.insert("required".into(), names.into());
        schema.insert("additionalProperties".into(), Value::Bool(false));
    }

    fn count_choices(&mut self, schema: &Map<String, Value>) {
        let Some(Value::Array(values)) = schema.get("enum") else { return };
        let characters: usize = values.iter().filter_map(Value::as_str).map(str::len).sum();
        self.choices += values.len();
        self.characters += characters;
        if values.len() > LARGE_ENUM && characters > MAX_LARGE_ENUM_CHARACTERS {
            self.obstacle(
                "enum",
                format!(
                    "a strict enum of more than {LARGE_ENUM} values has at most {MAX_LARGE_ENUM_CHARACTERS} characters"
                ),
            );
        }
    }
}

fn is_supported(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "$defs"
            | "type"
            | "description"
            | "enum"
            | "properties"
            | "items"
            | "required"
            | "additionalProperties"
            | "anyOf"
            | "oneOf"
            | "pattern"
            | "format"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minItems"
            | "maxItems"
    )
}

/// What is wrong with a pattern; look-around is dropped instead.
fn pattern_fault(text: &str) -> Option<String> {
    if has_look_around(text) { None } else { pattern::fault(text, pattern::OF_VALUES) }
}

fn has_look_around(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|start| pattern.contains(start))
}

/// Lets a strict schema admit null, which is how a strict model leaves a property out.
fn admit_null(schema: &mut Map<String, Value>) {
    if let Some(reference) = schema.shift_remove("$ref") {
        schema.insert("anyOf".into(), json!([{ "$ref": reference }, { "type": "null" }]));
        return;
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf")
        && !branches.iter().any(nullable::is_null)
    {
        branches.push(json!({ "type": "null" }));
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => kinds.push("null".into()),
        Some(kind) if kind.is_string() && *kind != "null" => *kind = json!([kind.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.iter().any(Value::is_null)
    {
        values.push(Value::Null);
    }
}
