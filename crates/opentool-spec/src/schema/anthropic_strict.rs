//! The schemas of Anthropic's structured outputs.
//!
//! The provider refuses a request whose schema has a keyword that it does not enforce. Its own SDKs move such keywords into the
//! description, where the model may still follow them, and so does this.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::dropped::{DropLog, Dropped};
use super::keyword::{self, has_type};

/// The formats that the provider enforces.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Where definitions are.
const DEFINITIONS: &str = "#/$defs/";

/// Writes a schema as structured outputs take it, with what they do not enforce, or returns why that is impossible.
pub(super) fn adapt(mut schema: Value) -> Result<(Value, Vec<Dropped>), Vec<Dropped>> {
    let mut writer = OutputWriter::default();
    writer.refuse_recursion(&schema);
    writer.write(&mut schema);
    if writer.obstacles.is_empty() { Ok((schema, writer.report.dropped)) } else { Err(writer.obstacles) }
}

#[derive(Default)]
struct OutputWriter {
    report: DropLog,
    obstacles: Vec<Dropped>,
}

impl OutputWriter {
    fn obstacle(&mut self, keyword: &str, reason: impl Into<String>) {
        self.obstacles.push(self.report.entry(keyword, reason));
    }

    /// Definitions that lead back to themselves have no place in the provider's grammar.
    fn refuse_recursion(&mut self, schema: &Value) {
        let Some(Value::Object(definitions)) = schema.get("$defs") else { return };
        // How many references each has to others that are left, and who refers to it.
        let mut open: HashMap<&str, usize> = definitions.keys().map(|name| (name.as_str(), 0)).collect();
        let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, body) in definitions {
            for target in references(body) {
                *open.entry(name).or_default() += 1;
                users.entry(target).or_default().push(name);
            }
        }
        // One that refers to no other one is part of no cycle, and then neither are those that refer only to such ones.
        let mut plain: Vec<&str> = open.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
        while let Some(name) = plain.pop() {
            open.remove(name);
            for user in users.remove(name).into_iter().flatten() {
                if let Some(count) = open.get_mut(user) {
                    *count -= 1;
                    if *count == 0 {
                        plain.push(user);
                    }
                }
            }
        }
        let mark = self.report.enter("$defs");
        for name in definitions.keys().filter(|name| open.contains_key(name.as_str())) {
            let mark = self.report.enter(name);
            self.obstacle("$ref", "a recursive type cannot be strict");
            self.report.leave(mark);
        }
        self.report.leave(mark);
    }

    fn write(&mut self, schema: &mut Value) {
        match schema {
            Value::Object(schema) => self.write_object(schema),
            _ => self.obstacle("type", "a strict schema has a type everywhere"),
        }
    }

    fn write_object(&mut self, schema: &mut Map<String, Value>) {
        self.refuse(schema);
        self.write_named(schema, "$defs");
        if schema.contains_key("$ref") {
            return self.write_reference(schema);
        }
        if schema.contains_key("enum") || schema.contains_key("const") {
            // The values say of which type they are.
            schema.shift_remove("type");
        } else if schema.contains_key("anyOf") || schema.contains_key("oneOf") {
            self.write_branches(schema);
        } else if schema.get("type").is_some_and(Value::is_array) {
            return self.split_types(schema);
        } else if has_type(schema, "object") {
            self.write_properties(schema);
        } else if has_type(schema, "array") {
            self.write_items(schema);
        } else if !schema.contains_key("type") {
            return self.obstacle("type", "free JSON cannot be strict");
        }
        self.describe_unsupported(schema);
        // Renamed last: until here pointers are those of the original schema.
        if let Some(branches) = schema.shift_remove("oneOf") {
            schema.insert("anyOf".into(), branches);
        }
        keyword::order(schema);
    }

    /// Records what no strict schema can express.
    fn refuse(&mut self, schema: &Map<String, Value>) {
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
        if schema.contains_key("oneOf") && schema.contains_key("anyOf") {
            self.obstacle("oneOf", "oneOf beside anyOf cannot be strict");
        }
        let is_choice = schema.contains_key("anyOf") || schema.contains_key("oneOf");
        if is_choice && (schema.contains_key("properties") || schema.contains_key("items")) {
            self.obstacle("anyOf", "a choice beside properties or items cannot be strict");
        }
        if self.report.is_at_root() && !has_type(schema, "object") {
            self.obstacle("type", "the root of a strict schema is a plain object");
        }
        if schema.get("$ref").and_then(Value::as_str).is_some_and(|reference| !reference.starts_with(DEFINITIONS)) {
            self.obstacle("$ref", "a reference to anything but a definition cannot be strict");
        }
        let is_plain = |value: &Value| !value.is_array() && !value.is_object();
        match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
            Some([]) => self.obstacle("enum", "an enum without values cannot be strict"),
            Some(values) if !values.iter().all(is_plain) => {
                self.obstacle("enum", "a choice between arrays or objects cannot be strict");
            }
            _ => {}
        }
        if schema.get("const").is_some_and(|value| !is_plain(value)) {
            self.obstacle("const", "a choice between arrays or objects cannot be strict");
        }
    }

    /// Writes the schemas under names.
    fn write_named(&mut self, schema: &mut Map<String, Value>, keyword: &str) {
        let Some(Value::Object(named)) = schema.get_mut(keyword) else { return };
        let outer = self.report.enter(keyword);
        for (name, child) in named {
            let mark = self.report.enter(name);
            self.write(child);
            self.report.leave(mark);
        }
        self.report.leave(outer);
    }

    /// A reference has no siblings: its description moves to a choice around it.
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

    fn write_branches(&mut self, schema: &mut Map<String, Value>) {
        if schema.contains_key("oneOf") {
            self.report.drop("oneOf", "sent as anyOf");
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(branches)) = schema.get_mut(keyword) else { continue };
            let outer = self.report.enter(keyword);
            for (index, branch) in branches.iter_mut().enumerate() {
                let mark = self.report.enter(&index.to_string());
                self.write(branch);
                self.report.leave(mark);
            }
            self.report.leave(outer);
        }
        if schema.shift_remove("type").is_some() {
            self.report.drop("type", "the branches have their types");
        }
    }

    /// Writes several types as a choice between schemas that have one each.
    fn split_types(&mut self, schema: &mut Map<String, Value>) {
        let Some(Value::Array(kinds)) = schema.shift_remove("type") else { return };
        let description = schema.shift_remove("description");
        let definitions = schema.shift_remove("$defs");
        let rest = std::mem::take(schema);
        let branches = kinds.into_iter().map(|kind| {
            let mut branch = if kind == "null" { Map::new() } else { rest.clone() };
            branch.insert("type".into(), kind);
            self.write_object(&mut branch);
            Value::Object(branch)
        });
        let branches: Vec<Value> = branches.collect();
        schema.extend(description.map(|text| ("description".to_owned(), text)));
        schema.insert("anyOf".into(), branches.into());
        schema.extend(definitions.map(|definitions| ("$defs".to_owned(), definitions)));
    }

    /// Closes an object. What is not required stays optional.
    fn write_properties(&mut self, schema: &mut Map<String, Value>) {
        match schema.get("additionalProperties") {
            None if schema.contains_key("properties") => {}
            None => return self.obstacle("type", "an object of any shape cannot be strict"),
            Some(Value::Bool(false)) => {}
            Some(_) => {
                return self.obstacle("additionalProperties", "a map cannot be strict: its keys are not known");
            }
        }
        schema.entry("properties").or_insert_with(|| json!({}));
        self.write_named(schema, "properties");
        schema.insert("additionalProperties".into(), Value::Bool(false));
    }

    fn write_items(&mut self, schema: &mut Map<String, Value>) {
        let is_tuple = schema.contains_key("prefixItems");
        match schema.get_mut("items") {
            Some(items) => {
                let mark = self.report.enter("items");
                self.write(items);
                self.report.leave(mark);
            }
            // Refused already.
            None if is_tuple => {}
            None => self.obstacle("items", "an array of free JSON cannot be strict"),
        }
    }

    /// Moves what the provider does not enforce into the description: what the model then sends may still be refused when it is
    /// checked.
    fn describe_unsupported(&mut self, schema: &mut Map<String, Value>) {
        let report = &mut self.report;
        let mut described = String::new();
        schema.retain(|keyword, value| {
            if is_supported(keyword, value) || is_structure(keyword) {
                return true;
            }
            if keyword.starts_with("x-") || ["$comment", "$id", "$schema"].contains(&keyword.as_str()) {
                report.drop(keyword, "not supported in strict schemas");
                return false;
            }
            report.drop(keyword, "not supported in strict schemas; it is in the description");
            let separator = if described.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(described, "{separator}{keyword}: {value}");
            false
        });
        if described.is_empty() {
            return;
        }
        let text = match schema.get("description").and_then(Value::as_str) {
            Some(text) => format!("{text}\n\n{{{described}}}"),
            None => format!("{{{described}}}"),
        };
        schema.insert("description".into(), text.into());
    }
}

/// The definitions that a schema refers to, however deep.
fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(schema) = schema else { continue };
        found.extend(schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(DEFINITIONS)));
        keyword::children(schema, |_, child| open.push(child));
    }
    found
}

/// The keywords that make up the shape of a value, and so are written or refused.
fn is_structure(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "additionalProperties"
            | "items"
            | "anyOf"
            | "oneOf"
            | "allOf"
            | "patternProperties"
            | "prefixItems"
            | "dependentSchemas"
            | "$defs"
    )
}

fn is_supported(keyword: &str, value: &Value) -> bool {
    match keyword {
        "$ref" | "type" | "title" | "description" | "enum" | "const" | "required" => true,
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        "minItems" => matches!(value.as_u64(), Some(0 | 1)),
        _ => false,
    }
}
