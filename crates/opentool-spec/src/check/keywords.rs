//! The keywords of JSON Schema, which the specs do not have and documents carry: whether their values can be used.
//!
//! A tool with such a schema is loaded only if they can.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::DocumentKind,
    synonyms::{said_boolean, type_meant},
};
use crate::{
    json::near::is_same,
    model::SchemaType,
    pattern,
    tree::{Kind, NodeId, json_string, quote},
};

/// How many patterns of a document are compiled; of more only the syntax is checked.
const COMPILED: usize = 1_000;

/// What the value of a keyword must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeywordValue {
    Number,
    /// A number above 0.
    Positive,
    /// A whole number from 0.
    Count,
    /// A number, or true and false as in older drafts.
    Bound,
    Text,
    Pattern,
    Flag,
    List,
    /// The allowed values.
    Values,
    /// A list of names.
    Names,
    /// Lists of names by name.
    NamesByKey,
    /// A type or a list of types.
    Types,
    Schema,
    /// A schema, or a list of them as in older drafts.
    SchemaOrList,
    /// A list of schemas, of at least one.
    Schemas,
    /// Schemas by name.
    Named,
    /// Schemas by pattern.
    NamedByPattern,
    /// A schema or a list of names by name, as in older drafts.
    Dependencies,
    /// Nothing: the keyword cannot be used in a document.
    Never,
}

fn value_of(keyword: &str) -> Option<KeywordValue> {
    Some(match keyword {
        "minimum" | "maximum" => KeywordValue::Number,
        "exclusiveMinimum" | "exclusiveMaximum" => KeywordValue::Bound,
        "multipleOf" => KeywordValue::Positive,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => KeywordValue::Count,
        "format" | "contentEncoding" | "contentMediaType" | "title" | "description" | "$comment" | "$id"
        | "$schema" => KeywordValue::Text,
        "pattern" => KeywordValue::Pattern,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => KeywordValue::Flag,
        "examples" => KeywordValue::List,
        "enum" => KeywordValue::Values,
        "required" => KeywordValue::Names,
        "dependentRequired" => KeywordValue::NamesByKey,
        "type" => KeywordValue::Types,
        "additionalProperties"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "additionalItems"
        | "contains"
        | "propertyNames"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => KeywordValue::Schema,
        "items" => KeywordValue::SchemaOrList,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordValue::Schemas,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => KeywordValue::Named,
        "patternProperties" => KeywordValue::NamedByPattern,
        "dependencies" => KeywordValue::Dependencies,
        "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveAnchor" | "$recursiveRef" | "$vocabulary" => {
            KeywordValue::Never
        }
        _ => return None,
    })
}

impl KeywordValue {
    fn described(self) -> &'static str {
        match self {
            KeywordValue::Number | KeywordValue::Bound => "a number",
            KeywordValue::Positive => "a number above 0",
            KeywordValue::Count => "a whole number from 0",
            KeywordValue::Text | KeywordValue::Pattern => "a string",
            KeywordValue::Flag => "true or false",
            KeywordValue::List | KeywordValue::Values => "an array",
            KeywordValue::Names => "an array of names",
            KeywordValue::NamesByKey => "an object of arrays of names",
            KeywordValue::Types => "one or more of boolean, integer, number, string, array, object and null",
            KeywordValue::Schema => "a schema",
            KeywordValue::SchemaOrList => "a schema or an array of schemas",
            KeywordValue::Schemas => "an array of at least one schema",
            KeywordValue::Named | KeywordValue::NamedByPattern => "an object of schemas",
            KeywordValue::Dependencies => "an object of schemas or arrays of names",
            KeywordValue::Never => "left out",
        }
    }
}

impl Checker<'_, '_> {
    /// Checks the keywords of a schema that its spec does not have, at any depth; `known` are the members it has.
    pub(super) fn keywords(&mut self, schema: NodeId, known: &[Option<NodeId>]) {
        let tree = self.tree;
        let is_own = |member: NodeId| known.contains(&Some(member)) || tree.key(member) == "$ref";
        // A null where the spec has no such key means that there is nothing.
        let is_nothing = |member: NodeId| tree.kind(member) == Kind::Null;
        let mut inner = Vec::new();
        let members = tree.children(schema).filter(|member| !is_own(*member) && !is_nothing(*member)).collect();
        for member in self.last_of_each_key(members) {
            self.keyword(member, &mut inner);
        }
        // Structs lie within structs, and arrays have them as elements.
        let may_refer = self.kind != DocumentKind::OpenDyn
            || tree.get(schema, "x-struct").is_some()
            || self.has_struct_items(schema);
        while let Some(schema) = inner.pop() {
            self.inner_schema(schema, may_refer, &mut inner);
        }
    }

