//! What a document says and JSON Schema as providers take it does not.

use serde_json::Value;

use super::dropped::{DropLog, Dropped};
use super::keyword;
use crate::map::Map;
use crate::model::{Function, Schema};

/// The key under which a function keeps the keywords of a JSON Schema of parameters, as older documents had it.
const OF_PARAMETERS: &str = "x-parameters";

/// Collects what is lost while a function is written.
#[derive(Debug, Default)]
pub(super) struct Losses(DropLog);

impl Losses {
    pub(super) fn enter(&mut self, step: &str) -> usize {
        self.0.enter(step)
    }

    pub(super) fn leave(&mut self, mark: usize) {
        self.0.leave(mark);
    }

    pub(super) fn into_dropped(self) -> Vec<Dropped> {
        self.0.dropped
    }

    /// What a function says besides its parameters.
    pub(super) fn of_function(&mut self, function: &Function) {
        self.unknown_keys(&function.extra);
        let kept = function.extra.get(OF_PARAMETERS).and_then(Value::as_object);
        for (keyword, value) in kept.into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("type" | "properties" | "required" | "$schema", _) | ("additionalProperties", Value::Bool(false)) => {}
                ("additionalProperties", _) => {
                    self.0.drop(keyword, "the arguments are closed: only the parameters that are named can be passed");
                }
                _ => self.0.drop(keyword, "it is about the parameters as a whole, and stays in the document"),
            }
        }
    }

    /// What a parameter or a return value says besides its schema.
    pub(super) fn of_value(&mut self, description: Option<&str>, schema: &Schema, extra: &Map) {
        self.unknown_keys(extra);
        let own = schema.description.as_deref().filter(|own| !own.is_empty());
        if let (Some(outer), Some(own)) = (description.filter(|outer| !outer.is_empty()), own)
            && outer != own
        {
            self.0.drop("description", "that of the schema: the one beside the schema takes its place");
        }
    }

    /// What a schema says that means nothing for values.
    pub(super) fn of_schema(&mut self, schema: &Schema) {
        if schema.properties.as_ref().is_some_and(indexmap::IndexMap::is_empty) {
            self.0.drop("properties", EMPTY);
        }
        for (key, value) in &schema.extra {
            self.keyword(key, value);
            if !key.starts_with("x-") {
                self.inside(key, value);
            }
        }
    }

    fn inside(&mut self, key: &str, value: &Value) {
        let mark = self.enter(key);
        let mut schemas = Vec::new();
        match (keyword::holds(key), value) {
            (keyword::Holds::Schema | keyword::Holds::List, Value::Array(list)) => {
                schemas.extend(list.iter().enumerate().map(|(index, schema)| (index.to_string(), schema)));
            }
            (keyword::Holds::Schema, schema) => self.of_json(schema),
            (keyword::Holds::Named, Value::Object(named)) => {
                schemas.extend(named.iter().map(|(name, schema)| (name.clone(), schema)));
            }
            _ => {}
        }
        for (step, schema) in schemas {
            let mark = self.enter(&step);
            self.of_json(schema);
            self.leave(mark);
        }
        self.leave(mark);
    }

    /// The same of a schema under a keyword that documents do not have, or of one that is imported.
    pub(super) fn of_json(&mut self, schema: &Value) {
        let Value::Object(schema) = schema else { return };
        if schema.get("properties").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            self.0.drop("properties", EMPTY);
        }
        for (key, value) in schema {
            self.keyword(key, value);
            self.inside(key, value);
        }
    }

    fn keyword(&mut self, key: &str, value: &Value) {
        match (key, value) {
            ("title" | "$schema" | "$id" | "$comment", Value::String(_)) => {
                self.0.drop(key, "it says nothing about values")
            }
            ("default", Value::Null) => self.0.drop(key, "null is what is left out anyway"),
            _ => {}
        }
    }

    fn unknown_keys(&mut self, extra: &Map) {
        for key in extra.keys().filter(|key| !key.starts_with("x-")) {
            let reason = if key == "stream" {
                "a list of tools does not say how results come"
            } else {
                "a list of tools has no place for it"
            };
            self.0.drop(key, reason);
        }
    }
}

const EMPTY: &str = "it is empty, and any object is allowed";
