//! Schemas.

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{may, should},
    kind::DocumentKind,
    schema_types::TYPES,
    synonyms::{said_boolean, type_meant},
    values::type_of_value,
};
use crate::{
    json::near::misspelt,
    model::SchemaType,
    tree::{Edit, Kind, NodeId, json_string, quote},
};

/// How many names of a list are compared for "did you mean", and with how many each.
const COMPARED: usize = 100;
/// The keywords under which a value has several schemas.
const BRANCHES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Where a schema is, as far as the check depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaPlace {
    Anywhere,
    /// A property of an object, which may have `"required": true` of its own.
    Property,
    /// A property of the parameters of generation A, which is the same with the direction of OpenDyn.
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

    /// The properties of an object.
    fn properties(&mut self, properties: NodeId) {
        let members = self.tree.children(properties).collect();
        for property in self.last_of_each_key(members) {
            match self.schema_inside(property) {
                Some(inside) => self.schema(inside, None),
                None => self.schema_at(property, None, SchemaPlace::Property),
            }
        }
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
            // A workflow has no schemas.
            DocumentKind::OpenTool | DocumentKind::OpenWorkflow => self.opentool_schema(schema, owner, place),
            DocumentKind::OpenDyn => {
                let handled: &[&str] = if place == SchemaPlace::GenerationA { &["isIn", "required"] } else { &[] };
                self.opendyn_schema(schema, owner, handled);
            }
        }
    }

    /// A schema to start from, for the help text of a missing one.
    pub(super) fn schema_placeholder(&self) -> &'static str {
        match self.kind {
            DocumentKind::OpenTool | DocumentKind::OpenWorkflow => r#"{"type": "string"}"#,
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
        if place != SchemaPlace::Property
            && let Some(inside) = self.schema_inside(schema)
        {
            self.wrapped_schema(schema, inside);
            self.schema(inside, None);
            return;
        }
        let object = self.object("schema", schema, fields, &["$ref"]);
        self.keywords(schema, &object.members);
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
                } else if values.is_some_and(|values| self.all_strings(values)) {
                    Some(SchemaType::String)
                } else {
                    self.type_of_branches(schema)
                };
                self.no_type(schema, meant);
                meant
            }
        };
        self.optional_member(&object, 1);

        match properties {
            Some(properties) => {
                if self.tree.kind(properties) == Kind::Object {
                    self.older_properties(schema, properties, required);
                    self.properties(properties);
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
            self.values(schema, values, schema_type);
        }
        match required {
            // It says that the property is required, which the object around it reports.
            Some(required) if place != SchemaPlace::Anywhere && said_boolean(self.tree.raw(required)).is_some() => {}
            Some(required) if self.optional(required, fields[5]) => {
                let properties = properties.filter(|properties| self.tree.kind(*properties) == Kind::Object);
                self.required_list(required, properties);
            }
            _ => {}
        }
    }

    /// A schema without a type; adding one that follows from the rest changes nothing for those who knew.
    fn no_type(&mut self, schema: NodeId, meant: Option<SchemaType>) {
        let tree = self.tree;
        let branches = BRANCHES.into_iter().find(|key| tree.get(schema, key).is_some());
        let message = match branches {
            Some(key) => format!("the schema has no `type`: `{key}` alone is not understood by readers of the spec"),
            None => "the schema has neither `type` nor `$ref`".to_owned(),
        };
        let remedy = match (meant, branches) {
            (Some(meant), _) => Remedy::Add(schema, "type", json_string(meant.as_str())),
            (None, Some(key)) => {
                let help = format!(
                    "choose one type for the value, and add it as `type`; describe the rest of `{key}` in words"
                );
                Remedy::Edits(help, vec![tree.insert_member(schema, "type", &json_string("string"))])
            }
            (None, None) => {
                let help = format!("add the type of the value: {TYPES}; for example `\"type\": \"string\"`");
                Remedy::Edits(help, vec![tree.insert_member(schema, "type", &json_string("string"))])
            }
        };
        self.propose(meant.is_some(), Code::NoType, At::Value(schema), message, remedy);
    }

    /// The type that `const`, or every branch of a union, has.
    fn type_of_branches(&self, schema: NodeId) -> Option<SchemaType> {
        let tree = self.tree;
        if let Some(value) = tree.get(schema, "const") {
            return type_of_value(tree.kind(value), tree.raw(value));
        }
        let union = BRANCHES.into_iter().find_map(|key| tree.get(schema, key))?;
        let mut types = tree.children(union).map(|branch| {
            let name = tree.string(tree.get(branch, "type")?)?;
            SchemaType::from_name(&name)
        });
        let first = types.next()??;
        types.all(|other| other == Some(first)).then_some(first)
    }

    fn all_strings(&self, list: NodeId) -> bool {
        self.tree.kind(list) == Kind::Array
            && self.tree.children(list).all(|value| self.tree.kind(value) == Kind::String)
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
        // A misspelt name means the property, where that is not in the list already.
        let listed: HashSet<_> = names.iter().map(|(_, name)| name).collect();
        let others = properties.into_iter().flat_map(|all| tree.children(all)).map(|member| tree.key(member));
        let others: Vec<_> = others.filter(|other| !listed.contains(other)).take(COMPARED).collect();
        let meant = |name: &str| misspelt(name, others.iter().map(|other| &**other)).map(json_string);
        let mut budget = COMPARED;
        let mut corrected = HashSet::default();
        let mut kept = Vec::new();
        for node in tree.children(required) {
            let unknown = tree.string(node).filter(|name| !known.contains(name));
            match unknown {
                None => kept.push(tree.inline(node)),
                Some(name) if budget > 0 => {
                    budget -= 1;
                    kept.extend(meant(&name).filter(|meant| corrected.insert(meant.clone())));
                }
                Some(_) => {}
            }
        }
        let others = match unknown.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let message = format!("`required` names {}{others}, which is no property", quote(name));
        let help = match (meant(name), others.is_empty()) {
            (Some(meant), true) => format!("replace it by `{meant}`"),
            (None, true) => "remove it".to_owned(),
            _ => "correct or remove them".to_owned(),
        };
        let edit: Edit = tree.replace_value(required, format!("[{}]", kept.join(", ")));
        self.fix(Code::UnknownRequired, At::Value(*first), message, Remedy::Edits(help, vec![edit]));
    }
}
