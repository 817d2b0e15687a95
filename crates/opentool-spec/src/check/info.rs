//! The version and the info of a document.

use super::{
    checker::Checker,
    code::Code,
    draft::{At, Remedy},
    field::{SpecObject, may, must, should},
    kind::{DocumentKind, is_one_point_x},
};
use crate::tree::{Kind, NodeId, json_string, quote};

impl Checker<'_, '_> {
    /// Checks the spec's version and returns its node where it is one of 1.x.
    pub(super) fn version<const N: usize>(&mut self, document: &SpecObject<N>) -> Option<NodeId> {
        let current = json_string(self.kind.version());
        // A number means its text; only one of 1.x can be updated to the current version.
        let foreign = |node: &NodeId| self.tree.kind(*node) == Kind::Number && !is_one_point_x(self.tree.raw(*node));
        let node = if document.members[0].is_some_and(|node| foreign(&node)) {
            self.required(document, 0, || current.clone())?
        } else {
            self.required_value(document, 0, || current.clone())?
        };
        let version = self.tree.string(node)?;
        let key = self.kind.key();
        if !is_one_point_x(&version) {
            let known = self.kind.known_versions().join(" and ");
            let message =
                format!("{} is not a version of `{key}` that is supported: {known} are", quote(self.tree.raw(node)));
            let message = if self.kind.known_versions().len() == 1 { message.replace(" are", " is") } else { message };
            self.suggest(Code::UnsupportedVersion, At::Value(node), message, Remedy::Replace(node, current));
            return None;
        }
        if !self.kind.known_versions().contains(&&*version) {
            let message = format!("no spec has the version {}; read as {current}", quote(self.tree.raw(node)));
            self.fix(Code::UnknownVersion, At::Value(node), message, Remedy::Replace(node, current));
        }
        Some(node)
    }

    pub(super) fn info(&mut self, info: NodeId) {
        let [title, version] = [must("title", Kind::String), must("version", Kind::String)];
        let description = may("description", Kind::String);
        if self.kind == DocumentKind::OpenDyn {
            let convention = should("callingConvention", Kind::String, Code::NoCallingConvention);
            let info = self.object("info", info, [title, version, description, convention], &[]);
            self.info_fields(&info);
            self.calling_convention(&info, 3);
        } else {
            let info = self.object("info", info, [title, version, description], &[]);
            self.info_fields(&info);
        }
    }

    fn info_fields<const N: usize>(&mut self, info: &SpecObject<N>) {
        self.required(info, 0, || json_string("Untitled"));
        self.required(info, 1, || json_string("1.0.0"));
        self.optional_member(info, 2);
    }
}
