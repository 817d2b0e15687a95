//! References within one document: forward, through aliases, deep, escaped, cyclic; never to another document.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    reference_index::Reference,
};
use crate::{
    json::near::misspelt,
    json::pointer::reference_tokens,
    reference::schema_reference,
    tree::{Edit, Kind, NodeId, Tree, json_string, quote},
};

/// Where other formats keep their schemas.
const FOREIGN: [&str; 3] = ["#/components/schemas/", "#/definitions/", "#/$defs/"];
const FOREIGN_KEYS: [&str; 3] = ["components", "definitions", "$defs"];
/// A schema that allows any object.
const ANY_OBJECT: &str = r#"{"type": "object", "properties": {}}"#;
/// How many names are compared for "did you mean", for one reference and for all of a document.
const COMPARED: usize = 500;
const COMPARED_IN_ALL: usize = 50_000;

impl Checker<'_, '_> {
    /// The document's own schemas, by name.
    fn own_schemas(&self) -> Option<NodeId> {
        self.tree.get(Tree::ROOT, "schemas").filter(|schemas| self.tree.kind(*schemas) == Kind::Object)
    }

    /// Schemas under the key of another format: checked there, and moved, one key at a time.
    pub(super) fn foreign_schemas(&mut self) {
        let tree = self.tree;
        for (key, prefix) in FOREIGN_KEYS.into_iter().zip(FOREIGN) {
            let Some(member) = tree.get(Tree::ROOT, key) else { continue };
            let schemas = if key == "components" { tree.get(member, "schemas") } else { Some(member) };
            let Some(schemas) = schemas.filter(|schemas| tree.kind(*schemas) == Kind::Object) else {
                self.unknown_key(member);
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
                    self.report(Code::ReferencePlace, At::Key(member), message, Some(help));
                }
            }
        }
    }

    /// The edits that move foreign schemas to `schemas`, and the new names of those whose names are taken.
    fn moved(&self, member: NodeId, schemas: NodeId) -> Option<(HashMap<String, String>, Vec<Edit>)> {
        let tree = self.tree;
        let own = tree.get(Tree::ROOT, "schemas");
        if own.is_some() && self.own_schemas().is_none() {
            return None; // `schemas` is not an object, which has been reported
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

    /// Resolves every reference; reports those that lead nowhere or in a cycle, and schemas that are never used.
    pub(super) fn check_references(&mut self) {
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
        self.cyclic_references(&references);
        self.narrowed_references();
        let named: Vec<_> = own.map(|own| self.tree.children(own).collect()).unwrap_or_default();
        for schema in self.last_of_each_key(named) {
            if !used.contains(&schema) {
                let message = format!("the schema {} is never referred to", quote(&self.tree.key(schema)));
                self.report(Code::UnusedSchema, At::Key(schema), message, None);
            }
        }
        self.references.references = references;
    }

    /// The schema that a reference names, if the document has it.
    fn resolve(&mut self, reference: &str) -> Option<NodeId> {
        let literal = self.references.walk(self.tree, reference_tokens(reference)?);
        let is_schema = |checker: &Self, node: NodeId| checker.references.schemas.contains(&node);
        if let Some(node) = literal.filter(|node| is_schema(self, *node)) {
            return Some(node);
        }
        let rest = FOREIGN.iter().find_map(|prefix| reference.strip_prefix(prefix))?;
        let own = format!("#/schemas/{rest}");
        let node = self.references.walk(self.tree, reference_tokens(&own)?)?;
        is_schema(self, node).then_some(node)
    }

    /// The member of `schemas` that contains a node.
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
        let mut fixable = true;
        // A target at the foreign place itself must move with this fix, or the new reference leads nowhere.
        if reference_tokens(&reference.text).and_then(|steps| self.references.walk(self.tree, steps)).is_some() {
            match &self.references.moving {
                Some((moving, names)) if *moving == prefix => {
                    let decoded =
                        reference_tokens(&format!("#/{name}")).and_then(|mut steps| steps.next().map(Cow::into_owned));
                    if let Some(renamed) = decoded.and_then(|name| names.get(&name)) {
                        here = schema_reference(renamed) + below;
                    }
                }
                _ => fixable = false,
            }
        }
        let message = format!("the spec has schemas under `#/schemas/`, not {}", quote(&reference.text));
        if fixable {
            let remedy = Remedy::Replace(reference.node, json_string(&here));
            self.fix(Code::ReferencePlace, At::Value(reference.node), message, remedy);
        } else {
            let help = "move the schema to `schemas`".to_owned();
            self.report(Code::ReferencePlace, At::Value(reference.node), message, Some(help));
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
                format!("copy the schema into `schemas`, or replace the reference by `{ANY_OBJECT}`"),
                vec![tree.replace_value(reference.schema, ANY_OBJECT)],
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
        if let Some(meant) = misspelt(name, members.iter().map(|member| &**member)) {
            let here = schema_reference(meant);
            self.fix(Code::UnresolvedReference, at, message, Remedy::Replace(reference.node, json_string(&here)));
            return;
        }
        let direct = text.strip_prefix("#/schemas/").filter(|rest| !rest.is_empty() && !rest.contains(['/', '~', '%']));
        let remedy = match (direct, own) {
            (Some(name), Some(own))
                if tree.kind(own) == Kind::Object && !members.iter().any(|member| member == name) =>
            {
                Remedy::Edits(
                    format!("add `{}: {ANY_OBJECT}` to `schemas`", json_string(name)),
                    vec![tree.insert_member(own, name, ANY_OBJECT)],
                )
            }
            (Some(name), None) if tree.get(Tree::ROOT, "schemas").is_none() => {
                Remedy::Add(Tree::ROOT, "schemas", format!("{{{}: {ANY_OBJECT}}}", json_string(name)))
            }
            _ => self.replace_by_any_object(reference),
        };
        self.suggest(Code::UnresolvedReference, at, message, remedy);
    }

    fn replace_by_any_object(&self, reference: &Reference<'_>) -> Remedy {
        let edit = self.tree.replace_value(reference.schema, ANY_OBJECT);
        Remedy::Edits(format!("replace the reference by `{ANY_OBJECT}`"), vec![edit])
    }

    /// Reports references that lead in a cycle and never reach a schema.
    fn cyclic_references(&mut self, references: &[Reference<'_>]) {
        // 1: on the current path; 2: done.
        let mut state: HashMap<NodeId, u8> = HashMap::new();
        let mut cyclic = HashSet::new();
        for reference in references {
            let mut path = Vec::new();
            let mut at = reference.schema;
            while let Some(target) = self.references.targets.get(&at) {
                match state.insert(at, 1) {
                    None => path.push(at),
                    Some(1) => {
                        let start = path.iter().position(|step| *step == at).unwrap_or(0);
                        cyclic.extend(path[start..].iter().copied());
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
        for reference in references.iter().filter(|reference| cyclic.contains(&reference.schema)) {
            let message = format!("{} leads back to itself and never to a schema", quote(&reference.text));
            let remedy = self.replace_by_any_object(reference);
            self.suggest(Code::CircularReference, At::Value(reference.node), message, remedy);
        }
        // A cyclic reference has no target.
        self.references.targets.retain(|schema, _| !cyclic.contains(schema));
        self.references.shorten_chains();
    }
}