    /// Whether a schema is an array without a C type whose elements refer to a schema, which then is a struct.
    pub(super) fn has_struct_items(&self, schema: NodeId) -> bool {
        let tree = self.tree;
        let refers = tree.get(schema, "items").is_some_and(|items| tree.get(items, "$ref").is_some());
        refers && tree.get(schema, "cType").is_none()
    }

    /// A schema under a keyword that the spec does not have: it is JSON Schema.
    fn inner_schema(&mut self, schema: NodeId, may_refer: bool, inner: &mut Vec<NodeId>) {
        let tree = self.tree;
        match tree.kind(schema) {
            Kind::Bool => return,
            Kind::Object => {}
            kind => {
                let text = tree.string(schema);
                let meant = text.as_deref().and_then(type_meant);
                let message = format!("a schema must be an object, not {}", kind.described());
                let replacement = format!(r#"{{"type": "{}"}}"#, meant.unwrap_or("string"));
                let remedy = Remedy::Replace(schema, replacement);
                self.propose(meant.is_some(), Code::InvalidKeyword, At::Value(schema), message, remedy);
                return;
            }
        }
        for member in self.last_of_each_key(tree.children(schema).collect()) {
            if tree.key(member) == "$ref" {
                self.inner_reference(schema, member, may_refer);
            } else {
                self.keyword(member, inner);
            }
        }
    }

    fn inner_reference(&mut self, schema: NodeId, reference: NodeId, may_refer: bool) {
        let Some(text) = self.tree.string(reference) else {
            let found = self.tree.kind(reference).described();
            let message = format!("`$ref` must be a string, not {found}");
            self.report(Code::InvalidKeyword, At::Value(reference), message, None);
            return;
        };
        if !may_refer {
            let message = format!("{} is in a keyword that OpenDyn does not have: it cannot be followed", quote(&text));
            let help = "write the schema here".to_owned();
            self.report(Code::UnresolvedReference, At::Value(reference), message, Some(help));
            return;
        }
        self.references.add_schema(schema);
        self.references.add_reference(schema, reference, text);
    }

    fn keyword(&mut self, member: NodeId, inner: &mut Vec<NodeId>) {
        let tree = self.tree;
        let key = tree.key(member);
        let Some(wanted) = value_of(&key) else { return };
        let kind = tree.kind(member);
        let fits = match wanted {
            KeywordValue::Number => kind == Kind::Number,
            KeywordValue::Bound => matches!(kind, Kind::Number | Kind::Bool),
            KeywordValue::Positive => tree.raw(member).parse::<f64>().is_ok_and(|number| number > 0.0),
            KeywordValue::Count => kind == Kind::Number && is_count(tree.raw(member)),
            KeywordValue::Text => kind == Kind::String,
            KeywordValue::Flag => kind == Kind::Bool,
            KeywordValue::List => kind == Kind::Array,
            KeywordValue::Names => self.is_names(member),
            KeywordValue::NamesByKey => kind == Kind::Object && tree.children(member).all(|names| self.is_names(names)),
            KeywordValue::Types => self.is_types(member),
            KeywordValue::Never => false,
            KeywordValue::Pattern => {
                if kind == Kind::String {
                    self.pattern(&tree.string(member).unwrap_or_default(), pattern::OF_VALUES, At::Value(member));
                }
                kind == Kind::String
            }
            KeywordValue::Values => {
                if kind == Kind::Array {
                    self.values(tree.parent(member).unwrap_or(member), member, None);
                }
                kind == Kind::Array
            }
            KeywordValue::Schema => {
                inner.push(member);
                true
            }
            KeywordValue::SchemaOrList if kind != Kind::Array => {
                inner.push(member);
                true
            }
            KeywordValue::Schemas | KeywordValue::SchemaOrList => {
                inner.extend(tree.children(member).filter(|_| kind == Kind::Array));
                kind == Kind::Array && (tree.last_child(member).is_some() || wanted == KeywordValue::SchemaOrList)
            }
            KeywordValue::Named => {
                inner.extend(tree.children(member).filter(|_| kind == Kind::Object));
                kind == Kind::Object
            }
            KeywordValue::NamedByPattern => {
                for schema in tree.children(member).filter(|_| kind == Kind::Object) {
                    self.pattern(&tree.key(schema), pattern::OF_NAMES, At::Key(schema));
                    inner.push(schema);
                }
                kind == Kind::Object
            }
            KeywordValue::Dependencies => {
                let others = tree.children(member).filter(|other| !self.is_names(*other));
                inner.extend(others.filter(|_| kind == Kind::Object));
                kind == Kind::Object
            }
        };
        if !fits {
            self.invalid_keyword(member, &key, wanted);
        }
    }

    fn invalid_keyword(&mut self, member: NodeId, key: &str, wanted: KeywordValue) {
        let tree = self.tree;
        let raw = tree.raw(member);
        if wanted == KeywordValue::Never {
            let message = format!("{} cannot be used in a document", quote(key));
            let help = "name the schema under `schemas`, and refer to it by `$ref`".to_owned();
            self.report(Code::InvalidKeyword, At::Key(member), message, Some(help));
            return;
        }
        let found =
            if tree.kind(member).is_container() { tree.kind(member).described().to_owned() } else { quote(raw) };
        let message = format!("{} must be {}, not {found}", quote(key), wanted.described());
        let text = tree.string(member);
        let is_number = |text: &str| serde_json::from_str::<serde_json::Number>(text).is_ok();
        let meant = match (wanted, text.as_deref()) {
            (KeywordValue::Number | KeywordValue::Bound, Some(text)) if is_number(text) => Some(text.to_owned()),
            (KeywordValue::Count, Some(text)) if is_count(text) => Some(text.to_owned()),
            (KeywordValue::Flag, _) => said_boolean(raw).map(|flag| flag.to_string()),
            (KeywordValue::Types, Some(text)) => other_spelling(text).map(|meant| json_string(meant.as_str())),
            _ => None,
        };
        match meant {
            Some(meant) => {
                self.fix(Code::InvalidKeyword, At::Value(member), message, Remedy::Replace(member, meant));
            }
            None => {
                let help = Some("correct it, or remove it".to_owned());
                self.report(Code::InvalidKeyword, At::Value(member), message, help);
            }
        }
    }

    fn is_names(&self, list: NodeId) -> bool {
        let tree = self.tree;
        tree.kind(list) == Kind::Array && tree.children(list).all(|name| tree.kind(name) == Kind::String)
    }

    /// Whether a value is a type of JSON Schema or a list of different ones.
    fn is_types(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let is_type = |node: NodeId| {
            tree.string(node).is_some_and(|name| name == "null" || SchemaType::from_name(&name).is_some())
        };
        if tree.kind(node) != Kind::Array {
            return is_type(node);
        }
        let names: Vec<_> = tree.children(node).take(8).map(|name| tree.string(name)).collect();
        let repeats = (1..names.len()).any(|at| names[..at].contains(&names[at]));
        !names.is_empty() && tree.children(node).all(is_type) && !repeats
    }

    fn pattern(&mut self, text: &str, limit: usize, at: At) {
        let known = (text.to_owned(), limit);
        let fault = match self.patterns.get(&known) {
            Some(fault) => fault.clone(),
            None if self.patterns.len() < COMPILED => pattern::fault(text, limit),
            None => pattern::syntax_fault(text),
        };
        self.patterns.insert(known, fault.clone());
        let Some(fault) = fault else { return };
        let message = format!("the pattern {} cannot be used: {fault}", quote(text));
        let help = "correct it; a pattern is a regular expression without look-around and back-references";
        self.report(Code::InvalidPattern, at, message, Some(help.to_owned()));
    }
}

/// A type of the spec in capital letters or under the name that another language has for it.
fn other_spelling(name: &str) -> Option<SchemaType> {
    let same = SchemaType::ALL.into_iter().find(|known| is_same(name, known.as_str()));
    same.or_else(|| SchemaType::from_alias(name))
}

/// Whether the text of a number is a whole one from 0 that every reader can hold.
fn is_count(raw: &str) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    raw.parse::<u64>().is_ok()
        || raw.parse::<f64>().is_ok_and(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(&number))
}
