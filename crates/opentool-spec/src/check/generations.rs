//! The two older generations of documents, which have the version `"1.0.0"` like the current one and differ only in shape.

use std::borrow::Cow;

use foldhash::HashSet;

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy, object_text},
    kind::{DocumentGeneration, DocumentKind},
    signature::Signature,
};
use crate::tree::{Kind, NodeId, json_string};

/// The key under which a function keeps the other keywords of a JSON Schema of parameters.
const KEPT: &str = "x-parameters";

impl<'a> Checker<'_, 'a> {
    /// Parameters that are an object: a JSON Schema (generation A) or parameters by name (generation B).
    pub(super) fn older_parameters(&mut self, function: NodeId, parameters: NodeId, signature: &mut Signature) {
        let tree = self.tree;
        let by_name = tree.children(parameters).all(|member| tree.get(member, "schema").is_some());
        let properties = tree.get(parameters, "properties").filter(|node| tree.kind(*node) == Kind::Object);
        let names_a_type = tree.get(parameters, "type").is_some_and(|node| tree.kind(node) == Kind::String);
        if !by_name && (properties.is_some() || names_a_type) {
            self.generation = DocumentGeneration::A;
            self.schema_as_parameters(function, parameters, properties);
        } else {
            if self.generation == DocumentGeneration::C {
                self.generation = DocumentGeneration::B;
            }
            self.parameters_by_name(parameters, signature);
        }
    }

    fn schema_as_parameters(&mut self, function: NodeId, parameters: NodeId, properties: Option<NodeId>) {
        let tree = self.tree;
        let required = tree.get(parameters, "required").filter(|list| tree.kind(*list) == Kind::Array);
        if let Some(required) = required {
            self.required_list(required, properties);
        }
        let listed: HashSet<_> =
            required.map(|list| tree.children(list).filter_map(|name| tree.string(name)).collect()).unwrap_or_default();
        let members = properties.map(|properties| tree.children(properties).collect()).unwrap_or_default();
        let mut elements = Vec::new();
        for property in self.last_of_each_key(members) {
            self.property_of_generation_a(property);
            let own = tree.get(property, "required").and_then(|required| tree.bool(required));
            let required = own.unwrap_or_else(|| listed.contains(&tree.key(property)));
            let is_in = tree.get(property, "isIn").filter(|_| self.kind == DocumentKind::OpenDyn);
            let description = tree.get(property, "description").map(|text| tree.inline(text));
            let schema = self.inline_without(property, |key| match key {
                "description" => true,
                "required" => own.is_some(),
                "isIn" => is_in.is_some(),
                _ => false,
            });
            let mut parts = vec![("name", json_string(&tree.key(property)))];
            parts.extend(description.map(|text| ("description", text)));
            parts.push(("schema", schema));
            parts.extend(is_in.map(|is_in| ("isIn", tree.inline(is_in))));
            parts.push(("required", required.to_string()));
            elements.push(object_text(&parts));
        }
        let mut edits = vec![tree.replace_value(parameters, tree.layout_array(parameters, elements))];
        // Other keywords of the schema are kept beside the list.
        let expressed = |key: &str| matches!(key, "type" | "properties") || (key == "required" && required.is_some());
        if tree.children(parameters).any(|member| !expressed(&tree.key(member))) && tree.get(function, KEPT).is_none() {
            edits.push(tree.insert_member(function, KEPT, &self.inline_without(parameters, expressed)));
        }
        let message = "the parameters are a JSON Schema, as in early documents, not a list".to_owned();
        let remedy = Remedy::Edits("make them a list".to_owned(), edits);
        self.fix(Code::GenerationA, At::Value(parameters), message, remedy);
    }

    fn parameters_by_name(&mut self, parameters: NodeId, signature: &mut Signature) {
        let tree = self.tree;
        let members = tree.children(parameters).collect();
        let mut elements = Vec::new();
        for member in self.last_of_each_key(members) {
            let mut parts = self.named_by_key(member);
            if tree.kind(member) == Kind::Object {
                signature.parameters.push(self.parameter(member, None));
            } else {
                let message = format!("a parameter must be an object, not {}", tree.kind(member).described());
                let text = r#"{"schema": {"type": "string"}, "required": false}"#.to_owned();
                self.suggest(Code::WrongType, At::Value(member), message, Remedy::Replace(member, text));
                parts.push(("schema".into(), tree.inline(member)));
            }
            elements.push(object_text(&parts));
        }
        let array = tree.layout_array(parameters, elements);
        let message = "the parameters are an object by name, as in early documents, not a list".to_owned();
        let remedy = Remedy::Edits("make them a list".to_owned(), vec![tree.replace_value(parameters, array)]);
        self.fix(Code::GenerationB, At::Value(parameters), message, remedy);
    }

    /// A return value under `returns`: by name (generation B), or in the current shape.
    pub(super) fn older_returns(&mut self, returns: NodeId, current: Option<NodeId>, signature: &mut Signature) {
        let tree = self.tree;
        if current.is_some_and(|current| tree.kind(current) != Kind::Null) {
            let message = "`returns` is beside `return`, which takes precedence".to_owned();
            self.fix(Code::Returns, At::Key(returns), message, Remedy::Remove(returns));
            return;
        }
        let in_shape = tree.get(returns, "name").is_some_and(|name| tree.kind(name) == Kind::String);
        let values: Vec<_> = tree.children(returns).collect();
        let by_name = !values.is_empty() && values.iter().all(|value| tree.get(*value, "schema").is_some());
        let text = match tree.kind(returns) {
            Kind::Null => None,
            Kind::Object if in_shape => {
                self.returns(returns, signature);
                None
            }
            Kind::Object if by_name => {
                for value in &values {
                    if let Some(schema) = tree.get(*value, "schema") {
                        self.schema(schema, Some(*value));
                    }
                }
                Some(self.returns_by_name(&values))
            }
            Kind::Object if values.is_empty() => Some("null".to_owned()),
            Kind::Object => {
                self.schema(returns, None);
                Some(object_text(&[("name", json_string("result")), ("schema", tree.inline(returns))]))
            }
            kind => {
                let message = format!("`returns` must be an object, not {}", kind.described());
                self.suggest(Code::WrongType, At::Value(returns), message, Remedy::Remove(returns));
                return;
            }
        };
        let mut edits = vec![tree.rename_member(returns, "return")];
        edits.extend(text.map(|text| tree.replace_value(returns, text)));
        // A `null` beside it means nothing, and would clash with the new name.
        edits.extend(current.map(|current| tree.remove_child(current)));
        let message = "the return value is under `returns`, as in early documents".to_owned();
        self.fix(Code::Returns, At::Key(returns), message, Remedy::Edits("write `return`".to_owned(), edits));
    }

    /// The members of an object, with its key as its name.
    fn named_by_key(&self, node: NodeId) -> Vec<(Cow<'a, str>, String)> {
        let tree = self.tree;
        let own = tree.children(node).filter(|member| tree.kind(node) == Kind::Object && tree.key(*member) != "name");
        let mut members = vec![(Cow::Borrowed("name"), json_string(&tree.key(node)))];
        members.extend(own.map(|member| (tree.key(member), tree.inline(member))));
        members
    }

    /// One return value by name, or several as the properties of one object.
    fn returns_by_name(&self, values: &[NodeId]) -> String {
        let tree = self.tree;
        if let [value] = values {
            return object_text(&self.named_by_key(*value));
        }
        let properties: Vec<_> = values.iter().map(|value| (tree.key(*value), self.described_schema(*value))).collect();
        let schema = object_text(&[("type", json_string("object")), ("properties", object_text(&properties))]);
        object_text(&[("name", json_string("result")), ("schema", schema)])
    }

    /// The schema of a named value, with the other members of the value.
    fn described_schema(&self, value: NodeId) -> String {
        let tree = self.tree;
        let Some(schema) = tree.get(value, "schema").filter(|schema| tree.kind(*schema) == Kind::Object) else {
            return tree.get(value, "schema").map(|schema| tree.inline(schema)).unwrap_or_default();
        };
        let outer = tree.children(value).filter(|inner| {
            let key = tree.key(*inner);
            (key == "description" || key.starts_with("x-")) && tree.get(schema, &key).is_none()
        });
        let parts: Vec<_> =
            tree.children(schema).chain(outer).map(|inner| (tree.key(inner), tree.inline(inner))).collect();
        object_text(&parts)
    }

    /// An object on one line without some of its members.
    pub(super) fn inline_without(&self, node: NodeId, drop: impl Fn(&str) -> bool) -> String {
        let tree = self.tree;
        if tree.kind(node) != Kind::Object {
            return tree.inline(node);
        }
        let kept: Vec<_> = tree
            .children(node)
            .filter(|member| !drop(&tree.key(*member)))
            .map(|member| (tree.key(member), tree.inline(member)))
            .collect();
        object_text(&kept)
    }
}
