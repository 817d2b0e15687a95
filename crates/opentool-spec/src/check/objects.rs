//! Objects of a spec: their known, misspelt, unknown, absent and wrongly typed members.

use foldhash::{HashSet, HashSetExt as _};

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{Field, SpecObject},
    synonyms::said_boolean,
};
use crate::tree::{Kind, NodeId, json_string, quote};

impl Checker<'_, '_> {
    /// Sorts the members of an object into `fields`, and reports the unknown ones.
    ///
    /// `handled` are keys that another part of the check reports. The `noun` is for messages: "the NOUN has no `name`".
    pub(super) fn object<const N: usize>(
        &mut self,
        noun: &'static str,
        node: NodeId,
        fields: [Field; N],
        handled: &[&str],
    ) -> SpecObject<N> {
        let tree = self.tree;
        let mut members = [None; N];
        let mut unknown = Vec::new();
        for member in tree.children(node) {
            let key = tree.key(member);
            if let Some(index) = fields.iter().position(|field| field.name == key) {
                members[index] = Some(member);
            } else if !handled.contains(&&*key) && !self.is_extension(&key) {
                unknown.push(member);
            }
        }
        for member in self.last_of_each_key(unknown) {
            let (key, kind) = (tree.key(member), tree.kind(member));
            if self.misspelt_extension(node, member) || key.starts_with("x-") {
                continue;
            }
            let meant = (0..N).find(|index| members[*index].is_none() && fields[*index].is_meant_by(&key, kind));
            let Some(index) = meant else {
                self.unknown_key(member);
                continue;
            };
            let Field { name, absent, .. } = fields[index];
            members[index] = Some(member);
            self.renamed.insert(node);
            let shown = quote(&key);
            let message = match absent {
                Some(_) => format!("`{name}` is missing here, and {shown} is not in the spec"),
                None => format!("the spec has no {shown} here: it is kept, and other readers ignore it"),
            };
            let remedy = Remedy::Rename(member, name.to_owned());
            self.fix(absent.unwrap_or(Code::UnknownKey), At::Key(member), message, remedy);
        }
        SpecObject { noun, node, fields, members }
    }

    pub(super) fn unknown_key(&mut self, member: NodeId) {
        let shown = quote(&self.tree.key(member));
        let message = format!("the spec has no {shown} here: it is kept, and other readers ignore it");
        self.report(Code::UnknownKey, At::Key(member), message, None);
    }

    /// The members without those that a later one overrides, which are already reported as duplicates.
    pub(super) fn last_of_each_key(&self, members: Vec<NodeId>) -> Vec<NodeId> {
        if members.len() < 2 {
            return members;
        }
        let mut seen = HashSet::with_capacity(members.len());
        let mut last: Vec<_> = members.into_iter().rev().filter(|member| seen.insert(self.tree.key(*member))).collect();
        last.reverse();
        last
    }

    /// A field that must be there, of the right type. The value that a fix adds is a placeholder.
    pub(super) fn required<const N: usize>(
        &mut self,
        object: &SpecObject<N>,
        index: usize,
        placeholder: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        self.required_as(false, object, index, placeholder)
    }

    /// A field that must be there, and for which there is only one right value.
    pub(super) fn required_value<const N: usize>(
        &mut self,
        object: &SpecObject<N>,
        index: usize,
        value: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        self.required_as(true, object, index, value)
    }

    fn required_as<const N: usize>(
        &mut self,
        automatic: bool,
        object: &SpecObject<N>,
        index: usize,
        value: impl FnOnce() -> String,
    ) -> Option<NodeId> {
        let field = object.fields[index];
        let Some(node) = object.members[index] else {
            let message = format!("the {} has no `{}`", object.noun, field.name);
            let remedy = Remedy::Add(object.node, field.name, value());
            let remedy = if automatic { remedy } else { remedy.into_example(self.tree) };
            self.propose(automatic, Code::MissingField, At::Value(object.node), message, remedy);
            return None;
        };
        if self.tree.kind(node) == field.kind {
            return Some(node);
        }
        match self.number_as_text(node, field.kind).filter(|_| !automatic) {
            Some(text) => self.wrong_type(true, node, field, Remedy::Replace(node, text)),
            None => self.wrong_type(automatic, node, field, Remedy::Replace(node, value())),
        }
        None
    }

    /// Checks the type of an optional field where it is present.
    pub(super) fn optional_member<const N: usize>(&mut self, object: &SpecObject<N>, index: usize) {
        if let Some(node) = object.members[index] {
            self.optional(node, object.fields[index]);
        }
    }

    /// Whether an optional value has the right type; otherwise its removal, or the text it means, is proposed.
    pub(super) fn optional(&mut self, node: NodeId, field: Field) -> bool {
        let kind = self.tree.kind(node);
        if kind == field.kind {
            return true;
        }
        let (automatic, remedy) = match self.number_as_text(node, field.kind) {
            Some(text) => (true, Remedy::Replace(node, text)),
            None if kind == Kind::Null => (true, Remedy::Remove(node)),
            None => {
                let help = format!("write {}, or remove it", field.kind.described());
                (false, Remedy::Edits(help, vec![self.tree.remove_child(node)]))
            }
        };
        self.wrong_type(automatic, node, field, remedy);
        false
    }

    /// A number where a string is wanted, such as a version, means its text.
    fn number_as_text(&self, node: NodeId, wanted: Kind) -> Option<String> {
        let number = self.tree.kind(node) == Kind::Number;
        (wanted == Kind::String && number).then(|| json_string(self.tree.raw(node)))
    }

    fn wrong_type(&mut self, automatic: bool, node: NodeId, field: Field, remedy: Remedy) {
        let found = self.tree.kind(node).described();
        let message = format!("`{}` must be {}, not {found}", field.name, field.kind.described());
        self.propose(automatic, Code::WrongType, At::Value(node), message, remedy);
    }

    /// A boolean field with a default; `message` says what is assumed where it is absent.
    pub(super) fn boolean<const N: usize>(
        &mut self,
        object: &SpecObject<N>,
        index: usize,
        assumed: &str,
        message: impl FnOnce() -> String,
    ) {
        let Field { name, absent, .. } = object.fields[index];
        match object.members[index] {
            Some(node) => self.boolean_value(node, name, assumed),
            None => {
                let code = absent.unwrap_or(Code::MissingField);
                let remedy = Remedy::Add(object.node, name, assumed.to_owned());
                self.fix(code, At::Value(object.node), message(), remedy);
            }
        }
    }

    /// A value that must be a boolean; `"true"`, `"yes"`, `0` and the like mean one.
    pub(super) fn boolean_value(&mut self, node: NodeId, name: &str, assumed: &str) {
        let raw = self.tree.raw(node);
        if self.tree.kind(node) == Kind::Bool {
            return;
        }
        let meant = match said_boolean(raw) {
            Some(meant) => Some(if meant { "true" } else { "false" }),
            None => (raw == "null").then_some(assumed),
        };
        let message = format!("`{name}` must be a boolean, not {}", self.tree.kind(node).described());
        let remedy = match meant {
            Some(meant) => Remedy::Replace(node, meant.to_owned()),
            None => {
                let edit = self.tree.replace_value(node, assumed);
                Remedy::Edits("write `true` or `false`".to_owned(), vec![edit])
            }
        };
        self.propose(meant.is_some(), Code::WrongType, At::Value(node), message, remedy);
    }
}
