//! The arguments of a call as a shell can write them: `name=value`, typed by the function's schema.

use std::fmt::Write as _;

use opentool::ToolDefinition;
use opentool_spec::json::near;
use serde_json::{Value, value::RawValue};

use crate::{failure::Failure, next_step};

/// How many references to other schemas are followed.
const MAX_REFERENCES: usize = 16;

/// Makes the JSON text of the arguments; without a definition a value is JSON where it can be, otherwise text.
pub(crate) fn from_pairs(definition: Option<&ToolDefinition>, pairs: &[String]) -> Result<String, Failure> {
    let mut arguments: Vec<(&str, Vec<String>, bool)> = Vec::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(format!("`{pair}` is no argument: write `name=value`")));
        };
        let kind = match definition {
            Some(definition) => Type::for_argument(definition, name)?,
            None => Type::Any,
        };
        let several = matches!(kind, Type::List(_));
        let json = kind.json(name, text)?;
        match arguments.iter_mut().find(|(other, ..)| *other == name) {
            None => arguments.push((name, vec![json], several && !text.trim_start().starts_with('['))),
            // `tag=a tag=b` is a list.
            Some((_, values, true)) => values.push(json),
            Some(_) => return Err(Failure::usage(format!("`{name}` is given twice"))),
        }
    }
    let mut text = String::from("{");
    for (index, (name, values, list)) in arguments.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let (open, close) = if *list { ("[", "]") } else { ("", "") };
        // Writing to a string does not fail.
        let _ = write!(text, "{comma}{}:{open}{}{close}", Value::from(*name), values.join(","));
    }
    text.push('}');
    Ok(text)
}

/// What the schema of a parameter wants.
enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    /// Elements, each given by itself or all as one JSON array.
    List(Box<Type>),
    Json(&'static str),
    Any,
}

impl Type {
    fn for_argument(definition: &ToolDefinition, name: &str) -> Result<Type, Failure> {
        let root = definition.input_schema();
        let properties = root["properties"].as_object();
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => Ok(Type::from_schema(root, schema)),
            None if root["additionalProperties"].as_bool() == Some(false) => {
                let function = definition.name();
                let names = properties.into_iter().flat_map(|it| it.keys()).map(String::as_str);
                let next = near::names(name, names, 1).first().and_then(|near| next_step::with_word(name, near));
                let known: Vec<_> =
                    properties.into_iter().flat_map(|it| it.keys()).map(|key| format!("`{key}`")).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(Failure::usage_with(format!("`{function}` has no parameter `{name}`: it has {known}"), next))
            }
            None => Ok(Type::Any),
        }
    }

    fn from_schema(root: &Value, schema: &Value) -> Type {
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
            let Some(target) = target else { break };
            schema = target;
        }
        let is_text = |value: &Value| value.is_string();
        match schema["type"].as_str() {
            Some("string") => Type::Text,
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            Some("array") => match Type::from_schema(root, &schema["items"]) {
                // A list of lists can only be written as JSON.
                Type::List(_) => Type::Json("array"),
                element => Type::List(Box::new(element)),
            },
            Some("object") => Type::Json("object"),
            _ if schema["enum"].as_array().is_some_and(|values| values.iter().all(is_text)) => Type::Text,
            _ => Type::Any,
        }
    }

    /// The JSON of a value. Digits stay as they were typed.
    fn json(&self, name: &str, text: &str) -> Result<String, Failure> {
        let refuse = |wanted: &str| Failure::usage(format!("`{name}` must be {wanted}, not `{text}`"));
        match self {
            Type::Text => Ok(Value::from(text).to_string()),
            Type::Integer if is_integer(text) => Ok(text.to_owned()),
            Type::Integer => Err(refuse("an integer")),
            Type::Number if is_number(text) => Ok(text.to_owned()),
            Type::Number => Err(refuse("a number")),
            Type::Boolean if matches!(text, "true" | "false") => Ok(text.to_owned()),
            Type::Boolean => Err(refuse("`true` or `false`")),
            Type::List(_) if text.trim_start().starts_with('[') => as_json(text).ok_or_else(|| refuse("a JSON array")),
            Type::List(element) => element.json(name, text),
            Type::Json("object") => {
                as_json(text).filter(|json| json.starts_with('{')).ok_or_else(|| refuse("a JSON object"))
            }
            Type::Json(_) => as_json(text).filter(|json| json.starts_with('[')).ok_or_else(|| refuse("a JSON array")),
            Type::Any => Ok(as_json(text).unwrap_or_else(|| Value::from(text).to_string())),
        }
    }
}

