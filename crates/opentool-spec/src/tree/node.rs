//! The nodes of a tree, and how one gets from one to another.

use std::borrow::Cow;

use crate::json::{JsonString, pointer};

/// The index of a node. The root is [`Tree::ROOT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    pub(crate) fn is_container(self) -> bool {
        matches!(self, Kind::Array | Kind::Object)
    }

    /// The kind with its article, for messages.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Whether the member's key has escapes.
    pub(super) key_escaped: bool,
    /// The byte range of the value, quotes and brackets included.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The node after this subtree.
    pub(super) next: u32,
    pub(super) parent: u32,
    /// The last child of a container; the node itself where it has none.
    pub(super) last: u32,
    /// In an object: the byte range of the key, quotes included. In an array: the element's index, twice.
    pub(super) key_start: u32,
    pub(super) key_end: u32,
}

/// A parsed JSON text.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(super) text: &'a str,
    pub(super) nodes: Vec<Node>,
}

impl<'a> Tree<'a> {
    pub(crate) const ROOT: NodeId = NodeId(0);

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn source(&self) -> &'a str {
        self.text
    }

    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.node(id).kind
    }

    /// The byte range of a value.
    pub(crate) fn span(&self, id: NodeId) -> (usize, usize) {
        let node = self.node(id);
        (node.start as usize, node.end as usize)
    }

    /// The byte range of a member's key, quotes included; of the value where it has none.
    pub(crate) fn key_span(&self, id: NodeId) -> (usize, usize) {
        match self.parent(id) {
            Some(parent) if self.kind(parent) == Kind::Object => {
                let node = self.node(id);
                (node.key_start as usize, node.key_end as usize)
            }
            _ => self.span(id),
        }
    }

    /// The text of a value as it stands.
    pub(crate) fn raw(&self, id: NodeId) -> &'a str {
        let (start, end) = self.span(id);
        &self.text[start..end]
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        (id != Tree::ROOT).then(|| NodeId(self.node(id).parent))
    }

    /// The members of an object or the elements of an array, in order.
    pub(crate) fn children(&self, id: NodeId) -> Children<'_, 'a> {
        let end = match self.kind(id) {
            Kind::Array | Kind::Object => self.node(id).next,
            _ => id.0 + 1,
        };
        Children { tree: self, at: id.0 + 1, end }
    }

    /// The last member or element of a container.
    pub(crate) fn last_child(&self, id: NodeId) -> Option<NodeId> {
        let last = NodeId(self.node(id).last);
        (last != id).then_some(last)
    }

    /// The member or element after this one in its container.
    pub(crate) fn next_sibling(&self, id: NodeId) -> Option<NodeId> {
        let next = self.node(id).next;
        let parent = self.parent(id)?;
        (next < self.node(parent).next).then_some(NodeId(next))
    }

    /// Whether any member of the document has this name and stands in a member of that one.
    pub(crate) fn mentions(&self, key: &str, within: &str) -> bool {
        memchr::memmem::find(self.text.as_bytes(), key.as_bytes()).is_some()
            && (0..self.nodes.len() as u32)
                .map(NodeId)
                .any(|id| self.parent(id).is_some_and(|parent| self.key(parent) == within) && self.key(id) == key)
    }

    /// The name of a member of an object; empty for an element of an array, which has none.
    pub(crate) fn key(&self, id: NodeId) -> Cow<'a, str> {
        let node = self.node(id);
        let raw = key_text(self.text, node.key_start as usize, node.key_end as usize);
        JsonString { raw, escaped: node.key_escaped }.decode()
    }

    /// The value of a string node.
    pub(crate) fn string(&self, id: NodeId) -> Option<Cow<'a, str>> {
        if self.kind(id) != Kind::String {
            return None;
        }
        let raw = self.raw(id);
        let raw = &raw[1..raw.len() - 1];
        Some(JsonString { raw, escaped: raw.contains('\\') }.decode())
    }

    pub(crate) fn bool(&self, id: NodeId) -> Option<bool> {
        (self.kind(id) == Kind::Bool).then(|| self.raw(id).eq_ignore_ascii_case("true"))
    }

    /// The member of an object with this name; the last one where it stands twice, as JSON readers have it.
    pub(crate) fn get(&self, object: NodeId, key: &str) -> Option<NodeId> {
        if self.kind(object) != Kind::Object {
            return None;
        }
        self.children(object).filter(|member| self.key(*member) == key).last()
    }

    /// The innermost node at a byte of the text.
    pub(crate) fn node_at(&self, at: usize) -> NodeId {
        let begin = |id: u32| self.key_span(NodeId(id)).0;
        // Nodes are in the order of the text.
        let (mut low, mut high) = (0, self.nodes.len() as u32);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if begin(middle) <= at { low = middle } else { high = middle }
        }
        let mut node = NodeId(low);
        while self.span(node).1 <= at
            && let Some(parent) = self.parent(node)
        {
            node = parent;
        }
        node
    }

    /// The JSON pointer of a node. Past `budget` bytes its long names are cut short, and the budget is spent.
    pub(crate) fn pointer_within(&self, id: NodeId, budget: &mut usize) -> String {
        const SHOWN: usize = 24;
        let pointer = self.pointer_of(id, *budget);
        let pointer = if pointer.len() > *budget { self.pointer_of(id, SHOWN) } else { pointer };
        *budget = budget.saturating_sub(pointer.len());
        pointer
    }

    /// The JSON pointer of a node.
    pub(crate) fn pointer(&self, id: NodeId) -> String {
        self.pointer_of(id, usize::MAX)
    }

    /// The JSON pointer of a node, with names of more than `longest` bytes cut short.
    fn pointer_of(&self, id: NodeId, longest: usize) -> String {
        let mut steps = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            steps.push((parent, at));
            at = parent;
        }
        let mut path = String::new();
        for (parent, at) in steps.into_iter().rev() {
            path.push('/');
            if self.kind(parent) == Kind::Object {
                let key = self.key(at);
                if key.len() > longest {
                    let shown: String = key.chars().take(longest / 4).collect();
                    pointer::push_escaped(&mut path, &shown);
                    path.push('…');
                } else {
                    pointer::push_escaped(&mut path, &key);
                }
            } else {
                path.push_str(&self.node(at).key_start.to_string());
            }
        }
        path
    }
}

/// The text of a key without its quotes, which an author may have left out.
pub(super) fn key_text(text: &str, start: usize, end: usize) -> &str {
    // An element of an array has its index for both.
    let raw = if start < end { &text[start..end] } else { "" };
    match raw.as_bytes().first() {
        Some(b'"' | b'\'') => &raw[1..raw.len() - 1],
        _ => raw,
    }
}

/// An iterator over the children of a node.
#[derive(Debug, Clone)]
pub(crate) struct Children<'t, 'a> {
    tree: &'t Tree<'a>,
    at: u32,
    end: u32,
}

impl Iterator for Children<'_, '_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.at >= self.end {
            return None;
        }
        let id = NodeId(self.at);
        self.at = self.tree.node(id).next;
        Some(id)
    }
}
