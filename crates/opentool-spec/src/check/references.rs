//! References within one document: forward, alias, deep, escaped, in a circle; never to another document.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    Code,
    draft::{At, Remedy},
    judge::Judge,
    suggest::{nearest, quote},
};
use crate::{
    reference::{pointer_steps, push_escaped},
    tree::{Kind, NodeId, Tree, json_string},
};

/// Where other formats keep their schemas.
const FOREIGN: [&str; 3] = ["#/components/schemas/", "#/definitions/", "#/$defs/"];
/// How many names are compared for "did you mean".
const COMPARED: usize = 500;

/// The schemas and references of a document, collected while it is walked.
#[derive(Debug, Default)]
pub(super) struct References<'a> {
    schemas: HashSet<NodeId>,
    references: Vec<Reference<'a>>,
    /// The schema each referring schema leads to, one step.
    targets: HashMap<NodeId, NodeId>,
    indexes: HashMap<NodeId, Index<'a>>,
}

#[derive(Debug, Clone)]
struct Reference<'a> {
    /// The schema that holds the reference.
    schema: NodeId,
    /// The string itself.
    node: NodeId,
    text: Cow<'a, str>,
}

/// The children of a container, by step of a pointer.
#[derive(Debug)]
enum Index<'a> {
    Object(HashMap<Cow<'a, str>, NodeId>),
    Array(Vec<NodeId>),
}

impl<'a> References<'a> {
    pub(super) fn add_schema(&mut self, schema: NodeId) {
        self.schemas.insert(schema);
    }

    pub(super) fn add_reference(&mut self, schema: NodeId, node: NodeId, text: Cow<'a, str>) {
        self.references.push(Reference { schema, node, text });
    }

    /// The schema at the end of a chain of references; the schema itself where it is none.
    pub(super) fn end_of(&self, schema: NodeId) -> NodeId {
        self.targets.get(&schema).copied().unwrap_or(schema)
    }

    /// Makes every reference lead to the end of its chain. The chains must not go round.
    fn shorten_chains(&mut self) {
        let mut ends: HashMap<NodeId, NodeId> = HashMap::with_capacity(self.targets.len());
        for start in self.targets.keys() {
            let mut path = Vec::new();
            let mut at = *start;
            while !ends.contains_key(&at)
                && let Some(target) = self.targets.get(&at)
            {
                path.push(at);
                at = *target;
            }
            let end = ends.get(&at).copied().unwrap_or(at);
            ends.extend(path.into_iter().map(|step| (step, end)));
        }
        self.targets = ends;
    }

    /// The node that the steps of a pointer lead to.
    fn walk<'p>(&mut self, tree: &Tree<'a>, steps: impl IntoIterator<Item = Cow<'p, str>>) -> Option<NodeId> {
        let mut at = Tree::ROOT;
        for step in steps {
            let index = self.indexes.entry(at).or_insert_with(|| match tree.kind(at) {
                Kind::Object => Index::Object(tree.children(at).map(|member| (tree.key(member), member)).collect()),
                _ => Index::Array(tree.children(at).collect()),
            });
            at = match index {
                Index::Object(members) => *members.get(&step)?,
                Index::Array(elements) => *elements.get(step.parse::<usize>().ok()?)?,
            };
        }
        Some(at)
    }
}

