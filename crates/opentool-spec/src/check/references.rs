//! References within one document: forward, alias, deep, escaped, in a circle; never to another document.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::{
    Code,
    draft::{At, Remedy},
    judge::Checker,
    suggest::{nearest, quote},
};
use crate::{
    reference::{pointer_steps, push_escaped},
    tree::{Edit, Kind, NodeId, Tree, json_string},
};

/// Where other formats keep their schemas.
const FOREIGN: [&str; 3] = ["#/components/schemas/", "#/definitions/", "#/$defs/"];
const FOREIGN_KEYS: [&str; 3] = ["components", "definitions", "$defs"];
/// A schema that says nothing.
const FREE: &str = r#"{"type": "object", "properties": {}}"#;
/// How many names are compared for "did you mean", for one reference and for all of a document.
const COMPARED: usize = 500;
const COMPARED_IN_ALL: usize = 50_000;

/// The schemas and references of a document, collected while it is walked.
#[derive(Debug, Default)]
pub(super) struct References<'a> {
    schemas: HashSet<NodeId>,
    references: Vec<Reference<'a>>,
    /// The schema each referring schema leads to, one step.
    targets: HashMap<NodeId, NodeId>,
    indexes: HashMap<NodeId, Index<'a>>,
    /// The foreign place whose schemas a fix moves, and those that get another name on the way.
    moving: Option<(&'static str, HashMap<String, String>)>,
    /// How many names were compared so far.
    compared: usize,
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

impl Checker<'_, '_> {
    /// The document's own schemas, by name.
    fn own_schemas(&self) -> Option<NodeId> {
        self.tree.get(Tree::ROOT, "schemas").filter(|schemas| self.tree.kind(*schemas) == Kind::Object)
    }

    /// Schemas that stand where another format has them: judged there, and moved, one place at a time.
    pub(super) fn schemas_elsewhere(&mut self) {
        let tree = self.tree;
        for (key, prefix) in FOREIGN_KEYS.into_iter().zip(FOREIGN) {
            let Some(member) = tree.get(Tree::ROOT, key) else { continue };
            let schemas = if key == "components" { tree.get(member, "schemas") } else { Some(member) };
            let Some(schemas) = schemas.filter(|schemas| tree.kind(*schemas) == Kind::Object) else {
                let message = format!("the spec has no `{key}` here: it is kept, and other readers ignore it");
                self.tell(Code::UnknownKey, At::Key(member), message, None);
                continue;
            };
            self.schemas(schemas);
            let message = format!("the spec has schemas under `schemas`, not `{key}`");
            match self.references.moving {
                None if let Some((names, edits)) = self.moved(member, schemas) => {
                    self.references.moving = Some((prefix, names));
                    let remedy = Remedy::Edits("move them to `schemas`".to_owned(), edits);
                    self.fix(Code::ReferencePlace, At::Key(member), message, remedy);
                }
                _ => {
                    let help = "move them to `schemas`".to_owned();
                    self.tell(Code::ReferencePlace, At::Key(member), message, Some(help));
                }
            }
        }
    }

    /// The edits that bring foreign schemas to `schemas`, and the names that those have there which were taken.
    fn moved(&self, member: NodeId, schemas: NodeId) -> Option<(HashMap<String, String>, Vec<Edit>)> {
        let tree = self.tree;
        let own = tree.get(Tree::ROOT, "schemas");
        if own.is_some() && self.own_schemas().is_none() {
            return None; // what stands there is no place for schemas, which was told
        }
        let mut taken: HashSet<String> =
            own.map(|own| tree.children(own).map(|name| tree.key(name).into_owned()).collect()).unwrap_or_default();
        let mut names = HashMap::new();
        let mut members = Vec::new();
        for schema in self.last_of_each_key(tree.children(schemas).collect()) {
            let name = tree.key(schema).into_owned();
            let mut free = name.clone();
            while !taken.insert(free.clone()) {
                free.push_str("_2");
            }
            members.push((free.clone(), tree.raw(schema)));
            if free != name {
                names.insert(name, free);
            }
        }
        // `components` may hold more than schemas, and that stays.
        let alone = tree.children(member).all(|other| other == schemas);
        let emptied = if schemas == member || alone { member } else { schemas };
        let edits = match own {
            Some(own) => {
                let mut edits = vec![tree.remove_child(emptied)];
                edits.extend(tree.insert_members(own, &members));
                edits
            }
            None if schemas == member => vec![tree.rename_member(member, "schemas")],
            None if alone => vec![tree.rename_member(member, "schemas"), tree.replace_value(member, tree.raw(schemas))],
            None => vec![tree.remove_child(schemas), tree.insert_member(Tree::ROOT, "schemas", tree.raw(schemas))],
        };
        Some((names, edits))
    }

    /// Resolves every reference, and tells which lead nowhere, round in a circle, or to nobody.
    pub(super) fn judge_references(&mut self) {
        let references = std::mem::take(&mut self.references.references);
        let mut resolved: HashMap<&str, Option<NodeId>> = HashMap::new();
        let mut used = HashSet::new();
        let own = self.own_schemas();
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
            self.foreign_reference(reference);
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

    fn foreign_reference(&mut self, reference: &Reference<'_>) {
        let Some(prefix) = FOREIGN.into_iter().find(|prefix| reference.text.starts_with(prefix)) else { return };
        let rest = &reference.text[prefix.len()..];
        let (name, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let mut here = format!("#/schemas/{rest}");
        let mut settled = true;
        // What stands at the foreign place itself can only be meant where it moves with this very fix.
        if pointer_steps(&reference.text).and_then(|steps| self.references.walk(self.tree, steps)).is_some() {
            match &self.references.moving {
                Some((moving, names)) if *moving == prefix => {
                    let decoded =
                        pointer_steps(&format!("#/{name}")).and_then(|mut steps| steps.next().map(Cow::into_owned));
                    if let Some(renamed) = decoded.and_then(|name| names.get(&name)) {
                        here = "#/schemas/".to_owned();
                        push_escaped(&mut here, renamed);
                        here.push_str(below);
                    }
                }
                _ => settled = false,
            }
        }
        let message = format!("the spec has schemas under `#/schemas/`, not {}", quote(&reference.text));
        if settled {
            let remedy = Remedy::Replace(reference.node, json_string(&here));
            self.fix(Code::ReferencePlace, At::Value(reference.node), message, remedy);
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
                format!("copy the schema into `schemas`, or replace the reference by `{FREE}`"),
                vec![tree.replace_value(reference.schema, FREE)],
            );
            self.suggest(Code::RemoteReference, at, message, remedy);
            return;
        }
        let message = format!("{} leads to no schema of this document", quote(text));
        let name = text.rsplit('/').next().unwrap_or(text).trim_start_matches('#');
        let members: Vec<_> = own
            .into_iter()
            .flat_map(|own| tree.children(own))
            .take(COMPARED.min(COMPARED_IN_ALL - self.references.compared))
            .filter(|member| tree.kind(*member) == Kind::Object)
            .map(|member| tree.key(member))
            .collect();
        self.references.compared += members.len();
        if let Some(meant) = nearest(name, members.iter().map(|member| &**member)) {
            let mut here = "#/schemas/".to_owned();
            push_escaped(&mut here, meant);
            self.fix(Code::UnresolvedReference, at, message, Remedy::Replace(reference.node, json_string(&here)));
            return;
        }
        let direct = text.strip_prefix("#/schemas/").filter(|rest| !rest.is_empty() && !rest.contains(['/', '~', '%']));
        let remedy = match (direct, own) {
            (Some(name), Some(own))
                if tree.kind(own) == Kind::Object && !members.iter().any(|member| member == name) =>
            {
                Remedy::Edits(
                    format!("add `{}: {FREE}` to `schemas`", json_string(name)),
                    vec![tree.insert_member(own, name, FREE)],
                )
            }
            (Some(name), None) => Remedy::Add(Tree::ROOT, "schemas", format!("{{{}: {FREE}}}", json_string(name))),
            _ => Remedy::Edits(
                format!("replace the reference by `{FREE}`"),
                vec![tree.replace_value(reference.schema, FREE)],
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
            let remedy = Remedy::Edits(
                format!("replace the reference by `{FREE}`"),
                vec![self.tree.replace_value(reference.schema, FREE)],
            );
            self.suggest(Code::CircularReference, At::Value(reference.node), message, remedy);
        }
        // What goes round leads nowhere: nobody should follow it.
        self.references.targets.retain(|schema, _| !circular.contains(schema));
        self.references.shorten_chains();
    }
}
