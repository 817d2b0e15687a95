//! Schemas.

use foldhash::HashSet;
use serde_json::Value;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy, object_text},
    field::{may, should},
    kind::DocumentKind,
};
use crate::{
    json::near::misspelt,
    model::{Schema, SchemaType},
    tree::{Edit, Kind, NodeId, json_string, quote},
};

/// Where a schema is, as far as the check depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaPlace {
    Anywhere,
    /// A property of generation A, which may have `"required": true` of its own.
    GenerationA,
}

impl Checker<'_, '_> {
    /// The named schemas of a document.
    pub(super) fn schemas(&mut self, schemas: NodeId) {
        let members = self.tree.children(schemas).collect();
        for schema in self.last_of_each_key(members) {
            self.schema(schema, None);
        }
    }

    /// A schema; `owner` is the parameter or return value it belongs to.
    pub(super) fn schema(&mut self, schema: NodeId, owner: Option<NodeId>) {
        self.schema_at(schema, owner, SchemaPlace::Anywhere);
    }

    pub(super) fn property_of_generation_a(&mut self, property: NodeId) {
        self.schema_at(property, None, SchemaPlace::GenerationA);
    }

    fn schema_at(&mut self, schema: NodeId, owner: Option<NodeId>, place: SchemaPlace) {
        if self.tree.kind(schema) != Kind::Object {
            self.not_a_schema(schema);
            return;
        }
        if !self.in_older {
            self.references.add_schema(schema);
        }
        match self.kind {
            DocumentKind::OpenTool => self.opentool_schema(schema, owner, place),
            DocumentKind::OpenDyn => {
                let handled: &[&str] = if place == SchemaPlace::GenerationA { &["isIn", "required"] } else { &[] };
                self.opendyn_schema(schema, owner, handled);
            }
        }
    }