impl Judge<'_, '_> {
    /// Schemas that stand where another format has them: judged there, and moved where they can be.
    pub(super) fn schemas_elsewhere(&mut self, own: Option<NodeId>) {
        let tree = self.tree;
        for key in ["definitions", "$defs", "components"] {
            let Some(member) = tree.get(Tree::ROOT, key) else { continue };
            let schemas = if key == "components" { tree.get(member, "schemas") } else { Some(member) };
            let Some(schemas) = schemas.filter(|schemas| tree.kind(*schemas) == Kind::Object) else {
                self.tell(Code::UnknownKey, At::Key(member), format!("the spec has no `{key}` here"), None);
                continue;
            };
            self.schemas(schemas);
            let message = format!("an OpenTool document keeps its schemas under `schemas`, not `{key}`");
            let alone = key != "components" || tree.children(member).count() == 1;
            let only = FOREIGN_KEYS.iter().filter(|key| tree.get(Tree::ROOT, key).is_some()).count() == 1;
            if own.is_none() && alone && only {
                let mut edits = vec![tree.rename_member(member, "schemas")];
                if key == "components" {
                    edits.push(tree.replace_value(member, tree.raw(schemas)));
                }
                let remedy = Remedy::Edits("write `schemas`".to_owned(), edits);
                self.fix(Code::ReferencePlace, At::Key(member), message, remedy);
            } else {
                let help = "move them to `schemas`".to_owned();
                self.tell(Code::ReferencePlace, At::Key(member), message, Some(help));
            }
        }
    }

    /// Resolves every reference, and tells which lead nowhere, round in a circle, or to nobody.
    pub(super) fn judge_references(&mut self) {
        let references = std::mem::take(&mut self.references.references);
        let mut resolved: HashMap<&str, Option<NodeId>> = HashMap::new();
        let mut used = HashSet::new();
        let own = self.tree.get(Tree::ROOT, "schemas");
        for reference in &references {
            let target = match resolved.get(&*reference.text) {
                Some(target) => *target,
                None => {
                    let target = self.resolve(&reference.text);
                    resolved.insert(&reference.text, target);
                    target
                }
            };
            let Some(target) = target else {
                self.unresolved(reference, own);
                continue;
            };
            self.references.targets.insert(reference.schema, target);
            let owner = self.named_schema_of(target, own);
            if owner.is_some() && owner != self.named_schema_of(reference.node, own) {
                used.extend(owner);
            }
            self.foreign_reference(reference, own);
        }
        self.circles(&references);
        let named: Vec<_> = own.map(|own| self.tree.children(own).collect()).unwrap_or_default();
        for schema in self.last_of_each_key(named) {
            if !used.contains(&schema) {
                let message = format!("the schema {} is never referred to", quote(&self.tree.key(schema)));
                self.tell(Code::UnusedSchema, At::Key(schema), message, None);
            }
        }
        self.references.references = references;
    }

    /// The schema that a reference names, if the document has it.
    fn resolve(&mut self, reference: &str) -> Option<NodeId> {
        let literal = self.references.walk(self.tree, pointer_steps(reference)?);
        let is_schema = |judge: &Self, node: NodeId| judge.references.schemas.contains(&node);
        if let Some(node) = literal.filter(|node| is_schema(self, *node)) {
            return Some(node);
        }
        let rest = FOREIGN.iter().find_map(|prefix| reference.strip_prefix(prefix))?;
        let own = format!("#/schemas/{rest}");
        let node = self.references.walk(self.tree, pointer_steps(&own)?)?;
        is_schema(self, node).then_some(node)
    }

    /// The member of `schemas` that a node stands in.
    fn named_schema_of(&self, node: NodeId, own: Option<NodeId>) -> Option<NodeId> {
        let own = own?;
        let mut at = node;
        while let Some(parent) = self.tree.parent(at) {
            if parent == own {
                return Some(at);
            }
            at = parent;
        }
        None
    }

    fn foreign_reference(&mut self, reference: &Reference<'_>, own: Option<NodeId>) {
        let Some(rest) = FOREIGN.iter().find_map(|prefix| reference.text.strip_prefix(prefix)) else { return };
        let here = format!("#/schemas/{rest}");
        let message = format!("an OpenTool document refers to `{here}`, not {}", quote(&reference.text));
        // Without `schemas` of its own, the document's foreign ones are about to be moved there.
        let moved =
            own.is_none() && FOREIGN_KEYS.iter().filter(|key| self.tree.get(Tree::ROOT, key).is_some()).count() == 1;
        if moved || self.resolve(&here).is_some() {
            self.fix(
                Code::ReferencePlace,
                At::Value(reference.node),
                message,
                Remedy::Replace(reference.node, json_string(&here)),
            );
        } else {
            let help = "move the schema to `schemas`".to_owned();
            self.tell(Code::ReferencePlace, At::Value(reference.node), message, Some(help));
        }
    }

