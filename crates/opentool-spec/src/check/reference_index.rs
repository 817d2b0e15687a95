//! The schemas and references of a document, collected while it is walked.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use crate::tree::{Kind, NodeId, Tree};

/// The schemas and references of a document, collected while it is walked.
#[derive(Debug, Default)]
pub(super) struct References<'a> {
    pub(super) schemas: HashSet<NodeId>,
    pub(super) references: Vec<Reference<'a>>,
    /// The schema each referring schema leads to, one step.
    pub(super) targets: HashMap<NodeId, NodeId>,
    indexes: HashMap<NodeId, ChildIndex<'a>>,
    /// The foreign place whose schemas a fix moves, and those that get another name on the way.
    pub(super) moving: Option<(&'static str, HashMap<String, String>)>,
    /// Referring schemas with siblings that say something about the value, each with the parameter or return value it is of.
    pub(super) narrowed: Vec<(NodeId, Option<NodeId>)>,
    /// How many names were compared so far.
    pub(super) compared: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Reference<'a> {
    /// The schema that holds the reference.
    pub(super) schema: NodeId,
    /// The string itself.
    pub(super) node: NodeId,
    pub(super) text: Cow<'a, str>,
}

/// The children of a container, by step of a pointer.
#[derive(Debug)]
enum ChildIndex<'a> {
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

    /// Makes every reference lead to the end of its chain. The chains must have no cycles.
    pub(super) fn shorten_chains(&mut self) {
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
    pub(super) fn walk<'p>(
        &mut self,
        tree: &Tree<'a>,
        steps: impl IntoIterator<Item = Cow<'p, str>>,
    ) -> Option<NodeId> {
        let mut at = Tree::ROOT;
        for step in steps {
            let index = self.indexes.entry(at).or_insert_with(|| match tree.kind(at) {
                Kind::Object => {
                    ChildIndex::Object(tree.children(at).map(|member| (tree.key(member), member)).collect())
                }
                _ => ChildIndex::Array(tree.children(at).collect()),
            });
            at = match index {
                ChildIndex::Object(members) => *members.get(&step)?,
                ChildIndex::Array(elements) => *elements.get(step.parse::<usize>().ok()?)?,
            };
        }
        Some(at)
    }
}
