//! Handles: who hands them out, and who needs them.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    Code,
    draft::{At, Remedy},
    dynamic::{ParameterNodes, Signature},
    judge::Checker,
    suggest::{nearest, quote},
};
use crate::tree::{NodeId, json_string};

/// How many names are compared for "did you mean", for all handles of a document.
const COMPARED_IN_ALL: usize = 10_000;

impl<'a> Checker<'_, 'a> {
    /// What names the type of a handle: the parameter or return value, else its schema.
    pub(super) fn handle_of(&self, owner: NodeId, schema: Option<NodeId>) -> Option<NodeId> {
        let of_schema = || self.tree.get(self.references.end_of(schema?), "x-handle");
        self.tree.get(owner, "x-handle").or_else(of_schema)
    }

    /// Whether the caller must give something for a parameter.
    pub(super) fn is_required(&self, nodes: &ParameterNodes) -> bool {
        let required = self.tree.get(nodes.parameter, "required").and_then(|required| self.tree.bool(required));
        required.unwrap_or(true) && self.goes_in(nodes)
    }

    /// Tells handles that a function needs and that no function hands out.
    pub(super) fn handles(&mut self, signatures: &[Signature]) {
        let given = self.handed_out(signatures);
        let mut left = COMPARED_IN_ALL;
        for nodes in signatures.iter().flat_map(|signature| &signature.parameters) {
            let Some(handle) = self.handle_of(nodes.parameter, nodes.schema) else { continue };
            let Some(kind) = self.tree.string(handle).filter(|kind| !given.contains(kind)) else { continue };
            if !self.is_required(nodes) {
                continue; // nothing can be passed, which is allowed
            }
            let shown = quote(&kind);
            let message =
                format!("no function hands out a handle of the type {shown}, so that nobody can call this one");
            let at =
                At::Value(if self.tree.get(nodes.parameter, "x-handle").is_some() { handle } else { nodes.parameter });
            let meant = nearest(&kind, given.iter().take(left).map(|kind| &**kind));
            left = left.saturating_sub(given.len());
            match meant {
                Some(meant) => {
                    let remedy = Remedy::Replace(handle, json_string(meant));
                    self.suggest(Code::UnknownHandle, at, message, remedy);
                }
                None => {
                    let help = "describe the function that returns one, or gives it out by a parameter".to_owned();
                    self.tell(Code::UnknownHandle, at, message, Some(help));
                }
            }
        }
    }

    /// The types of handles that functions return or give out by a parameter.
    fn handed_out(&self, signatures: &[Signature]) -> BTreeSet<Cow<'a, str>> {
        let returned = signatures.iter().filter_map(|signature| signature.returns);
        let returned = returned.filter_map(|(returns, _, schema)| self.handle_of(returns, schema));
        let parameters = signatures.iter().flat_map(|signature| &signature.parameters);
        let given = parameters.filter(|nodes| !self.goes_in(nodes));
        let given = given.filter_map(|nodes| self.handle_of(nodes.parameter, nodes.schema));
        returned.chain(given).filter_map(|handle| self.tree.string(handle)).collect()
    }
}
