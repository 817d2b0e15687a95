//! The allowed values of a schema.

use serde_json::Value;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
};
use crate::{
    model::{Schema, SchemaType},
    tree::{Kind, NodeId, json_string, quote},
};

impl Checker<'_, '_> {
    /// The allowed values: strings, or values of the declared type.
    pub(super) fn values(&mut self, schema: NodeId, values: NodeId, schema_type: Option<SchemaType>) {
        let tree = self.tree;
        if tree.last_child(values).is_none() {
            let message = "`enum` allows no value at all".to_owned();
            let help = "list the allowed values, or remove `enum` where every value is allowed".to_owned();
            let remedy = Remedy::Edits(help, vec![tree.remove_child(values)]);
            self.suggest(Code::EmptyEnum, At::Value(values), message, remedy);
            return;
        }
        let nullable = self.admits_null(schema);
        let mut as_text = None;
        for value in tree.children(values) {
            let kind = tree.kind(value);
            if kind == Kind::Null && nullable {
                continue;
            }
            match schema_type {
                Some(SchemaType::String) if kind != Kind::String => {
                    let scalar = matches!(kind, Kind::Number | Kind::Bool);
                    let message = format!("a value of a string must be a string, not {}", kind.described());
                    let text = if scalar { tree.raw(value).to_owned() } else { tree.inline(value) };
                    let remedy = Remedy::Replace(value, json_string(&text));
                    self.propose(scalar, Code::EnumMismatch, At::Value(value), message, remedy);
                }
                Some(wanted @ (SchemaType::Boolean | SchemaType::Integer | SchemaType::Number)) => {
                    let text = match kind {
                        Kind::String => tree.string(value),
                        _ => Some(tree.raw(value).into()),
                    };
                    if !text.is_some_and(|text| fits(&text, wanted)) {
                        let message = format!("{} is not {}", quote(&tree.inline(value)), wanted.described());
                        let help = format!("write {}, or remove it", wanted.described());
                        self.report(Code::EnumMismatch, At::Value(value), message, Some(help));
                    } else if kind == Kind::String {
                        as_text = as_text.or(Some(value));
                    }
                }
                Some(SchemaType::Array) if kind != Kind::Array => {
                    let message = format!("{} is not an array, so it is never allowed", quote(&tree.inline(value)));
                    let help = "where the elements are meant, write the `enum` into `items`".to_owned();
                    self.report(Code::EnumMismatch, At::Value(value), message, Some(help));
                }
                Some(SchemaType::Object) if kind != Kind::Object => {
                    let message = format!("{} is not an object, so it is never allowed", quote(&tree.inline(value)));
                    let help = "write the values of a property into that property, or correct the type".to_owned();
                    self.report(Code::EnumMismatch, At::Value(value), message, Some(help));
                }
                _ => {}
            }
        }
        if let (Some(value), Some(wanted)) = (as_text, schema_type) {
            let message =
                format!("the values of {} are written as strings: they are sent as {wanted}s", wanted.described());
            self.report(Code::EnumAsText, At::Value(value), message, None);
        }
    }

    /// Whether a schema says that null is a value too.
    fn admits_null(&self, schema: NodeId) -> bool {
        let tree = self.tree;
        let marked = [Schema::NULLABLE, "nullable"]
            .iter()
            .any(|key| tree.get(schema, key).and_then(|marked| tree.bool(marked)) == Some(true));
        let declared = tree.get(schema, "type");
        marked
            || declared.is_some_and(|declared| {
                tree.kind(declared) == Kind::Array
                    && tree.children(declared).any(|name| tree.string(name).as_deref() == Some("null"))
            })
    }
}

/// The type that has this JSON value.
pub(super) fn type_of_value(kind: Kind, raw: &str) -> Option<SchemaType> {
    match kind {
        Kind::Null => None,
        Kind::Bool => Some(SchemaType::Boolean),
        Kind::Number if fits(raw, SchemaType::Integer) => Some(SchemaType::Integer),
        Kind::Number => Some(SchemaType::Number),
        Kind::String => Some(SchemaType::String),
        Kind::Array => Some(SchemaType::Array),
        Kind::Object => Some(SchemaType::Object),
    }
}

/// Whether a text, without quotes, is a value of the type.
fn fits(text: &str, wanted: SchemaType) -> bool {
    match (serde_json::from_str(text), wanted) {
        (Ok(Value::Bool(_)), SchemaType::Boolean) | (Ok(Value::Number(_)), SchemaType::Number) => true,
        (Ok(Value::Number(number)), SchemaType::Integer) => {
            !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}
