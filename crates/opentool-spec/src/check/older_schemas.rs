//! Schemas as documents of the two older generations write them.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    kind::DocumentGeneration,
    synonyms::said_boolean,
};
use crate::tree::{Edit, Kind, NewValue, NodeId, json_string};

/// The members of a parameter that are not part of its schema.
const OF_PARAMETER: [&str; 5] = ["name", "description", "required", "isIn", "schema"];

impl<'a> Checker<'_, 'a> {
    /// Properties that say by themselves that they are required (generation A), or that have their schema inside
    /// (generation B). The list of the object says it now, once the object's own `required` is one.
    pub(super) fn older_properties(&mut self, schema: NodeId, properties: NodeId, required: Option<NodeId>) {
        let tree = self.tree;
        if required.is_some_and(|required| tree.kind(required) != Kind::Array) {
            return; // checked again when it has become a list
        }
        let mut edits = Vec::new();
        let mut first = None;
        let mut code = Code::GenerationA;
        let mut names: Vec<NodeId> = Vec::new();
        for property in self.last_of_each_key(tree.children(properties).collect()) {
            let own = tree.get(property, "required");
            let said = own.and_then(|own| said_boolean(tree.raw(own)));
            let inside = self.schema_inside(property);
            if inside.is_none() && said.is_none() {
                continue;
            }
            first = first.or(Some(property));
            names.extend((said == Some(true)).then_some(property));
            if let Some(inside) = inside {
                code = Code::GenerationB;
                edits.push(tree.replace_value(property, tree.lay_out(property, &self.unwrapped(property, inside))));
            } else if let Some(own) = own {
                edits.push(tree.remove_child(own));
            }
        }
        let Some(first) = first else { return };
        edits.extend(self.require(schema, required, &names));
        let (message, help) = match code {
            Code::GenerationB => (
                "the property has its schema inside, as in early documents",
                "take it out, and name what is required in the object's `required`",
            ),
            _ => (
                "the property says by itself whether it is required, as in early documents",
                "name what is required in the object's `required`",
            ),
        };
        if self.generation == DocumentGeneration::C || code == Code::GenerationA {
            self.generation = if code == Code::GenerationA { DocumentGeneration::A } else { DocumentGeneration::B };
        }
        self.fix(code, At::Value(first), message.to_owned(), Remedy::Edits(help.to_owned(), edits));
    }

    /// The edit that names properties in the list of required ones.
    fn require(&self, schema: NodeId, required: Option<NodeId>, properties: &[NodeId]) -> Option<Edit> {
        let tree = self.tree;
        let listed: HashSet<_> =
            required.into_iter().flat_map(|list| tree.children(list)).filter_map(|name| tree.string(name)).collect();
        let new = properties.iter().map(|property| tree.key(*property)).filter(|name| !listed.contains(name));
        let new: Vec<_> = new.map(|name| json_string(&name)).collect();
        if new.is_empty() {
            return None;
        }
        Some(match required {
            None => tree.insert_member(schema, "required", &format!("[{}]", new.join(", "))),
            Some(list) => {
                let old = tree.children(list).map(|name| tree.raw(name).to_owned());
                tree.replace_value(list, format!("[{}]", old.chain(new).collect::<Vec<_>>().join(", ")))
            }
        })
    }

    /// The schema that stands inside what should be one, as in generation B.
    pub(super) fn schema_inside(&self, node: NodeId) -> Option<NodeId> {
        let tree = self.tree;
        let known = ["type", "$ref", "properties", "items", "enum", "cType"];
        let inside = tree.get(node, "schema").filter(|schema| tree.kind(*schema) == Kind::Object)?;
        known.iter().all(|key| tree.get(node, key).is_none()).then_some(inside)
    }

    /// A schema that stands inside another, outside of the lists of properties.
    pub(super) fn wrapped_schema(&mut self, schema: NodeId, inside: NodeId) {
        let tree = self.tree;
        let message = "the schema stands inside another, as in early documents".to_owned();
        let edits = vec![tree.replace_value(schema, tree.lay_out(schema, &self.unwrapped(schema, inside)))];
        self.fix(Code::GenerationB, At::Value(schema), message, Remedy::Edits("take it out".to_owned(), edits));
    }

    /// A parameter or return value whose schema is written beside its name instead of under `schema`: the keys that
    /// belong under it, none where all is right.
    pub(super) fn schema_beside(&mut self, owner: NodeId) -> Vec<Cow<'a, str>> {
        let tree = self.tree;
        if tree.get(owner, "schema").is_some() || !self.looks_like_a_schema(owner) {
            return Vec::new();
        }
        let all = self.last_of_each_key(tree.children(owner).collect());
        let is_list = |member: NodeId| tree.key(member) == "required" && tree.kind(member) == Kind::Array;
        let of_owner = |member: NodeId| {
            let key = tree.key(member);
            (OF_PARAMETER.contains(&&*key) && !is_list(member)) || (key.starts_with("x-") && key != "x-nullable")
        };
        let (own, moved): (Vec<_>, Vec<_>) = all.into_iter().partition(|member| of_owner(*member));
        let pair = |member: &NodeId| (tree.key(*member).into_owned(), NewValue::Node(*member));
        let lines = tree.has_lines(owner);
        let schema = NewValue::Object { members: moved.iter().map(pair).collect(), lines: lines && moved.len() > 2 };
        let mut members: Vec<_> = own.iter().map(pair).collect();
        // After the name and the description, before the rest.
        let words = ["name", "description"];
        let at = members.iter().position(|(key, _)| !words.contains(&key.as_str())).unwrap_or(members.len());
        members.insert(at, ("schema".to_owned(), schema));
        let text = tree.lay_out(owner, &NewValue::Object { members, lines });
        let Some(first) = moved.first() else { return Vec::new() };
        let message = format!("the schema is written beside the name: `{}` belongs under `schema`", tree.key(*first));
        let remedy = Remedy::Edits("move it into `schema`".to_owned(), vec![tree.replace_value(owner, text)]);
        self.fix(Code::MissingField, At::Key(*first), message, remedy);
        moved.iter().map(|member| tree.key(*member)).collect()
    }

    pub(super) fn looks_like_a_schema(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let is = |key: &str, kinds: &[Kind]| tree.get(node, key).is_some_and(|value| kinds.contains(&tree.kind(value)));
        is("type", &[Kind::String, Kind::Array])
            || is("$ref", &[Kind::String])
            || is("properties", &[Kind::Object])
            || is("items", &[Kind::Object])
            || is("enum", &[Kind::Array])
            || ["anyOf", "oneOf", "allOf"].iter().any(|key| is(key, &[Kind::Array]))
    }

    /// The schema of a named value, with the other members of the value but `required`.
    pub(super) fn unwrapped(&self, value: NodeId, schema: NodeId) -> NewValue {
        let tree = self.tree;
        let said = |member: NodeId| said_boolean(tree.raw(member)).is_some();
        let outer: Vec<_> = self
            .last_of_each_key(tree.children(value).collect())
            .into_iter()
            .filter(|member| *member != schema && !(tree.key(*member) == "required" && said(*member)))
            .collect();
        let replaces = |key: &str| key == "description" && outer.iter().any(|member| tree.key(*member) == key);
        let mut members: Vec<(String, NewValue)> = Vec::new();
        for member in self.last_of_each_key(tree.children(schema).collect()) {
            let key = tree.key(member);
            // The words about the value come before those about its schema, which are kept.
            let key = if replaces(&key) { "x-description".to_owned() } else { key.into_owned() };
            members.push((key, NewValue::Node(member)));
        }
        for member in outer {
            let mut key = tree.key(member).into_owned();
            while members.iter().any(|(other, _)| *other == key) {
                key = format!("x-{key}");
            }
            members.push((key, NewValue::Node(member)));
        }
        NewValue::Object { members, lines: tree.has_lines(schema) }
    }
}
