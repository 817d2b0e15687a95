//! What stands beside a reference. It applies here as in JSON Schema, and readers of the spec ignore it.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
};
use crate::{
    model::SchemaType,
    tree::{Kind, NewValue, NodeId, quote},
};

/// A schema of more bytes than this is not copied.
const LARGEST_COPY: usize = 2048;

impl Checker<'_, '_> {
    /// A schema that refers to another. Returns whether the schema is a reference.
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
        let siblings = self.siblings(schema);
        if siblings.iter().any(|sibling| !is_annotation(&tree.key(*sibling))) {
            self.keywords(schema, &[tree.get(schema, "enum")]);
            self.references.narrowed.push((schema, owner));
        } else if !siblings.is_empty() {
            self.plain_reference(schema, owner, &siblings);
        }
        true
    }

    fn siblings(&self, schema: NodeId) -> Vec<NodeId> {
        let tree = self.tree;
        let is_sibling = |key: &str| key != "$ref" && !key.starts_with("x-");
        self.last_of_each_key(tree.children(schema).filter(|member| is_sibling(&tree.key(*member))).collect())
    }

    /// References with siblings that say something about the value, now that it is known where they lead.
    pub(super) fn narrowed_references(&mut self) {
        for (schema, owner) in std::mem::take(&mut self.references.narrowed) {
            let tree = self.tree;
            let target = self.references.targets.get(&schema).map(|_| self.references.end_of(schema));
            if let Some(values) = tree.get(schema, "enum").filter(|values| tree.kind(*values) == Kind::Array) {
                let name = target.and_then(|target| tree.string(tree.get(target, "type")?));
                let kind = name.and_then(|name| SchemaType::from_name(&name).or_else(|| SchemaType::from_alias(&name)));
                self.values(schema, values, kind);
            }
            let mut siblings = self.siblings(schema);
            let says_the_same = |sibling: &NodeId| {
                let there = target.and_then(|target| tree.get(target, &tree.key(*sibling)));
                there.is_some_and(|there| tree.inline(there) == tree.inline(*sibling))
            };
            siblings.retain(|sibling| !says_the_same(sibling));
            if siblings.iter().all(|sibling| is_annotation(&tree.key(*sibling))) {
                let all = self.siblings(schema);
                self.plain_reference(schema, owner, &all);
            } else {
                self.narrowed_reference(schema, target, &siblings);
            }
        }
    }

    /// A reference whose siblings only describe the value, or repeat what is there: they are moved out of the way.
    fn plain_reference(&mut self, schema: NodeId, owner: Option<NodeId>, siblings: &[NodeId]) {
        let tree = self.tree;
        let mut members: Vec<_> = tree
            .children(schema)
            .filter(|member| tree.key(*member) == "$ref" || tree.key(*member).starts_with("x-"))
            .map(|member| (tree.key(member).into_owned(), NewValue::Node(member)))
            .collect();
        let mut edits = Vec::new();
        let mut help = "keep only the reference".to_owned();
        for sibling in siblings.iter().filter(|sibling| is_annotation(&tree.key(**sibling))) {
            let key = tree.key(*sibling);
            let description = key == "description" && tree.kind(*sibling) == Kind::String;
            if let Some(owner) = owner.filter(|owner| description && tree.get(*owner, "description").is_none()) {
                edits.push(tree.insert_member(owner, "description", tree.raw(*sibling)));
                help.push_str(", and move the description beside `schema`");
                continue;
            }
            let mut kept = format!("x-{key}");
            while members.iter().any(|(other, _)| *other == kept) {
                kept.push_str("-2");
            }
            help.push_str(&format!(", and keep `{key}` as `{kept}`"));
            members.push((kept, NewValue::Node(*sibling)));
        }
        let Some(first) = siblings.first() else { return };
        let lines = tree.has_lines(schema) && members.len() > 1;
        let text = tree.lay_out(schema, &NewValue::Object { members, lines });
        edits.push(tree.replace_value(schema, text));
        let message = format!("readers ignore {} beside `$ref`", quote(&tree.key(*first)));
        self.fix(Code::ReferenceSiblings, At::Key(*first), message, Remedy::Edits(help, edits));
    }

    /// A reference whose siblings restrict the value: the restricted schema is written out where that is simple.
    fn narrowed_reference(&mut self, schema: NodeId, target: Option<NodeId>, siblings: &[NodeId]) {
        let tree = self.tree;
        let Some(first) = siblings.iter().find(|sibling| !is_annotation(&tree.key(**sibling))) else { return };
        let shown = quote(&tree.key(*first));
        let message = format!("{shown} beside `$ref` applies here, and readers of the spec ignore it");
        match target.and_then(|target| self.written_out(schema, target, siblings)) {
            Some(written) => {
                let edits = vec![tree.replace_value(schema, tree.lay_out(schema, &written))];
                let help = "write the schema out, with what is beside the reference".to_owned();
                self.fix(Code::ReferenceSiblings, At::Key(*first), message, Remedy::Edits(help, edits));
            }
            None => {
                let help = "give the restricted schema a name of its own under `schemas`, and refer to that".to_owned();
                self.report(Code::ReferenceSiblings, At::Key(*first), message, Some(help));
            }
        }
    }

    /// The schema that a reference leads to, with the siblings of the reference; none where that is not simple.
    fn written_out(&self, schema: NodeId, target: NodeId, siblings: &[NodeId]) -> Option<NewValue> {
        let tree = self.tree;
        let is_simple = tree.raw(target).len() <= LARGEST_COPY && !tree.raw(target).contains("\"$ref\"");
        let is_placed = siblings.iter().all(|sibling| {
            let key = tree.key(*sibling);
            is_annotation(&key) || key == "enum" || tree.get(target, &key).is_none()
        });
        if !is_simple || !is_placed {
            return None;
        }
        let mut members: Vec<(String, NewValue)> = Vec::new();
        for member in self.last_of_each_key(tree.children(target).collect()) {
            let key = tree.key(member);
            if !siblings.iter().any(|sibling| tree.key(*sibling) == key) {
                members.push((key.into_owned(), NewValue::Node(member)));
            }
        }
        for sibling in siblings {
            let key = tree.key(*sibling);
            if key == "enum"
                && let Some(allowed) = tree.get(target, "enum")
            {
                let allowed: Vec<_> = tree.children(allowed).map(|value| tree.inline(value)).collect();
                // A value that the schema itself does not allow is a mistake that only its author can judge.
                tree.children(*sibling).all(|value| allowed.contains(&tree.inline(value))).then_some(())?;
            }
            members.push((key.into_owned(), NewValue::Node(*sibling)));
        }
        for member in tree.children(schema).filter(|member| tree.key(*member).starts_with("x-")) {
            let key = tree.key(member).into_owned();
            members.retain(|(other, _)| *other != key);
            members.push((key, NewValue::Node(member)));
        }
        Some(NewValue::Object { members, lines: tree.has_lines(schema) })
    }
}

/// Whether a keyword only describes the value.
fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "title"
            | "description"
            | "default"
            | "example"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
            | "$id"
            | "$schema"
    )
}
