//! A form at a terminal, made from the schema of a question: [`Form`].

use opentool::{ArgumentChecker, Strictness};
use serde_json::{Map, Value, json};

use crate::terminal::visible;

/// How many choices are listed.
const LISTED: usize = 50;

/// What a question wants to know, value by value.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) fields: Vec<Field>,
}

/// One value.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    title: String,
    description: Option<String>,
    kind: FieldKind,
    default: Option<Value>,
    is_required: bool,
    checker: Option<ArgumentChecker>,
}

#[derive(Debug)]
enum FieldKind {
    Text,
    Integer,
    Number,
    Boolean,
    /// One of these.
    Choice(Vec<Choice>),
    /// Any of these.
    Choices(Vec<Choice>),
    Json,
}

#[derive(Debug)]
struct Choice {
    value: Value,
    title: String,
}

impl Form {
    /// Takes the schema of an object.
    pub(super) fn new(schema: &Value) -> Self {
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields = properties.map(|(name, property)| {
            let is_required = required.contains(&name.as_str());
            Field::new(name, property, schema, is_required)
        });
        Form { fields: fields.collect() }
    }
}

impl Field {
    fn new(name: &str, property: &Value, root: &Value, is_required: bool) -> Self {
        let text = |key: &str| property[key].as_str().map(|text| visible(text).into_owned());
        // The checker takes objects, so the value is checked as the only property of one.
        let schema = json!({
            "type": "object",
            "properties": { name: property },
            "required": [name],
            "$defs": root["$defs"].as_object().cloned().unwrap_or_default(),
        });
        Field {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| visible(name).into_owned()),
            description: text("description"),
            kind: FieldKind::new(property),
            default: property.get("default").cloned(),
            is_required,
            checker: ArgumentChecker::compile_object(&schema).ok(),
        }
    }

    /// What is shown before the prompt: what the value means, and what it can be.
    pub(super) fn introduction(&self) -> String {
        let mut lines: Vec<String> = self.description.iter().map(|text| format!("{}: {text}", self.title)).collect();
        if let FieldKind::Choice(choices) | FieldKind::Choices(choices) = &self.kind {
            lines.extend(
                choices
                    .iter()
                    .take(LISTED)
                    .enumerate()
                    .map(|(place, choice)| format!("  {}. {}", place + 1, choice.title)),
            );
        }
        lines.join("\n")
    }

    /// `Age (integer, optional) [30]: `.
    pub(super) fn prompt(&self) -> String {
        let kind = match &self.kind {
            FieldKind::Text => "text",
            FieldKind::Integer => "integer",
            FieldKind::Number => "number",
            FieldKind::Boolean => "yes or no",
            FieldKind::Choice(_) => "one of them",
            FieldKind::Choices(_) => "any of them, with commas between",
            FieldKind::Json => "JSON",
        };
        let optional = if self.is_required || self.default.is_some() { "" } else { ", optional" };
        let default = match &self.default {
            Some(Value::String(text)) => format!(" [{}]", visible(text)),
            Some(value) => format!(" [{}]", visible(&value.to_string())),
            None => String::new(),
        };
        format!("{} ({kind}{optional}){default}: ", self.title)
    }

    /// The value that was typed; none where it is left out.
    pub(super) fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                // An empty text can be an answer too.
                None if self.is_required => self.check(match self.kind {
                    FieldKind::Text => Value::from(""),
                    _ => return Err("a value is needed".to_owned()),
                }),
                None => Ok(None),
            };
        }
        let value = match &self.kind {
            FieldKind::Text => Value::from(typed),
            FieldKind::Integer => typed.parse::<i64>().map(Value::from).map_err(|_| "write an integer")?,
            FieldKind::Number => match serde_json::from_str(typed) {
                Ok(number @ Value::Number(_)) => number,
                _ => return Err("write a number".to_owned()),
            },
            FieldKind::Boolean => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Value::Bool(true),
                "n" | "no" | "false" => Value::Bool(false),
                _ => return Err("write yes or no".to_owned()),
            },
            FieldKind::Choice(choices) => chosen(choices, typed)?,
            FieldKind::Choices(choices) => {
                let chosen = typed.split(',').map(|typed| chosen(choices, typed.trim()));
                Value::Array(chosen.collect::<Result<_, _>>()?)
            }
            FieldKind::Json => serde_json::from_str(typed).map_err(|_| "write JSON")?,
        };
        self.check(value)
    }

    fn check(&self, value: Value) -> Result<Option<Value>, String> {
        let object = Value::Object(Map::from_iter([(self.name.clone(), value.clone())])).to_string();
        let Some(checker) = &self.checker else { return Ok(Some(value)) };
        let checked =
            checker.check(&object, Strictness::Strict).map(drop).and_then(|()| checker.check_formats(&object));
        match checked {
            Ok(()) => Ok(Some(value)),
            Err(error) => Err(visible(&error.to_string()).into_owned()),
        }
    }
}

impl FieldKind {
    fn new(schema: &Value) -> Self {
        if let Some(choices) = choices(schema) {
            return FieldKind::Choice(choices);
        }
        match schema["type"].as_str() {
            Some("string") => FieldKind::Text,
            Some("integer") => FieldKind::Integer,
            Some("number") => FieldKind::Number,
            Some("boolean") => FieldKind::Boolean,
            Some("array") => match choices(&schema["items"]) {
                Some(choices) => FieldKind::Choices(choices),
                None => FieldKind::Json,
            },
            _ => FieldKind::Json,
        }
    }
}