fn as_json(text: &str) -> Option<String> {
    serde_json::from_str::<&RawValue>(text).ok().map(|raw| raw.get().to_owned())
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && as_json(text).is_some()
}

fn is_integer(text: &str) -> bool {
    is_number(text) && text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn definition() -> ToolDefinition {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "count": { "type": "integer" },
                "rate": { "type": "number" },
                "loud": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "grid": { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } },
                "place": { "type": "object" },
                "unit": { "$ref": "#/$defs/Unit" },
                "free": {},
            },
            "$defs": { "Unit": { "enum": ["1", "2"] } },
            "additionalProperties": false,
        });
        ToolDefinition::builder("f").input_schema(schema).build().unwrap()
    }

    fn typed(pairs: &[&str]) -> Result<String, String> {
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        from_pairs(Some(&definition()), &pairs).map_err(|failure| failure.to_string())
    }

    #[test]
    fn values_are_what_the_schema_says() {
        for (pair, json) in [
            ("text=12", r#"{"text":"12"}"#),
            ("text=a=b \"c\"", r#"{"text":"a=b \"c\""}"#),
            ("text=", r#"{"text":""}"#),
            ("count=-12345678901234567890123", r#"{"count":-12345678901234567890123}"#),
            ("rate=1.50", r#"{"rate":1.50}"#),
            ("loud=true", r#"{"loud":true}"#),
            ("tags=a", r#"{"tags":["a"]}"#),
            (r#"tags=["a","b"]"#, r#"{"tags":["a","b"]}"#),
            ("grid=[[1],[2]]", r#"{"grid":[[1],[2]]}"#),
            (r#"place={"x":1}"#, r#"{"place":{"x":1}}"#),
            ("unit=1", r#"{"unit":"1"}"#),
            ("free=1", r#"{"free":1}"#),
            ("free=one", r#"{"free":"one"}"#),
        ] {
            assert_eq!(typed(&[pair]).as_deref(), Ok(json), "{pair}");
        }
        assert_eq!(typed(&["tags=a", "count=1", "tags=b"]).as_deref(), Ok(r#"{"tags":["a","b"],"count":1}"#));
        assert_eq!(typed(&[]).as_deref(), Ok("{}"));
    }

    #[test]
    fn what_cannot_be_is_reported_with_the_value() {
        for (pairs, message) in [
            (&["count=1.5"][..], "`count` must be an integer, not `1.5`"),
            (&["count="], "`count` must be an integer, not ``"),
            (&["rate=fast"], "`rate` must be a number, not `fast`"),
            (&["loud=yes"], "`loud` must be `true` or `false`, not `yes`"),
            (&["grid=1"], "`grid` must be a JSON array, not `1`"),
            (&["place=[1]"], "`place` must be a JSON object, not `[1]`"),
            (&["text"], "`text` is no argument: write `name=value`"),
            (&["=1"], "`=1` is no argument: write `name=value`"),
            (&["text=a", "text=b"], "`text` is given twice"),
        ] {
            assert_eq!(typed(pairs).unwrap_err(), message);
        }
        let unknown = typed(&["txt=a"]).unwrap_err();
        assert!(unknown.starts_with("`f` has no parameter `txt`: it has `text`, `count`,"), "{unknown}");
    }

    #[test]
    fn without_a_schema_json_is_json_and_the_rest_is_text() {
        let pairs = ["a=1".to_owned(), "b=one".to_owned(), "c=[true]".to_owned()];
        assert_eq!(from_pairs(None, &pairs).unwrap(), r#"{"a":1,"b":"one","c":[true]}"#);
    }
}