    /// A schema to start from, for the help text of a missing one.
    pub(super) fn schema_placeholder(&self) -> &'static str {
        match self.kind {
            DocumentKind::OpenTool => r#"{"type": "string"}"#,
            DocumentKind::OpenDyn => r#"{"type": "integer", "cType": {"type": "int", "isPointer": false}}"#,
        }
    }

    fn not_a_schema(&mut self, schema: NodeId) {
        let text = self.tree.string(schema);
        let meant = text.as_deref().and_then(type_meant);
        let remedy = match meant {
            Some(meant) => format!(r#"{{"type": "{meant}"}}"#),
            None => self.schema_placeholder().to_owned(),
        };
        let message = format!("a schema must be an object, not {}", self.tree.kind(schema).described());
        let remedy = Remedy::Replace(schema, remedy);
        self.propose(meant.is_some(), Code::WrongType, At::Value(schema), message, remedy);
    }

    fn opentool_schema(&mut self, schema: NodeId, owner: Option<NodeId>, place: SchemaPlace) {
        let fields = [
            should("type", Kind::String, Code::NoType),
            may("description", Kind::String),
            may("properties", Kind::Object),
            may("items", Kind::Object),
            may("enum", Kind::Array),
            may("required", Kind::Array),
            may("$ref", Kind::String),
        ];
        if self.reference(schema, owner) {
            return;
        }
        let object = self.object("schema", schema, fields, &["$ref"]);
        self.references_in_unknown_keys(schema, &object.members);
        let [declared, _, properties, items, values, required, reference] = object.members;
        if reference.is_some() {
            return; // a reference under a wrong name
        }
        let schema_type = match declared {
            Some(declared) => self.schema_type(declared),
            None => {
                let meant = if properties.is_some() {
                    Some(SchemaType::Object)
                } else if items.is_some() {
                    Some(SchemaType::Array)
                } else {
                    values.filter(|values| self.all_strings(*values)).map(|_| SchemaType::String)
                };
                let message = "the schema has neither `type` nor `$ref`".to_owned();
                let remedy = Remedy::Add(schema, "type", json_string(meant.unwrap_or(SchemaType::String).as_str()));
                self.propose(meant.is_some(), Code::NoType, At::Value(schema), message, remedy);
                meant
            }
        };
        self.optional_member(&object, 1);

        match properties {
            Some(properties) => {
                if self.tree.kind(properties) == Kind::Object {
                    self.schemas(properties);
                } else {
                    let null = self.tree.kind(properties) == Kind::Null;
                    let remedy = if null && schema_type != Some(SchemaType::Object) {
                        Remedy::Remove(properties)
                    } else {
                        Remedy::Replace(properties, "{}".to_owned())
                    };
                    let found = self.tree.kind(properties).described();
                    let message = format!("`properties` must be an object, not {found}");
                    self.propose(null, Code::WrongType, At::Value(properties), message, remedy);
                }
            }
            None if schema_type == Some(SchemaType::Object) => {
                let message = "an object needs `properties`, if only an empty `{}`".to_owned();
                let remedy = Remedy::Add(schema, "properties", "{}".to_owned());
                self.fix(Code::NoProperties, At::Value(schema), message, remedy);
            }
            None => {}
        }
        match items {
            Some(items) if self.tree.kind(items) == Kind::Null => {
                let message = "`items` must be an object, not null".to_owned();
                self.fix(Code::WrongType, At::Value(items), message, Remedy::Remove(items));
            }
            Some(items) => self.schema(items, None),
            None if schema_type == Some(SchemaType::Array) => {
                let message = "an array needs `items`; strings are assumed".to_owned();
                let remedy = Remedy::Add(schema, "items", r#"{"type": "string"}"#.to_owned());
                self.fix(Code::NoItems, At::Value(schema), message, remedy);
            }
            None => {}
        }
        if let Some(values) = values
            && self.optional(values, fields[4])
        {
            self.values(values, schema_type);
        }
        match required {
            Some(required) if place == SchemaPlace::GenerationA && self.tree.kind(required) == Kind::Bool => {}
            Some(required) if self.optional(required, fields[5]) => {
                let properties = properties.filter(|properties| self.tree.kind(*properties) == Kind::Object);
                self.required_list(required, properties);
            }
            _ => {}
        }
    }

    /// Unknown keys are kept as they are, but a reference inside them is checked like any other.
    fn references_in_unknown_keys(&mut self, schema: NodeId, known: &[Option<NodeId>]) {
        let tree = self.tree;
        let mut waiting: Vec<_> = tree
            .children(schema)
            .filter(|member| tree.kind(*member).is_container())
            .filter(|member| !known.contains(&Some(*member)) && !tree.key(*member).starts_with("x-"))
            .collect();
        while let Some(node) = waiting.pop() {
            let reference = tree.get(node, "$ref");
            if let Some((reference, text)) = reference.and_then(|reference| Some((reference, tree.string(reference)?)))
            {
                self.references.add_schema(node);
                self.references.add_reference(node, reference, text);
            }
            waiting.extend(tree.children(node).filter(|child| tree.kind(*child).is_container()));
        }
    }

    fn all_strings(&self, list: NodeId) -> bool {
        self.tree.kind(list) == Kind::Array
            && self.tree.children(list).all(|value| self.tree.kind(value) == Kind::String)
    }

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
        let known = "boolean, integer, number, string, array or object";
        let message = format!("{} is not a type: it is one of {known}", quote(name));
        let meant = type_meant(name);
        let remedy = Remedy::Replace(declared, json_string(meant.unwrap_or("string")));
        self.propose(meant.is_some(), Code::UnknownType, At::Value(declared), message, remedy);
        meant.and_then(SchemaType::from_name)
    }

    fn type_of_wrong_kind(&mut self, declared: NodeId) -> Option<SchemaType> {
        let message = format!("`type` must be a string, not {}", self.tree.kind(declared).described());
        let remedy = Remedy::Replace(declared, json_string("string"));
        self.suggest(Code::WrongType, At::Value(declared), message, remedy);
        None
    }

    /// The allowed values: strings, or values of the declared type.
    fn values(&mut self, values: NodeId, schema_type: Option<SchemaType>) {
        let mut as_text = None;
        for value in self.tree.children(values) {
            let kind = self.tree.kind(value);
            match schema_type {
                Some(SchemaType::String) if kind != Kind::String => {
                    let scalar = matches!(kind, Kind::Number | Kind::Bool);
                    let message = format!("a value of a string must be a string, not {}", kind.described());
                    let text = if scalar { self.tree.raw(value).to_owned() } else { self.tree.inline(value) };
                    let remedy = Remedy::Replace(value, json_string(&text));
                    self.propose(scalar, Code::EnumMismatch, At::Value(value), message, remedy);
                }
                Some(wanted @ (SchemaType::Boolean | SchemaType::Integer | SchemaType::Number)) => {
                    let text = match kind {
                        Kind::String => self.tree.string(value),
                        _ => Some(self.tree.raw(value).into()),
                    };
                    if !text.is_some_and(|text| fits(&text, wanted)) {
                        let message = format!("{} is not {}", quote(&self.tree.inline(value)), wanted.described());
                        let help = format!("write {}, or remove it", wanted.described());
                        self.report(Code::EnumMismatch, At::Value(value), message, Some(help));
                    } else if kind == Kind::String {
                        as_text = as_text.or(Some(value));
                    }
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

    /// Checks that the list of required properties names only properties that exist.
    pub(super) fn required_list(&mut self, required: NodeId, properties: Option<NodeId>) {
        let tree = self.tree;
        for name in tree.children(required).filter(|name| tree.kind(*name) != Kind::String) {
            let message = format!("`required` lists names, not {}", tree.kind(name).described());
            self.suggest(Code::WrongType, At::Value(name), message, Remedy::Remove(name));
        }
        let names: Vec<_> = tree.children(required).filter_map(|name| Some((name, tree.string(name)?))).collect();
        if names.is_empty() {
            return;
        }
        let known: HashSet<_> =
            properties.map(|all| tree.children(all).map(|member| tree.key(member)).collect()).unwrap_or_default();
        let unknown: Vec<_> = names.iter().filter(|(_, name)| !known.contains(name)).collect();
        let Some((first, name)) = unknown.first() else { return };
        let kept: Vec<_> = tree
            .children(required)
            .filter(|name| tree.string(*name).is_none_or(|name| known.contains(&name)))
            .map(|name| tree.inline(name))
            .collect();
        let others = match unknown.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let message = format!("`required` names {}{others}, which is no property", quote(name));
        let help = format!("remove {}", if others.is_empty() { "it" } else { "them" });
        let edit: Edit = tree.replace_value(required, format!("[{}]", kept.join(", ")));
        self.fix(Code::UnknownRequired, At::Value(*first), message, Remedy::Edits(help, vec![edit]));
    }

    /// A schema that refers to another. Readers ignore the siblings of a reference, so a fix removes them.
    /// Returns whether the schema is a reference.
    pub(super) fn reference(&mut self, schema: NodeId, owner: Option<NodeId>) -> bool {
        let tree = self.tree;
        let Some(reference) = tree.get(schema, "$ref") else { return false };
        let Some(text) = tree.string(reference) else {
            let message = format!("`$ref` must be a string, not {}", tree.kind(reference).described());
            let null = tree.kind(reference) == Kind::Null;
            self.propose(null, Code::WrongType, At::Value(reference), message, Remedy::Remove(reference));
            return false;
        };
        self.references.add_reference(schema, reference, text);
        let is_sibling = |key: &str| key != "$ref" && !key.starts_with("x-");
        let Some(sibling) = tree.children(schema).find(|member| is_sibling(&tree.key(*member))) else { return true };
        let mut kept: Vec<_> = tree
            .children(schema)
            .filter(|member| !is_sibling(&tree.key(*member)))
            .map(|member| (tree.key(member), tree.inline(member)))
            .collect();
        let mut edits = Vec::new();
        let mut help = "keep only the reference".to_owned();
        if let Some(description) = tree.get(schema, "description").filter(|text| tree.kind(*text) == Kind::String) {
            match owner.filter(|owner| tree.get(*owner, "description").is_none()) {
                Some(owner) => {
                    edits.push(tree.insert_member(owner, "description", tree.raw(description)));
                    help.push_str(", and move the description beside `schema`");
                }
                None if tree.get(schema, "x-description").is_none() => {
                    kept.push(("x-description".into(), tree.raw(description).to_owned()));
                    help.push_str(", and keep the description as `x-description`");
                }
                None => {}
            }
        }
        edits.push(tree.replace_value(schema, object_text(&kept)));
        let message = format!("readers ignore {} beside `$ref`", quote(&tree.key(sibling)));
        self.fix(Code::ReferenceSiblings, At::Key(sibling), message, Remedy::Edits(help, edits));
        true
    }
}

/// The type a misspelt or foreign name means.
fn type_meant(name: &str) -> Option<&'static str> {
    SchemaType::from_name(name).or_else(|| SchemaType::from_alias(name)).map(SchemaType::as_str).or_else(
        || match name {
            "str" | "text" | "char" | "date" | "datetime" | "uuid" => Some("string"),
            "list" | "tuple" | "set" | "vec" | "[]" => Some("array"),
            "dict" | "map" | "struct" | "json" | "any" => Some("object"),
            "i32" | "i64" | "u32" | "u64" | "uint" | "int32" | "int64" | "byte" => Some("integer"),
            "f32" | "f64" | "decimal" | "real" => Some("number"),
            _ => misspelt(name, SchemaType::ALL.map(SchemaType::as_str)),
        },
    )
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
