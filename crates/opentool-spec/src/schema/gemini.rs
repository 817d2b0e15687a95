//! What Gemini takes as `parametersJsonSchema` and `responseJsonSchema`.

use serde_json::{Map, Value};

use super::dropped::{DropLog, Dropped};
use super::keyword;

/// Writes a schema with the keywords that Gemini knows, and what it does not know.
pub(super) fn adapt(schema: &Value) -> (Value, Vec<Dropped>) {
    let mut schema = schema.clone();
    let mut report = DropLog::default();
    write(&mut schema, &mut report);
    (schema, report.dropped)
}

fn write(schema: &mut Value, report: &mut DropLog) {
    let Value::Object(schema) = schema else { return };
    drop_unknown(schema, report);
    for (keyword, value) in schema.iter_mut() {
        let mark = report.enter(keyword);
        match (keyword::holds(keyword), value) {
            (keyword::Holds::Schema | keyword::Holds::List, Value::Array(list)) => {
                for (index, child) in list.iter_mut().enumerate() {
                    let mark = report.enter(&index.to_string());
                    write(child, report);
                    report.leave(mark);
                }
            }
            (keyword::Holds::Schema, child) => write(child, report),
            (keyword::Holds::Named, Value::Object(named)) => {
                for (name, child) in named {
                    let mark = report.enter(name);
                    write(child, report);
                    report.leave(mark);
                }
            }
            _ => {}
        }
        report.leave(mark);
    }
}

fn drop_unknown(schema: &mut Map<String, Value>, report: &mut DropLog) {
    schema.retain(|keyword, value| {
        let reason = match (keyword.as_str(), &*value) {
            ("enum", Value::Array(values))
                if !values.iter().all(|value| value.is_string() || value.is_number() || value.is_null()) =>
            {
                "Gemini chooses between strings or numbers"
            }
            (keyword, _) if is_known(keyword) => return true,
            _ => "not supported by Gemini",
        };
        report.drop(keyword, reason);
        false
    });
}

/// The keywords of JSON Schema that the provider documents.
fn is_known(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "$defs"
            | "type"
            | "format"
            | "title"
            | "description"
            | "enum"
            | "items"
            | "prefixItems"
            | "minItems"
            | "maxItems"
            | "minimum"
            | "maximum"
            | "anyOf"
            | "oneOf"
            | "properties"
            | "additionalProperties"
            | "required"
    )
}
