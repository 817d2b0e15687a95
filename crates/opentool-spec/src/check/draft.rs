//! A finding while the check runs: where it is, and what would fix it.

use super::{
    code::{Code, Severity},
    finding::Fix,
    report::Omitted,
};
use crate::tree::{Edit, NodeId, Tree, json_string, quote};

/// A finding before its pointer, line and column are worked out.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) code: Code,
    pub(super) span: (usize, usize),
    /// The node whose pointer the finding has; the root where the text has no tree.
    pub(super) node: NodeId,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) fix: Option<Fix>,
}

/// The findings of a document, and how many more there are.
///
/// Of each kind (with a fix, without one, notes) only some are described, in proportion to the text, so that memory is too;
/// those beyond are counted. A fix that is not described is made in a later pass.
#[derive(Debug)]
pub(super) struct Drafts {
    pub(super) list: Vec<Draft>,
    most: usize,
    described: [usize; 3],
    pub(super) omitted: Omitted,
}

impl Drafts {
    /// For a text of so many bytes.
    pub(super) fn for_length(bytes: usize) -> Self {
        const AT_LEAST: usize = 5_000;
        const BYTES_EACH: usize = 64;
        Drafts { list: Vec::new(), most: AT_LEAST + bytes / BYTES_EACH, described: [0; 3], omitted: Omitted::default() }
    }

    /// Whether one more can be described; otherwise it is counted.
    pub(super) fn has_room(&mut self, code: Code, automatic: bool) -> bool {
        let described = match code.severity() {
            _ if automatic => &mut self.described[0],
            Severity::Note => &mut self.described[1],
            _ => &mut self.described[2],
        };
        let room = *described < self.most;
        if room {
            *described += 1;
        } else {
            self.omitted.count(code.severity());
        }
        room
    }
}

/// The place of a finding in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    /// A value, or the opening bracket of a container.
    Value(NodeId),
    /// The key of a member.
    Key(NodeId),
}

impl At {
    pub(super) fn node(self) -> NodeId {
        match self {
            At::Value(node) | At::Key(node) => node,
        }
    }

    pub(super) fn span(self, tree: &Tree<'_>) -> (usize, usize) {
        match self {
            At::Key(node) => tree.key_span(node),
            At::Value(node) => {
                let (start, end) = tree.span(node);
                if tree.kind(node).is_container() { (start, start + 1) } else { (start, end) }
            }
        }
    }
}

/// What would fix a finding. The help text describes exactly what the edits do.
#[derive(Debug)]
pub(super) enum Remedy {
    /// Add a member to an object.
    Add(NodeId, &'static str, String),
    /// Replace a value.
    Replace(NodeId, String),
    /// Remove a member or an element.
    Remove(NodeId),
    /// Give a member another name.
    Rename(NodeId, String),
    /// Something else, in words and in edits.
    Edits(String, Vec<Edit>),
}

impl Remedy {
    pub(super) fn help(&self, tree: &Tree<'_>) -> String {
        match self {
            Remedy::Add(_, key, value) => format!("add `{}: {value}`", json_string(key)),
            Remedy::Replace(_, value) => format!("replace it by `{value}`"),
            Remedy::Remove(_) => "remove it".to_owned(),
            Remedy::Rename(member, key) => {
                format!("did you mean `{key}`? Rename {}", quote(&tree.key(*member)))
            }
            Remedy::Edits(help, _) => help.clone(),
        }
    }

    /// The same as an example, whose values are the author's to choose.
    pub(super) fn into_example(self, tree: &Tree<'_>) -> Self {
        let help = format!("{}, with values of your own", self.help(tree));
        Remedy::Edits(help, self.into_edits(tree))
    }

    pub(super) fn into_edits(self, tree: &Tree<'_>) -> Vec<Edit> {
        match self {
            Remedy::Add(object, key, value) => vec![tree.insert_member(object, key, &value)],
            Remedy::Replace(node, value) => vec![tree.replace_value(node, value)],
            Remedy::Remove(node) => vec![tree.remove_child(node)],
            Remedy::Rename(member, key) => vec![tree.rename_member(member, &key)],
            Remedy::Edits(_, edits) => edits,
        }
    }
}
