//! The fields of the objects in the specs.

use super::code::Code;
use crate::{
    json::near::misspelt,
    tree::{Kind, NodeId},
};

/// A field of an object of a spec.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The code under which its absence is reported, if it is.
    pub(super) absent: Option<Code>,
}

/// A field whose absence is an error.
pub(super) const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, absent: Some(Code::MissingField) }
}

/// A field whose absence is reported under a code of its own.
pub(super) const fn should(name: &'static str, kind: Kind, absent: Code) -> Field {
    Field { name, kind, absent: Some(absent) }
}

/// A field that may be absent.
pub(super) const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, absent: None }
}

impl Field {
    /// Whether a member that is not in the spec is this field under a wrong name.
    pub(super) fn is_meant_by(self, key: &str, kind: Kind) -> bool {
        let fits = kind == self.kind || (self.name == "parameters" && kind == Kind::Object);
        let synonym = match self.name {
            "parameters" => matches!(key, "params" | "args" | "arguments" | "inputSchema" | "input_schema"),
            "arguments" => matches!(key, "args" | "params" | "parameters"),
            "description" => key == "desc",
            _ => false,
        };
        fits && (synonym || (!JSON_SCHEMA.contains(&key) && misspelt(key, [self.name]).is_some()))
    }
}

/// An object of a document, with its members in the order of the fields that its spec gives it.
///
/// A misspelt member, which has been reported, counts as found, so that its value is checked too.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpecObject<const N: usize> {
    pub(super) noun: &'static str,
    pub(super) node: NodeId,
    pub(super) fields: [Field; N],
    pub(super) members: [Option<NodeId>; N],
}

/// Keys of JSON Schema, which are never taken for misspellings.
const JSON_SCHEMA: &[&str] = &[
    "$schema",
    "$id",
    "$defs",
    "$comment",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "definitions",
    "deprecated",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "readOnly",
    "title",
    "uniqueItems",
    "writeOnly",
];
