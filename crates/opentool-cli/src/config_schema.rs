//! The JSON Schema of a configuration file, for editors: [`schema`].

use serde_json::{Map, Value, json};

use crate::config_keys::{ConfigKey, ConfigTable, ValueForm};

/// The schema of a file with this table.
pub(crate) fn schema(file: &ConfigTable) -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "opentool.toml",
        "description": "What `opentool serve` serves, and how",
    });
    if let (Value::Object(schema), Value::Object(table)) = (&mut schema, of_table(file)) {
        schema.extend(table);
    }
    schema
}

fn of_table(table: &ConfigTable) -> Value {
    let properties: Map<_, _> = table.keys.iter().map(|key| (key.name.clone(), of_key(key))).collect();
    let required: Vec<_> = table.keys.iter().filter(|key| key.is_required).map(|key| key.name.as_str()).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn of_key(key: &ConfigKey) -> Value {
    let mut schema = of_form(&key.form);
    schema["description"] = key.doc.as_str().into();
    schema
}

fn of_form(form: &ValueForm) -> Value {
    let secret = || {
        let place = |name: &str, doc: &str| {
            json!({ "type": "object", "required": [name], "additionalProperties": false,
                "properties": { name: { "type": "string", "description": doc } } })
        };
        json!({ "oneOf": [
            place("env", "The variable of the environment that has it"),
            place("file", "The file whose only content it is"),
        ] })
    };
    match form {
        ValueForm::Text => json!({ "type": "string" }),
        ValueForm::Texts => json!({ "type": ["string", "array"], "items": { "type": "string" } }),
        ValueForm::Flag => json!({ "type": "boolean" }),
        ValueForm::Number => json!({ "type": "integer", "minimum": 0 }),
        ValueForm::Count => json!({ "type": "integer", "minimum": 1 }),
        ValueForm::Time => {
            json!({ "type": ["string", "integer"], "pattern": "^[0-9]+(ms|s|m|h|d)?$", "minimum": 0 })
        }
        ValueForm::Size => {
            json!({ "type": ["string", "integer"], "pattern": "^[0-9]+([kKmMgG]([iI]?[bB])?|[bB])?$", "minimum": 0 })
        }
        ValueForm::Choice(choices) => json!({ "type": "string", "enum": choices }),
        ValueForm::Url => json!({ "type": "string", "pattern": "^[hH][tT][tT][pP][sS]?://" }),
        ValueForm::Secret => secret(),
        ValueForm::Secrets => json!({ "anyOf": [secret(), { "type": "array", "items": secret() }] }),
        ValueForm::Pairs => {
            json!({ "type": "object", "additionalProperties": { "anyOf": [{ "type": "string" }, secret()] } })
        }
        ValueForm::Table(table) => of_table(table),
        ValueForm::Named(table) => json!({ "type": "object", "additionalProperties": of_table(table) }),
        ValueForm::ByKind(kind, tables) => {
            let of_kind = |(name, table): &(String, ConfigTable)| {
                let mut schema = of_table(table);
                schema["properties"][kind] = json!({ "const": name, "description": "What the source is" });
                schema["title"] = name.as_str().into();
                schema
            };
            let tables: Vec<_> = tables.iter().map(of_kind).collect();
            json!({ "type": "object", "additionalProperties": { "oneOf": tables } })
        }
        ValueForm::Either(forms) => json!({ "anyOf": forms.iter().map(of_form).collect::<Vec<_>>() }),
    }
}
