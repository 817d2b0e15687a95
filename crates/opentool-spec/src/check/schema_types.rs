//! The type that a schema declares.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    synonyms::type_meant,
};
use crate::{
    model::{Schema, SchemaType},
    tree::{Kind, NodeId, json_string, quote},
};

/// The types of the spec, for messages.
pub(super) const TYPES: &str = "boolean, integer, number, string, array or object";

impl Checker<'_, '_> {
    /// The type that a schema declares, however it is written.
    pub(super) fn schema_type(&mut self, declared: NodeId) -> Option<SchemaType> {
        let tree = self.tree;
        match tree.kind(declared) {
            Kind::String => {
                let name = tree.string(declared)?;
                if let Some(known) = SchemaType::from_name(&name) {
                    return Some(known);
                }
                if let Some(known) = SchemaType::from_alias(&name) {
                    let message = format!("{} is not a type of the spec: {known} is meant", quote(&name));
                    let remedy = Remedy::Replace(declared, json_string(known.as_str()));
                    self.fix(Code::TypeAlias, At::Value(declared), message, remedy);
                    return Some(known);
                }
                self.unknown_type(declared, &name)
            }
            Kind::Array => {
                let names: Vec<_> = tree.children(declared).map(|name| tree.string(name)).collect();
                let first = names.iter().flatten().find(|name| **name != "null");
                let Some(first) = first.filter(|_| names.iter().all(Option::is_some)) else {
                    return self.type_of_wrong_kind(declared);
                };
                let Some(meant) = type_meant(first) else {
                    return self.unknown_type(declared, first);
                };
                let message = format!("`type` is one type, not a list: {} is taken", quote(first));
                let mut remedy = Remedy::Replace(declared, json_string(meant));
                if names.iter().flatten().any(|name| *name == "null")
                    && let Some(schema) = tree.parent(declared)
                    && tree.get(schema, Schema::NULLABLE).is_none()
                {
                    let help = format!("{}, and add `{}: true`", remedy.help(tree), json_string(Schema::NULLABLE));
                    let mut edits = remedy.into_edits(tree);
                    edits.push(tree.insert_member(schema, Schema::NULLABLE, "true"));
                    remedy = Remedy::Edits(help, edits);
                }
                self.fix(Code::TypeUnion, At::Value(declared), message, remedy);
                SchemaType::from_name(meant)
            }
            _ => self.type_of_wrong_kind(declared),
        }
    }

    fn unknown_type(&mut self, declared: NodeId, name: &str) -> Option<SchemaType> {
        let message = match name.trim() {
            "" => format!("the type is empty: it is one of {TYPES}"),
            _ => format!("{} is not a type: it is one of {TYPES}", quote(name)),
        };
        let meant = type_meant(name);
        let remedy = match meant {
            Some(meant) => Remedy::Replace(declared, json_string(meant)),
            None => {
                let edit = self.tree.replace_value(declared, json_string("string"));
                Remedy::Edits("write the type of the value, for example `\"string\"`".to_owned(), vec![edit])
            }
        };
        self.propose(meant.is_some(), Code::UnknownType, At::Value(declared), message, remedy);
        meant.and_then(SchemaType::from_name)
    }

    fn type_of_wrong_kind(&mut self, declared: NodeId) -> Option<SchemaType> {
        let message = format!("`type` must be a string, not {}", self.tree.kind(declared).described());
        let help = format!("write one of {TYPES}, for example `\"string\"`");
        let edit = self.tree.replace_value(declared, json_string("string"));
        self.suggest(Code::WrongType, At::Value(declared), message, Remedy::Edits(help, vec![edit]));
        None
    }
}