/// The values that a schema lists, with the titles that MCP knows for them.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let title_of = |value: &Value| match value {
        Value::String(text) => visible(text).into_owned(),
        value => visible(&value.to_string()).into_owned(),
    };
    if let Some(values) = schema["enum"].as_array() {
        let names = schema["enumNames"].as_array();
        let title = |place: usize, value: &Value| {
            let name = names.and_then(|names| names.get(place)?.as_str());
            name.map_or_else(|| title_of(value), |name| format!("{} ({})", title_of(value), visible(name)))
        };
        let choice = |(place, value): (usize, &Value)| Choice { value: value.clone(), title: title(place, value) };
        return Some(values.iter().enumerate().map(choice).collect());
    }
    let listed = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    listed
        .iter()
        .map(|option| {
            let value = option.get("const")?.clone();
            let title = title_of(&value);
            let title = match option["title"].as_str() {
                Some(name) => format!("{title} ({})", visible(name)),
                None => title,
            };
            Some(Choice { value, title })
        })
        .collect()
}

/// The choice that was typed, as its number or its value.
fn chosen(choices: &[Choice], typed: &str) -> Result<Value, String> {
    let by_value = choices.iter().find(|choice| match &choice.value {
        Value::String(text) => text == typed,
        value => serde_json::from_str::<Value>(typed).is_ok_and(|typed| typed == *value),
    });
    let by_number = || typed.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let found = by_value.or_else(by_number);
    found.map(|choice| choice.value.clone()).ok_or_else(|| "write one of the values, or its number".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn field(schema: Value, is_required: bool) -> Field {
        let required = if is_required { json!(["x"]) } else { json!([]) };
        let mut form = Form::new(&json!({ "type": "object", "properties": { "x": schema }, "required": required }));
        form.fields.remove(0)
    }

    #[test]
    fn what_is_typed_becomes_the_value_that_the_schema_wants() {
        for (schema, typed, value) in [
            (json!({ "type": "string" }), " Ann ", json!("Ann")),
            (json!({ "type": "string" }), "", json!("")),
            (json!({ "type": "integer", "minimum": 1 }), "7", json!(7)),
            (json!({ "type": "number" }), "1.5", json!(1.5)),
            (json!({ "type": "boolean" }), "Yes", json!(true)),
            (json!({ "type": "boolean" }), "n", json!(false)),
            (json!({ "type": "boolean", "default": true }), "", json!(true)),
            (json!({ "type": "string", "enum": ["a", "b"] }), "b", json!("b")),
            (json!({ "enum": ["a", "b"], "enumNames": ["First", "Second"] }), "2", json!("b")),
            (json!({ "oneOf": [{ "const": "a", "title": "First" }, { "const": "2" }] }), "2", json!("2")),
            (json!({ "type": "array", "items": { "enum": ["a", "b", "c"] } }), "c, 1", json!(["c", "a"])),
            (json!({ "type": "array", "items": { "type": "integer" } }), "[1, 2]", json!([1, 2])),
            (json!({ "type": "string", "format": "date" }), "2026-07-28", json!("2026-07-28")),
        ] {
            assert_eq!(field(schema.clone(), true).read(typed), Ok(Some(value)), "{schema} {typed:?}");
        }
        assert_eq!(field(json!({ "type": "integer" }), false).read(" "), Ok(None), "it is left out");
    }

    #[test]
    fn what_cannot_be_the_value_is_refused_with_a_reason() {
        for (schema, typed, problem) in [
            (json!({ "type": "integer" }), "seven", "write an integer"),
            (json!({ "type": "integer" }), "", "a value is needed"),
            (json!({ "type": "number" }), "\"1\"", "write a number"),
            (json!({ "type": "boolean" }), "maybe", "write yes or no"),
            (json!({ "enum": ["a", "b"] }), "3", "write one of the values, or its number"),
            (json!({ "enum": ["a", "b"] }), "0", "write one of the values, or its number"),
        ] {
            assert_eq!(field(schema.clone(), true).read(typed), Err(problem.to_owned()), "{schema} {typed:?}");
        }
        for (schema, typed) in [
            (json!({ "type": "integer", "maximum": 5 }), "6"),
            (json!({ "type": "string", "minLength": 2 }), "a"),
            (json!({ "type": "string", "minLength": 1 }), ""),
            (json!({ "type": "string", "format": "email" }), "nobody"),
        ] {
            assert!(field(schema.clone(), true).read(typed).is_err(), "{schema} {typed:?}");
        }
    }

    #[test]
    fn a_field_says_what_it_wants_and_hides_escape_codes() {
        let age = field(json!({ "type": "integer", "title": "Age\u{1b}[2J", "description": "In years" }), false);
        assert_eq!(age.prompt(), "Age�[2J (integer, optional): ");
        assert_eq!(age.introduction(), "Age�[2J: In years");
        let seat = field(json!({ "enum": ["aisle", "window"], "default": "aisle" }), true);
        assert_eq!(seat.introduction(), "  1. aisle\n  2. window");
        assert_eq!(seat.prompt(), "x (one of them) [aisle]: ");
    }
}