    fn unresolved(&mut self, reference: &Reference<'_>, own: Option<NodeId>) {
        let tree = self.tree;
        let text = &*reference.text;
        let at = At::Value(reference.node);
        let bare = !text.starts_with('#');
        if bare && text.contains([':', '/', '.']) {
            let message = format!("{} leaves the document: only its own schemas can be referred to", quote(text));
            let remedy = Remedy::Edits(
                r#"copy the schema into `schemas`, or replace the reference by `{"type": "object", "properties": {}}`"#
                    .to_owned(),
                vec![tree.replace_value(reference.schema, r#"{"type": "object", "properties": {}}"#)],
            );
            self.suggest(Code::RemoteReference, at, message, remedy);
            return;
        }
        let message = format!("{} leads to no schema of this document", quote(text));
        let name = text.rsplit('/').next().unwrap_or(text).trim_start_matches('#');
        let members: Vec<_> = own
            .into_iter()
            .flat_map(|own| tree.children(own))
            .take(COMPARED)
            .filter(|member| tree.kind(*member) == Kind::Object)
            .map(|member| tree.key(member))
            .collect();
        if let Some(meant) = nearest(name, members.iter().map(|member| &**member)) {
            let mut here = "#/schemas/".to_owned();
            push_escaped(&mut here, meant);
            self.fix(Code::UnresolvedReference, at, message, Remedy::Replace(reference.node, json_string(&here)));
            return;
        }
        let free = r#"{"type": "object", "properties": {}}"#;
        let direct = text.strip_prefix("#/schemas/").filter(|rest| !rest.is_empty() && !rest.contains(['/', '~', '%']));
        let remedy = match (direct, own) {
            (Some(name), Some(own))
                if tree.kind(own) == Kind::Object && !members.iter().any(|member| member == name) =>
            {
                Remedy::Edits(
                    format!("add `{}: {free}` to `schemas`", json_string(name)),
                    vec![tree.insert_member(own, name, free)],
                )
            }
            (Some(name), None) => Remedy::Add(Tree::ROOT, "schemas", format!("{{{}: {free}}}", json_string(name))),
            _ => Remedy::Edits(
                format!("replace the reference by `{free}`"),
                vec![tree.replace_value(reference.schema, free)],
            ),
        };
        self.suggest(Code::UnresolvedReference, at, message, remedy);
    }

    /// Tells the references that lead round in a circle without ever reaching a schema.
    fn circles(&mut self, references: &[Reference<'_>]) {
        // 1: on the current path; 2: settled.
        let mut state: HashMap<NodeId, u8> = HashMap::new();
        let mut circular = HashSet::new();
        for reference in references {
            let mut path = Vec::new();
            let mut at = reference.schema;
            while let Some(target) = self.references.targets.get(&at) {
                match state.insert(at, 1) {
                    None => path.push(at),
                    Some(1) => {
                        let start = path.iter().position(|step| *step == at).unwrap_or(0);
                        circular.extend(path[start..].iter().copied());
                        break;
                    }
                    Some(_) => break,
                }
                at = *target;
            }
            for step in path {
                state.insert(step, 2);
            }
        }
        for reference in references.iter().filter(|reference| circular.contains(&reference.schema)) {
            let message = format!("{} leads back to itself and never to a schema", quote(&reference.text));
            let free = r#"{"type": "object", "properties": {}}"#;
            let remedy = Remedy::Edits(
                format!("replace the reference by `{free}`"),
                vec![self.tree.replace_value(reference.schema, free)],
            );
            self.suggest(Code::CircularReference, At::Value(reference.node), message, remedy);
        }
        // What goes round leads nowhere: nobody should follow it.
        self.references.targets.retain(|schema, _| !circular.contains(schema));
        self.references.shorten_chains();
    }
}

const FOREIGN_KEYS: [&str; 3] = ["definitions", "$defs", "components"];
