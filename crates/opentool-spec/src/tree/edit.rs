//! Changes to a text, and how a tree's owner expresses them without disturbing the rest.

use super::node::{NodeId, Tree};
use crate::json::quoted;

/// The replacement of a byte range by another text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Edit {
    /// Where the range starts, in bytes from the start of the text.
    pub start: usize,
    /// Where it ends; equal to `start` for an insertion.
    pub end: usize,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    pub(crate) fn replace(start: usize, end: usize, text: impl Into<String>) -> Self {
        Edit { start, end, text: text.into() }
    }

    pub(crate) fn remove(start: usize, end: usize) -> Self {
        Edit::replace(start, end, "")
    }

    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Edit::replace(at, at, text)
    }

    /// Whether both cannot be made in one go, where `self` does not start after `other`.
    ///
    /// Edits may touch, except where one takes a member away: the other would not know which comma is left. Two
    /// insertions may share a place, except in an empty object, where each would take itself for the first member.
    pub(crate) fn conflicts(&self, other: &Edit) -> bool {
        let insertions = self.start == self.end && other.start == other.end;
        if insertions && self.start == other.start {
            return !(self.text.starts_with(',') && other.text.starts_with(','));
        }
        other.start < self.end || (other.start == self.end && (self.text.is_empty() || other.text.is_empty()))
    }
}

/// The line break and the white space that stand before the first token of a line.
fn indentation(text: &str, at: usize) -> Option<&str> {
    let lead = text[..at].trim_end_matches([' ', '\t']).len();
    let before = text[..lead].strip_suffix('\n')?;
    let start = before.strip_suffix('\r').unwrap_or(before).len();
    Some(&text[start..at])
}

impl Tree<'_> {
    /// Adds a member to an object, laid out as its neighbours are.
    pub(crate) fn insert_member(&self, object: NodeId, key: &str, value: &str) -> Edit {
        let (start, _) = self.span(object);
        self.insert_members(object, &[(key, value)]).unwrap_or_else(|| Edit::insert(start + 1, ""))
    }

    /// Adds members to an object, laid out as their neighbours are.
    pub(crate) fn insert_members<K: AsRef<str>>(&self, object: NodeId, members: &[(K, &str)]) -> Option<Edit> {
        let (start, _) = self.span(object);
        let last = self.last_child(object);
        let indent = last.and_then(|last| indentation(self.source(), self.key_span(last).0));
        let separator = format!(",{}", indent.unwrap_or(" "));
        let members: Vec<_> = members.iter().map(|(key, value)| format!("{}: {value}", quoted(key.as_ref()))).collect();
        if members.is_empty() {
            return None;
        }
        let text = members.join(&separator);
        Some(match last {
            Some(last) => Edit::insert(self.span(last).1, separator + &text),
            None => Edit::insert(start + 1, text),
        })
    }

    /// Gives a member another name.
    pub(crate) fn rename_member(&self, member: NodeId, key: &str) -> Edit {
        let (start, end) = self.key_span(member);
        Edit::replace(start, end, quoted(key))
    }

    /// Replaces a value.
    pub(crate) fn replace_value(&self, node: NodeId, value: impl Into<String>) -> Edit {
        let (start, end) = self.span(node);
        Edit::replace(start, end, value)
    }

    /// Takes a member or an element out of its container, with one comma.
    pub(crate) fn remove_child(&self, child: NodeId) -> Edit {
        let (start, end) = (self.key_span(child).0, self.span(child).1);
        let before = self.source()[..start].trim_end();
        if before.ends_with(',') {
            return Edit::remove(before.len() - 1, end);
        }
        match self.next_sibling(child) {
            Some(after) => Edit::remove(start, self.key_span(after).0),
            None => Edit::remove(start, end),
        }
    }
}

/// Applies edits that do not conflict, sorted by their start.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        result.push_str(&text[at..edit.start]);
        result.push_str(&edit.text);
        at = edit.end;
    }
    result.push_str(&text[at..]);
    result
}
